package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"tessera/app/terminal"
	"tessera/gpu"
)

// Profile is the profile of one direction's run; its JSON is part of the
// result.
type Profile struct {
	Stage       string    `json:"stage"`
	Seconds     float64   `json:"seconds"`
	Queried     bool      `json:"timestamps"`   // the adapter timed its commands
	Busy        float64   `json:"busy_seconds"` // of the adapter; 0 without timestamps
	Share       float64   `json:"busy_share"`   // busy seconds over seconds
	Submissions int       `json:"submissions"`
	Longest     float64   `json:"longest_submission_seconds"` // from submission until its completion is known
	Kinds       []Ranking `json:"kinds"`                      // shaders, copies and clears, the slowest first
	Layers      []Ranking `json:"layers"`                     // in network order

	raw *gpu.Profile
}

// Ranking is the total of the commands with one name.
type Ranking struct {
	Name       string  `json:"name"`
	Seconds    float64 `json:"seconds"`
	Dispatches int     `json:"dispatches"` // each part of a split one counts
	FLOPs      int64   `json:"flops"`
	Bytes      int64   `json:"bytes"` // if each operand moved once
}

// NewProfile sums a profile.
func NewProfile(stage string, p *gpu.Profile) *Profile {
	s := &Profile{Stage: stage, Seconds: p.Wall.Seconds(), Queried: p.Queried, Busy: p.Busy().Seconds(), Submissions: len(p.Pieces), raw: p}
	s.Share = s.Busy / s.Seconds
	kinds, layers := map[string]*Ranking{}, map[string]*Ranking{}
	var kindOrder, layerOrder []*Ranking
	add := func(to map[string]*Ranking, order *[]*Ranking, name string, r *gpu.Ran) {
		k := to[name]
		if k == nil {
			k = &Ranking{Name: name}
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

// slower orders by time, the slowest first; without times by FLOPs.
func slower(a, b Ranking) int {
	return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(b.FLOPs, a.FLOPs))
}

// kindOf names the kind of a command.
func kindOf(c *gpu.Command) string {
	switch {
	case c.Program != nil:
		return c.Program.Label
	case c.Src.Buffer != nil:
		return "copy"
	}
	return "clear"
}

// most is how many layers Print lists.
const most = 15

// Print prints the tables.
func (s *Profile) Print(t *terminal.Terminal) {
	busy := fmt.Sprintf("of which the GPU was busy %.2f s (%.0f %%)", s.Busy, 100*s.Share)
	if !s.Queried {
		busy = "the adapter has no timestamps, so only submissions are timed"
	}
	t.Note("profile of %s: %.2f s, %s, in %d submissions of at most %.0f ms", s.Stage, s.Seconds, busy, s.Submissions, 1e3*s.Longest)
	if t.Quiet || t.Progress == "json" {
		return
	}
	layers := slices.Clone(s.Layers)
	slices.SortStableFunc(layers, slower)
	var rest Ranking
	if len(layers) > most {
		rest.Name = fmt.Sprintf("%d others", len(layers)-most)
		for _, l := range layers[most:] {
			rest.Seconds, rest.FLOPs, rest.Bytes, rest.Dispatches = rest.Seconds+l.Seconds, rest.FLOPs+l.FLOPs, rest.Bytes+l.Bytes, rest.Dispatches+l.Dispatches
		}
		layers = append(layers[:most:most], rest)
	}
	s.table(t.Stderr, "kind", s.Kinds)
	s.table(t.Stderr, "layer", layers)
	fmt.Fprintln(t.Stderr)
}

// table prints one table.
func (s *Profile) table(w io.Writer, head string, rows []Ranking) {
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
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

// TraceEvent is an event of Chrome's Trace Event Format; times are in microseconds.
type TraceEvent struct {
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
	TraceGPU = 1 + iota
	TraceSubmissions
)

// trace returns the events of a stage, which is one process of the trace.
func (s *Profile) trace(process int) []TraceEvent {
	micro := func(d time.Duration) float64 { return float64(d) / 1e3 }
	events := []TraceEvent{
		{Name: "process_name", Phase: "M", Process: process, Args: map[string]any{"name": s.Stage}},
		{Name: "thread_name", Phase: "M", Process: process, Thread: TraceSubmissions, Args: map[string]any{"name": "submissions, by this machine's clock"}},
	}
	if s.Queried {
		events = append(events, TraceEvent{Name: "thread_name", Phase: "M", Process: process, Thread: TraceGPU, Args: map[string]any{"name": "GPU, by its own clock"}})
	}
	for i, piece := range s.raw.Pieces {
		events = append(events, TraceEvent{
			Name: piece.Label, Category: "submission", Phase: "X", At: micro(piece.Begin), Length: micro(piece.End - piece.Begin),
			Process: process, Thread: TraceSubmissions, Args: map[string]any{"commands": len(piece.Commands), "submission": i},
		})
		for _, r := range piece.Commands {
			if !s.Queried {
				break
			}
			events = append(events, TraceEvent{
				Name: r.Command.Label, Category: kindOf(r.Command), Phase: "X", At: micro(r.Begin), Length: micro(r.Time()),
				Process: process, Thread: TraceGPU,
				Args: map[string]any{"kind": kindOf(r.Command), "gflop": float64(r.Cost.FLOPs) / 1e9, "mb": float64(r.Cost.Bytes) / 1e6, "submission": i},
			})
		}
	}
	return events
}

// Trace returns a file for chrome://tracing.
func Trace(stages []*Profile, adapter gpu.Info, version string) []byte {
	var events []TraceEvent
	for i, s := range stages {
		events = append(events, s.trace(i+1)...)
	}
	data, _ := json.Marshal(struct { // cannot fail for these events
		Events []TraceEvent      `json:"traceEvents"`
		Unit   string            `json:"displayTimeUnit"`
		Other  map[string]string `json:"otherData"`
	}{events, "ms", map[string]string{
		"adapter": adapter.Name, "driver": adapter.Driver, "backend": adapter.Backend, "version": version,
	}})
	return data
}
