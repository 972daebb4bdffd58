package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tessera/app/files"
	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/app/report"
	"tessera/app/resume"
	"tessera/app/terminal"
	"tessera/cmd/native/flags"
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

type decodeCmd struct {
	flags.Checkpoint
	flags.Forcing
	AlphaModel   string `group:"input" type:"checkpoint" placeholder:"MODEL" help:"Second checkpoint that decodes the latent's alpha channel, such as Wan-Alpha's; alpha is the mean of its three channels."`
	PreviewModel string `group:"input" type:"checkpoint" placeholder:"MODEL" help:"Tiny autoencoder (TAEHV, TAESD) that first decodes the whole clip to OUT.preview.mp4, or a picture to OUT.preview.png. The file is removed at the end."`
	Latent       string `arg:"" help:"Latent: .safetensors, .latent, .npy, .npz, .pt or .pth; - reads standard input." more:"Also a trainer's cache; .pt and .pth are from torch.save, .bin from diffusion-pipe."`
	Output       string `group:"output" everyday:"" short:"o" required:"" placeholder:"OUT" help:"Video or picture, such as out.mp4 or out.png; a folder for PNG files; - for standard output." more:"Formats: .png, .tiff, .exr, .y4m, .npy, .safetensors, and with ffmpeg .mp4, .mov, .mkv, .webm, .webp, .gif."`
	Format       string `group:"output" placeholder:"FORMAT" help:"Format of standard output (--output=-): y4m, npy or safetensors; default y4m."`
	flags.Clobbering
	Resume bool `group:"output" help:"Keep finished work in OUT.unfinished until the output is complete, and continue from it after an interruption. Use it from the start."`
	flags.Scaling
	LatentKey string `group:"latents" placeholder:"KEY" help:"Name of the tensor in a file with several, with or without the size in it, such as latents_image; default: latent, samples and similar names, or the only one."`
	flags.LatentLayout
	flags.Pictures
	flags.Sampling
	flags.VideoOutput
	Audio string     `group:"output" placeholder:"FROM" help:"File with the sound for the output, cut to the video's length; default none."`
	FPS   flags.Rate `group:"output" name:"fps" placeholder:"RATE" help:"Frame rate, such as 25 or 30000/1001; default: that of the encoded video, else 24."`
	flags.Device
	flags.Profiling
	flags.Tiles
}

// Validate refuses flags that contradict each other.
func (c *decodeCmd) Validate() error {
	if c.AlphaModel != "" && c.Resume {
		return errors.New("--resume and --alpha-model: expected one of the two")
	}
	if c.AlphaModel != "" && c.PreviewModel != "" {
		return errors.New("--preview-model and --alpha-model: expected one of the two")
	}
	if c.PreviewModel != "" && c.Output == files.Stream {
		return errors.New("--preview-model with --output=-: a preview is a file beside the output, expected the name of a file or folder")
	}
	return cmp.Or(c.Sampling.Validate(), c.Tiles.Validate())
}

// Help is shown below the flags.
func (decodeCmd) Help() string {
	return `If the latent's metadata has the size and length of the encoded video, the output is trimmed to them. --scale none leaves pixels unclamped in files of floats. A batch of clips becomes out_000.mp4, out_001.mp4 and so on; a batch of pictures becomes frames. If the input holds moments (encode --moments), decode uses the mean, or with --sample the sample that encode --sample draws.

    tessera decode -m ema_vae_fp16.safetensors latent.safetensors -o out.mp4
    tessera decode -m Wan2.1_VAE.pth latent.safetensors -o frames --tile 384
    tessera decode -m Wan2.1_VAE.pth latent.safetensors -o out.mp4 --tiling exact --memory 6GiB
    tessera decode -m Wan2.1_VAE.pth latent.safetensors -o out.mp4 --audio in.mp4 --crf 20
    tessera decode -m qwen_image_vae.safetensors ComfyUI_00001_.latent -o out.png
    tessera decode -m qwen_image_vae.safetensors ComfyUI_00001_.latent -o out.tiff --pix-fmt rgb48le
    tessera decode -m qwen_image_vae.safetensors packed.pt -o out.png --size 1328x1328
    tessera decode -m qwen_image_vae.safetensors cat_1024x1024_anima.npz -o out.png
    tessera decode -m rgb.safetensors --alpha-model alpha.safetensors latent.safetensors -o out.webp
    tessera decode -m Wan2.1_VAE.pth frames_first.npy -o out.mp4 --layout FCHW
    tessera decode -m Wan2.1_VAE.pth long.safetensors -o long.mp4 --resume
    tessera decode -m Wan2.1_VAE.pth --preview-model taew2_1.pth latent.safetensors -o out.mp4
    tessera decode -m Wan2.1_VAE.pth - -o - < latent.safetensors | ffmpeg -i - out.gif`
}

