package main

import (
	"bufio"
	"io"
	"strings"
)

// While Dawn is loaded and opens devices, what it prints about limits it lowers
// ("Warning: maxDynamic... artificially reduced") is dropped: it says nothing to
// a user, and Dawn has no switch for it. All else is passed on; drivers print
// there, too, and end the program there if they are broken.

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
