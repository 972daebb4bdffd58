package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/terminal"
	"tessera/tests/testenv"
)

// No time is shown before it is known, and after a tenth of the job each is right within
// a factor of three. The expected time is shown first.
func TestTimeIsHonest(t *testing.T) {
	testenv.Long(t)
	needDevice(t)
	var events []terminal.Event
	o := succeed(t, "decode", "-m", tiny, latentFile(t, 16, 3, 24, 24), "-o", t.TempDir()+"/out.npy", "--progress=json")
	first := ""
	for line := range strings.Lines(o.stderr) {
		var e terminal.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		switch {
		case e.Event == "note" && first == "":
			first = e.Text
		case e.Event == "progress":
			events = append(events, e)
		}
	}
	assert.Regexp(t, `^decode: (about \d+ (s|min)|less than a second) expected on `, first)
	end, told := *events[len(events)-1].Seconds, 0
	frames := map[int]bool{}
	for _, e := range events {
		frames[*e.Frame] = true
		if e.Left == nil {
			assert.Zero(t, e.Rate)
			continue
		}
		assert.True(t, *e.Done >= 0.03 && *e.Seconds >= 2 || *e.Done == 1, "%v s left after %v s and %v of the work", *e.Left, *e.Seconds, *e.Done)
		if left := end - *e.Seconds; *e.Done >= 0.1 && left > 0.5 {
			told++
			assert.InEpsilon(t, 1, (*e.Left+0.5)/(left+0.5), 2, "%v s left, told %v s after %v of the work", left, *e.Left, *e.Done)
			assert.Greater(t, 3*(*e.Left+0.5), left, "after %v of the work", *e.Done)
		}
	}
	assert.NotZero(t, told)
	assert.Greater(t, len(frames), 5, "frames that it was at")
}
