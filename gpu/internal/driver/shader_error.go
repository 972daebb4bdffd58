package driver

import (
	"errors"
	"fmt"
	"strings"
)

// around is the number of source lines shown on each side of an error.
const around = 3

// Note is a message of the shader compiler; line and column count from 1.
type Note struct {
	Line, Column int
	Text         string
}

// ShaderError formats the compiler's messages, each with line:column and the numbered
// source around it.
func ShaderError(source string, notes []Note) error {
	lines := strings.Split(source, "\n")
	var s strings.Builder
	s.WriteString("the shader does not compile")
	for _, n := range notes {
		fmt.Fprintf(&s, "\n%d:%d: %s", n.Line, n.Column, strings.TrimSpace(n.Text))
		for i := max(1, n.Line-around); i <= min(len(lines), n.Line+around) && n.Line > 0; i++ {
			mark := " "
			if i == n.Line {
				mark = ">"
			}
			fmt.Fprintf(&s, "\n%s%5d | %s", mark, i, strings.TrimRight(lines[i-1], "\r"))
		}
	}
	return errors.New(s.String())
}
