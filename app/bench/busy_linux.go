package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// turnsNow returns the times since this program's threads started.
func turnsNow() (t turns) {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat") // the pattern is valid
	for _, file := range files {
		text, _ := os.ReadFile(file) // the thread may have ended
		var ran, waited time.Duration
		if n, _ := fmt.Sscan(string(text), &ran, &waited); n == 2 {
			t.ran, t.waited = t.ran+ran, t.waited+waited
		}
	}
	return t
}
