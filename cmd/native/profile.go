package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"tessera/app/files"
	"tessera/app/terminal"
	"tessera/gpu"
	"tessera/media"
)

// profileFlag tells where the time of a job goes.
type profileFlag struct {
	Profile profileChoice `group:"device" help:"Tell where the time goes, in tables on standard error; with --profile=FILE.json also in a trace for chrome://tracing or Perfetto."`
}

// profileChoice is whether to profile, and the trace's file.
type profileChoice struct {
	on   bool
	file string // "" for none
}

// IsBool says that the flag needs no value.
func (profileChoice) IsBool() bool { return true }

// Decode reads =FILE.json or, since no argument of a command is called so, a
// FILE.json that follows.
func (c *profileChoice) Decode(k *kong.DecodeContext) error {
	next := k.Scan.Peek()
	name, text := next.Value.(string)
	switch {
	case next.Type == kong.FlagValueToken || text && next.Type == kong.UntypedToken && isTrace(name):
		k.Scan.Pop()
	default:
		c.on = true
		return nil
	}
	if on, ok := next.Value.(bool); ok {
		c.on = on
		return nil
	}
	if !isTrace(name) {
		return fmt.Errorf("%q: expected FILE.json, or nothing for tables alone", name)
	}
	c.on, c.file = true, name
	return nil
}

func isTrace(name string) bool { return strings.EqualFold(filepath.Ext(name), ".json") }

// outputs are those of the flag.
func (f profileFlag) outputs() (out files.Outputs) {
	if f.Profile.file != "" {
		out = files.Outputs{files.Named("--profile="+f.Profile.file, f.Profile.file)}
	}
	return out
}

// stageProfile is the profile of one direction's run; its JSON is part of the
// result.
type stageProfile struct {
	Stage       string    `json:"stage"`
	Seconds     float64   `json:"seconds"`
	Queried     bool      `json:"timestamps"`   // the adapter timed its commands
	Busy        float64   `json:"busy_seconds"` // of the adapter, 0 without timestamps
	Share       float64   `json:"busy_share"`   // of the seconds
	Submissions int       `json:"submissions"`
	Longest     float64   `json:"longest_submission_seconds"` // from being sent until it was known to be done
	Kinds       []ranking `json:"kinds"`                      // shaders, copies and clears, the slowest first
	Layers      []ranking `json:"layers"`                     // in the order of the network

	raw *gpu.Profile
}

// ranking is what commands of one name took.
type ranking struct {
	Name       string  `json:"name"`
	Seconds    float64 `json:"seconds"`
	Dispatches int     `json:"dispatches"` // a cut one counts each part
	FLOPs      int64   `json:"flops"`
	Bytes      int64   `json:"bytes"` // if every operand moved once
}

// profile begins the profile of a stage, where one was asked for. What it
// returns ends it, once the stage is done.
func (a *app) profile(e *machine, stage string) (end func() error, err error) {
	if !a.profiling {
		return func() error { return nil }, nil
	}
	p, err := e.dev.Profile(a.ctx)
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := p.End(a.ctx); err != nil {
			return err
		}
		a.profiles = append(a.profiles, newStageProfile(stage, p))
		return nil
	}, nil
}

// newStageProfile sums a profile up.
func newStageProfile(stage string, p *gpu.Profile) *stageProfile {
	s := &stageProfile{Stage: stage, Seconds: p.Wall.Seconds(), Queried: p.Queried, Busy: p.Busy().Seconds(), Submissions: len(p.Pieces), raw: p}
	s.Share = s.Busy / s.Seconds
	kinds, layers := map[string]*ranking{}, map[string]*ranking{}
	var kindOrder, layerOrder []*ranking
	add := func(to map[string]*ranking, order *[]*ranking, name string, r *gpu.Ran) {
		k := to[name]
		if k == nil {
			k = &ranking{Name: name}
			to[name], *order = k, append(*order, k)
		}
		k.Seconds += r.Time().Seconds()
		k.FLOPs += r.Cost.FLOPs
		k.Bytes += r.Cost.Bytes
		k.Dispatches++
	}
	for i := range p.Pieces {
		s.Longest = max(s.Longest, (p.Pieces[i].End - p.Pieces[i].Begin).Seconds())
		for j := range p.Pieces[i].Commands {
			r := &p.Pieces[i].Commands[j]
			add(kinds, &kindOrder, kindOf(r.Command), r)
			add(layers, &layerOrder, r.Command.Label, r)
		}
	}
	for _, k := range kindOrder {
		s.Kinds = append(s.Kinds, *k)
	}
	for _, l := range layerOrder {
		s.Layers = append(s.Layers, *l)
	}
	slices.SortStableFunc(s.Kinds, slower)
	return s
}

// slower orders by time, the slowest first; without times by arithmetic.
func slower(a, b ranking) int {
	return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(b.FLOPs, a.FLOPs))
}

// kindOf names what a command is.
func kindOf(c *gpu.Command) string {
	switch {
	case c.Program != nil:
		return c.Program.Label
	case c.Src.Buffer != nil:
		return "copy"
	}
	return "clear"
}

// most is how many layers are told of at the terminal.
const most = 15

