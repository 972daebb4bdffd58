//go:build !js

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Decoder is a whole decode, by the program and by onnxruntime's WebGPU provider.
type Decoder struct {
	Model  string  `json:"model"`
	Frames int     `json:"frames"`
	Height int     `json:"height"`
	Width  int     `json:"width"`
	Peer   string  `json:"peer"`
	Nodes  int     `json:"nodes"`       // of its graph
	CPU    float64 `json:"cpu_nmse"`    // of the graph in onnxruntime's CPU provider, relative to ours
	WebGPU float64 `json:"webgpu_nmse"` // in the WebGPU provider

	Theirs  Time    `json:"theirs"`  // a warm run of a session
	Program Time    `json:"program"` // from its start to its end, including files
	Decode  Time    `json:"decode"`  // the decode's time, as the program reports it
	Ratio   float64 `json:"ratio"`   // theirs divided by the program's
	Alone   float64 `json:"ratio_of_decode"`
	Bar     float64 `json:"bar"`
}

// The decode: the model of make demo, all of a clip at once.
const (
	small    = "assets/tiny-seedvr2.safetensors"
	latents  = 3
	cells    = 12 // rows and columns of the latent
	programs = 2  // runs of the program in a turn
)

func runDecoder(o options) (*Decoder, error) {
	folder := filepath.Join(o.build, "decoder")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	size := strconv.Itoa(cells)
	py, err := startPython(o.python, scripts+"decoder.py", small, folder, strconv.Itoa(latents), size, size)
	if err != nil {
		return nil, err
	}
	defer py.end()
	fmt.Fprintln(os.Stderr, "peers: a whole decoder")
	d := &Decoder{Model: small, Bar: 6, Peer: "onnxruntime-webgpu " + py.versions["onnxruntime-webgpu"]}
	if _, _, err := d.program(o, folder); err != nil { // the first run compiles
		return nil, err
	}
	if err := py.ask(d, "check"); err != nil {
		return nil, err
	}
	if !(d.CPU <= most) || !(d.WebGPU <= most) {
		return nil, fmt.Errorf("decoder: onnxruntime's results differ from ours by NMSE %g (CPU) and %g (WebGPU)", d.CPU, d.WebGPU)
	}
	d.Theirs.Name, d.Program.Name, d.Decode.Name = d.Peer, us+" decode", us
	for range o.rounds {
		var seconds float64
		if err := py.ask(&seconds, "run"); err != nil {
			return nil, err
		}
		d.Theirs.All = append(d.Theirs.All, seconds)
		for range programs {
			whole, decode, err := d.program(o, folder)
			if err != nil {
				return nil, err
			}
			d.Program.All, d.Decode.All = append(d.Program.All, whole), append(d.Decode.All, decode)
		}
		time.Sleep(o.rest)
	}
	for _, t := range []*Time{&d.Theirs, &d.Program, &d.Decode} {
		t.conclude()
	}
	d.Ratio, d.Alone = d.Theirs.Median/d.Program.Median, d.Theirs.Median/d.Decode.Median
	return d, nil
}

// program runs tessera decode and returns the seconds of all of it, and of the decode.
func (d *Decoder) program(o options, folder string) (whole, decode float64, err error) {
	cmd := exec.Command(filepath.Join(o.build, "tessera"), "decode", "-m", small, filepath.Join(folder, "z.npy"), "-o", filepath.Join(folder, "out.npy"), // #nosec G204
		"--scale", "none", "--tile", "off", "--precision", "f32", "--json", "--progress", "none")
	var errors strings.Builder
	cmd.Stderr = &errors
	start := time.Now()
	out, err := cmd.Output()
	whole = time.Since(start).Seconds()
	if err != nil {
		return 0, 0, fmt.Errorf("tessera decode: %w: %s", err, errors.String())
	}
	var said struct {
		Frames, Height, Width int
		Decode                struct{ Seconds float64 }
	}
	err = json.Unmarshal(out, &said)
	d.Frames, d.Height, d.Width = said.Frames, said.Height, said.Width
	return whole, said.Decode.Seconds, err
}

func (d *Decoder) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## A whole decoder\n\n%s, %d frames of %d×%d pixels in one tile, f32. %s runs it as a graph of %d nodes, in a session that has run before; its CPU provider's result differs from ours by NMSE %.0e, its WebGPU provider's by %.0e. `tessera decode` is the program from its start to its end, with its checkpoint, shaders from the cache and the file that it writes.\n\n",
		filepath.Base(d.Model), d.Frames, d.Width, d.Height, d.Peer, d.Nodes, d.CPU, d.WebGPU)
	b.WriteString("| onnxruntime, s | tessera decode, s | ratio | bar | of that the decode, s | ratio |\n|---|---|---|---|---|---|\n")
	fmt.Fprintf(b, "| %.2f | %.2f | %s | %.0f× | %.2f | %.1f× |\n", d.Theirs.Median, d.Program.Median, ratio(d.Ratio, d.Bar), d.Bar, d.Decode.Median, d.Alone)
}
