// Package known knows files by name: the checkpoints that are published, and what people
// have in their place. The command line, the page, the server and pull read the same
// tables.
//
// Start at Find, ByStart and ByTensors. A Kind becomes an error as a Mistake, which says
// what the file is and, on a second line, which file is meant and where it is.
package known

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"
)

// Checkpoint is a published file of a VAE.
type Checkpoint struct {
	Name    string // what it is pulled by, and opened by once it is here
	Model   string // as info has it
	Repo    string // on Hugging Face
	Path    string // in the repository
	File    string // what it is called here; "" is the last part of Path
	Size    int64  // in bytes
	About   bool   // Size is rounded: nobody says how many bytes
	SHA256  string // or its beginning; "" where it is not published
	Licence string // "" where it is on the repository's page alone
}

// Base is the file's name here.
func (c Checkpoint) Base() string { return cmp.Or(c.File, path.Base(c.Path)) }

// Hub is where repositories are, unless HF_ENDPOINT says otherwise.
const Hub = "https://huggingface.co"

// Address of the file at a hub.
func (c Checkpoint) Address(hub string) string {
	return strings.TrimRight(hub, "/") + "/" + c.Repo + "/resolve/main/" + c.Path
}

// Bytes is the size for people, in decimal units as of downloads.
func (c Checkpoint) Bytes() string { return Bytes(c.Size) }

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

// Find is the checkpoint of a name, in letters of any case.
func Find(name string) (Checkpoint, bool) {
	for _, c := range Checkpoints {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return Checkpoint{}, false
}

// Suggest is the checkpoint whose name comes nearest to one that there is not: the only one
// that has it in its own, without points, dashes and blanks.
func Suggest(name string) (c Checkpoint, ok bool) {
	plain := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", " ", "", ".", "").Replace(strings.ToLower(s))
	}
	for _, other := range Checkpoints {
		if plain(other.Name) == plain(name) {
			return other, true
		}
	}
	n := 0
	for _, other := range Checkpoints {
		if len(plain(name)) > 1 && strings.HasPrefix(plain(other.Name), plain(name)) {
			if n++; n == 1 {
				c = other
			}
		}
	}
	return c, n > 0
}

// byFile is the checkpoint that is published under a file's name, which no other is.
func byFile(name string) (c Checkpoint, ok bool) {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	for _, other := range Checkpoints {
		if strings.EqualFold(path.Base(other.Path), base) {
			if ok { // diffusers' files are all called the same
				return Checkpoint{}, false
			}
			c, ok = other, true
		}
	}
	return c, ok
}

// fetch says how a checkpoint comes here.
func (c Checkpoint) fetch() string {
	return fmt.Sprintf("`tessera pull %s`, or %s", c.Name, c.Address(Hub))
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
