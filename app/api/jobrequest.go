package api

import (
	"math"
	"slices"

	"tessera/app/job"
	"tessera/latent"
	"tessera/media"
)

// maxQuery limits the stored query of a request, in bytes.
const maxQuery = 4 << 10

// maxTrack is the highest video track number, as on the command line.
const maxTrack = 255

// Kinds of jobs.
const (
	kindDecode    = "decode"
	kindEncode    = "encode"
	kindRoundtrip = "roundtrip"
)

// Formats that jobs read and write, by file extension. Tensors, which have no extension,
// are stored as they lie in memory.
var (
	latentsIn  = []string{"safetensors", "tensor", "latent", "npy", "npz", "pt", "pth"}
	latentsOut = job.LatentFormats()
	videosIn   = []string{"mp4", "tensor", "mov", "mkv", "webm", "y4m", "npy", "safetensors", "png", "jpg", "webp", "tiff", "exr"}
	videosOut  = []string{"mp4", "mov", "mkv", "webm", "y4m", "u8", "f32", "npy", "safetensors", "png", "tiff", "exr"}
)

// types are the media types of outputs; others are application/octet-stream.
var types = map[string]string{
	"mp4": "video/mp4", "mov": "video/quicktime", "mkv": "video/x-matroska", "webm": "video/webm", "y4m": "video/x-yuv4mpeg",
	"png": "image/png", "tiff": "image/tiff", "exr": "image/x-exr", "u8": "tensor/binary", "f32": "tensor/binary",
}

// streams reports whether a client can read the format while it is written.
func streams(output string) bool { return slices.Contains([]string{"y4m", "u8", "f32"}, output) }

// jobRequest is the parsed query of a new job.
type jobRequest struct {
	kind   string
	model  *model
	input  string // format
	output string
	pixels string // format of pictures, "" for the default
	shape  []int  // of an input tensor
	dtype  dtype
	size   int64 // of an input sent in parts; 0: it comes with the request
	track  int   // of a video with several, from 1; 0: the one that players show
	want   job.Choices

	preview       *model // nil: none
	previewOutput string // format of the preview, "" for the default
}

// jobRequest reads the query of a new job.
func (a *API) jobRequest(text string) (*jobRequest, error) {
	if len(text) > maxQuery {
		return nil, bad("a query of %d bytes, expected at most %d", len(text), maxQuery)
	}
	q := newQuery(text)
	j := &jobRequest{kind: q.one("kind", kindDecode, kindEncode, kindRoundtrip), dtype: float}
	in, out := videosIn, videosOut
	if j.kind == kindDecode {
		in = latentsIn
	}
	if j.kind == kindEncode {
		out = latentsOut
	}
	j.input, j.output = q.one("input", in...), q.one("output", out...)
	if shape := q.shape("shape"); shape != nil {
		if j.input = "tensor"; q.text("input") != "" && q.text("input") != "tensor" {
			q.refuse(bad("shape needs input=tensor, not %s", q.text("input")))
		}
		j.shape = shape
		j.dtype = q.dtype(half, brain, float, code)
	} else if j.input == "tensor" {
		q.refuse(bad("input=tensor without a shape"))
	}
	j.pixels = q.one("pix_fmt", append([]string{""}, media.PixelFormats()...)...)
	j.want = q.choices(a.o)
	j.want.Scale = q.one("scale", "", latent.ScalePipeline, latent.ScaleNone)
	q.draw(&j.want)
	if j.kind == kindDecode && j.shape == nil {
		q.reading(&j.want)
	}
	what := "latent"
	if j.shape != nil {
		what = "tensor"
	}
	if j.track = q.whole("track", maxTrack); j.track > 0 && (j.kind == kindDecode || j.shape != nil) {
		q.refuse(bad("track is %d, but the input is a %s: only videos have tracks", j.track, what))
	}
	if v := q.float("size"); v != nil {
		if j.size = int64(*v); *v != math.Trunc(*v) || *v < 1 || *v > float64(a.o.Disk) {
			q.refuse(bad("size is %g, expected 1 to %d bytes", *v, a.o.Disk))
		}
	}
	var err error
	if j.model, err = a.models.find(q.text("model")); err != nil {
		return nil, err
	}
	if err := j.askPreview(a, q); err != nil {
		q.refuse(err)
	}
	if err := q.end(); err != nil {
		return nil, err
	}
	return j, j.check()
}

// check refuses combinations that no job can have.
func (j *jobRequest) check() error {
	if j.want.Moments && (j.kind != kindEncode || j.want.Scale == latent.ScalePipeline) {
		return bad("moments need kind=encode and no scaling")
	}
	if _, err := j.want.Options(); err != nil {
		return err
	}
	if j.pixels != "" && !slices.Contains([]string{"png", "tiff", "exr"}, j.output) {
		return bad("pix_fmt needs output=png, tiff or exr, not %s", j.output)
	}
	if err := media.CheckPicture("output."+j.output, j.pixels, j.model.config.Channels); j.pixels != "" && err != nil {
		return bad("%w", err)
	}
	if j.shape == nil {
		return nil
	}
	if j.kind == kindDecode {
		if j.dtype == code {
			return bad("a latent of dtype uint8, expected floats")
		}
		_, err := j.latent()
		return err
	}
	clips, err := j.tensor().clips(nil)
	if err == nil && len(clips) != 1 {
		err = bad("shape is %v, expected one clip [1,C,T,H,W]", j.shape)
	}
	return err
}

// bytes returns the input's size if the request gives it, else -1.
func (j *jobRequest) bytes() int64 {
	switch {
	case j.shape != nil:
		return bytesOf(j.shape, j.dtype)
	case j.size > 0:
		return j.size
	}
	return -1
}

// latent describes the latent in a tensor, without its numbers.
func (j *jobRequest) latent() (latent.Latent, error) {
	d := &decodeRequest{model: j.model, shape: j.shape}
	z, err := d.latent()
	if err == nil && (len(j.shape) == 3 || z.Clips() != 1) {
		err = bad("shape is %v, expected one clip [1,%d,T,h,w]", j.shape, z.Channels)
	}
	return z, err
}

// tensor returns the equivalent remote_encode request.
func (j *jobRequest) tensor() *encodeRequest {
	return &encodeRequest{model: j.model, shape: j.shape, dtype: j.dtype}
}

// clip opens an input tensor as a clip.
func (j *jobRequest) clip(from *inputFile, warn func(text string)) (media.Clip, error) {
	clips, err := j.tensor().open(from, warn)
	if err != nil {
		return nil, err
	}
	c, _ := clips[0].(*clip)
	return &tensorFile{c, j.want.FPS, from}, nil
}
