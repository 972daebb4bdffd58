// Package report describes what a job did, for machines and for people.
//
// A Result is the JSON of --json, of the event "result" and of a line of batch; Print
// prints it as the terminal's flags say. A Stage is one direction of the job, made by
// NewStage from the plan that ran. A Profile says where a stage's time went: as tables, and
// with Trace as a file for chrome://tracing.
package report

import (
	"tessera/app/terminal"
	"tessera/engine"
	"tessera/gpu"
	"tessera/media"
	"tessera/vae"
)

// Result describes what a command did; its JSON is for machines.
type Result struct {
	Command   string              `json:"command"`
	Model     terminal.FileName   `json:"model,omitempty"`
	Input     terminal.FileName   `json:"input,omitempty"`
	Outputs   []terminal.FileName `json:"outputs"`
	Frames    int                 `json:"frames"`
	Height    int                 `json:"height"`
	Width     int                 `json:"width"`
	FPS       float64             `json:"fps,omitempty"`
	Latent    []int               `json:"latent"` // [C, L, h, w]
	Encode    *Stage              `json:"encode,omitempty"`
	Decode    *Stage              `json:"decode,omitempty"`
	Quality   *Quality            `json:"quality,omitempty"`
	PeakBytes int64               `json:"peak_device_bytes"`
	Longest   float64             `json:"longest_piece_seconds"`       // of the submitted pieces
	First     float64             `json:"longest_first_piece_seconds"` // of the pieces that ran a shader for the first time
	Adapter   Adapter             `json:"adapter"`
	Precision string              `json:"precision"`
	Scale     string              `json:"scale,omitempty"`              // of the latent's numbers
	Pictures  bool                `json:"independent_frames,omitempty"` // each frame is a separate picture
	Warnings  []string            `json:"warnings,omitempty"`

	Profile []*Profile `json:"profile,omitempty"`
}

// New starts the result of a command that ran a model on a device.
func New(command string, dev *gpu.Device, m *vae.Model, model, input string) *Result {
	r := &Result{
		Command: command, Model: terminal.FileName(model), Input: terminal.FileName(input),
		Adapter: NewAdapter(dev.Info()), Precision: Precision(m),
	}
	r.Device(dev.Stats())
	return r
}

// Device copies the device's counts.
func (r *Result) Device(s gpu.Stats) {
	r.PeakBytes, r.Longest, r.First = s.PeakBytes, s.Longest.Seconds(), s.LongestFirst.Seconds()
}

// Clip copies the clip's format.
func (r *Result) Clip(f media.Format) {
	r.Frames, r.Height, r.Width, r.FPS = f.Frames, f.Height, f.Width, f.FPS.Float()
}

// Print prints the result: as JSON, or for people.
func (r *Result) Print(t *terminal.Terminal) error {
	r.Warnings = t.Warnings
	for i, o := range r.Outputs {
		r.Outputs[i] = terminal.FileName(t.Spoken(string(o)))
	}
	if t.Progress == "json" {
		t.Event(terminal.Event{Event: "result", Result: r})
	}
	if t.JSON {
		return t.Print(r)
	}
	if r.Encode != nil {
		t.Say("encoded  %s of %dx%d in %s", terminal.Frames(r.Frames), r.Width, r.Height, r.Encode)
	}
	if r.Decode != nil {
		t.Say("decoded  %s of %dx%d in %s", terminal.Frames(r.Frames), r.Width, r.Height, r.Decode)
	}
	if q := r.Quality; q != nil {
		t.Say("quality  PSNR %v, SSIM %.3f", q.PSNR, q.SSIM)
	}
	t.Say("device   %s (%s), %s, peak memory %s", r.Adapter.Name, r.Adapter.Backend, r.Precision, engine.Bytes(r.PeakBytes))
	for i, o := range r.Outputs {
		head := "wrote   "
		if i > 0 {
			head = "        "
		}
		t.Say("%s %s", head, o)
	}
	return nil
}
