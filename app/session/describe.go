package session

import (
	"cmp"
	"errors"
	"runtime"
	"strconv"

	"tessera/gpu"
	"tessera/latent"
	"tessera/tiling"
	"tessera/vae"
)

type limits struct {
	MaxBuffer          int64 `json:"maxBuffer"`
	MaxBinding         int64 `json:"maxBinding"`
	MaxWorkgroupMemory int   `json:"maxWorkgroupMemory"`
	MaxInvocations     int   `json:"maxInvocations"`
}

type device struct {
	Kind         string `json:"kind"`
	Name         string `json:"name"`
	Vendor       string `json:"vendor"`
	Architecture string `json:"architecture"`
	Driver       string `json:"driver"`
	Backend      string `json:"backend"`
	Type         string `json:"type"`
	F16          bool   `json:"f16"`
	Subgroups    bool   `json:"subgroups"`
	SubgroupMin  int    `json:"subgroupMin"`
	SubgroupMax  int    `json:"subgroupMax"`
	Timestamps   bool   `json:"timestamps"`
	Memory       int64  `json:"memory"`
	Budget       int64  `json:"budget"`
	Limits       limits `json:"limits"`
	Bytes        int64  `json:"bytes"`
	PeakBytes    int64  `json:"peakBytes"`
	HostBytes    int64  `json:"hostBytes"`
}

