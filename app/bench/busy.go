package bench

import (
	"fmt"
	"time"

	"tessera/app/terminal"
)

// turns are how long this program's threads have run, and how long they were ready to run
// and waited for a processor; zero if the system does not report it.
type turns struct{ ran, waited time.Duration }

// during adds the times of f.
func (t *turns) during(f func() error) error {
	before := turnsNow()
	err := f()
	after := turnsNow()
	t.ran += max(0, after.ran-before.ran) // a thread that ends takes its times away
	t.waited += max(0, after.waited-before.waited)
	return err
}

const (
	apart   = 1.5    // limit on the ratio of two rooflines
	waiting = 1. / 3 // limit on the threads' waiting time: a tenth beside work of lower priority, half and more beside as much work of equal priority
)

// busy describes signs that the device did other work: on a processor, threads that
// waited; elsewhere, different rooflines before and after the measurement.
func busy(processor bool, t turns, before, after Roofline) string {
	if part := float64(t.waited) / float64(max(1, t.ran+t.waited)); processor && part > waiting {
		return fmt.Sprintf("this program waited for a processor in %.0f %% of its computing time", 100*part)
	}
	if r, again := before.GFLOPs, after.GFLOPs; max(r, again) > apart*min(r, again) {
		return fmt.Sprintf("%s GFLOP/s at the beginning, %s at the end", terminal.Figures(r), terminal.Figures(again))
	}
	if r, again := before.GBs, after.GBs; max(r, again) > apart*min(r, again) {
		return fmt.Sprintf("%s GB/s copied at the beginning, %s at the end", terminal.Figures(r), terminal.Figures(again))
	}
	return ""
}