func (c *decodeCmd) Run(a *app) error {
	if err := a.streams.Output(c.Output, c.Format, "y4m", "npy", "safetensors"); err != nil {
		return err
	}
	in := files.Inputs{files.Named("checkpoint", c.Model), files.Named("checkpoint of alpha", c.AlphaModel), files.Named("checkpoint of the preview", c.PreviewModel), files.Named("input", files.Given(c.Latent)), files.Named("sound", c.Audio), files.Named("library", c.Dawn)}
	a.machines.Profiling = c.Profile.On
	if err := c.Begin(append(c.clips(1), c.Profiling.Outputs()...), in); err != nil {
		return err
	}
	if err := media.CheckVideoName(a.streams.Name(c.Output)); err != nil {
		return err
	}
	settings := c.Settings(c.Forcing)
	config, err := a.machines.CheckFor(a.ctx, c.Model, settings, "decode")
	if err != nil {
		return err
	}
	if c.AlphaModel != "" {
		if err := c.checkAlpha(a, config); err != nil {
			return err
		}
	}
	if c.Latent, err = a.streams.Latent(a.ctx, c.Latent); err != nil {
		return err
	}
	o, err := c.choices().Reading(config)
	if err != nil {
		return err
	}
	z, err := interrupt.Await(a.ctx, func() (latent.Latent, error) { return media.ReadLatentWith(c.Latent, o) })
	if err != nil {
		return err
	}
	d, err := job.Decode(config, z, c.Latent, c.choices())
	if err != nil {
		return err
	}
	a.tell(d)
	if c.PreviewModel != "" {
		if err := c.checkPreview(a, config, d); err != nil {
			return err
		}
	}
	clips := c.clips(d.Latent.Clips())
	if len(clips) > 1 && c.Output == files.Stream {
		return terminal.Refused("--output=-: %s is a batch of %d clips, expected one clip, or the name of a file", a.Spoken(c.Latent), len(clips))
	}
	if len(clips) > 1 {
		a.Note("%s: a batch of %d clips: writing %s to %s", c.Latent, len(clips), clips[0].Path, clips[len(clips)-1].Path)
	}
	previews := c.previews(clips, d)
	if len(clips) > 1 || len(previews) > 0 {
		if err := c.Begin(slices.Concat(clips, previews, c.Profiling.Outputs()), in); err != nil {
			return err
		}
	}
	w := &clipWriter{app: a, Clobbering: c.Clobbering, outputs: clips}
	once := &onceOfClips{app: a, clips: clips, said: map[string]bool{}}
	clip := d.Clip
	if c.AlphaModel != "" {
		clip.Channels = 4
	}
	w.create = func(path string) (*media.Sink, error) {
		return c.CreateVideo(a.ctx, a.streams, path, clip, media.CreateOptions{
			Sound: c.Audio, SoundAsked: true, RateAsked: latent.Rational(c.FPS).Known(), Warn: once.warn(path),
		})
	}
	defer w.abort()
	var u *resume.Folder
	if c.Resume {
		if u, err = c.resumed(a, clips, w); err != nil {
			return err
		}
		a.machines.Choose = u.Choose
		defer u.Leave()
		if chunk, found := u.Chunk(); found && c.Chunk == 0 {
			d.Options.Chunk = chunk // even if another chunk would fit now
		}
	}
	if err := w.next(); err != nil { // a bad name fails here, before the work
		return err
	}
	var alpha *alphas
	if c.AlphaModel != "" {
		if alpha, err = c.decodeAlpha(a, d); err != nil {
			return err
		}
		defer alpha.close()
	}
	e, err := a.machines.Open(a.ctx, c.Chosen(), c.Model, settings)
	if err != nil {
		return err
	}
	defer e.Close()
	if len(previews) > 0 {
		remove, err := c.preview(a, e, d, previews)
		if err != nil {
			return err
		}
		defer remove()
	}
	d.Options.RGBA8 = alpha == nil && !w.sink.NeedsFloat()
	plan, err := e.PlanDecode(a.ctx, d)
	if err != nil {
		return err
	}
	if err := (files.Disk{Spool: plan.Spool, Output: w.sink.Kept()}).Room(a.Terminal, "decode"); err != nil {
		return err
	}
	var t machine.Taker = w
	if alpha != nil {
		t = &withAlpha{clipWriter: w, alphas: alpha}
	}
	if c.Resume {
		is, err := resume.RecordOf(a.ctx, fmt.Sprint(programVersion()), c.Model, e, d, plan.Plan, c.NoFold, c.Winograd)
		if err != nil {
			return err
		}
		if err := u.Open(is, d, plan); err != nil {
			return err
		}
		t = u
	}
	s, err := e.Decode(a.ctx, plan, d, t)
	if err != nil {
		return err
	}
	r := report.New("decode", e.Device, e.Model, c.Model, a.Spoken(c.Latent))
	r.Clip(d.Clip)
	r.Decode, r.Scale, r.Pictures = s, d.Scale, d.Options.Independent
	r.Frames *= len(clips)
	r.Latent = z.Shape()
	for _, o := range clips {
		r.Outputs = append(r.Outputs, terminal.FileName(o.Path))
	}
	if err := c.Report(r, e, programVersion().Version); err != nil {
		return err
	}
	return a.finish(r)
}

