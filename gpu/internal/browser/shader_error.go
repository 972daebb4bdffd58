//go:build js

package browser

import (
	"errors"
	"fmt"
	"strings"
)

// note is a message of the shader compiler; line and column count from 1.
type note struct {
	line, column int
	text         string
}

// around is how many lines of source are shown on either side of an error.
const around = 3

// shaderError is the compiler's messages, each with line:column and the
// numbered source around it.
func shaderError(source string, notes []note) error {
	lines := strings.Split(source, "\n")
	var s strings.Builder
	s.WriteString("the shader does not compile")
	for _, n := range notes {
		fmt.Fprintf(&s, "\n%d:%d: %s", n.line, n.column, strings.TrimSpace(n.text))
		for i := max(1, n.line-around); i <= min(len(lines), n.line+around) && n.line > 0; i++ {
			mark := " "
			if i == n.line {
				mark = ">"
			}
			fmt.Fprintf(&s, "\n%s%5d | %s", mark, i, strings.TrimRight(lines[i-1], "\r"))
		}
	}
	return errors.New(s.String())
}
