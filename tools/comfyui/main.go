// Command comfyui writes ComfyUI's node pack from integrations/comfyui: the folder
// tessera-comfyui, ready to be a git repository, and a zip of it. tools/comfyui.sh runs
// it.
package main

import (
	"archive/zip"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const name = "tessera-comfyui"

// pack is one run.
type pack struct {
	version    string // of the release, such as v0.1.0
	date       time.Time
	repository string // address of the pack's repository; "" if unknown
}

func main() {
	var p pack
	var date int64
	out := flag.String("o", "build/dist", "folder for the pack and its zip")
	flag.StringVar(&p.version, "version", "", "version to stamp")
	flag.Int64Var(&date, "date", 0, "date of all files, in seconds since 1970")
	flag.StringVar(&p.repository, "repository", "", "address of the pack's repository")
	flag.Parse()
	p.date = time.Unix(date, 0).UTC()
	if err := p.write("integrations/comfyui", *out); err != nil {
		fmt.Fprintln(os.Stderr, "comfyui:", err)
		os.Exit(1)
	}
}

// write creates the folder and the zip of the pack in source.
func (p *pack) write(source, out string) error {
	folder := filepath.Join(out, name)
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(out, name+"-"+strings.TrimPrefix(p.version, "v")+".zip"))
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(f)
	err = filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		rest, _ := filepath.Rel(source, path)
		switch {
		case err != nil:
			return err
		case d.Name() == "__pycache__":
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(folder, rest), 0o777)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data = p.stamped(rest, data)
		if err := os.WriteFile(filepath.Join(folder, rest), data, 0o666); err != nil {
			return err
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name + "/" + filepath.ToSlash(rest), Method: zip.Deflate, Modified: p.date})
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}

// numbers matches a version's numbers; ComfyUI's registry accepts no others.
var numbers = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)`)

// stamped returns a file of the pack with the version and the repository. If the
// version has no numbers, the file keeps its own.
func (p *pack) stamped(file string, data []byte) []byte {
	if file != "pyproject.toml" && file != "requirements.txt" {
		return data
	}
	text := string(data)
	if m := numbers.FindStringSubmatch(p.version); m != nil {
		text = strings.ReplaceAll(text, "tessera-vae>=0.1.0", "tessera-vae>="+m[1])
		text = strings.Replace(text, `version = "0.1.0"`, `version = "`+m[1]+`"`, 1)
	}
	if file == "pyproject.toml" && p.repository != "" {
		text += "\n[project.urls]\nRepository = \"" + p.repository + "\"\n"
	}
	return []byte(text)
}