func (s *Session) device(r *request) (*device, error) {
	if r.Version != Version {
		return nil, badInput("session: the page speaks version %d of the protocol, this engine %d: reload the page", r.Version, Version)
	}
	i, err := s.host.Info(r.ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &device{
		Kind: s.o.Kind, Name: i.Name, Vendor: i.Vendor, Architecture: i.Architecture, Driver: i.Driver,
		Backend: i.Backend, Type: i.Type, F16: i.F16,
		Subgroups: i.Subgroups, SubgroupMin: i.SubgroupMin, SubgroupMax: i.SubgroupMax,
		Timestamps: i.Timestamps, Memory: i.Memory, Budget: vae.Budget(i),
		Limits: limits{i.Limits.MaxBuffer, i.Limits.MaxBinding, i.Limits.MaxWorkgroupMemory, i.Limits.MaxInvocations},
		Bytes:  s.stats.Bytes, PeakBytes: s.stats.PeakBytes, HostBytes: s.hostBytes(),
	}, nil
}

// hostBytes is what this program has of the machine's memory, or of wasm's.
func (s *Session) hostBytes() int64 {
	if s.o.HostBytes != nil {
		return s.o.HostBytes()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

type model struct {
	Name           string            `json:"name"`
	Family         string            `json:"family"`
	Model          string            `json:"model"`
	Layout         string            `json:"layout"`
	Widths         []int             `json:"widths"`
	Channels       int               `json:"channels"`
	LatentChannels int               `json:"latentChannels"`
	Independent    bool              `json:"independent"`
	Tilings        []vae.Tiling      `json:"tilings"`
	Spatial        int               `json:"spatial"`
	Temporal       int               `json:"temporal"`
	Bytes          int64             `json:"bytes"`
	Tensors        int               `json:"tensors"`
	Parameters     int64             `json:"parameters"`
	DTypes         map[string]int    `json:"dtypes"`
	Metadata       map[string]string `json:"metadata"`
	Precision      string            `json:"precision"`
}

func describe(m *vae.Model) *model {
	s, c := m.Summary(), m.Config
	tilings := []vae.Tiling{vae.Feather}
	if c.Family != vae.SeedVR2 {
		tilings = append(tilings, vae.Exact, vae.Diffusers)
	}
	return &model{
		Name: s.File, Family: c.Family, Model: c.Model, Layout: c.Layout, Widths: c.Widths,
		Channels: c.Channels, LatentChannels: c.Latent, Independent: c.Independent, Tilings: tilings,
		Spatial: c.Spatial, Temporal: c.Temporal,
		Bytes: s.Bytes, Tensors: s.Tensors, Parameters: s.Parameters, DTypes: s.DTypes, Metadata: s.Metadata,
		Precision: m.Elem.String(),
	}
}

type rect struct {
	Y      int `json:"y"`
	X      int `json:"x"`
	Height int `json:"height"`
	Width  int `json:"width"`
}

type layout struct {
	Direction   string     `json:"direction"`
	Frames      int        `json:"frames"`
	Height      int        `json:"height"`
	Width       int        `json:"width"`
	Independent bool       `json:"independent"`
	Tiles       []rect     `json:"tiles"`
	Tile        string     `json:"tile"`
	Overlap     string     `json:"overlap"`
	Tiling      vae.Tiling `json:"tiling"`
	Halo        string     `json:"halo"`
	Shrunk      bool       `json:"shrunk"`
	Slices      int        `json:"slices"`
	Weights     int64      `json:"weights"`
	Arena       int64      `json:"arena"`
	Memory      int64      `json:"memory"`
	Canvas      int64      `json:"canvas"`
	Spool       int64      `json:"spool"`
	Bytes       int64      `json:"bytes"`
	Untiled     int64      `json:"untiled"`
	Budget      int64      `json:"budget"`
	Fits        bool       `json:"fits"`
	Problem     string     `json:"problem"`
	Code        string     `json:"code"`
	Suggestion  string     `json:"suggestion"`
	FLOPs       int64      `json:"flops"`
}

// newLayout describes a plan with so many frames to come out; l is nil where
// there is none.
func newLayout(direction string, frames int, independent bool, l *vae.Layout) *layout {
	v := &layout{Direction: direction, Frames: frames, Independent: independent, Tiles: []rect{}, Tile: "off", Fits: true}
	if l == nil {
		return v
	}
	v.Height, v.Width = l.Tiles.Out.H, l.Tiles.Out.W
	for _, t := range l.Tiles.Tiles {
		v.Tiles = append(v.Tiles, rect{t.Out.Y0, t.Out.X0, t.Out.Y1 - t.Out.Y0, t.Out.X1 - t.Out.X0})
	}
	if !l.Tiles.Whole() {
		v.Tile, v.Tiling, v.Halo, v.Untiled = l.Tile.String(), l.Tiling, l.Halo.String(), l.Untiled
	}
	v.Overlap, v.Shrunk, v.Slices = l.Overlap.String(), l.Shrunk, l.Slices
	v.Weights, v.Arena, v.Memory, v.Canvas, v.Spool = l.Weights, l.Arena, l.Memory, l.Canvas, l.Spool
	v.Bytes, v.Budget, v.FLOPs = l.Bytes(), l.Budget, l.Cost.FLOPs
	return v
}

// errNoModel: a job or plan came before a checkpoint.
var errNoModel = badInput("session: no checkpoint is open")

func (s *Session) plannerModel() (*vae.Model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.planner == nil {
		return nil, errNoModel
	}
	return s.planner, nil
}

// plan lays a job out. That it doesn't fit is no error.
func (s *Session) plan(r *request) (*layout, error) {
	m, err := s.plannerModel()
	if err != nil {
		return nil, err
	}
	o, err := r.Options.vae()
	if err != nil {
		return nil, err
	}
	o.Independent = r.Options.independent(m.Config.Independent)
	q := r.Options
	if err := checkSize("plan", q.Frames, q.Height, q.Width); err != nil {
		return nil, err
	}
	var try func(vae.Options) (*vae.Layout, error)
	var frames int
	switch q.Direction {
	case "decode":
		frames = pixelFrames(q.Frames, m.Config, o.Independent)
		try = func(o vae.Options) (*vae.Layout, error) { return m.PlanDecode(q.Frames, q.Height, q.Width, o) }
	case "encode":
		frames = latentFrames(q.Frames, m, o.Independent)
		try = func(o vae.Options) (*vae.Layout, error) { return m.PlanEncode(q.Frames, q.Height, q.Width, o) }
	default:
		return nil, badInput("session: direction %q, expected decode or encode", q.Direction)
	}
	l, err := try(o)
	if err != nil && !errors.Is(err, vae.ErrMemory) && !errors.Is(err, gpu.ErrTooLarge) && !errors.Is(err, tiling.ErrBudget) {
		return nil, err
	}
	v := newLayout(q.Direction, frames, o.Independent, l)
	if err != nil {
		v.Fits, v.Problem, v.Code = false, err.Error(), code(err)
		o.Tile, o.Shrink = tiling.Choice{Auto: true}, false
		if l, err := try(o); err == nil {
			v.Suggestion = l.Tile.String()
		}
	}
	return v, nil
}

// independent is what was asked for, or the default.
func (o options) independent(standard bool) bool {
	if o.Independent == nil {
		return standard
	}
	return *o.Independent
}

// vae are the options as the engine takes them, but for Independent; the
// defaults are those of the command line. Tiles that are to be as in diffusers
// are not made smaller.
func (o options) vae() (v vae.Options, err error) {
	tile, overlap := tiling.DefaultTile, tiling.DefaultOverlap
	switch v.Tiling = vae.Tiling(o.Tiling); v.Tiling {
	case "", vae.Feather, vae.Exact:
	case vae.Diffusers:
		tile, overlap = tiling.DiffusersTile, tiling.DiffusersOverlap
	default:
		return v, badInput("session: tiling %.20q, expected %s, %s or %s", o.Tiling, vae.Feather, vae.Exact, vae.Diffusers)
	}
	if v.Tile, err = tiling.ParseTile(cmp.Or(o.Tile, strconv.Itoa(tile))); err != nil {
		return v, err
	}
	if v.Overlap, err = tiling.ParseOverlap(cmp.Or(o.Overlap, strconv.Itoa(overlap))); err != nil {
		return v, err
	}
	v.Shrink = o.Tile == "" && v.Tiling != vae.Diffusers
	if o.Shrink != nil {
		v.Shrink = *o.Shrink
	}
	if o.Memory < 0 || o.Chunk < 0 || o.Chunk > maxFrames {
		return v, badInput("session: memory of %d bytes, chunk of %d latent frames, expected 0 or more", o.Memory, o.Chunk)
	}
	v.Memory, v.Chunk = o.Memory, o.Chunk
	switch o.Scale {
	case "", latent.ScalePipeline, latent.ScaleNone:
	default:
		return v, badInput("session: scale %q, expected %s or %s", o.Scale, latent.ScalePipeline, latent.ScaleNone)
	}
	return v, nil
}
