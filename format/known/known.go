// Package known identifies files: the checkpoints that are published, and other files
// that people have instead. The command line, the page, the server and pull read the same
// tables.
//
// Start at Find for a checkpoint's name, ByStart for a file's first bytes and ByTensors
// for its tensors' names. A Kind becomes an error as a Mistake, which says what the file
// is and, on a second line, which file is meant and where to find it.
package known

import (
	"errors"
	"fmt"
)

// Bytes formats a size for people: 254 MB, 1.4 GB.
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

// Mistake describes a file that is not what it was taken for.
type Mistake struct {
	Is     string // what it is, and what was expected
	Do     string // what to do about it
	Detail string // how this was recognised, such as by names of tensors; "" for no more
	Err    error  // the error that it explains; nil for none
}

func (m *Mistake) Unwrap() error { return m.Err }

func (m *Mistake) Error() string {
	if m.Do == "" {
		return m.Is
	}
	return m.Is + "\n" + m.Do
}

// Detail returns how a Mistake in err was recognised, "" if unknown.
func Detail(err error) string {
	if m, ok := errors.AsType[*Mistake](err); ok {
		return m.Detail
	}
	return ""
}
