package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"tessera/app/files"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/format/quote"
	"tessera/media"
)

type batchCmd struct {
	Inputs   []string  `arg:"" optional:"" help:"Videos or latents, as encode and decode take them, patterns such as 'clips/*.mp4' that the shell leaves alone, or http and https URLs."`
	Model    string    `short:"m" placeholder:"MODEL" env:"TESSERA_MODEL" help:"Checkpoint of clips that name none."`
	Output   string    `short:"o" placeholder:"OUT" help:"Output of clips that name none: {name} stands for the input's name without its ending. Folders that aren't there are made. Or a URL to put it to."`
	Manifest string    `placeholder:"FILE" help:"Clips, a JSON object a line, in place of inputs; - is standard input, whose clips are begun as they come."`
	Op       string    `enum:"decode,encode,roundtrip,auto" default:"auto" help:"decode, encode or roundtrip; default as the names of input and output tell."`
	Resume   bool      `help:"Skip clips whose record says that this input, checkpoint and choice of options made the output that is there."`
	Shard    shardFlag `placeholder:"I/N" help:"Take part I of N, from 0, by a hash of the clip's name."`
	Records  string    `placeholder:"FOLDER" help:"Folder of the records of what is done; default beside each output, OUT.done.json."`
	batchFlags
}

// batchFlags are those that the clips of a batch have in common.
type batchFlags struct {
	forceFlag
	clobberFlag
	scaleFlag
	cacheFlags
	Moments bool `xor:"numbers" help:"Write mean and log-variance, unscaled, instead of a latent."`
	sampleFlags
	latentFlags
	framesFlag
	videoFlags
	outFlags
	Audio string   `placeholder:"FROM" help:"File whose sound goes along, or none; default none of decode, that of the video of roundtrip."`
	FPS   rateFlag `name:"fps" placeholder:"RATE" help:"Frame rate of the output; default that of the encoded video, else 24."`
	deviceFlags
	tileFlags
}

// Validate refuses what no clip can have.
func (f *batchFlags) Validate() error {
	return cmp.Or(f.sampleFlags.Validate(), f.tileFlags.Validate(), f.cacheFlags.Validate())
}

// Help is shown below the flags.
func (batchCmd) Help() string {
	return `A line of a manifest is a clip: {"input": "a.mp4", "output": "a.safetensors"}, and if need be "name", "op", "model" and "options" by the flags' names: {"tile": 384, "sample": true}. The result of each clip is a line of JSON on standard output. A clip that fails doesn't end the others; the exit code is then that of the failure that another try may cure, if there is one: 1, else 5, 3, 2. Without a usable device the batch ends with 4.

    tessera batch -m Wan2.1_VAE.pth 'clips/*.mp4' -o 'latents/{name}.safetensors' --resume
    tessera batch -m Wan2.1_VAE.pth latents/*.safetensors -o 'out/{name}.mp4' --shard 0/4 --resume
    tessera batch --manifest clips.jsonl --resume > results.jsonl
    producer | tessera batch -m Wan2.1_VAE.pth --manifest -`
}

// Validate refuses what names no clips.
func (c *batchCmd) Validate() error {
	switch {
	case len(c.Inputs) > 0 && c.Manifest != "":
		return errors.New("inputs and --manifest: expected one of the two")
	case len(c.Inputs) == 0 && c.Manifest == "":
		return errors.New("no inputs: expected some, or --manifest")
	case len(c.Inputs) > 0 && c.Output == "":
		return errors.New("missing flags: --output=OUT")
	}
	return c.batchFlags.Validate()
}

// shardFlag is part i of n.
type shardFlag struct{ i, n uint64 }

// UnmarshalText reads I/N.
func (f *shardFlag) UnmarshalText(text []byte) error {
	first, second, _ := strings.Cut(string(text), "/")
	i, err := strconv.ParseUint(first, 10, 31)
	n, nerr := strconv.ParseUint(second, 10, 31)
	if err != nil || nerr != nil || i >= n {
		return fmt.Errorf("%q, expected a part and how many there are, such as 0/8 to 7/8", text)
	}
	*f = shardFlag{i, n}
	return nil
}

// has is whether a clip is of this part: the first 8 bytes of its name's SHA-256,
// big-endian, modulo n are i.
func (f shardFlag) has(name string) bool {
	sum := sha256.Sum256([]byte(name))
	return f.n < 2 || binary.BigEndian.Uint64(sum[:])%f.n == f.i
}

// batch runs clips, one after the other.
type batch struct {
	*app
	*batchCmd
	common []string // flags of the command line that are the clips'
	kept   *machine.Kept
	hashes map[string]string // of checkpoints

	all   int // clips there are, 0: not known
	begun int
	count map[string]int // of clips by what became of them
	codes map[int]int    // of failures
}

// What becomes of a clip.
const (
	clipDone, clipSkipped, clipFailed, clipInterrupted = "done", "skipped", "failed", "interrupted"
)

// clipOutcome is the line that tells what became of a clip.
type clipOutcome struct {
	Name    string            `json:"name"`
	Input   terminal.FileName `json:"input"`
	Output  terminal.FileName `json:"output"`
	Status  string            `json:"status"`
	Code    int               `json:"exit_code"`
	Seconds float64           `json:"seconds"`
	Error   string            `json:"error,omitempty"`
	Result  *report.Result    `json:"result,omitempty"`
}

