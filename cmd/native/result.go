package main

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"tessera/app/job"
	"tessera/app/terminal"
	"tessera/engine"
	"tessera/gpu"
	"tessera/media"
	"tessera/vae"
)

// result is what a command did; its JSON is the interface for machines.
type result struct {
	Command   string              `json:"command"`
	Model     terminal.FileName   `json:"model,omitempty"`
	Input     terminal.FileName   `json:"input,omitempty"`
	Outputs   []terminal.FileName `json:"outputs"`
	Frames    int                 `json:"frames"`
	Height    int                 `json:"height"`
	Width     int                 `json:"width"`
	FPS       float64             `json:"fps,omitempty"`
	Latent    []int               `json:"latent"` // [C, L, h, w]
	Encode    *stage              `json:"encode,omitempty"`
	Decode    *stage              `json:"decode,omitempty"`
	Quality   *quality            `json:"quality,omitempty"`
	PeakBytes int64               `json:"peak_device_bytes"`
	Longest   float64             `json:"longest_piece_seconds"`       // of the pieces that work is submitted in
	First     float64             `json:"longest_first_piece_seconds"` // of those in which a shader ran for the first time
	Adapter   adapter             `json:"adapter"`
	Precision string              `json:"precision"`
	Scale     string              `json:"scale,omitempty"`              // the latent's numbers
	Pictures  bool                `json:"independent_frames,omitempty"` // each frame is a picture by itself
	Warnings  []string            `json:"warnings,omitempty"`

	Profile []*stageProfile `json:"profile,omitempty"`
}

// adapter is the part of gpu.Info that tells which one it was.
type adapter struct {
	Index   int    `json:"index"`
	Name    string `json:"name"`
	Backend string `json:"backend"`
	Type    string `json:"type"`
}

// stage is one direction's run.
type stage struct {
	Seconds      float64 `json:"seconds"`
	FramesPerSec float64 `json:"frames_per_second"`
	Tile         string  `json:"tile"`             // "off", or HxW in pixels
	Tiling       string  `json:"tiling,omitempty"` // of several tiles
	Overlap      string  `json:"overlap,omitempty"`
	Halo         string  `json:"halo,omitempty"` // of exact tiles, at most, HxW pixels
	Tiles        int     `json:"tiles"`
	Slices       int     `json:"slices"` // of each tile
	Chunk        int     `json:"chunk"`  // latent frames in each but the first, at most
	Shrunk       bool    `json:"shrunk"`
	PlannedBytes int64   `json:"planned_device_bytes"`
	UntiledBytes int64   `json:"untiled_device_bytes,omitempty"` // of exact tiles: in one tile; absent beyond the limits
	Host         int64   `json:"host_bytes,omitempty"`           // causal memory and weights that live on the host
	HostWeights  int64   `json:"host_weight_bytes,omitempty"`    // of these, weights
	Moved        int64   `json:"moved_bytes,omitempty"`          // of both, to the device and back, in a whole clip
	BudgetBytes  int64   `json:"budget_bytes"`
	FLOPs        int64   `json:"flops"`
	Shares       []share `json:"shares,omitempty"` // of the adapters but the first

	cut string
}

func newStage(l *vae.Plan, frames int, took time.Duration) *stage {
	s := &stage{
		Seconds: took.Seconds(), FramesPerSec: float64(frames) / took.Seconds(),
		Tile: "off", Tiles: len(l.Tiles.Tiles), Slices: l.Slices, Chunk: l.Chunk, Shrunk: l.Shrunk,
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
	switch {
	case l.Tiles.Whole():
	case l.Tiling == vae.Exact:
		s.Tile, s.Tiling, s.Halo, s.UntiledBytes = l.Tile.String(), string(l.Tiling), l.Halo.String(), l.Untiled
	default:
		s.Tile, s.Tiling, s.Overlap = l.Tile.String(), string(l.Tiling), l.Overlap.String()
	}
	return s
}

// quality is how close a decoded clip came to the original.
type quality struct {
	PSNR   decibels       `json:"psnr_db"`
	SSIM   float64        `json:"ssim"`
	Frames []frameQuality `json:"frames"`
}

type frameQuality struct {
	PSNR decibels `json:"psnr_db"`
	SSIM float64  `json:"ssim"`
}

func newQuality(q *media.Quality) *quality {
	all := q.Overall()
	out := &quality{PSNR: decibels(all.PSNR), SSIM: all.SSIM}
	for _, f := range q.Frames() {
		out.Frames = append(out.Frames, frameQuality{decibels(f.PSNR), f.SSIM})
	}
	return out
}

// decibels are null in JSON where they are infinite: the frames are identical.
type decibels float64

// MarshalJSON writes a number or null.
func (d decibels) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(d), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(d), 'f', 4, 64), nil
}

func (d decibels) String() string { return fmt.Sprintf("%.2f dB", float64(d)) }

// result begins the result of a command that ran on e.
func (a *app) result(command string, e *machine, model, input string) *result {
	r := &result{
		Command: command, Model: terminal.FileName(model), Input: terminal.FileName(a.Spoken(input)),
		Adapter: newAdapter(e.dev.Info()), Precision: e.precision(),
	}
	r.device(e.dev.Stats())
	return r
}

// device takes over what the device counted.
func (r *result) device(s gpu.Stats) {
	r.PeakBytes, r.Longest, r.First = s.PeakBytes, s.Longest.Seconds(), s.LongestFirst.Seconds()
}

func newAdapter(i gpu.Info) adapter { return adapter{i.Index, i.Name, i.Backend, i.Type} }

func (r *result) clip(f media.Format) {
	r.Frames, r.Height, r.Width, r.FPS = f.Frames, f.Height, f.Width, f.FPS.Float()
}

// finish prints a result: as JSON, or for people.
func (a *app) finish(r *result) error {
	r.Warnings = a.Warnings
	for i, o := range r.Outputs {
		r.Outputs[i] = terminal.FileName(a.Spoken(string(o)))
	}
	a.made = r
	if a.Progress == "json" {
		a.Event(terminal.Event{Event: "result", Result: r})
	}
	if a.JSON {
		return a.Print(r)
	}
	if r.Encode != nil {
		a.Say("encoded  %s of %dx%d in %s", frames(r.Frames), r.Height, r.Width, r.Encode)
	}
	if r.Decode != nil {
		a.Say("decoded  %s of %dx%d in %s", frames(r.Frames), r.Height, r.Width, r.Decode)
	}
	if q := r.Quality; q != nil {
		a.Say("quality  PSNR %v, SSIM %.3f", q.PSNR, q.SSIM)
	}
	a.Say("device   %s (%s), %s, peak memory %s", r.Adapter.Name, r.Adapter.Backend, r.Precision, engine.Bytes(r.PeakBytes))
	for i, o := range r.Outputs {
		head := "wrote   "
		if i > 0 {
			head = "        "
		}
		a.Say("%s %s", head, o)
	}
	return nil
}

// frames prints a number of frames.
func frames(n int) string {
	if n == 1 {
		return "1 frame"
	}
	return fmt.Sprintf("%d frames", n)
}

func (s *stage) String() string {
	return fmt.Sprintf("%.1f s, %s frames/s, %s", s.Seconds, terminal.Figures(s.FramesPerSec), s.cut)
}
