// Package quiet drops what Dawn prints while it is loaded and opens devices.
//
// Dawn prints the limits that it lowers ("Warning: maxDynamic... artificially reduced"),
// which says nothing to a user, and has no switch for it. Run drops these lines and passes
// on all others: drivers print there, too, and end the program there if they are broken.
//
// On Linux another process passes the lines on, so that nothing is lost if a driver ends
// this one. That process is this program again, so its main has to begin with Passer.
package quiet

import (
	"bufio"
	"io"
	"strings"
)

// isProgram is whether this executable called Passer; tests do not.
var isProgram bool

// Passer reports whether the program was started to pass lines on, and has done it.
func Passer() bool {
	if passer() {
		return true
	}
	isProgram = true
	return false
}

// Run runs f, in which Dawn is loaded or opens a device.
func Run(f func()) { quietly(f) }

// opened in place of a line says that opening is over. What comes after it is
// not printed while drivers are loaded.
const opened = "\x00tessera: opened\n"

// pass passes lines on as they come, without the chatter. It reports whether
// opened was among them.
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
