package terminal

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A plan that takes long is told of once, and one that does not is not; the end may be
// told twice, as of a plan and of what planned it.
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
