package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Two steps run at once, a step waits for the one that it needs, an exclusive step runs
// alone, and all run although one fails.
func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("tools", 0o777))
	require.NoError(t, os.WriteFile(filepath.Join("tools", "adapter.sh"), nil, 0o666))
	r := &run{list: []step{
		{name: "a", does: "until grep -q +b order; do sleep 0.01; done; echo -a >>order; exit 3"},
		{name: "b", does: "until grep -q +a order; do sleep 0.01; done; echo -b >>order"},
		{name: "c", after: "b"}, {name: "d", alone: true},
		{name: "e", does: "echo 'skipped: no reason'"}, {name: "f"},
	}}
	for i, s := range r.list {
		r.list[i].does = "echo +" + s.name + " >>order; " + s.does
		if s.name > "b" {
			r.list[i].does = "echo +" + s.name + " >>order; echo -" + s.name + " >>order; " + s.does
		}
	}
	require.EqualError(t, r.run(t.Context()), "failed: a")
	text, err := os.ReadFile("order")
	require.NoError(t, err)
	order := strings.Fields(string(text))
	at := func(what string) int {
		for i, each := range order {
			if each == what {
				return i
			}
		}
		require.Fail(t, "missing", "%s in %v", what, order)
		return -1
	}
	assert.Less(t, max(at("+a"), at("+b")), min(at("-a"), at("-b")), "each waits for the other: %v", order)
	assert.Less(t, at("-b"), at("+c"), "c waits for b: %v", order)
	assert.Equal(t, at("+d")+1, at("-d"), "d is alone: %v", order)
	assert.Less(t, max(at("-a"), at("-c")), at("+d"), "d waits for all: %v", order)
	assert.Less(t, at("-d"), min(at("+e"), at("+f")), "all wait for d: %v", order)
}

// Cancelling a step also ends the programs that it started.
func TestCancel(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("tools", 0o777))
	require.NoError(t, os.WriteFile(filepath.Join("tools", "adapter.sh"), nil, 0o666))
	ctx, cancel := context.WithCancel(t.Context())
	r := &run{list: []step{{name: "a", does: `sh -c 'trap "echo ended >child; exit" INT; touch ready; while :; do sleep 0.01; done'; true`}}}
	ended := make(chan error)
	go func() { ended <- r.run(ctx) }()
	require.Eventually(t, func() bool { _, err := os.Stat("ready"); return err == nil }, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Eventually(t, func() bool { _, err := os.Stat("child"); return err == nil }, time.Minute, time.Millisecond)
}

// At its limit a run ends the running step, starts no other, and fails only for tests
// that had failed by then. Of the remembered steps the oldest comes first.
func TestLimit(t *testing.T) {
	for name, c := range map[string]struct {
		event string // of a test in the step that the limit ends
		err   string
	}{
		"nothing failed": {`{"Time":"2999-01-01T00:00:00Z","Action":"fail","Package":"p","Test":"T"}`, ""}, // because of the interrupt
		"a test failed":  {`{"Time":"2001-01-01T00:00:00Z","Action":"fail","Package":"p","Test":"T"}`, "failed: long"},
	} {
		t.Run(name, func(t *testing.T) {
			module(t, map[string]string{"go.mod": "module m\n\ngo 1.26\n", "tools/adapter.sh": "",
				committed: "long 0 2026-01-02\nnew 0 2026-01-03\nold 0 2026-01-01\n"})
			files := &inputs{files: []string{"tools"}}
			r := &run{limit: time.Hour, list: []step{
				{name: "new", inputs: files, does: "echo new >>order"},
				{name: "long", alone: true, inputs: files, tests: "./p", does: "echo long >>order; echo '" + c.event + "' >" + logs + "/long.json; touch ready; sleep 1000; "},
				{name: "first", alone: true, does: "echo first >>order"},
				{name: "old", alone: true, inputs: files, does: "echo old >>order"},
			}}
			limited, reach := context.WithCancelCause(t.Context())
			ended := make(chan error)
			r.oldestFirst()
			go func() { ended <- r.until(t.Context(), limited) }()
			require.Eventually(t, func() bool { _, err := os.Stat("ready"); return err == nil }, time.Minute, time.Millisecond)
			reach(errLimit)
			if err := <-ended; c.err == "" {
				require.NoError(t, err)
				assert.Equal(t, []string{"long", "new"}, r.cut)
			} else {
				require.EqualError(t, err, c.err)
			}
			text, err := os.ReadFile("order")
			require.NoError(t, err)
			assert.Equal(t, []string{"first", "old", "long"}, strings.Fields(string(text)))
		})
	}
}
