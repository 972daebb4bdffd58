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
	Name    string // for pull, and for opening it afterwards
	Model   string // the name that info prints
	Repo    string // on Hugging Face
	Path    string // in the repository
	File    string // name of the stored file; "" is the last part of Path
	Size    int64  // in bytes
	About   bool   // Size is rounded, because the exact size is not published
	SHA256  string // or its beginning; "" if it is not published
	Licence string // "" if only the repository's page states it
}

// Base returns the name of the stored file.
func (c Checkpoint) Base() string { return cmp.Or(c.File, path.Base(c.Path)) }

// Hub is the address of repositories, unless HF_ENDPOINT is set.
const Hub = "https://huggingface.co"

// Address returns the file's address at a hub.
func (c Checkpoint) Address(hub string) string {
	return strings.TrimRight(hub, "/") + "/" + c.Repo + "/resolve/main/" + c.Path
}

// Bytes formats the size in decimal units, as download pages do.
func (c Checkpoint) Bytes() string { return Bytes(c.Size) }

// Find returns the checkpoint of a name, in any case.
func Find(name string) (Checkpoint, bool) {
	for _, c := range Checkpoints {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return Checkpoint{}, false
}

// Suggest returns the checkpoint that an unknown name may mean: the only one whose name
// contains it, ignoring points, dashes and blanks.
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

// byFile returns the checkpoint that is published under a file's name, if that is unique.
func byFile(name string) (c Checkpoint, ok bool) {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	for _, other := range Checkpoints {
		if strings.EqualFold(path.Base(other.Path), base) {
			if ok { // diffusers' files all have one name
				return Checkpoint{}, false
			}
			c, ok = other, true
		}
	}
	return c, ok
}

// fetch says how to get a checkpoint.
func (c Checkpoint) fetch() string {
	return fmt.Sprintf("`tessera pull %s`, or %s", c.Name, c.Address(Hub))
}

// told describes the file, with its size and address.
func (c Checkpoint) told() string {
	return fmt.Sprintf("%s, %s: %s", c.Base(), c.Bytes(), c.fetch())
}

// whole describes the file that is published under a name, "" without one.
func whole(name string) string {
	if c, ok := byFile(name); ok {
		return c.told()
	}
	return ""
}

// sizeOf returns the size of that file, 0 if unknown.
func sizeOf(name string) int64 {
	if c, ok := byFile(name); ok && !c.About {
		return c.Size
	}
	return 0
}

// pointed adds the file that a Git LFS pointer describes by its hash and size.
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

// quantised adds what a GGUF file contains, and the VAE for it.
func (m *Mistake) quantised(text []byte) {
	const key = "general.architecture"
	at := bytes.Index(text, []byte(key))
	if at < 0 || len(text) < at+len(key)+12 {
		return
	}
	rest := text[at+len(key):]
	n := binary.LittleEndian.Uint64(rest[4:])
	if binary.LittleEndian.Uint32(rest) != 8 || n > uint64(len(rest)-12) { // 8 is the type of a text
		return
	}
	if k, ok := architectures[string(rest[12:12+n])]; ok {
		m.Is = "is a GGUF file of " + strings.TrimPrefix(k.Is, "a ") + ", expected a VAE"
		m.Do = k.advice()
	}
}
