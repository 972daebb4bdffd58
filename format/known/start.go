package known

import (
	"bytes"
	"fmt"
	"path"
	"strings"
)

// start is the beginning of a file that people have under the name of a checkpoint,
// latent, video or picture.
type start struct {
	begins []string // in lower case
	is, do string
	always bool // it is not a video or picture either
}

// webPage recognises HTML pages.
var webPage = []string{"<!doctype html", "<html", "<!--"}

// gguf begins the files of llama.cpp and related programs.
const gguf = "gguf"

// pointer begins the text that Git LFS puts in a file's place.
const pointer = "version https://git-lfs.github.com/spec/"

var starts = []start{
	{begins: []string{pointer}, is: "is a Git LFS pointer, which stands for the file", do: "fetch the file itself, with git lfs pull or from its page", always: true},
	{begins: webPage, is: "is a web page", do: "download the file itself: on Hugging Face its address has /resolve/ in place of /blob/", always: true},
	{begins: []string{gguf}, is: "is a GGUF file, whose weights are quantised for other programs", do: "take the VAE's .safetensors or .pth: `tessera models` lists the known ones", always: true},
	{begins: []string{"<?xml"}, is: "is an XML text, which servers send in place of a file", do: "download it again"},
	{begins: []string{"\x89hdf"}, is: "is an HDF5 file, expected safetensors or torch's", do: "take the model's .safetensors or .pth"},
	{begins: []string{"\x93numpy"}, is: "is a NumPy array, expected named tensors", do: "rename a latent to .npy; for a checkpoint use its .safetensors"},
	{begins: []string{"7z\xbc\xaf\x27\x1c"}, is: "is a 7-Zip archive", do: "unpack it"},
	{begins: []string{"rar!"}, is: "is a RAR archive", do: "unpack it"},
	{begins: []string{"\x1f\x8b\x08"}, is: "is a gzip archive", do: "unpack it"},
}

// media are the starts of videos and pictures that replace a checkpoint.
var media = []start{
	{begins: []string{"\x89png", "\xff\xd8\xff\xdb", "\xff\xd8\xff\xe0", "\xff\xd8\xff\xe1", "riff", "gif8"}, is: "is a picture", do: "give it as the input, and a checkpoint with -m: `tessera models` lists the known ones"},
	{begins: []string{"\x1a\x45\xdf\xa3"}, is: "is a video", do: "give it as the input, and a checkpoint with -m: `tessera models` lists the known ones"},
}

// zeros begin a file whose download was interrupted before its first bytes.
const zeros = 64

// Head is how many bytes of a file ByStart reads, More how many of a text or GGUF.
const (
	Head = zeros
	More = 4 << 10
)

// ByStart identifies a file called name by its first bytes, after blanks; nil if they do
// not identify it. more reads More bytes of the file.
func ByStart(name string, head []byte, more func() []byte) *Mistake {
	if m := byStart(starts, name, head, more); m != nil {
		return m
	}
	if len(head) == zeros && bytes.Count(head, []byte{0}) == zeros {
		return &Mistake{Is: "is zeros at the start, as after an interrupted download", Do: again(name)}
	}
	return nil
}

// Placeholder is ByStart for files that are not a video or picture either.
func Placeholder(name string, head []byte, more func() []byte) *Mistake {
	var always []start
	for _, s := range starts {
		if s.always {
			always = append(always, s)
		}
	}
	return byStart(always, name, head, more)
}

// Media identifies a picture or video in place of a checkpoint; nil if it is neither.
func Media(head []byte) *Mistake {
	if len(head) > 12 && string(head[4:8]) == "ftyp" {
		return media[1].mistake()
	}
	return byStart(media, "", head, nil)
}

func (s start) mistake() *Mistake { return &Mistake{Is: s.is, Do: s.do} }

func byStart(list []start, name string, head []byte, more func() []byte) *Mistake {
	for _, s := range list {
		for _, text := range s.begins {
			if len(head) < len(text) || lower(head[:len(text)]) != text {
				continue
			}
			m := s.mistake()
			switch text {
			case pointer:
				m.pointed(name, string(more()))
			case gguf:
				m.quantised(more())
			default:
				if is := whole(name); is != "" && (s.always || text == "<?xml") {
					m.Do += "; it is " + is
				}
			}
			return m
		}
	}
	return nil
}

// again says how to get an incomplete file again.
func again(name string) string {
	if is := whole(name); is != "" {
		return "download it again, " + is
	}
	return "download it again"
}

// Cut describes a file that has fewer bytes than its header says or, if wants is 0, than
// the one that is published under its name; nil if it is complete.
func Cut(name string, has, wants int64) *Mistake {
	by := "by its own header"
	if wants == 0 {
		wants, by = sizeOf(name), "as it is published"
	}
	if has >= wants {
		return nil
	}
	m := &Mistake{Is: fmt.Sprintf("is cut short: it has %d bytes, expected %d %s", has, wants, by), Do: again(name)}
	if ext := strings.ToLower(path.Ext(name)); ext == ".part" || ext == ".crdownload" || ext == ".aria2" || ext == ".incomplete" {
		m.Do = "wait until the download is complete and renames it"
	}
	return m
}

// lower converts ASCII letters to lower case.
func lower(text []byte) string {
	small := bytes.Clone(text)
	for i, c := range small {
		if 'A' <= c && c <= 'Z' {
			small[i] += 'a' - 'A'
		}
	}
	return string(small)
}
