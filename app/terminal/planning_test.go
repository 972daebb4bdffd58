package terminal

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A long planning is reported once, a short one is not. Its end may be called twice, for
// a plan and for its caller.
func TestPlanningIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		a := &Terminal{Stderr: &told}
		done := a.Planning("decode")
		time.Sleep(2 * time.Second)
		done()
		done()
		time.Sleep(time.Minute)
		assert.Empty(t, told.String())
		done = a.Planning("decode")
		time.Sleep(time.Minute)
		done()
		done()
		assert.Equal(t, "decode planning\n", told.String())
	})
}
