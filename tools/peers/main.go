//go:build !js

// Command peers times Tessera's operations against the best peers, on the same adapter
// and in turns, so that other load on the machine affects all of them equally: natively
// onnxruntime's WebGPU provider, in Chromium onnxruntime-web, tfjs-backend-webgpu and
// LiteRT.js. It also times whole decoders of pictures against onnxruntime in both, and
// `tessera decode` against a whole decoder in onnxruntime. tools/peers.sh sets it up;
// it prints tables in markdown.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tessera/gpu"
)

// options are the command line.
type options struct {
	python string
	build  string // folder
	in     string
	only   *regexp.Regexp
	sizes  []int // of the pictures of whole decoders
	rounds int
	rest   time.Duration
	report string
}

func main() {
	o := options{}
	var only, sizes string
	flag.StringVar(&o.python, "python", "python3", "`interpreter` that has the native peer")
	flag.StringVar(&o.build, "build", "build/peers", "`folder` for what is made, with the page's peers and the program")
	flag.StringVar(&o.in, "in", "native,chromium,decoder", "what: operations native and in chromium, SeedVR2's decoder; pictures and chromium-pictures are Stable Diffusion's decoder, which takes hours")
	flag.StringVar(&sizes, "sizes", "512,1024", "rows and columns of the pictures, multiples of 8")
	flag.StringVar(&only, "only", ".", "the cases whose name matches this `expression`")
	flag.IntVar(&o.rounds, "rounds", 5, "turns of each program; 0: times the first run, which includes compiling")
	flag.DurationVar(&o.rest, "rest", 0, "time to leave the machine to others between cases")
	flag.StringVar(&o.report, "report", "", "write NAME.json and NAME.md, too")
	flag.Parse()
	err := func() (err error) {
		if o.only, err = regexp.Compile(only); err != nil {
			return err
		}
		for _, text := range strings.Split(sizes, ",") {
			size, err := strconv.Atoi(text)
			if err != nil || size <= 0 || size%cell != 0 {
				return fmt.Errorf("-sizes has %q, expected multiples of %d", text, cell)
			}
			o.sizes = append(o.sizes, size)
		}
		return run(o)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// scripts are in this folder.
const scripts = "tools/peers/"

func run(o options) error {
	py, err := startPython(o.python, scripts+"native.py")
	if err != nil {
		return err
	}
	defer py.end()
	r := newReport()
	for _, where := range strings.Split(o.in, ",") {
		switch where {
		case "native":
			err = runNative(o, py, r, native)
		case "chromium":
			err = runChromium(o, py, r, inPage)
		case "pictures":
			err = runNative(o, py, r, decoders(o.sizes))
		case "chromium-pictures":
			err = runChromium(o, py, r, decoders(o.sizes))
		case "decoder":
			r.Decoder, err = runDecoder(o)
		default:
			err = fmt.Errorf("-in is %q, expected native, chromium, decoder, pictures or chromium-pictures", where)
		}
		if err != nil { // possibly after hours: print the results so far
			break
		}
	}
	r.Load.After = load()
	text := r.markdown()
	fmt.Print(text)
	if o.report == "" {
		return err
	}
	return errors.Join(err, r.save(o.report, text))
}

func runNative(o options, py *python, r *Report, cases []Case) error {
	dev, err := gpu.Open(gpu.Options{Adapter: -1})
	if err != nil {
		return err
	}
	defer dev.Close()
	i := dev.Info()
	part := r.part(natively, fmt.Sprintf("%s, %s, %s", i.Name, i.Driver, i.Backend), py.versions)
	return part.all(o, []runner{&itself{dev: dev}, py}, cases)
}

func runChromium(o options, py *python, r *Report, cases []Case) error {
	b, err := startBrowser(o, py)
	if err != nil {
		return err
	}
	defer b.end()
	return r.part(inChromium, b.about.Adapter+", "+b.about.Agent, b.about.Versions).all(o, []runner{b}, cases)
}

// all measures the selected cases.
func (p *Part) all(o options, runners []runner, cases []Case) error {
	for i, c := range slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return !o.only.MatchString(c.String()) }) {
		if i > 0 {
			time.Sleep(o.rest)
		}
		fmt.Fprintf(os.Stderr, "peers: %s, %v\n", p.Where, c)
		folder, err := filepath.Abs(filepath.Join(o.build, "case"))
		if err != nil {
			return err
		}
		result, err := compare(runners, folder, c, o.rounds)
		if err != nil {
			return err
		}
		result.Bar = p.bar(c)
		p.Results = append(p.Results, result)
	}
	return nil
}