func (c *decodeCmd) choices() job.Choices {
	w := c.Tiles.Choices()
	w.Scale, w.Independent, w.FPS = c.Scaling.Choice(), c.Independent, latent.Rational(c.FPS)
	w.Key = c.LatentKey
	c.LatentLayout.Choose(&w)
	c.Sampling.Choose(&w)
	return w
}

// resumed returns the folder of --resume.
func (c *decodeCmd) resumed(a *app, clips files.Outputs, w *clipWriter) (*resume.Folder, error) {
	switch {
	case c.Output == files.Stream:
		return nil, terminal.Refused("--resume with --output=-: a stream can't be continued, expected the name of a file or folder")
	case len(clips) > 1:
		return nil, terminal.Refused("--resume: %s is a batch of %d clips, expected one", a.Spoken(c.Latent), len(clips))
	case c.Adapter.All || len(c.Adapter.List) > 1:
		return nil, terminal.Refused("--resume with several adapters: expected one, which repeats its results exactly")
	}
	return resume.Find(a.Terminal, c.Output, w)
}

// clips returns the outputs of a batch: out_000.mp4, out_001.mp4 and so on, or folders.
// One clip has the given name.
func (c *decodeCmd) clips(n int) files.Outputs {
	if n == 1 {
		return files.Outputs{files.Named("--output="+c.Output, c.Output)}
	}
	output := filepath.Clean(c.Output)
	folder, name := filepath.Split(output)
	ext := filepath.Ext(strings.TrimLeft(name, "."))
	if info, err := os.Stat(output); err == nil && info.IsDir() {
		ext = ""
	}
	digits := max(3, len(fmt.Sprint(n-1)))
	var all files.Outputs
	for i := range n {
		path := fmt.Sprintf("%s%s_%0*d%s", folder, strings.TrimSuffix(name, ext), digits, i, ext)
		all = append(all, files.Named("--output="+c.Output+": clip "+path, path))
	}
	return all
}

// onceOfClips prints messages that hold for every clip of a batch once.
type onceOfClips struct {
	*app
	clips files.Outputs
	said  map[string]bool // messages, without clips' names
}

func (o *onceOfClips) warn(path string) func(text string) {
	return func(text string) {
		same := strings.ReplaceAll(text, path, "")
		switch more := len(o.clips) - 1; {
		case more > 0 && path == o.clips[0].Path:
			o.Warn("%s; also for %d more of the batch", text, more)
			o.said[same] = true
		case !o.said[same]:
			o.Warn("%s", text)
		}
	}
}

// clipWriter writes each clip to a separate output.
type clipWriter struct {
	*app
	flags.Clobbering
	outputs files.Outputs
	create  func(path string) (*media.Sink, error)

	at   int // index of the output that sink writes
	sink *media.Sink
}

// next starts the output at index at.
func (w *clipWriter) next() (err error) {
	w.sink, err = w.create(w.outputs[w.at].Path)
	return err
}

func (w *clipWriter) Take(f vae.Frame) error {
	if f.Pixels == nil {
		return w.sink.WriteRGBA8(f.RGBA)
	}
	return w.sink.WriteFrame(f.Pixels)
}

// End completes an output and starts the next.
func (w *clipWriter) End() error {
	if err := w.Vacant(w.outputs[w.at : w.at+1]); err != nil {
		return err
	}
	if err := w.sink.Close(); err != nil {
		return err
	}
	if w.at++; w.at == len(w.outputs) {
		return nil
	}
	return w.next()
}

// NeedsFloat reports whether the output takes floats rather than 8 bits.
func (w *clipWriter) NeedsFloat() bool { return w.sink.NeedsFloat() }

// abort removes the incomplete output.
func (w *clipWriter) abort() {
	if w.sink != nil {
		w.sink.Abort()
	}
}

// tell prints notes, guesses and warnings about a latent.
func (a *app) tell(d job.Decoding) {
	for _, text := range append(d.Guesses, d.Notes...) {
		a.Note("%s", text)
	}
	for _, text := range d.Warnings {
		a.Warn("%s", text)
	}
}
