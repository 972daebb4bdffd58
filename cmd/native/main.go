// Command tessera encodes video to latents and decodes latents to video with
// the VAEs of video generators, on any GPU that speaks WebGPU. `tessera -h`
// lists the commands, `tessera decode --help` a command's everyday flags.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"tessera/app/batch"
	"tessera/app/desktop"
	"tessera/app/files"
	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/app/quiet"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/cmd/native/flags"
	"tessera/vae"
)

func main() {
	if quiet.Passer() {
		return
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// newParser returns a parser of a command line for a struct of commands.
func newParser(commands any, more ...kong.Option) *kong.Kong {
	parser, err := kong.New(commands, append(more, kong.Name("tessera"), kong.NoDefaultHelp(), kong.ExplicitGroups(flags.Groups), vars(),
		kong.KindMapper(reflect.String, kong.MapperFunc(verbatim)), kong.NamedMapper("checkpoint", kong.MapperFunc(checkpointPath)))...)
	if err != nil {
		panic(err)
	}
	return parser
}

// vars are the parts of help texts that depend on the models.
func vars() kong.Vars {
	return kong.Vars{"kinds": strings.Join(vae.Kinds(), ", ")}
}

const description = `Encode video and pictures to latents and decode latents back, with the VAEs from the original checkpoints of SeedVR2, Wan 2.1, Wan 2.2, Qwen-Image, Qwen-Image 2.1, HunyuanVideo, HunyuanVideo 1.5, HunyuanImage 2.1, LTX-2, Mochi 1, CogVideoX, Cosmos 1.0, Stable Diffusion, SDXL, SD 3, FLUX.1, FLUX.2 and tiny autoencoders (TAESD, TAEHV), on any GPU that speaks WebGPU.

    tessera demo
    tessera decode -m ema_vae_fp16.safetensors latent.safetensors -o out.mp4
    tessera encode -m Wan2.1_VAE.pth in.mp4 -o latent.safetensors
    tessera decode -m qwen_image_vae.safetensors latent.safetensors -o out.png
    tessera roundtrip -m ema_vae_fp16.safetensors in.mp4 -o out.mp4
    tessera batch -m Wan2.1_VAE.pth 'clips/*.mp4' -o 'latents/{name}.safetensors' --resume
    tessera info ema_vae_fp16.safetensors
    tessera plan -m seedvr2 --frames 21 --size 1280x720
    tessera devices

Sizes are width x height in pixels, but --tile and --overlap are height x width.

Drag a latent onto the program, together with its checkpoint, to decode it beside itself. Only this remembers a checkpoint's path, in tessera/last-model.txt in the user's configuration folder, for latents that are dragged alone. Delete the file to forget it.

Exit codes:

    0    done
    1    failed: disk full, device lost, ffmpeg not installed, ...
    2    usage: unknown command or flag, wrong value of a flag, or impossible
         output: it would replace an input, its folder is missing or not
         writable, or its name is taken by something else
    3    bad input: a model, latent or video that cannot be used
    4    no usable device: no Dawn library, no adapter, or not the requested one
    5    out of memory on the device, or too large for it: try smaller tiles or
         another device
    130  interrupted; no half-written file remains, except what --resume keeps`

// cli is the command line.
type cli struct {
	Help     screenFlag `group:"every" short:"h" help:"Show the everyday flags."`
	HelpAll  allFlag    `group:"every" help:"Show all flags, with examples."`
	JSON     bool       `group:"every" help:"Print the result, or the error, as JSON on standard output."`
	Quiet    bool       `group:"every" short:"q" help:"Print only warnings and errors."`
	Verbose  bool       `group:"every" short:"v" help:"Print the details of an error, such as tensor names."`
	Progress string     `group:"every" everyday:"" enum:"auto,bar,plain,json,none" default:"auto" placeholder:"HOW" help:"Progress on standard error: bar, plain, json or none; default bar on a terminal, else plain." more:"plain prints a line every few seconds, json a line for each event (docs/reference/events.md)."`

	PrintVersion versionFlag `group:"every" name:"version" short:"V" help:"Print the program's version."`

	Decode    decodeCmd    `cmd:"" help:"Decode a latent to video."`
	Encode    encodeCmd    `cmd:"" help:"Encode a video to a latent."`
	Roundtrip roundtripCmd `cmd:"" help:"Encode and decode a video, and measure the loss."`
	Batch     batchCmd     `cmd:"" help:"Encode or decode many clips with one loaded model."`
	Info      infoCmd      `cmd:"" help:"Describe a checkpoint, latent or video and its requirements."`
	Plan      planCmd      `cmd:"" help:"Count a job's arithmetic, memory and time without running it."`
	Models    modelsCmd    `cmd:"" help:"List published checkpoints and which of them are here."`
	Pull      pullCmd      `cmd:"" help:"Download a published checkpoint by its name."`
	Devices   devicesCmd   `cmd:"" help:"List the adapters and mark the default."`
	Serve     serveCmd     `cmd:"" help:"Serve the page, and an HTTP API for programs."`
	Demo      demoCmd      `cmd:"" help:"Encode and decode a built-in clip."`
	Bench     benchCmd     `cmd:"" help:"Measure an adapter: operations and models against its peak."`

	Version    versionCmd    `cmd:"" help:"Print the program's version."`
	Completion completionCmd `cmd:"" help:"Print a shell completion script."`
	Man        manCmd        `cmd:"" help:"Print the manual page."`
}

// app is what every command has.
type app struct {
	*terminal.Terminal
	ctx  context.Context // ends at Ctrl-C
	keep string          // checkpoint to remember for dragged latents

	streams  *files.Streams
	machines *machine.Opener
	made     *report.Result // set when the command is done
}

func newApp(ctx context.Context, t *terminal.Terminal) *app {
	return &app{Terminal: t, ctx: ctx, streams: &files.Streams{Terminal: t}, machines: &machine.Opener{Terminal: t}}
}

// run is the whole program; it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := interrupt.Context(&stdout, &stderr)
	defer stop()
	out := &terminal.Outlet{Writer: stdout}
	t := &terminal.Terminal{Stdout: out, Stderr: stderr, Args: args, JSON: slices.Contains(args, "--json")}
	a := newApp(ctx, t)
	if slices.Contains(args, "--progress=json") { // errors of the command line are events too
		a.Progress = "json"
	}
	err := a.execute(args)
	a.streams.Discard()
	if out.Err != nil { // standard output failed, whatever else happened
		err = out.Err
	}
	code := exitCode(ctx, err)
	if err != nil && context.Cause(ctx) != interrupt.ErrUnread {
		a.Fail(err, code)
	}
	if desktop.Started() {
		a.Note("Press Enter to close.")
		bufio.NewReader(os.Stdin).ReadString('\n')
	}
	return code
}

func (a *app) execute(args []string) error {
	if len(args) == 0 {
		args = []string{"-h"}
	}
	if args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	args, err := a.dropped(args)
	if err != nil {
		return err
	}
	for _, name := range []string{"TESSERA_MODEL", "TESSERA_BACKEND"} {
		if os.Getenv(name) == "" {
			os.Unsetenv(name) // kong would take an empty variable as a value
		}
	}
	var c cli
	k, err := newParser(&c, kong.Description(description), kong.Writers(a.Stdout, a.Stderr), kong.Bind(a, a.Terminal), kong.Exit(a.exit)).Parse(args)
	if err != nil {
		return usage(err)
	}
	a.JSON, a.Quiet, a.Verbose, a.Progress = c.JSON, c.Quiet, c.Verbose, c.Progress
	if err := k.Run(a); err != nil {
		return err
	}
	if a.keep != "" {
		if err := desktop.KeepModel(a.keep); err != nil {
			a.Note("cannot remember the checkpoint for dragged latents: %v", err)
		}
	}
	return nil
}

// Validate refuses contradicting flags.
func (c *cli) Validate() error {
	if c.Quiet && (c.Progress == "bar" || c.Progress == "plain" || c.Progress == "json") {
		return fmt.Errorf("--quiet with --progress=%s: expected one of the two", c.Progress)
	}
	return nil
}

// exit ends the program after --help and --version.
func (a *app) exit(code int) {
	if o, ok := a.Stdout.(*terminal.Outlet); ok && o.Err != nil {
		code = job.ExitFailed
		a.Fail(o.Err, code)
	}
	os.Exit(code)
}

// verbatim reads an argument unchanged: kong passes text through JSON, which would lose
// bytes of file names that are not UTF-8.
func verbatim(k *kong.DecodeContext, target reflect.Value) error {
	token, err := k.Scan.PopValue("text")
	if err == nil {
		target.SetString(token.String())
	}
	return err
}

// finish prints the result of a command.
func (a *app) finish(r *report.Result) error {
	a.made = r
	return r.Print(a.Terminal)
}

// exitCode returns the program's exit code for an error.
func exitCode(ctx context.Context, err error) int {
	if context.Cause(ctx) == interrupt.ErrUnread {
		return job.ExitInterrupted
	}
	if err == nil {
		return job.ExitDone
	}
	if b, ok := errors.AsType[*batch.Error](err); ok {
		return b.Code
	}
	return terminal.ExitCode(ctx, err)
}

// usage turns an error of the parser into a usage error.
func usage(err error) error {
	hint := "`tessera -h` lists the commands.\n"
	parse, ok := errors.AsType[*kong.ParseError](err)
	if ok && parse.Context.Selected() != nil {
		n := parse.Context.Selected()
		hint = fmt.Sprintf("usage: tessera %s\n`tessera %s --help` explains the everyday flags, --help-all all flags.\n", n.Summary(), n.Name)
	}
	return terminal.Usage(err, hint)
}
