package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"tessera/app/job"
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

// Forms of an answer, diffusers' output types.
const (
	formTensor  = "pt"  // floats in [-1,1], [B,C,T,H,W]
	formCodes   = "u8"  // pixels of 8 bits, [N,H,W,C]
	formUnit    = "01"  // floats in [0,1], [N,C,H,W]
	formPicture = "pil" // a PNG or JPEG
	formVideo   = "mp4"
)

// decodeRequest is a remote_decode request.
type decodeRequest struct {
	model  *model
	shape  []int // of the body
	dtype  dtype
	height int // of packed latents
	width  int
	form   string
	jpeg   bool
	want   job.Choices
}

// decodeRequest reads the query and headers of a remote_decode request.
func (a *API) decodeRequest(r *http.Request) (*decodeRequest, error) {
	q := newQuery(r.URL.RawQuery)
	d := &decodeRequest{shape: q.shape("shape"), dtype: q.dtype(half, brain, float)}
	d.height, d.width = q.whole("height", maxPixel), q.whole("width", maxPixel)
	format := q.one("image_format", "jpg", "jpeg", "png")
	d.jpeg = format != "png"
	d.form = form(q.one("output_type", "pil", "pt", "mp4"), q.is("partial_postprocess"), r.Header.Get("Accept"))
	d.want = q.choices(a.o)
	var err error
	if d.model, err = a.models.find(q.text("model")); err != nil {
		return nil, err
	}
	q.scale(&d.want, d.model.config)
	if s := d.shape; d.model.config.Packed && q.text("do_scaling") == "" && (len(s) == 3 || len(s) > 3 && s[1] == 4*d.model.config.Latent) {
		d.want.Scale = latent.ScalePipeline // a packed latent has a pipeline's scale
	}
	if err := q.end(); err != nil {
		return nil, err
	}
	return d, nil
}

// form returns the answer's form for an output_type. A video model's "pil" is a tensor,
// which remote_decode requests by its Accept header.
func form(output string, partial bool, accept string) string {
	switch {
	case output == "pt" && partial:
		return formCodes
	case output == "pt":
		return formTensor
	case output == "mp4":
		return formVideo
	case strings.HasPrefix(accept, "tensor/"):
		return formUnit
	}
	return formPicture
}

// dtype reads how the body's numbers are stored.
func (q *query) dtype(of ...dtype) dtype {
	names := make([]string, len(of))
	for i, d := range of {
		names[i] = string(d)
	}
	v := q.text("dtype")
	if !slices.Contains(names, v) {
		q.refuse(bad("dtype is %.40q, expected %s", v, strings.Join(names, ", ")))
		return float
	}
	return dtype(v)
}

// latent describes the latent in a body, without its numbers. The body holds a batch of
// clips [B,C,T,h,w], or [B,C*T,h,w] as ComfyUI's samplers leave SeedVR2's, of pictures
// [B,C,h,w], or of packed pictures [B,h/2*w/2,C*4].
func (d *decodeRequest) latent() (z latent.Latent, err error) {
	c, s := d.model.config, d.shape
	switch {
	case len(s) == 5 && s[1] == c.Latent:
		z = latent.Latent{Batch: s[0], Channels: s[1], Frames: s[2], Height: s[3], Width: s[4]}
	case len(s) == 4 && (s[1] == c.Latent || c.ComfyUIFolded && s[1]%c.Latent == 0):
		z = latent.Latent{Batch: s[0], Channels: c.Latent, Frames: s[1] / c.Latent, Height: s[2], Width: s[3]}
	case c.Packed && len(s) == 5 && s[1] == 4*c.Latent:
		z = latent.Latent{Batch: s[0], Channels: s[1], Frames: s[2], Height: s[3], Width: s[4]}.Unpack()
	case c.Packed && len(s) == 4 && s[1] == 4*c.Latent:
		z = latent.Latent{Batch: s[0], Channels: s[1], Frames: 1, Height: s[2], Width: s[3]}.Unpack()
	case len(s) == 3 && s[2] == 4*c.Latent:
		h, w := d.height/(2*c.Spatial), d.width/(2*c.Spatial)
		if h < 1 || w < 1 || h*w != s[1] {
			return z, bad("packed latents of shape %v need height and width, with height*width/%d tokens", s, 4*c.Spatial*c.Spatial)
		}
		z = latent.Latent{Batch: s[0], Channels: c.Latent, Frames: 1, Height: 2 * h, Width: 2 * w, Packed: c.Packed}
	default:
		return z, bad("shape is %v, expected [B,%d,T,h,w], [B,%d,h,w] or packed [B,h/2*w/2,%d] for %s", s, c.Latent, c.Latent, 4*c.Latent, d.model.name)
	}
	n := float64(z.Batch) * float64(z.Channels) * float64(z.Frames) * float64(z.Height) * float64(z.Width)
	if h, w := z.Height*c.Decoded(), z.Width*c.Decoded(); n > maxValue || h > maxPixel || w > maxPixel {
		return z, tooLarge("a latent of shape %v, expected at most %d values, and frames of at most %dx%d pixels", s, maxValue, maxPixel, maxPixel)
	}
	return z, media.CheckLatentMemory(z)
}

