package session

import (
	"context"
	"errors"
	"reflect"
	"runtime"

	"tessera/app/job"
	"tessera/engine"
	"tessera/format/quote"
	"tessera/gpu"
	"tessera/latent"
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
	_ gpu.Incomparable

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
		return nil, job.BadInput("session: the page speaks version %d of the protocol, this engine %d: reload the page", r.Version, Version)
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
		Timestamps: i.Timestamps, Memory: i.Memory, Budget: engine.Budget(i),
		Limits: limits{i.Limits.MaxBuffer, i.Limits.MaxBinding, i.Limits.MaxWorkgroupMemory, i.Limits.MaxInvocations},
		Bytes:  s.stats.Bytes, PeakBytes: s.stats.PeakBytes, HostBytes: s.hostBytes(),
	}, nil
}

// hostBytes returns how much of the machine's, or wasm's, memory this program uses.
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
	Lacks          string            `json:"lacks"`
	Channels       int               `json:"channels"`
	LatentChannels int               `json:"latentChannels"`
	Independent    bool              `json:"independent"`
	Kinds          []string          `json:"kinds"`
	Assumed        bool              `json:"assumed"`
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
	metadata, _ := quote.Map(s.Metadata)
	return &model{
		Name: s.File, Family: c.Family, Model: c.Model, Layout: c.Layout, Widths: c.Widths, Lacks: c.Lacks,
		Channels: c.Channels, LatentChannels: c.Latent, Independent: c.Independent, Kinds: c.Kinds(), Assumed: c.Assumed, Tilings: c.Tilings,
		Spatial: c.Spatial, Temporal: c.Temporal,
		Bytes: s.Bytes, Tensors: s.Tensors, Parameters: s.Parameters, DTypes: s.DTypes, Metadata: metadata,
		Precision: m.Elem.String(),
	}
}

type rect struct {
	Y      int `json:"y"`
	X      int `json:"x"`
	Height int `json:"height"`
	Width  int `json:"width"`
}

type plan struct {
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
	Activations int64      `json:"activations"`
	Causal      int64      `json:"causal"`
	Canvas      int64      `json:"canvas"`
	Transfer    int64      `json:"transfer"`
	Spool       int64      `json:"spool"`
	Bytes       int64      `json:"bytes"`
	Untiled     int64      `json:"untiled"`
	Budget      int64      `json:"budget"`
	Fits        bool       `json:"fits"`
	Problem     string     `json:"problem"`
	Code        string     `json:"code"`
	Suggestion  string     `json:"suggestion"`
	FLOPs       int64      `json:"flops"`
	MACs        int64      `json:"macs"`
	Host        int64      `json:"host"`
	Moved       int64      `json:"moved"`
}

// newPlan describes a plan that produces the given frames; p is nil without a plan.
func newPlan(direction string, frames int, independent bool, p *vae.Plan) *plan {
	v := &plan{Direction: direction, Frames: frames, Independent: independent, Tiles: []rect{}, Tile: "off", Fits: true}
	if p == nil {
		return v
	}
	v.Height, v.Width = p.Tiles.Out.H, p.Tiles.Out.W
	for _, t := range p.Tiles.Tiles {
		v.Tiles = append(v.Tiles, rect{t.Out.Y0, t.Out.X0, t.Out.Y1 - t.Out.Y0, t.Out.X1 - t.Out.X0})
	}
	if !p.Tiles.Whole() {
		v.Tile, v.Tiling, v.Halo, v.Untiled = p.Tile.String(), p.Tiling, p.Halo.String(), p.Untiled
	}
	v.Overlap, v.Shrunk, v.Slices = p.Overlap.String(), p.Shrunk, p.Slices
	v.Weights, v.Activations, v.Causal, v.Canvas, v.Transfer, v.Spool = p.Weights, p.Activations, p.Causal, p.Canvas, p.Transfer, p.Spool
	v.Bytes, v.Budget, v.FLOPs, v.MACs, v.Host, v.Moved = p.Bytes(), p.Budget, p.Cost.FLOPs, p.Cost.MACs, p.Host, p.Moved
	return v
}