// tell prints the tables.
func (s *stageProfile) tell(a *app) {
	busy := fmt.Sprintf("of which the GPU was busy %.2f s (%.0f %%)", s.Busy, 100*s.Share)
	if !s.Queried {
		busy = "on an adapter without timestamps, so that only submissions are timed"
	}
	a.Note("profile of %s: %.2f s, %s, in %d submissions of at most %.0f ms", s.Stage, s.Seconds, busy, s.Submissions, 1e3*s.Longest)
	if a.Quiet || a.Progress == "json" {
		return
	}
	layers := slices.Clone(s.Layers)
	slices.SortStableFunc(layers, slower)
	var rest ranking
	if len(layers) > most {
		rest.Name = fmt.Sprintf("%d others", len(layers)-most)
		for _, l := range layers[most:] {
			rest.Seconds, rest.FLOPs, rest.Bytes, rest.Dispatches = rest.Seconds+l.Seconds, rest.FLOPs+l.FLOPs, rest.Bytes+l.Bytes, rest.Dispatches+l.Dispatches
		}
		layers = append(layers[:most:most], rest)
	}
	s.table(a, "kind", s.Kinds)
	s.table(a, "layer", layers)
	fmt.Fprintln(a.Stderr)
}

// table prints one.
func (s *stageProfile) table(a *app, head string, rows []ranking) {
	fmt.Fprintln(a.Stderr)
	t := tabwriter.NewWriter(a.Stderr, 0, 0, 3, ' ', tabwriter.AlignRight)
	defer t.Flush()
	if !s.Queried {
		fmt.Fprintf(t, "dispatches\tGFLOP\tMB\t   %s\n", head)
		for _, r := range rows {
			fmt.Fprintf(t, "%d\t%s\t%s\t   %s\n", r.Dispatches, terminal.Figures(float64(r.FLOPs)/1e9), terminal.Figures(float64(r.Bytes)/1e6), r.Name)
		}
		return
	}
	fmt.Fprintf(t, "ms\tshare\tdispatches\tGFLOP/s\tGB/s\t   %s\n", head)
	for _, r := range rows {
		rate := func(n int64) string {
			if n == 0 || r.Seconds == 0 {
				return "-"
			}
			return terminal.Figures(float64(n) / r.Seconds / 1e9)
		}
		fmt.Fprintf(t, "%s\t%.1f %%\t%d\t%s\t%s\t   %s\n", terminal.Figures(1e3*r.Seconds), 100*r.Seconds/max(s.Busy, 1e-9), r.Dispatches, rate(r.FLOPs), rate(r.Bytes), r.Name)
	}
}

// traceEvent is one of Chrome's Trace Event Format; times are microseconds.
type traceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	At       float64        `json:"ts"`
	Length   float64        `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// Threads of a trace.
const (
	traceGPU = 1 + iota
	traceSubmissions
)

// trace is the events of a stage, which is a process of the trace.
func (s *stageProfile) trace(process int) []traceEvent {
	micro := func(d time.Duration) float64 { return float64(d) / 1e3 }
	events := []traceEvent{
		{Name: "process_name", Phase: "M", Process: process, Args: map[string]any{"name": s.Stage}},
		{Name: "thread_name", Phase: "M", Process: process, Thread: traceSubmissions, Args: map[string]any{"name": "submissions, by this machine's clock"}},
	}
	if s.Queried {
		events = append(events, traceEvent{Name: "thread_name", Phase: "M", Process: process, Thread: traceGPU, Args: map[string]any{"name": "GPU, by its own clock"}})
	}
	for i, piece := range s.raw.Pieces {
		events = append(events, traceEvent{
			Name: piece.Label, Category: "submission", Phase: "X", At: micro(piece.Begin), Length: micro(piece.End - piece.Begin),
			Process: process, Thread: traceSubmissions, Args: map[string]any{"commands": len(piece.Commands), "submission": i},
		})
		for _, r := range piece.Commands {
			if !s.Queried {
				break
			}
			events = append(events, traceEvent{
				Name: r.Command.Label, Category: kindOf(r.Command), Phase: "X", At: micro(r.Begin), Length: micro(r.Time()),
				Process: process, Thread: traceGPU,
				Args: map[string]any{"kind": kindOf(r.Command), "gflop": float64(r.Cost.FLOPs) / 1e9, "mb": float64(r.Cost.Bytes) / 1e6, "submission": i},
			})
		}
	}
	return events
}

// report ends a command's profile: tables for people, the trace, and what is
// told of it in the result.
func (f profileFlag) report(a *app, r *result, adapter gpu.Info) error {
	if !f.Profile.on {
		return nil
	}
	r.Profile = a.profiles
	for _, s := range a.profiles {
		s.tell(a)
	}
	if f.Profile.file == "" {
		return nil
	}
	r.Outputs = append(r.Outputs, terminal.FileName(f.Profile.file))
	return media.WriteFile(f.Profile.file, traceOf(a.profiles, adapter))
}

// traceOf is the file that chrome://tracing opens.
func traceOf(stages []*stageProfile, adapter gpu.Info) []byte {
	var events []traceEvent
	for i, s := range stages {
		events = append(events, s.trace(i+1)...)
	}
	data, _ := json.Marshal(struct { // fails for no event
		Events []traceEvent      `json:"traceEvents"`
		Unit   string            `json:"displayTimeUnit"`
		Other  map[string]string `json:"otherData"`
	}{events, "ms", map[string]string{
		"adapter": adapter.Name, "driver": adapter.Driver, "backend": adapter.Backend, "version": programVersion().Version,
	}})
	return data
}
