package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"tessera/engine"
	"tessera/media"
)

// videoFlags choose how a video is read.
type videoFlags struct {
	AcceptDamaged bool   `help:"Keep what can be read of a video that is damaged or cut short, with a warning; default is to refuse it."`
	Matrix        string `enum:"bt601,bt709,bt2020,default" default:"default" placeholder:"MATRIX" help:"Colour matrix of the video: bt601, bt709 or bt2020; default what the file says, and bt601 where it says nothing, as ffmpeg writes."`
	Track         uint8  `placeholder:"N" help:"Video track to read, counted from 1 with covers among them; default is what players show: the first that is marked as default, else the first that is no cover."`
	ToneMap       bool   `help:"Make SDR of HDR video and pictures (PQ, HLG), by ffmpeg's zscale and tonemap; default is to take its numbers as they are."`
}

// video opens a clip.
func (f videoFlags) video(a *app, path string, channels int) (media.Clip, error) {
	o := media.OpenOptions{
		AcceptDamaged: f.AcceptDamaged,
		Track:         int(f.Track),
		ToneMap:       f.ToneMap,
		Warn:          func(text string) { a.Warn("%s", text) },
		Note:          func(text string) { a.Note("%s", text) },
	}
	if f.Matrix != "default" {
		o.Matrix = f.Matrix
	}
	clip, err := media.OpenWith(a.ctx, path, channels, o)
	if errors.Is(err, media.ErrDamaged) && !f.AcceptDamaged {
		err = fmt.Errorf("%w; --accept-damaged keeps what can be read", err)
	}
	return clip, err
}

// outFlags choose what ffmpeg writes.
type outFlags struct {
	CRF    string `name:"crf" placeholder:"N" help:"Quality of what ffmpeg writes, less is better; default 16 of H.264, 18 of VP9."`
	Codec  string `placeholder:"NAME" help:"ffmpeg's encoder; default libx264, in .webm libvpx-vp9."`
	PixFmt string `placeholder:"NAME" help:"Pixel format by ffmpeg's name; default yuv420p, for odd sizes yuv444p. Pictures: rgb24 (default) or rgb48be for 16 bits, .exr gbrpf32le (default) or gbrpf16le, which make a folder one of OpenEXR."`
}

// create begins the output, as flags and o say.
func (f outFlags) create(a *app, path string, format media.Format, o media.CreateOptions) (*media.Sink, error) {
	if path == streamed {
		o.To = a.out
	}
	o.CRF, o.Codec, o.PixelFormat = f.CRF, f.Codec, f.PixFmt
	if o.Warn == nil {
		o.Warn = func(text string) { a.Warn("%s", text) }
	}
	return media.CreateWith(a.ctx, a.outputName(path), format, o)
}

// disk is what a command keeps in temporary files at most, in bytes.
type disk struct {
	frames int64 // decoded
	spool  int64 // what the device has no room for
	output int64 // that is streamed, until it is complete
}

// hold has a clip that is decoded while it is read kept on disk where a plan reads
// its frames several times, and sees to the disk for that and for what else is
// needed.
func (a *app) hold(stage string, clip media.Clip, reads int, d disk) error {
	s, streamed := clip.(media.Streamed)
	if !streamed || reads < 2 {
		return a.room(stage, d)
	}
	d.frames = s.KeepBytes()
	if err := a.room(stage, d); err != nil {
		return err
	}
	return s.Keep()
}

// room says how much disk a stage takes, and refuses what the disk has not.
func (a *app) room(stage string, d disk) error {
	var what []string
	for _, part := range []struct {
		bytes int64
		text  string
	}{
		{d.frames, "decoded frames, which every tile reads"},
		{d.spool, "what the memory of the device has no room for"},
		{d.output, "the output until it is complete, since its frames are interleaved"},
	} {
		if part.bytes > 0 {
			what = append(what, engine.Bytes(part.bytes)+" for "+part.text)
		}
	}
	if len(what) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s: temporary files in %s take %s", stage, os.TempDir(), strings.Join(what, " and "))
	if free, known := freeSpace(os.TempDir()); known && free < d.frames+d.spool+d.output {
		return fmt.Errorf("%s; %s is free there; TMPDIR names another folder%s", text, engine.Bytes(free), d.smaller())
	}
	a.Note("%s", text)
	return nil
}

// smaller names the flags that help.
func (d disk) smaller() string {
	text := ""
	if d.frames > 0 || d.spool > 0 {
		text = ", and --tile off and --memory make them smaller"
	}
	if d.output > 0 {
		text += "; --format y4m needs none for the output"
	}
	return text
}
