package job

import (
	"context"
	"strconv"

	"tessera/engine"
	"tessera/tiling"
	"tessera/vae"
)

// Plan plans the decode.
func (d Decoding) Plan(ctx context.Context, m *vae.Model) (*vae.DecodePlan, error) {
	return m.PlanDecode(ctx, d.Latent.Frames, d.Latent.Height, d.Latent.Width, d.Options)
}

// Plan plans the encode.
func (e Encoding) Plan(ctx context.Context, m *vae.Model) (*vae.EncodePlan, error) {
	return m.PlanEncode(ctx, e.Clip.Frames, e.Clip.Height, e.Clip.Width, e.Options)
}

// Note describes the plan's choices if the options left them open or could not be
// met; else it is empty.
func Note(c vae.Config, o vae.Options, p *vae.Plan) string {
	budget, beside := engine.Bytes(p.Budget), hosted(p)
	if beside != "" {
		beside = ", with " + beside + " on the host"
	}
	switch {
	case o.Tiling == "" && p.Tiling != c.Tilings[0] && !p.Tiles.Whole():
		return string(c.Tilings[0]) + " tiles don't fit " + budget + " and the device's limits: taking " + Cut(p) + beside
	case p.Shrunk:
		return "tiles of " + o.Tile.String() + " don't fit " + budget + " and the device's limits: taking " + Cut(p) + beside
	case o.Tile.Auto:
		exact := "exact"
		if !p.Tiles.Whole() && p.Tiling != vae.Exact {
			exact = "not exact"
		}
		return Cut(p) + ", the largest within " + budget + ", " + exact + beside
	}
	return ""
}

// hosted names what lives on the host; "" means nothing does.
func hosted(p *vae.Plan) string {
	switch {
	case p.Hosted && p.Streamed > 0:
		return "activations and weights"
	case p.Hosted:
		return "activations"
	case p.Away && p.Streamed > 0:
		return "causal memory and weights"
	case p.Away:
		return "causal memory"
	case p.Streamed > 0:
		return "weights"
	}
	return ""
}

// Crosses describes how much memory is on the host and how much is transferred; it
// is empty without offload.
func Crosses(p *vae.Plan) string {
	what := hosted(p)
	if what == "" {
		return ""
	}
	return engine.Bytes(p.Host) + " of " + what + " on the host, " + engine.Bytes(p.Moved) + " moved"
}

// Cut describes the tiles of a plan.
func Cut(p *vae.Plan) string {
	n := strconv.Itoa(len(p.Tiles.Tiles))
	switch {
	case p.Tiles.Whole():
		return "one tile"
	case p.Tiling == vae.Exact:
		return n + " exact tiles of " + p.Tile.String() + ", halo " + side(p.Halo)
	case p.Tiling == vae.Diffusers:
		return n + " tiles of " + p.Tile.String() + ", overlap " + p.Overlap.String() + ", blended as in diffusers"
	}
	return n + " tiles of " + p.Tile.String() + ", overlap " + p.Overlap.String()
}

// side prints a size as one number where its sides are equal.
func side(s tiling.Size) string {
	if s.H == s.W {
		return strconv.Itoa(s.H)
	}
	return s.String()
}

// Needs compares the memory of exact tiles with one tile; it is empty for other tiles.
func Needs(p *vae.Plan) string {
	switch {
	case p.Tiles.Whole() || p.Tiling != vae.Exact:
		return ""
	case p.Untiled == 0:
		return engine.Bytes(p.Bytes()) + " planned, one tile is beyond the device's limits"
	}
	return engine.Bytes(p.Bytes()) + " planned, " + engine.Bytes(p.Untiled) + " in one tile"
}
