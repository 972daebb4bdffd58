package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tessera/app/report"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A profile's layers and kinds have the plan's work and take no longer than the job. The
// trace has the same events of the GPU, one after another, within their submissions.
func TestProfile(t *testing.T) {
	needDevice(t)
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace.json")
	latent := latentFile(t, 16, 2, 4, 4)
	o := succeed(t, "--json", "decode", "-m", tiny, latent, "--scale=none", "--precision=f32", "-o", filepath.Join(dir, "out.npy"), "--profile", trace)
	var r struct {
		Outputs []string
		Decode  struct {
			Seconds float64
			FLOPs   int64 `json:"flops"`
		}
		Profile []report.Profile
	}
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &r))
	require.Equal(t, []string{filepath.Join(dir, "out.npy"), trace}, r.Outputs)
	require.Len(t, r.Profile, 1)
	s := r.Profile[0]
	require.Equal(t, "decode", s.Stage)
	require.GreaterOrEqual(t, s.Seconds, r.Decode.Seconds)
	require.LessOrEqual(t, s.Busy, s.Seconds)
	require.InDelta(t, s.Busy/s.Seconds, s.Share, 1e-9)
	var flops int64
	seconds := map[string]float64{}
	names := map[string]bool{}
	var order, planned []string
	for _, l := range s.Layers {
		names[l.Name] = true
		seconds["layers"] += l.Seconds
		if !strings.HasPrefix(l.Name, "fold ") { // of weights, before the job
			flops += l.FLOPs
			if !strings.HasSuffix(l.Name, " taps") && !strings.HasSuffix(l.Name, " winograd") { // sums of a layer's weights
				order = append(order, l.Name)
			}
		}
	}
	for _, k := range s.Kinds {
		seconds["kinds"] += k.Seconds
	}
	require.InDelta(t, r.Decode.FLOPs, flops, float64(r.Decode.FLOPs)/1e5, "work that is not the plan's")
	require.InDelta(t, s.Busy, seconds["layers"], 1e-6)
	require.InDelta(t, s.Busy, seconds["kinds"], 1e-6)
	for _, l := range plannedLayers(t, "-m", tiny, "--frames=5", "--size=32x32", "--precision=f32") {
		if l.Name != "to_rgba8" { // .npy stores floats
			planned = append(planned, l.Name)
		}
	}
	require.Equal(t, planned, order, "the plan's layers, in the network's order")
	require.Equal(t, s.Queried, s.Busy > 0)
	require.Contains(t, o.stderr, "profile of decode")
	require.Contains(t, o.stderr, s.Kinds[0].Name)

	data, err := os.ReadFile(trace)
	require.NoError(t, err)
	var events struct {
		TraceEvents []report.TraceEvent
		OtherData   map[string]string
	}
	require.NoError(t, json.Unmarshal(data, &events))
	require.NotEmpty(t, events.OtherData["adapter"])
	checkTrace(t, events.TraceEvents, s, names)
}

// plannedLayers returns the layers of tessera plan.
func plannedLayers(t *testing.T, args ...string) (layers []struct{ Name string }) {
	t.Helper()
	var plan struct{ Layers []struct{ Name string } }
	require.NoError(t, json.Unmarshal([]byte(succeed(t, append([]string{"--json", "plan"}, args...)...).stdout), &plan))
	return plan.Layers
}

// checkTrace compares a trace's events with its stage.
func checkTrace(t *testing.T, events []report.TraceEvent, s report.Profile, layers map[string]bool) {
	t.Helper()
	const slack = 1e-3 // microseconds, for rounding
	var sent []report.TraceEvent
	last, busy := 0.0, 0.0
	for _, e := range events {
		switch {
		case e.Phase == "M":
			continue
		case e.Thread == report.TraceSubmissions:
			sent = append(sent, e)
			continue
		}
		assert.Equal(t, report.TraceGPU, e.Thread)
		assert.Equal(t, "X", e.Phase)
		assert.True(t, layers[e.Name], "%s is no layer", e.Name)
		assert.GreaterOrEqual(t, e.At, last-slack, "%s overlaps", e.Name)
		assert.GreaterOrEqual(t, e.At, sent[int(e.Args["submission"].(float64))].At-slack, "%s ran before it was sent", e.Name)
		last, busy = e.At+e.Length, busy+e.Length
	}
	require.Len(t, sent, s.Submissions)
	require.InDelta(t, s.Busy, busy/1e6, 1e-6)
	require.LessOrEqual(t, last/1e6, s.Seconds)
}

// A trace is an output like others: its name must have the extension, it must not replace
// an input, nor with --no-clobber any file.
func TestProfileNames(t *testing.T) {
	latent := latentFile(t, 16, 1, 2, 2)
	there := filepath.Join(t.TempDir(), "there.json")
	write(t, there, nil)
	link := filepath.Join(t.TempDir(), "link.json")
	require.NoError(t, os.Link(latent, link))
	for _, c := range []struct {
		flags []string
		code  int
		says  string
	}{
		{[]string{"--profile=trace.txt"}, 2, "expected FILE.json"},
		{[]string{"--profile="}, 2, "expected FILE.json"},
		{[]string{"--profile", link}, 2, "which it would replace"},
		{[]string{"--no-clobber", "--profile", there}, 2, "exists"},
	} {
		o := tessera(t, append([]string{"decode", "-m", tiny, latent, "-o", filepath.Join(t.TempDir(), "out.npy")}, c.flags...)...)
		assert.Equal(t, c.code, o.code, "%v: %s", c.flags, o.stderr)
		assert.Contains(t, o.stderr, c.says)
	}
}
