package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/alecthomas/kong"

	"tessera/app/batch"
	"tessera/app/machine"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/cmd/native/flags"
)

type batchCmd struct {
	Inputs   []string    `arg:"" optional:"" help:"Videos or latents: files, quoted patterns such as 'clips/*.mp4', or http and https URLs."`
	Model    string      `group:"input" everyday:"" short:"m" type:"checkpoint" placeholder:"MODEL" env:"TESSERA_MODEL" help:"Checkpoint for clips without one."`
	Output   string      `group:"output" everyday:"" short:"o" placeholder:"OUT" help:"Output for clips without one: a path or URL; {name} is the input's name without extension." more:"Missing folders are created."`
	Manifest string      `group:"input" everyday:"" placeholder:"FILE" help:"Clips as lines of JSON; - for standard input." more:"It replaces the inputs. A clip from standard input starts as soon as its line arrives."`
	Op       string      `group:"input" enum:"decode,encode,roundtrip,auto" default:"auto" help:"decode, encode or roundtrip; default: from the names of input and output."`
	Resume   bool        `group:"output" everyday:"" help:"Skip clips that are finished." more:"A clip is finished if its record names the present input, checkpoint and options, and its output exists."`
	Shard    batch.Shard `group:"input" placeholder:"I/N" help:"Run part I of N, from 0, by a hash of the clip's name."`
	Records  string      `group:"output" placeholder:"FOLDER" help:"Folder for the records of finished clips; default: OUT.done.json beside each output."`
	batchFlags
}

// batchFlags are the flags of a batch that every clip uses.
type batchFlags struct {
	flags.Forcing
	flags.Clobbering
	flags.Scaling
	flags.TrainerCache
	Moments bool `group:"latents" xor:"numbers" help:"Write mean and log-variance, unscaled, instead of a latent."`
	flags.Sampling
	flags.LatentLayout
	flags.Pictures
	flags.VideoInput
	flags.VideoOutput
	Audio string     `group:"output" placeholder:"FROM" help:"File with the sound for the output, or none; default: none for decode, the input video for roundtrip."`
	FPS   flags.Rate `group:"output" name:"fps" placeholder:"RATE" help:"Frame rate of the output; default: that of the encoded video, else 24."`
	flags.Device
	flags.Tiles
}

// Validate refuses flags that no clip can have.
func (f *batchFlags) Validate() error {
	return cmp.Or(f.Sampling.Validate(), f.Tiles.Validate(), f.TrainerCache.Validate())
}

// Help is shown below the flags.
func (batchCmd) Help() string {
	return `A manifest has one clip per line: {"input": "a.mp4", "output": "a.safetensors"}, optionally with "name", "op", "model" and "options", which are flags: {"tile": 384, "sample": true}. The result of each clip is a line of JSON on standard output. A failed clip does not stop the others. The exit code is then the first of 1, 5, 3, 2 that a clip failed with. Without a usable device the batch stops with 4.

With several adapters (--adapter all or 0,1) clips run side by side, each on the next free adapter. With fewer clips than adapters, the adapters share the tiles of each clip. --memory limits each adapter, --host-memory all together.

    tessera batch -m wan2.1 'clips/*.mp4' -o 'latents/{name}.npy' --resume
    tessera batch --manifest clips.jsonl --resume > results.jsonl
    tessera batch -m Wan2.1_VAE.pth latents/*.safetensors -o 'out/{name}.mp4' --shard 0/4 --resume
    producer | tessera batch -m Wan2.1_VAE.pth --manifest -`
}

// Validate refuses a command line that names no clips.
func (c *batchCmd) Validate() error {
	switch {
	case len(c.Inputs) > 0 && c.Manifest != "":
		return errors.New("inputs and --manifest: expected one of the two")
	case len(c.Inputs) == 0 && c.Manifest == "":
		return errors.New("no inputs, expected files, patterns, URLs or --manifest")
	case len(c.Inputs) > 0 && c.Output == "":
		return errors.New("missing flags: --output=OUT")
	}
	return c.batchFlags.Validate()
}

func (c *batchCmd) Run(a *app, k *kong.Context) error {
	w := newClipWorkers(a, c.Device)
	defer w.close()
	return batch.Run(a.ctx, a.Terminal, batch.Options{
		Inputs: c.Inputs, Manifest: c.Manifest, Output: c.Output, Model: c.Model, Op: c.Op,
		Shard: c.Shard, Records: c.Records, Resume: c.Resume, NoClobber: c.NoClobber,
		Flags: common(k), Program: fmt.Sprint(programVersion()),
		Workers: w.start, Parse: w.parse, Dropped: w.dropped,
	}, os.Stdin)
}

// common returns the command line's flags for clips, without the batch's flags.
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

// clipCommands are the commands for clips.
type clipCommands struct {
	Decode    decodeCmd    `cmd:""`
	Encode    encodeCmd    `cmd:""`
	Roundtrip roundtripCmd `cmd:""`
}

// clipCommand is a clip's command, ready to run.
type clipCommand struct {
	*kong.Context
	*clipCommands
	kept *machine.Kept
}

// parseClip parses a clip's command line.
func parseClip(kept *machine.Kept, args []string) (*clipCommand, error) {
	p := &clipCommand{clipCommands: new(clipCommands), kept: kept}
	var err error
	p.Context, err = newParser(p.clipCommands).Parse(args)
	return p, err
}

// device returns the command's flags of the device and of memory.
func (p *clipCommand) device() (*flags.Device, *flags.Tiles) {
	switch p.Selected().Name {
	case "decode":
		return &p.Decode.Device, &p.Decode.Tiles
	case "encode":
		return &p.Encode.Device, &p.Encode.Tiles
	}
	return &p.Roundtrip.Device, &p.Roundtrip.Tiles
}

// Run runs the command and prints to t.
func (p *clipCommand) Run(ctx context.Context, t *terminal.Terminal) (*report.Result, error) {
	a := newApp(ctx, t)
	a.machines.Kept = p.kept
	err := p.Context.Run(a)
	return a.made, err
}

// Sound returns the file that the sound comes from, "" for none or the input itself.
func (p *clipCommand) Sound() string {
	switch p.Selected().Name {
	case "decode":
		return p.Decode.Audio
	case "roundtrip":
		return p.Roundtrip.soundFile()
	}
	return ""
}

// Renames reports whether a trainer's cache chooses the output file's name.
func (p *clipCommand) Renames() bool {
	return p.Selected().Name == "encode" && p.Encode.TrainerCache.Asked()
}