// whole reorders the data of a latent that came in the given shape.
func whole(z latent.Latent, shape []int) latent.Latent {
	switch {
	case len(shape) == 3:
		z.Data = latent.Unpacked(z.Data, z.Channels, z.Height, z.Width)
	case z.Packed:
		data := z.Data
		z.Data = nil
		z = z.Pack()
		z.Data = data
		z = z.Unpack()
	}
	return z
}

// remoteDecode answers diffusers' remote_decode.
func (a *API) remoteDecode(w http.ResponseWriter, r *http.Request, client string) error {
	q, err := a.decodeRequest(r)
	if err != nil {
		return err
	}
	z, err := q.latent()
	if err != nil {
		return err
	}
	leave, err := a.places.enter(client)
	if err != nil {
		return err
	}
	defer leave()
	body, err := a.receive(w, r, client, bytesOf(q.shape, q.dtype))
	if err != nil {
		return err
	}
	defer body.Close()
	d, err := job.Decode(q.model.config, z, "the tensor", q.want)
	if err != nil {
		return err
	}
	if err := q.fits(d); err != nil {
		return err
	}
	var out *answer
	defer func() { out.close() }()
	err = a.during(r.Context(), client, q.model, vae.Watch{}, func(t *turn) error {
		if z.Data, err = readFloats(body, q.dtype, int(body.size)/q.dtype.bytes()); err != nil {
			return err
		}
		z = whole(z, q.shape)
		if d, err = job.Decode(q.model.config, z, "the tensor", q.want); err != nil { // also checks the numbers
			return err
		}
		if out, err = t.answer(q, d); err != nil {
			return err
		}
		d.Options.RGBA8 = out.bytes
		return t.decode(d, out.take)
	})
	if err != nil {
		return err
	}
	if err := out.end(); err != nil {
		return err
	}
	for _, text := range d.Warnings {
		w.Header().Add("Tessera-Warning", a.message(text))
	}
	return a.send(w, out.header, out.spool)
}

// answer is a decode's answer, assembled frame by frame.
type answer struct {
	header map[string]string
	spool  *spool
	bytes  bool // frames have 8 bits
	take   func(clip int, f vae.Frame) error
	end    func() error // after the last frame, before spool is read
	abort  func()       // removes everything
}

// close releases the answer's storage; o may be nil.
func (o *answer) close() {
	if o == nil {
		return
	}
	o.abort()
	if o.spool != nil {
		o.spool.Close()
	}
}

// fits refuses a clip that the answer's form cannot hold.
func (q *decodeRequest) fits(d job.Decoding) error {
	clips := d.Latent.Clips()
	switch frames := clips * d.Clip.Frames; {
	case q.form == formPicture && frames != 1:
		return bad("%d frames are not a picture: use output_type pt or mp4, or give remote_decode a processor", frames)
	case q.form == formVideo && clips != 1:
		return bad("%d clips are not one video: use output_type pt", clips)
	}
	return nil
}

// answer opens the answer to a decode.
func (t *turn) answer(q *decodeRequest, d job.Decoding) (*answer, error) {
	switch q.form {
	case formPicture:
		return t.picture(q.jpeg, d.Clip), nil
	case formVideo:
		return t.video(d.Clip)
	}
	return t.tensor(q, d)
}

// tensor opens an answer of numbers.
func (t *turn) tensor(q *decodeRequest, d job.Decoding) (*answer, error) {
	f, clips := d.Clip, d.Latent.Clips()
	store, shape := q.dtype, []int{clips, f.Channels, f.Frames, f.Height, f.Width}
	switch {
	case q.form == formCodes:
		store, shape = code, []int{clips * f.Frames, f.Height, f.Width, f.Channels}
	case q.form == formUnit:
		shape = []int{clips * f.Frames, f.Channels, f.Height, f.Width}
	case len(q.shape) == 4 && d.Latent.Frames == 1:
		shape = []int{clips, f.Channels, f.Height, f.Width}
	}
	s, err := t.api.disk.spool(t.client, bytesOf(shape, store))
	if err != nil {
		return nil, err
	}
	o := &answer{header: tensorHeader(shape, store), spool: s, bytes: q.form == formCodes, end: func() error { return nil }, abort: func() {}}
	if o.bytes {
		o.take = pack(s, f)
		return o, nil
	}
	p := &planes{to: s, dtype: store, unit: q.form == formUnit, channels: f.Channels}
	o.take = func(clip int, v vae.Frame) error {
		first, step := clip*f.Channels*f.Frames+v.Index, f.Frames // planes of [B,C,T,H,W]
		if p.unit {
			first, step = (clip*f.Frames+v.Index)*f.Channels, 1
		}
		return p.put(v.Pixels, first, step)
	}
	return o, nil
}

