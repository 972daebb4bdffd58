package report

import (
	"fmt"
	"time"

	"tessera/app/job"
	"tessera/app/terminal"
	"tessera/gpu"
	"tessera/vae"
)

// Adapter is the part of gpu.Info that identifies an adapter.
type Adapter struct {
	Index   int    `json:"index"`
	Name    string `json:"name"`
	Backend string `json:"backend"`
	Type    string `json:"type"`
}

// Layout is how a plan cuts a clip into tiles and slices.
type Layout struct {
	Tile    string `json:"tile"`             // "off", or HxW in pixels
	Tiling  string `json:"tiling,omitempty"` // if there are several tiles
	Overlap string `json:"overlap,omitempty"`
	Halo    string `json:"halo,omitempty"` // largest halo of exact tiles, HxW pixels
	Tiles   int    `json:"tiles"`
	Slices  int    `json:"slices"` // per tile
	Chunk   int    `json:"chunk"`  // most latent frames in a slice after the first
}

// NewLayout returns a plan's layout.
func NewLayout(p *vae.Plan) Layout {
	l := Layout{Tile: "off", Tiles: len(p.Tiles.Tiles), Slices: p.Slices, Chunk: p.Chunk}
	switch {
	case p.Tiles.Whole():
	case p.Tiling == vae.Exact:
		l.Tile, l.Tiling, l.Halo = p.Tile.String(), string(p.Tiling), p.Halo.String()
	default:
		l.Tile, l.Tiling, l.Overlap = p.Tile.String(), string(p.Tiling), p.Overlap.String()
	}
	return l
}

// Stage describes one direction's run.
type Stage struct {
	Seconds      float64 `json:"seconds"`
	FramesPerSec float64 `json:"frames_per_second"`
	Layout
	Shrunk       bool    `json:"shrunk"`
	PlannedBytes int64   `json:"planned_device_bytes"`
	UntiledBytes int64   `json:"untiled_device_bytes,omitempty"` // for exact tiles: what one tile would need; absent beyond the limits
	Host         int64   `json:"host_bytes,omitempty"`           // causal memory, activations and weights that live on the host
	HostWeights  int64   `json:"host_weight_bytes,omitempty"`    // the weights in host_bytes
	Moved        int64   `json:"moved_bytes,omitempty"`          // of host_bytes, to the device and back, per clip
	BudgetBytes  int64   `json:"budget_bytes"`
	FLOPs        int64   `json:"flops"`
	Shares       []Share `json:"shares,omitempty"` // of the adapters after the first

	cut string
}

// NewStage describes a plan that ran, with its number of frames and time.
func NewStage(l *vae.Plan, frames int, took time.Duration) *Stage {
	s := &Stage{
		Seconds: took.Seconds(), FramesPerSec: float64(frames) / took.Seconds(),
		Layout: NewLayout(l), Shrunk: l.Shrunk,
		PlannedBytes: l.Bytes(), BudgetBytes: l.Budget, FLOPs: l.Cost.FLOPs, cut: job.Cut(l), Shares: shares(l),
		Host: l.Host, HostWeights: l.Streamed, Moved: l.Moved,
	}
	for _, h := range s.Shares {
		s.cut += fmt.Sprintf(", %d by %s", h.Tiles, h.Adapter.Name)
	}
	for _, more := range []string{job.Needs(l), job.Crosses(l)} {
		if more != "" {
			s.cut += ", " + more
		}
	}
	if s.Tiling == string(vae.Exact) {
		s.UntiledBytes = l.Untiled
	}
	return s
}

// NewAdapter returns an adapter's description.
func NewAdapter(i gpu.Info) Adapter { return Adapter{i.Index, i.Name, i.Backend, i.Type} }

func (s *Stage) String() string {
	return fmt.Sprintf("%.1f s, %s frames/s, %s", s.Seconds, terminal.Figures(s.FramesPerSec), s.cut)
}

// Share is what one of several adapters computed.
type Share struct {
	Adapter Adapter `json:"adapter"`
	Tiles   int     `json:"tiles"`
}

// shares returns the shares of the adapters after the first.
func shares(p *vae.Plan) (all []Share) {
	for _, h := range p.Helpers {
		all = append(all, Share{NewAdapter(h.Adapter), h.Tiles})
	}
	return all
}

// Precision names the storage of a model's activations.
func Precision(m *vae.Model) string {
	if p := m.Elem.String(); p != "packed" {
		return p
	}
	return "f16, packed in pairs"
}
