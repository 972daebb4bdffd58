package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// turnsNow are those since this program's threads began.
func turnsNow() (t turns) {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat") // the pattern is a good one
	for _, file := range files {
		text, _ := os.ReadFile(file) // there is none of a thread that has just ended
		var ran, waited time.Duration
		if n, _ := fmt.Sscan(string(text), &ran, &waited); n == 2 {
			t.ran, t.waited = t.ran+ran, t.waited+waited
		}
	}
	return t
}