// tensorHeader returns the headers that remote_decode reads.
func tensorHeader(shape []int, d dtype) map[string]string {
	text, _ := json.Marshal(shape) // numbers only
	return map[string]string{"Content-Type": "tensor/binary", "Shape": string(text), "Dtype": string(d)}
}

// planes stores the channels of frames as planes of a tensor.
type planes struct {
	to       io.WriterAt
	dtype    dtype
	unit     bool // [0,1] instead of [-1,1]
	channels int
	values   []float32
	raw      []byte
}

// put stores a frame [H,W,C] as planes first, first+step and so on.
func (p *planes) put(frame []float32, first, step int) error {
	pixels := len(frame) / p.channels
	if p.raw == nil {
		p.values, p.raw = make([]float32, pixels), make([]byte, pixels*p.dtype.bytes())
	}
	for c := range p.channels {
		for i := range p.values {
			v := frame[i*p.channels+c]
			if p.unit {
				v = min(max(v/2+0.5, 0), 1)
			}
			p.values[i] = v
		}
		p.dtype.put(p.raw, p.values)
		if _, err := p.to.WriteAt(p.raw, int64(first+c*step)*int64(len(p.raw))); err != nil {
			return fmt.Errorf("api: %w", err)
		}
	}
	return nil
}

// pack stores frames of 8 bits, [H,W,C] each.
func pack(to io.WriterAt, f media.Format) func(clip int, v vae.Frame) error {
	packed := make([]byte, f.Height*f.Width*f.Channels)
	return func(clip int, v vae.Frame) error {
		for i := range f.Height * f.Width {
			copy(packed[i*f.Channels:][:f.Channels], v.RGBA[4*i:])
		}
		if _, err := to.WriteAt(packed, int64(clip*f.Frames+v.Index)*int64(len(packed))); err != nil {
			return fmt.Errorf("api: %w", err)
		}
		return nil
	}
}

// jpegQuality is higher than most programs' default because users examine a VAE's
// pictures closely.
const jpegQuality = 95

// picture opens an answer that is one PNG or JPEG.
func (t *turn) picture(asJPEG bool, f media.Format) *answer {
	o := &answer{header: map[string]string{"Content-Type": "image/png"}, bytes: true, abort: func() {}}
	encode := png.Encode
	if asJPEG {
		o.header["Content-Type"] = "image/jpeg"
		encode = func(w io.Writer, img image.Image) error {
			return jpeg.Encode(w, img, &jpeg.Options{Quality: jpegQuality})
		}
	}
	var pixels []byte
	o.take = func(_ int, v vae.Frame) error {
		pixels = slices.Clone(v.RGBA)
		return nil
	}
	o.end = func() (err error) {
		rect := image.Rect(0, 0, f.Width, f.Height)
		var img image.Image = &image.RGBA{Pix: pixels, Stride: 4 * f.Width, Rect: rect}
		if f.Channels == 4 {
			img = &image.NRGBA{Pix: pixels, Stride: 4 * f.Width, Rect: rect}
		}
		var b bytes.Buffer
		if err := encode(&b, img); err != nil {
			return fmt.Errorf("api: %w", err)
		}
		o.spool, err = t.api.disk.keep(t.client, &b, int64(b.Len()))
		return err
	}
	return o
}

// video opens an answer that is an .mp4 by ffmpeg.
func (t *turn) video(f media.Format) (*answer, error) {
	path, remove := t.api.file(".mp4")
	sink, err := media.Create(t.ctx, path, f)
	if err != nil {
		return nil, err
	}
	o := &answer{header: map[string]string{"Content-Type": "video/mp4"}, bytes: true}
	o.take = func(_ int, v vae.Frame) error { return sink.WriteRGBA8(v.RGBA) }
	o.end = func() error {
		if err := sink.Close(); err != nil {
			return err
		}
		from, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("api: %w", err)
		}
		defer from.Close()
		info, err := from.Stat()
		if err != nil {
			return fmt.Errorf("api: %w", err)
		}
		o.spool, err = t.api.disk.keep(t.client, from, info.Size())
		return err
	}
	o.abort = func() {
		_ = sink.Abort() // does nothing after Close
		remove()
	}
	return o, nil
}

// reply sends an answer.
func reply(w http.ResponseWriter, header map[string]string, s *spool) error {
	h := w.Header()
	for name, value := range header {
		h.Set(name, value)
	}
	h.Set("Content-Length", strconv.FormatInt(s.size, 10))
	w.WriteHeader(http.StatusOK)
	_, _ = io.Copy(w, io.NewSectionReader(s, 0, s.size)) // the client may have gone
	return nil
}

// tooLarge refuses a request beyond a limit.
func tooLarge(format string, args ...any) error {
	return &problem{status: http.StatusRequestEntityTooLarge, code: "too_large", err: fmt.Errorf(format, args...)}
}