// errNoModel means that a job or plan came before a checkpoint.
var errNoModel = job.BadInput("session: no checkpoint is open")

func (s *Session) plannerModel() (*vae.Model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.planner == nil {
		return nil, errNoModel
	}
	return s.planner, nil
}

// asked returns the model and the choices of a request.
func (s *Session) asked(r *request) (m *vae.Model, want job.Choices, err error) {
	if m, err = s.plannerModel(); err == nil {
		want, err = r.Options.choices()
	}
	return m, want, err
}

// plan plans a job. A job that does not fit is a result, not an error.
func (s *Session) plan(r *request) (*plan, error) {
	m, want, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	q := r.Options
	if err := checkSize("plan", q.Frames, q.Height, q.Width); err != nil {
		return nil, err
	}
	frames, independent, p, err := q.plan(r.ctx, m, want)
	if err != nil && !unfit(err) {
		return nil, err
	}
	v := newPlan(q.Direction, frames, independent, p)
	if err != nil {
		v.Fits, v.Problem, v.Code = false, job.Plain(err.Error()), job.KindOf(err).Code
		want.Tile, want.Shrink = &tiling.Choice{Auto: true}, new(bool)
		if _, _, p, err := q.plan(r.ctx, m, want); err == nil {
			v.Suggestion = p.Tile.String()
		}
	}
	return v, r.ctx.Err()
}

// unfit reports whether an error says that something is too large.
func unfit(err error) bool {
	return errors.Is(err, vae.ErrMemory) || errors.Is(err, gpu.ErrTooLarge) || errors.Is(err, tiling.ErrBudget)
}

// plan plans the options' direction and returns the number of frames of the result.
func (o options) plan(ctx context.Context, m *vae.Model, want job.Choices) (frames int, independent bool, p *vae.Plan, err error) {
	switch o.Direction {
	case "decode":
		z := latent.Latent{Channels: m.Config.Latent, Frames: o.Frames, Height: o.Height, Width: o.Width}
		d, err := job.Decode(m.Config, z, "plan", want)
		if err != nil {
			return 0, false, nil, err
		}
		d.Options.RGBA8, d.Options.Preview, d.Options.Internals.Least = true, o.preview(), o.Least
		decode, err := d.Plan(ctx, m)
		if err == nil {
			p = decode.Plan
		}
		return d.Whole, d.Options.Independent, p, err
	case "encode":
		e, err := job.Encode(m.Config, media.Format{Frames: o.Frames, Height: o.Height, Width: o.Width}, "", want)
		if err != nil {
			return 0, false, nil, err
		}
		e.Options.Internals.Least = o.Least
		encode, err := e.Plan(ctx, m)
		if err == nil {
			p = encode.Plan
		}
		return e.Latent.Frames, e.Options.Independent, p, err
	}
	return 0, false, nil, job.BadInput("session: direction %q, expected decode or encode", o.Direction)
}

// preview reports whether to send tiles before they are blended.
func (o options) preview() bool { return o.Preview == nil || *o.Preview }

// text returns the option of a name, "" if the message lacks it.
func (o options) text(name string) string {
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("json") == name {
			return v.Field(i).String()
		}
	}
	return ""
}

// choices returns the options in a job's terms, within what a page may ask for.
func (o options) choices() (c job.Choices, err error) {
	for _, word := range job.Words() {
		text := o.text(word.Name)
		if text == "" {
			continue
		}
		if err := word.Set(&c, text); err != nil {
			return c, err
		}
	}
	if o.Budget < 0 || o.Chunk < 0 || o.Chunk > maxChunk {
		return c, job.BadInput("session: memory of %d bytes, chunk of %d latent frames, expected 0 or more, and at most %d frames", o.Budget, o.Chunk, maxChunk)
	}
	c.Shrink, c.Budget, c.Chunk = o.Shrink, o.Budget, o.Chunk
	c.Independent, c.Scale, c.Sample, c.Seed = o.Independent, o.Scale, o.Sample, o.Seed
	_, err = c.Options()
	return c, err
}
