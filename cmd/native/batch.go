package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"

	"github.com/alecthomas/kong"

	"tessera/app/batch"
	"tessera/app/machine"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/cmd/native/flags"
)

type batchCmd struct {
	Inputs   []string    `arg:"" optional:"" help:"Videos or latents, as encode and decode take them, patterns such as 'clips/*.mp4' that the shell leaves alone, or http and https URLs."`
	Model    string      `short:"m" placeholder:"MODEL" env:"TESSERA_MODEL" help:"Checkpoint of clips that name none."`
	Output   string      `short:"o" placeholder:"OUT" help:"Output of clips that name none: {name} stands for the input's name without its ending. Folders that aren't there are made. Or a URL to put it to."`
	Manifest string      `placeholder:"FILE" help:"Clips, a JSON object a line, in place of inputs; - is standard input, whose clips are begun as they come."`
	Op       string      `enum:"decode,encode,roundtrip,auto" default:"auto" help:"decode, encode or roundtrip; default as the names of input and output tell."`
	Resume   bool        `help:"Skip clips whose record says that this input, checkpoint and choice of options made the output that is there."`
	Shard    batch.Shard `placeholder:"I/N" help:"Take part I of N, from 0, by a hash of the clip's name."`
	Records  string      `placeholder:"FOLDER" help:"Folder of the records of what is done; default beside each output, OUT.done.json."`
	batchFlags
}

// batchFlags are those that the clips of a batch have in common.
type batchFlags struct {
	flags.Forcing
	flags.Clobbering
	flags.Scaling
	flags.TrainerCache
	Moments bool `xor:"numbers" help:"Write mean and log-variance, unscaled, instead of a latent."`
	flags.Sampling
	flags.LatentLayout
	flags.Pictures
	flags.VideoInput
	flags.VideoOutput
	Audio string     `placeholder:"FROM" help:"File whose sound goes along, or none; default none of decode, that of the video of roundtrip."`
	FPS   flags.Rate `name:"fps" placeholder:"RATE" help:"Frame rate of the output; default that of the encoded video, else 24."`
	flags.Device
	flags.Tiles
}

// Validate refuses what no clip can have.
func (f *batchFlags) Validate() error {
	return cmp.Or(f.Sampling.Validate(), f.Tiles.Validate(), f.TrainerCache.Validate())
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

func (c *batchCmd) Run(a *app, k *kong.Context) error {
	kept := machine.Keep(a.Terminal)
	defer kept.Drop()
	return batch.Run(a.ctx, a.Terminal, batch.Options{
		Inputs: c.Inputs, Manifest: c.Manifest, Output: c.Output, Model: c.Model, Op: c.Op,
		Shard: c.Shard, Records: c.Records, Resume: c.Resume, NoClobber: c.NoClobber,
		Flags: common(k), Program: fmt.Sprint(programVersion()), Dropped: kept.Drop,
		Parse: func(args []string) (batch.Command, error) { return parseClip(kept, args) },
	}, os.Stdin)
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

// clipCommands are the commands that a clip may be of.
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

// parseClip makes the command of a command line.
func parseClip(kept *machine.Kept, args []string) (*clipCommand, error) {
	p := &clipCommand{clipCommands: new(clipCommands), kept: kept}
	parser, err := kong.New(p.clipCommands, kong.Name("tessera"), kong.NoDefaultHelp(), kong.ExplicitGroups(flags.Groups), vars(), kong.KindMapper(reflect.String, kong.MapperFunc(verbatim)))
	if err != nil {
		panic(err)
	}
	p.Context, err = parser.Parse(args)
	return p, err
}

// Run runs it.
func (p *clipCommand) Run(ctx context.Context, t *terminal.Terminal) (*report.Result, error) {
	a := newApp(ctx, t)
	a.machines.Kept = p.kept
	err := p.Context.Run(a)
	return a.made, err
}

// Sound is the file whose sound goes along, "" for none and the input's own.
func (p *clipCommand) Sound() string {
	switch p.Selected().Name {
	case "decode":
		return p.Decode.Audio
	case "roundtrip":
		return p.Roundtrip.soundFile()
	}
	return ""
}

// Renames reports whether a trainer's cache names the output's file.
func (p *clipCommand) Renames() bool {
	return p.Selected().Name == "encode" && p.Encode.TrainerCache.Asked()
}