// batchError is what a batch ends with in which clips failed.
type batchError struct {
	error
	code int
}

func (c *batchCmd) Run(a *app, k *kong.Context) error {
	a.Lines = true
	b := &batch{app: a, batchCmd: c, common: common(k), hashes: map[string]string{}, count: map[string]int{}, codes: map[int]int{}}
	b.kept = machine.Keep(a.Terminal)
	defer b.kept.Drop()
	if c.Records != "" {
		if err := os.MkdirAll(c.Records, 0o777); err != nil {
			return fmt.Errorf("--records: %w", media.Lasting(err))
		}
	}
	if c.Manifest == files.Stream {
		if err := b.follow(os.Stdin); err != nil {
			return err
		}
		return b.end()
	}
	clips, err := b.clips()
	if err != nil {
		return err
	}
	b.all = len(clips)
	for _, clip := range clips {
		if err := b.run(clip); err != nil {
			return err
		}
	}
	return b.end()
}

// common are the flags of the command line that are not the batch's own.
func common(k *kong.Context) (args []string) {
	var own []string
	for _, f := range k.Model.Flags {
		own = append(own, f.Name)
	}
	own = append(own, "model", "output", "manifest", "op", "resume", "shard", "records")
	before := k.Path[0].Remainder()
	for _, p := range k.Path[1:] {
		after := p.Remainder()
		if p.Flag != nil && !slices.Contains(own, p.Flag.Name) {
			args = append(args, before[:len(before)-len(after)]...)
		}
		before = after
	}
	return args
}

// run runs a clip and tells what became of it. Its error ends the batch.
func (b *batch) run(c *clip) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	start := time.Now()
	b.begun++
	r, skipped, err := b.work(c)
	o := clipOutcome{Name: c.Name, Input: terminal.FileName(shown(c.Input)), Output: terminal.FileName(shown(c.Output)), Status: clipDone, Seconds: time.Since(start).Seconds(), Result: r}
	if skipped {
		o.Status = clipSkipped
	}
	if err != nil {
		o.Status, o.Error, o.Code = clipFailed, quote.Message(err.Error()), terminal.ExitCode(b.ctx, err)
	}
	switch o.Code {
	case job.ExitDone, job.ExitUsage, job.ExitInput:
	case job.ExitInterrupted:
		o.Status, o.Error = clipInterrupted, clipInterrupted
	default:
		b.kept.Drop() // whatever state the device is in
	}
	b.count[o.Status]++
	if o.Code != job.ExitDone {
		b.codes[o.Code]++
		b.tell(c, o)
	}
	if err := b.Print(o); err != nil {
		return err
	}
	switch o.Code {
	case job.ExitInterrupted:
		return context.Canceled
	case job.ExitDevice:
		return &batchError{fmt.Errorf("no usable device: %s: %w", b.summary(), err), job.ExitDevice}
	}
	return nil
}

// tell tells people of a clip that failed.
func (b *batch) tell(c *clip, o clipOutcome) {
	if b.Progress == "json" {
		b.Event(terminal.Event{Event: "error", Error: o.Error, Code: o.Code})
		return
	}
	fmt.Fprintf(b.Stderr, "tessera: %s%s\n", b.prefix(c), o.Error)
}

// prefix is what stands before what is told of a clip: "[3/40 name] ".
func (b *batch) prefix(c *clip) string {
	n := fmt.Sprint(b.begun)
	if b.all > 0 {
		n += "/" + fmt.Sprint(b.all)
	}
	return "[" + n + " " + quote.Message(c.Name) + "] "
}

// end tells how it went, and is the error of a batch in which clips failed.
func (b *batch) end() error {
	for _, code := range []int{job.ExitFailed, job.ExitMemory, job.ExitInput, job.ExitUsage} {
		if b.codes[code] > 0 {
			return &batchError{errors.New(b.summary()), code}
		}
	}
	b.Note("%s", b.summary())
	return nil
}

// summary is "40 clips: 38 done, 1 skipped, 1 failed".
func (b *batch) summary() string {
	text := strconv.Itoa(b.begun) + " clips"
	if b.begun == 1 {
		text = "1 clip"
	}
	if b.all > b.begun {
		text = fmt.Sprintf("%d of %d clips", b.begun, b.all)
	}
	var parts []string
	for _, status := range []string{clipDone, clipSkipped, clipFailed} {
		if n := b.count[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if parts == nil {
		return text
	}
	return text + ": " + strings.Join(parts, ", ")
}

// work does what a clip asks for, unless that is done.
func (b *batch) work(c *clip) (r *report.Result, skipped bool, err error) {
	if c.err != nil {
		return nil, false, c.at(c.err)
	}
	t := b.ForClip(c.Name, b.prefix(c))
	a := &app{Terminal: t, ctx: b.ctx, streams: &files.Streams{Terminal: t}, machines: &machine.Opener{Terminal: t, Kept: b.kept}}
	w := &work{app: a, batch: b, clip: c, input: c.Input, output: c.Output}
	defer w.close()
	skipped, err = w.do()
	if err != nil {
		err = w.told(err)
	}
	return a.made, skipped, err
}
