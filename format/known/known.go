// Package known knows files by name: the checkpoints that are published, and what people
// have in their place. The command line, the page, the server and pull read the same
// tables.
//
// Start at Find, ByStart and ByTensors. A Kind becomes an error as a Mistake, which says
// what the file is and, on a second line, which file is meant and where it is.
package known

import (
	"errors"
	"fmt"
)

// Bytes is a size for people: 254 MB, 1.4 GB.
func Bytes(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Tensors are the names of a file's tensors, and their shapes.
type Tensors interface {
	Names() []string
	Shape(name string) []int
}

// Mistake is a file that is not what it was taken for.
type Mistake struct {
	Is     string // what it is, and what was expected
	Do     string // what to do about that
	Detail string // what told so, such as names of tensors; "" for nothing more
	Err    error  // that it explains; nil for none
}

func (m *Mistake) Unwrap() error { return m.Err }

func (m *Mistake) Error() string {
	if m.Do == "" {
		return m.Is
	}
	return m.Is + "\n" + m.Do
}

// Detail is what a Mistake in err was told by, "" for none.
func Detail(err error) string {
	if m, ok := errors.AsType[*Mistake](err); ok {
		return m.Detail
	}
	return ""
}
