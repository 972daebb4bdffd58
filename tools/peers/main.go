//go:build !js

// Command peers times Tessera's operations against the best peers, on the same
// adapter, in turns, so that whatever else the machine does falls on all:
// natively onnxruntime's WebGPU provider, in Chromium onnxruntime-web,
// tfjs-backend-webgpu and LiteRT.js. And `tessera decode` against a whole
// decoder in onnxruntime. tools/peers.sh sets it up; it prints tables in markdown.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	rounds int
	rest   time.Duration
	report string
}

func main() {
	o := options{}
	var only string
	flag.StringVar(&o.python, "python", "python3", "`interpreter` that has the native peer")
	flag.StringVar(&o.build, "build", "build/peers", "`folder` for what is made, with the page's peers and the program")
	flag.StringVar(&o.in, "in", "native,chromium,decoder", "what: operations native and in chromium, a whole decoder")
	flag.StringVar(&only, "only", ".", "the cases whose name matches this `expression`")
	flag.IntVar(&o.rounds, "rounds", 5, "turns of each program")
	flag.DurationVar(&o.rest, "rest", 0, "time to leave the machine to others between cases")
	flag.StringVar(&o.report, "report", "", "write NAME.json and NAME.md, too")
	flag.Parse()
	err := func() (err error) {
		if o.only, err = regexp.Compile(only); err != nil {
			return err
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
			err = runNative(o, py, r)
		case "chromium":
			err = runChromium(o, py, r)
		case "decoder":
			r.Decoder, err = runDecoder(o)
		default:
			err = fmt.Errorf("-in is %q, expected native, chromium or decoder", where)
		}
		if err != nil {
			return err
		}
	}
	r.Load.After = load()
	text := r.markdown()
	fmt.Print(text)
	if o.report == "" {
		return nil
	}
	return r.save(o.report, text)
}

func runNative(o options, py *python, r *Report) error {
	dev, err := gpu.Open(gpu.Options{Adapter: -1})
	if err != nil {
		return err
	}
	defer dev.Close()
	i := dev.Info()
	part := r.part(natively, fmt.Sprintf("%s, %s, %s", i.Name, i.Driver, i.Backend), py.versions)
	return part.all(o, []runner{&itself{dev: dev}, py}, native)
}

func runChromium(o options, py *python, r *Report) error {
	b, err := startBrowser(o, py)
	if err != nil {
		return err
	}
	defer b.end()
	return r.part(inChromium, b.about.Adapter+", "+b.about.Agent, b.about.Versions).all(o, []runner{b}, inPage)
}

// all measures the cases that are asked for.
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
