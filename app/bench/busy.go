package bench

import (
	"fmt"
	"time"

	"tessera/app/terminal"
)

// turns are how long this program's threads have run, and how long they were ready to
// and waited for a processor: nothing where the system does not tell.
type turns struct{ ran, waited time.Duration }

// during adds those of f.
func (t *turns) during(f func() error) error {
	before := turnsNow()
	err := f()
	after := turnsNow()
	t.ran += max(0, after.ran-before.ran) // threads that end take theirs along
	t.waited += max(0, after.waited-before.waited)
	return err
}

const (
	apart   = 1.5    // the better of two rooflines by the other, at most
	waiting = 1. / 3 // of the time of threads, at most: a tenth beside work of less priority, half and more beside as much of the same
)

// busy says by what the device was seen to do other work, too: on a processor, by what
// threads waited, and by rooflines measured before and after all else.
func busy(processor bool, t turns, before, after Roofline) string {
	if part := float64(t.waited) / float64(max(1, t.ran+t.waited)); processor && part > waiting {
		return fmt.Sprintf("%.0f %% of the time in which it could compute, this program waited for a processor", 100*part)
	}
	if r, again := before.GFLOPs, after.GFLOPs; max(r, again) > apart*min(r, again) {
		return fmt.Sprintf("%s GFLOP/s at the beginning were %s at the end", terminal.Figures(r), terminal.Figures(again))
	}
	if r, again := before.GBs, after.GBs; max(r, again) > apart*min(r, again) {
		return fmt.Sprintf("%s GB/s copied at the beginning were %s at the end", terminal.Figures(r), terminal.Figures(again))
	}
	return ""
}
