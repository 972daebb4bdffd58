package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBusy(t *testing.T) {
	free, crowded := turns{10 * time.Second, 2 * time.Second}, turns{10 * time.Second, 10 * time.Second}
	roof := Roofline{GFLOPs: 100, GBs: 10}
	for name, c := range map[string]struct {
		processor bool
		turns
		after Roofline
		says  string
	}{
		"alone":            {true, free, roof, ""},
		"untold":           {true, turns{}, Roofline{GFLOPs: 70, GBs: 14}, ""},
		"crowded":          {true, crowded, roof, "this program waited for a processor in 50 % of its computing time"},
		"a card":           {false, crowded, roof, ""},
		"arithmetic later": {false, free, Roofline{GFLOPs: 40, GBs: 10}, "100 GFLOP/s at the beginning, 40.0 at the end"},
		"traffic before":   {false, free, Roofline{GFLOPs: 100, GBs: 20}, "10.0 GB/s copied at the beginning, 20.0 at the end"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.says, busy(c.processor, c.turns, roof, c.after))
		})
	}
	require.Contains(t, (&Report{Busy: "all day"}).Markdown(), "**The machine was busy with other work, so the figures are unreliable**: all day.\n")
	require.NotContains(t, (&Report{}).Markdown(), "busy")
}
