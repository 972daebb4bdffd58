package flags

import (
	"context"
	"errors"
	"fmt"

	"tessera/app/files"
	"tessera/app/terminal"
	"tessera/media"
)

// VideoInput chooses how a video is read.
type VideoInput struct {
	AcceptDamaged bool   `group:"input" help:"Keep the readable part of a damaged or truncated video, with a warning; by default it is refused."`
	Matrix        string `group:"input" enum:"bt601,bt709,bt2020,default" default:"default" placeholder:"MATRIX" help:"Colour matrix of the video: bt601, bt709 or bt2020; default: as tagged in the file, else bt601, as ffmpeg writes."`
	Track         uint8  `group:"input" placeholder:"N" help:"Video track to read, counted from 1, including covers; default: what players show, the first marked as default, else the first that is not a cover."`
	ToneMap       bool   `group:"input" help:"Convert HDR video and pictures (PQ, HLG) to SDR with ffmpeg's zscale and tonemap; by default the numbers are used unchanged."`
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

// VideoOutput chooses what ffmpeg writes.
type VideoOutput struct {
	CRF    string `group:"output" everyday:"" name:"crf" placeholder:"N" help:"Quality of ffmpeg's video, lower is better; default 16 for H.264, 18 for VP9."`
	Codec  string `group:"output" placeholder:"NAME" help:"ffmpeg encoder; default libx264, for .webm libvpx-vp9."`
	PixFmt string `group:"output" placeholder:"NAME" help:"ffmpeg pixel format; default yuv420p, for odd sizes yuv444p. Pictures: rgb24 (default) or rgb48be (16 bits). OpenEXR: gbrpf32le (default) or gbrpf16le, also for a folder."`
}

// CreateVideo starts an output with the flags and o.
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
