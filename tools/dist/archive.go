package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sort"
)

// entry is a file of an archive.
type entry struct {
	data    []byte
	program bool // executable
}

// archive builds the program for p and returns the zip of all that belongs to it, in a
// folder called name.
func (j *job) archive(p platform, name string) ([]byte, error) {
	program, err := j.build(p)
	if err != nil {
		return nil, err
	}
	files := map[string]entry{}
	for from, to := range map[string]string{
		program: filepath.Base(program), "LICENSE": "LICENSE.txt", "assets/README.md": "demo/README.md",
		"assets/tiny-seedvr2.safetensors": "demo/tiny-seedvr2.safetensors",
	} {
		if err := add(files, from, to); err != nil {
			return nil, err
		}
	}
	frames, err := filepath.Glob("assets/demo/*.png")
	if err != nil || len(frames) == 0 {
		return nil, fmt.Errorf("no demo clip in assets/demo")
	}
	for _, f := range frames {
		if err := add(files, f, "demo/clip/"+filepath.Base(f)); err != nil {
			return nil, err
		}
	}
	if p.os == "windows" {
		for _, f := range []string{"windows.md", "windows.tr.md"} {
			if err := add(files, "docs/guides/"+f, "docs/"+f); err != nil {
				return nil, err
			}
		}
	}
	if err := j.licences(p, files); err != nil {
		return nil, err
	}
	files["README.txt"] = entry{data: j.readme(p)}
	return j.pack(name, files)
}

// add puts the file `from` into the archive. Libraries are executable, as some systems
// require.
func add(files map[string]entry, from, to string) error {
	data, err := os.ReadFile(from)
	switch filepath.Ext(to) {
	case "", ".exe", ".dll", ".so", ".dylib":
		files[to] = entry{data, true}
	default:
		files[to] = entry{data, false}
	}
	return err
}

// build compiles the program with the libraries inside. The result does not depend on
// the folder or on the state of the checkout.
func (j *job) build(p platform) (string, error) {
	program := filepath.Join(j.scratch, p.os+"-"+p.arch, "tessera")
	if p.os == "windows" {
		program += ".exe"
	}
	if _, err := os.Stat(program); err == nil { // built for the archive, now used for the wheel
		return program, nil
	}
	args := []string{"build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -buildid= -X main.version=" + j.version + " -X main.commit=" + j.commit[:min(len(j.commit), 12)], "-o", program}
	if len(p.libraries) > 0 {
		overlay, err := j.bundle(p)
		if err != nil {
			return "", err
		}
		args = append(args, "-tags", "bundle", "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, "./cmd/native")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
}

// bundle packs p's libraries for package dawn and returns an overlay for the go command
// that puts them into its folder.
func (j *job) bundle(p platform) (overlay string, err error) {
	files, sum := map[string]entry{}, sha256.New()
	for _, l := range p.libraries {
		name := filepath.Base(l)
		if err := add(files, filepath.Join(j.libraries, l), name); err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(files[name].data))
		sum.Write(files[name].data)
	}
	data, err := j.pack(fmt.Sprintf("dawn-%x", sum.Sum(nil)[:8]), files)
	if err != nil {
		return "", err
	}
	packed, err := filepath.Abs(filepath.Join(j.scratch, p.os+"-"+p.arch+".zip"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(packed, data, 0o666); err != nil {
		return "", err
	}
	place, err := filepath.Abs("gpu/internal/dawn/bundle.zip")
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{place: packed}})
	if err != nil {
		return "", err
	}
	overlay = packed + ".json"
	return overlay, os.WriteFile(overlay, text, 0o666)
}

// pack writes the zip with sorted names, one date and fixed modes.
func (j *job) pack(folder string, files map[string]entry) ([]byte, error) {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, name := range names {
		h := &zip.FileHeader{Name: path.Join(folder, name), Method: zip.Deflate, Modified: j.date}
		h.SetMode(0o644)
		if files[name].program {
			h.SetMode(0o755)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(files[name].data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
