// Command flat decodes a long clip and plots the memory of the device and of the
// process meanwhile. docs/performance.md#memory has the command.
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"tessera/gpu"
	"tessera/vae"
)

func main() {
	log.SetFlags(0)
	model := flag.String("m", "assets/tiny-seedvr2.safetensors", "checkpoint")
	frames := flag.Int("frames", 501, "frames of the latent, whose numbers are drawn")
	cells := flag.Int("cells", 6, "cells of the latent along each side")
	offload := flag.String("offload", "auto", "auto, on or off, as of tessera decode")
	out := flag.String("o", "flat.svg", "plot to write")
	flag.Parse()
	if err := run(*model, *frames, *cells, vae.Offload(*offload), *out); err != nil {
		log.Fatal(err)
	}
}

// sample is the memory after a frame, in bytes.
type sample struct{ device, process int64 }

func run(model string, frames, cells int, offload vae.Offload, out string) error {
	dev, err := gpu.Open(gpu.Options{Adapter: -1})
	if err != nil {
		return err
	}
	defer dev.Close()
	m, err := vae.Open(dev, model, vae.Settings{Precision: vae.F32})
	if err != nil {
		return err
	}
	defer m.Close()
	z := vae.Latent{Channels: m.Config.Latent, Frames: frames, Height: cells, Width: cells}
	r := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- what it decodes is not looked at
	for range z.Channels * frames * cells * cells {
		z.Data = append(z.Data, float32(r.NormFloat64()))
	}
	p, err := m.PlanDecode(context.Background(), frames, cells, cells, vae.DecodeOptions{Options: vae.Options{Offload: offload}, RGBA8: true})
	if err != nil {
		return err
	}
	var all []sample
	start := time.Now()
	for _, err := range p.Run(context.Background(), z, vae.Watch{}) {
		if err != nil {
			return err
		}
		now, err := resident()
		if err != nil {
			return err
		}
		all = append(all, sample{dev.Stats().Bytes, now})
	}
	took := time.Since(start)
	tenth := all[len(all)/10]
	last := all[len(all)-1]
	fmt.Printf("%s: %d frames of %dx%d in %.0f s\n", dev.Info().Name, len(all), p.Output().Width, p.Output().Height, took.Seconds())
	fmt.Printf("planned %d bytes on the host, %d to cross in all\n", p.Host, p.Moved)
	fmt.Printf("planned %d bytes; on the device %d after the first frame, %d after a tenth, %d after the last, peak %d\n",
		p.Bytes(), all[0].device, tenth.device, last.device, dev.Stats().PeakBytes)
	fmt.Printf("the process had %d bytes resident after the first frame, %d after a tenth, %d after the last\n", all[0].process, tenth.process, last.process)
	return os.WriteFile(out, plot(all), 0o666)
}

// resident returns the process's memory, which on lavapipe includes the device's.
func resident() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, line, _ := strings.Cut(string(text), "VmRSS:")
	var kilobytes int64
	_, err = fmt.Sscan(line, &kilobytes)
	return kilobytes << 10, err
}

// plot draws both by frame, as SVG.
func plot(all []sample) []byte {
	const left, right, top, bottom = 60.0, 700.0, 30.0, 250.0
	most := int64(0)
	for _, s := range all {
		most = max(most, s.device, s.process)
	}
	step := int64(1 << 20)
	for most > 6*step {
		step *= 2
	}
	x := func(i int) float64 { return left + (right-left)*float64(i)/float64(max(len(all)-1, 1)) }
	y := func(bytes int64) float64 { return bottom - (bottom-top)*float64(bytes)/float64(most) }
	var b bytes.Buffer
	fmt.Fprintln(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 300" font-family="sans-serif" font-size="12" fill="#222">`)
	fmt.Fprintln(&b, `<rect width="100%" height="100%" fill="#fff"/>`)
	fmt.Fprintf(&b, "<text x=\"%.0f\" y=\"18\" font-weight=\"bold\">MiB, by frames that are done</text>\n", left)
	for at := int64(0); at <= most; at += step {
		fmt.Fprintf(&b, "<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/><text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n",
			left, right, y(at), y(at), left-6, y(at)+4, at>>20)
	}
	for n := range 5 {
		i := n * (len(all) - 1) / 4
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"268\" text-anchor=\"middle\">%d</text>\n", x(i), i+1)
	}
	for _, line := range []struct {
		name, colour string
		of           func(s sample) int64
	}{{"the process, device and all", "#c63", func(s sample) int64 { return s.process }}, {"buffers on the device", "#36c", func(s sample) int64 { return s.device }}} {
		fmt.Fprintf(&b, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", line.colour)
		for i, s := range all {
			if every := cmp.Or(len(all)/320, 1); i%every == 0 || i == len(all)-1 {
				fmt.Fprintf(&b, "%.1f,%.1f ", x(i), y(line.of(s)))
			}
		}
		fmt.Fprintf(&b, "\"/><text x=\"%.0f\" y=\"%.1f\" fill=\"%s\" text-anchor=\"end\">%s</text>\n", right-4, y(line.of(all[len(all)/2]))-6, line.colour, line.name)
	}
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}
