package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"tessera/app/files"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/temporary"
	"tessera/vae"
)

// checkAlpha refuses a checkpoint that cannot decode the alpha of another one's frames.
func (c *decodeCmd) checkAlpha(a *app, colours vae.Config) error {
	alpha, err := a.machines.CheckFor(a.ctx, c.AlphaModel, c.Settings(c.Forcing), "decode")
	if err != nil {
		return err
	}
	shape := func(c vae.Config) string {
		return fmt.Sprintf("%s of %d latent channels, cells of %dx%d pixels and %d channels in one", c.Family, c.Latent, c.Decoded(), c.Decoded(), c.Channels)
	}
	want := colours
	want.Channels = 3
	if shape(alpha) != shape(want) || colours.Channels != 3 {
		return job.BadInput("--alpha-model=%s is %s, expected %s as the colours' decoder, which is %s", c.AlphaModel, shape(alpha), shape(want), shape(colours))
	}
	return nil
}

// alphas stores the alpha of decoded frames in a temporary file: the mean of the three
// channels of a second decoder.
type alphas struct {
	file  *temporary.File
	write int64
	read  int64
	row   []byte
}

// decodeAlpha decodes a latent with the second checkpoint.
func (c *decodeCmd) decodeAlpha(a *app, d job.Decoding) (al *alphas, err error) {
	e, err := a.machines.Open(a.ctx, c.Chosen(), c.AlphaModel, c.Settings(c.Forcing))
	if err != nil {
		return nil, err
	}
	defer e.Close()
	d.Options.RGBA8 = false
	plan, err := e.PlanDecode(a.ctx, d)
	if err != nil {
		return nil, err
	}
	bytes := 4 * int64(d.Latent.Clips()) * int64(d.Clip.Frames) * int64(d.Clip.Height) * int64(d.Clip.Width)
	if err := (files.Disk{Spool: plan.Spool, Alpha: bytes}).Room(a.Terminal, "decode of alpha"); err != nil {
		return nil, err
	}
	file, err := temporary.Open("alpha")
	if err != nil {
		return nil, fmt.Errorf("decode: room for alpha: %w", err)
	}
	al = &alphas{file: file}
	if _, err = e.Decode(a.ctx, plan, d, machine.TakerFunc(al.keep)); err != nil {
		al.close()
		return nil, err
	}
	return al, nil
}

// keep stores the alpha of the next frame.
func (al *alphas) keep(f vae.Frame) error {
	al.row = al.row[:0]
	for i := 0; i < len(f.Pixels); i += 3 {
		sum := float32(0)
		for _, v := range f.Pixels[i : i+3] {
			sum += max(-1, min(1, v))
		}
		al.row = binary.LittleEndian.AppendUint32(al.row, math.Float32bits(sum/3))
	}
	if _, err := al.file.WriteAt(al.row, al.write); err != nil {
		return fmt.Errorf("decode: alpha, %d bytes so far, into %s: %w", al.write, os.TempDir(), err)
	}
	al.write += int64(len(al.row))
	return nil
}

// next adds the next frame's alpha to its colours.
func (al *alphas) next(rgba, rgb []float32) error {
	if n := len(rgb) / 3 * 4; len(al.row) != n {
		al.row = make([]byte, n)
	}
	if n, err := al.file.ReadAt(al.row, al.read); n < len(al.row) {
		return fmt.Errorf("decode: alpha at byte %d: %w", al.read, err)
	}
	al.read += int64(len(al.row))
	for i := range len(rgb) / 3 {
		copy(rgba[4*i:], rgb[3*i:3*i+3])
		rgba[4*i+3] = math.Float32frombits(binary.LittleEndian.Uint32(al.row[4*i:]))
	}
	return nil
}

func (al *alphas) close() error { return al.file.Close() }

// withAlpha writes frames of colours with their alpha.
type withAlpha struct {
	*clipWriter
	alphas *alphas
	rgba   []float32
}

func (w *withAlpha) Take(f vae.Frame) error {
	if len(w.rgba) != 4*f.Height*f.Width {
		w.rgba = make([]float32, 4*f.Height*f.Width)
	}
	if err := w.alphas.next(w.rgba, f.Pixels); err != nil {
		return err
	}
	return w.sink.WriteFrame(w.rgba)
}
