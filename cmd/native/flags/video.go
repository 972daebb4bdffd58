package flags

import (
	"context"
	"errors"
	"fmt"

	"tessera/app/files"
	"tessera/app/terminal"
	"tessera/media"
)

// VideoInput choose how a video is read.
type VideoInput struct {
	AcceptDamaged bool   `help:"Keep what can be read of a video that is damaged or cut short, with a warning; default is to refuse it."`
	Matrix        string `enum:"bt601,bt709,bt2020,default" default:"default" placeholder:"MATRIX" help:"Colour matrix of the video: bt601, bt709 or bt2020; default what the file says, and bt601 where it says nothing, as ffmpeg writes."`
	Track         uint8  `placeholder:"N" help:"Video track to read, counted from 1 with covers among them; default is what players show: the first that is marked as default, else the first that is no cover."`
	ToneMap       bool   `help:"Make SDR of HDR video and pictures (PQ, HLG), by ffmpeg's zscale and tonemap; default is to take its numbers as they are."`
}

// OpenVideo opens a clip.
func (f VideoInput) OpenVideo(ctx context.Context, t *terminal.Terminal, path string, channels int) (media.Clip, error) {
	o := media.OpenOptions{
		AcceptDamaged: f.AcceptDamaged,
		Track:         int(f.Track),
		ToneMap:       f.ToneMap,
		Warn:          func(text string) { t.Warn("%s", text) },
		Note:          func(text string) { t.Note("%s", text) },
	}
	if f.Matrix != "default" {
		o.Matrix = f.Matrix
	}
	clip, err := media.OpenWith(ctx, path, channels, o)
	if errors.Is(err, media.ErrDamaged) && !f.AcceptDamaged {
		err = fmt.Errorf("%w; --accept-damaged keeps what can be read", err)
	}
	return clip, err
}

// VideoOutput choose what ffmpeg writes.
type VideoOutput struct {
	CRF    string `name:"crf" placeholder:"N" help:"Quality of what ffmpeg writes, less is better; default 16 of H.264, 18 of VP9."`
	Codec  string `placeholder:"NAME" help:"ffmpeg's encoder; default libx264, in .webm libvpx-vp9."`
	PixFmt string `placeholder:"NAME" help:"Pixel format by ffmpeg's name; default yuv420p, for odd sizes yuv444p. Pictures: rgb24 (default) or rgb48be for 16 bits, .exr gbrpf32le (default) or gbrpf16le, which make a folder one of OpenEXR."`
}

// CreateVideo begins the output, as flags and o say.
func (f VideoOutput) CreateVideo(ctx context.Context, t *files.Streams, path string, format media.Format, o media.CreateOptions) (*media.Sink, error) {
	if path == files.Stream {
		o.To = t.Out
	}
	o.CRF, o.Codec, o.PixelFormat = f.CRF, f.Codec, f.PixFmt
	if o.Warn == nil {
		o.Warn = func(text string) { t.Warn("%s", text) }
	}
	return media.CreateWith(ctx, t.Name(path), format, o)
}
