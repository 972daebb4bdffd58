// Package quiet drops what Dawn prints while it is loaded and opens devices. Start at
// Run, and call Passer first in main.
//
//	quiet.Run(func() { device, err = gpu.Open(options) })
//
// Dawn prints the limits that it lowers ("Warning: maxDynamic... artificially reduced"),
// which mean nothing to a user, and has no switch to disable this. Run drops these lines
// and passes on all others: drivers print there too, and broken ones end the program
// there.
//
// On Linux another process passes the lines on, so that no line is lost if a driver ends
// this one. That process is this program again, so its main must begin with Passer.
package quiet

import (
	"bufio"
	"io"
	"strings"
	"sync"
)

// isProgram is set once this executable has called Passer; tests do not call it.
var isProgram bool

// Passer passes lines on if the program was started for that, and then returns true.
func Passer() bool {
	if passer() {
		return true
	}
	isProgram = true
	return false
}

// one lets one Run at a time replace the process's standard error.
var one sync.Mutex

// Run runs f, in which Dawn is loaded or opens a device. It may be called from several
// goroutines, and runs their functions one after another.
func Run(f func()) {
	one.Lock()
	defer one.Unlock()
	quietly(f)
}

// opened is a line that marks the end of opening. Lines after it are not printed while
// drivers are loaded.
const opened = "\x00tessera: opened\n"

// pass copies lines as they arrive, without Dawn's messages. It reports whether opened
// was among them.
func pass(from io.Reader, to io.Writer) (over bool) {
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadString('\n')
		if rest, found := strings.CutSuffix(line, opened); found {
			line, over = rest, true
		}
		if line != "" && !strings.Contains(line, "artificially reduced") {
			_, _ = io.WriteString(to, line)
		}
		if err != nil {
			return over
		}
	}
}
