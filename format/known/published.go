//go:build !first

package known

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"path"
	"strconv"
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

// told is the file, its size and where it is.
func (c Checkpoint) told() string {
	return fmt.Sprintf("%s, %s: %s", c.Base(), c.Bytes(), c.fetch())
}

// whole is the file that is published under a name, "" for none.
func whole(name string) string {
	if c, ok := byFile(name); ok {
		return c.told()
	}
	return ""
}

// sizeOf is the size of that file, 0 where it is not known.
func sizeOf(name string) int64 {
	if c, ok := byFile(name); ok && !c.About {
		return c.Size
	}
	return 0
}

// pointed adds the file that a pointer stands for, which it tells by its hash and size.
func (m *Mistake) pointed(name, text string) {
	var sum string
	var size int64
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "oid":
			sum = strings.TrimPrefix(value, "sha256:")
		case "size":
			size, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	if size > 0 {
		m.Is += fmt.Sprintf(" of %d bytes", size)
	}
	c, ok := byFile(name)
	for _, other := range Checkpoints {
		if !other.About && other.Size == size && len(sum) == 64 && strings.HasPrefix(sum, other.SHA256) {
			c, ok = other, true
		}
	}
	if ok && (c.About || size == 0 || c.Size == size) {
		m.Do = "fetch the file itself, with git lfs pull, " + c.fetch()
	}
}

// quantised adds what a GGUF file has, and the VAE of that.
func (m *Mistake) quantised(text []byte) {
	const key = "general.architecture"
	at := bytes.Index(text, []byte(key))
	if at < 0 || len(text) < at+len(key)+12 {
		return
	}
	rest := text[at+len(key):]
	n := binary.LittleEndian.Uint64(rest[4:])
	if binary.LittleEndian.Uint32(rest) != 8 || n > uint64(len(rest)-12) { // 8 is a text
		return
	}
	if k, ok := architectures[string(rest[12:12+n])]; ok {
		m.Is = "is a GGUF file of " + strings.TrimPrefix(k.Is, "a ") + ", expected a VAE"
		m.Do = k.advice()
	}
}
