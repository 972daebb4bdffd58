package session

import (
	"cmp"
	"errors"
	"runtime"

	"tessera/gpu"
	"tessera/media"
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
	Widths         []int             `json:"widths"`
	LatentChannels int               `json:"latentChannels"`
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
	s := m.Summary()
	return &model{
		Name: s.File, Family: m.Config.Family, Widths: m.Config.Widths, LatentChannels: m.Config.Latent,
		Spatial: m.Config.Spatial, Temporal: m.Config.Temporal,
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
	Direction  string `json:"direction"`
	Frames     int    `json:"frames"`
	Height     int    `json:"height"`
	Width      int    `json:"width"`
	Tiles      []rect `json:"tiles"`
	Tile       string `json:"tile"`
	Overlap    string `json:"overlap"`
	Shrunk     bool   `json:"shrunk"`
	Slices     int    `json:"slices"`
	Weights    int64  `json:"weights"`
	Arena      int64  `json:"arena"`
	Memory     int64  `json:"memory"`
	Canvas     int64  `json:"canvas"`
	Spool      int64  `json:"spool"`
	Bytes      int64  `json:"bytes"`
	Budget     int64  `json:"budget"`
	Fits       bool   `json:"fits"`
	Problem    string `json:"problem"`
	Code       string `json:"code"`
	Suggestion string `json:"suggestion"`
	FLOPs      int64  `json:"flops"`
}

// newLayout describes a plan; l is nil where there is none.
func newLayout(direction string, frames int, l *vae.Layout) *layout {
	v := &layout{Direction: direction, Frames: frames, Tiles: []rect{}, Tile: "off", Fits: true}
	if l == nil {
		return v
	}
	v.Height, v.Width = l.Tiles.Out.H, l.Tiles.Out.W
	for _, t := range l.Tiles.Tiles {
		v.Tiles = append(v.Tiles, rect{t.Out.Y0, t.Out.X0, t.Out.Y1 - t.Out.Y0, t.Out.X1 - t.Out.X0})
	}
	if !l.Tiles.Whole() {
		v.Tile = l.Tile.String()
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
	q := r.Options
	if err := checkSize("plan", q.Frames, q.Height, q.Width); err != nil {
		return nil, err
	}
	var try func(vae.Options) (*vae.Layout, error)
	frames := 1 + (q.Frames-1)*m.Config.Temporal
	switch q.Direction {
	case "decode":
		try = func(o vae.Options) (*vae.Layout, error) { return m.PlanDecode(q.Frames, q.Height, q.Width, o) }
	case "encode":
		padded, _, _ := m.Padded(q.Frames, q.Height, q.Width, o.Independent)
		frames = 1 + (padded-1)/m.Config.Temporal
		try = func(o vae.Options) (*vae.Layout, error) { return m.PlanEncode(q.Frames, q.Height, q.Width, o) }
	default:
		return nil, badInput("session: direction %q, expected decode or encode", q.Direction)
	}
	l, err := try(o)
	if err != nil && !errors.Is(err, vae.ErrMemory) && !errors.Is(err, gpu.ErrTooLarge) && !errors.Is(err, tiling.ErrBudget) {
		return nil, err
	}
	v := newLayout(q.Direction, frames, l)
	if err != nil {
		v.Fits, v.Problem, v.Code = false, err.Error(), code(err)
		o.Tile, o.Shrink = tiling.Choice{Auto: true}, false
		if l, err := try(o); err == nil {
			v.Suggestion = l.Tile.String()
		}
	}
	return v, nil
}

// vae are the options as the engine takes them; the defaults are those of the
// command line.
func (o options) vae() (v vae.Options, err error) {
	if v.Tile, err = tiling.ParseTile(cmp.Or(o.Tile, "512")); err != nil {
		return v, err
	}
	if v.Overlap, err = tiling.ParseOverlap(cmp.Or(o.Overlap, "64")); err != nil {
		return v, err
	}
	v.Shrink = o.Tile == ""
	if o.Shrink != nil {
		v.Shrink = *o.Shrink
	}
	if o.Memory < 0 || o.Chunk < 0 || o.Chunk > maxFrames {
		return v, badInput("session: memory of %d bytes, chunk of %d latent frames, expected 0 or more", o.Memory, o.Chunk)
	}
	v.Memory, v.Chunk = o.Memory, o.Chunk
	switch o.Scale {
	case "", media.ScalePipeline, media.ScaleNone:
	default:
		return v, badInput("session: scale %q, expected %s or %s", o.Scale, media.ScalePipeline, media.ScaleNone)
	}
	return v, nil
}

type latentInfo struct {
	Shape    []int             `json:"shape"`
	Clip     clip              `json:"clip"`
	Metadata map[string]string `json:"metadata"`
}

// inspect tells what a latent file holds, for the open checkpoint where there
// is one.
func (s *Session) inspect(r *request) (*latentInfo, error) {
	file, size, name, closed, err := s.file(r)
	if err != nil {
		return nil, err
	}
	defer closed()
	channels, spatial, temporal := 0, 8, 4
	if m, err := s.plannerModel(); err == nil {
		channels, spatial, temporal = m.Config.Latent, m.Config.Spatial, m.Config.Temporal
	}
	l, err := media.InspectLatent(file, size, name, channels)
	if err != nil {
		return nil, err
	}
	was, _, err := l.Original(name, spatial, temporal)
	if err != nil {
		return nil, err
	}
	return &latentInfo{l.Shape(), output(l, was, spatial, temporal), l.Meta}, nil
}

// output is the clip that a latent decodes to.
func output(l media.Latent, was media.Original, spatial, temporal int) clip {
	if was.Images {
		temporal = 1
	}
	return clip{
		Frames: cmp.Or(was.Frames, 1+(l.Frames-1)*temporal),
		Height: cmp.Or(was.Height, l.Height*spatial), Width: cmp.Or(was.Width, l.Width*spatial),
		FPS: was.FPS.Float(),
	}
}
