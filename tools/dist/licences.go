package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licences adds the licences of everything in p's archive.
func (j *job) licences(p platform, files map[string]entry) error {
	if err := modules([]string{"GOOS=" + p.os, "GOARCH=" + p.arch}, "./cmd/native", files); err != nil {
		return err
	}
	if err := j.engineLicences(files); err != nil {
		return err
	}
	if err := add(files, "web/dist/vendor/mediabunny.LICENSE", "licenses/mediabunny.txt"); err != nil {
		return fmt.Errorf("the page is not built (tools/web.sh): %w", err)
	}
	if len(p.libraries) == 0 {
		return nil
	}
	notices, err := os.ReadFile(filepath.Join(j.libraries, "linux/THIRD_PARTY_LICENSES.txt"))
	if err != nil {
		return err
	}
	dawn, err := ofDawn(string(notices))
	if err != nil {
		return err
	}
	files["licenses/dawn.txt"] = entry{data: []byte(dawn)}
	for _, l := range p.libraries {
		for from, to := range ofLibraries[path.Base(l)] {
			if err := add(files, filepath.Join(j.libraries, from), "licenses/"+to); err != nil {
				return err
			}
		}
	}
	if p.os == "windows" {
		files["licenses/microsoft.txt"] = entry{data: []byte(strings.ReplaceAll(microsoft, "\n", "\r\n"))}
	}
	return nil
}

// ofLibraries are the licences of some libraries besides Dawn's, with their names in an
// archive.
var ofLibraries = map[string]map[string]string{
	"onnxruntime_providers_webgpu.dll":   onnxruntime,
	"libonnxruntime_providers_webgpu.so": onnxruntime,
	"webgpu_wrapper.dll":                 {"windows/LICENSE": "dawn-2025-build.txt"},
	"dxcompiler.dll": {
		"fxc/dxcompiler-LICENSE.TXT": "dxcompiler.txt", "fxc/dxcompiler-ThirdPartyNotices.txt": "dxcompiler-notices.txt",
	},
}

var onnxruntime = map[string]string{"provider/LICENSE": "onnxruntime.txt", "provider/ThirdPartyNotices.txt": "onnxruntime-notices.txt"}

// microsoft introduces the libraries that belong to Microsoft.
const microsoft = `These libraries inside the program are Microsoft's, unchanged as published:

onnxruntime_providers_webgpu.dll
                    ONNX Runtime's WebGPU provider, of onnxruntime-ep-webgpu 0.4.0,
                    which contains Dawn; under the MIT licence: see onnxruntime.txt,
                    and onnxruntime-notices.txt for Dawn and all else in it.
dxcompiler.dll      DirectX Shader Compiler 1.8.2502.8, built by Microsoft from the
                    sources at github.com/microsoft/DirectXShaderCompiler, which are
                    under the University of Illinois/NCSA licence: see
                    dxcompiler.txt and dxcompiler-notices.txt.
dxil.dll            its validator, from the same release, (c) Microsoft Corporation,
                    all rights reserved; under the Microsoft Software License Terms
                    that come with that release (LICENSE-MS.txt), by which it may be
                    distributed with programs for Windows.
d3dcompiler_47.dll  Direct3D HLSL Compiler for Redistribution 10.0.22621.2428,
                    (c) Microsoft Corporation, all rights reserved; redistributable
                    code of the Windows SDK (its folder Redist\D3D), under the
                    Microsoft Software License Terms of the Windows SDK, for use
                    with this program on Windows.
msvcp140.dll, msvcp140_atomic_wait.dll, vcruntime140.dll, vcruntime140_1.dll
                    (on ARM without the last)
                    Microsoft Visual C++ runtime 14.51.36231, (c) Microsoft
                    Corporation, all rights reserved; redistributable code of Visual
                    Studio, under its Microsoft Software License Terms, for use with
                    this program on Windows.

None of them is under Tessera's licence. Apart from ONNX Runtime's provider, they may
not be modified, taken apart, or used apart from a program for Windows.
`

// engineLicences adds the licences of the page's engine and of Go.
func (j *job) engineLicences(files map[string]entry) error {
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return err
	}
	if err := gather(files, "licenses/go.txt", "The Go standard library and runtime", strings.TrimSpace(root)); err != nil {
		return err
	}
	return modules([]string{"GOOS=js", "GOARCH=wasm"}, "./cmd/wasm", files)
}

// modules adds the licences of the Go modules that a program contains, and of code that
// those modules took from elsewhere.
func modules(env []string, pkg string, files map[string]entry) error {
	const format = `{{$of := .Dir}}{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}	{{.Dir}}	{{$of}}{{end}}{{end}}`
	out, err := listed(env, format, pkg)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) < 3 {
			continue
		}
		if err := licencesOf(files, fields[0], fields[1], fields[2]); err != nil {
			return err
		}
	}
	return nil
}

// listed returns go list's output for a package and all its imports.
func listed(env []string, format, pkg string) (string, error) {
	cmd := exec.Command("go", "list", "-deps", "-f", format, pkg)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	return string(out), nil
}

// licencesOf adds a module's licences, and those in the folders between it and one of
// its packages.
func licencesOf(files map[string]entry, module, dir, of string) error {
	name, version, _ := strings.Cut(module, " ")
	file := func(name string) string { return "licenses/" + strings.ReplaceAll(name, "/", "_") + ".txt" }
	if err := gather(files, file(name), module, dir); err != nil {
		return err
	}
	for ; len(of) > len(dir); of = filepath.Dir(of) {
		if list, err := filepath.Glob(filepath.Join(of, "*")); err != nil || !slices.ContainsFunc(list, isLicence) {
			continue
		}
		inside := name + filepath.ToSlash(of[len(dir):])
		if err := gather(files, file(inside), inside+" "+version, of); err != nil {
			return err
		}
	}
	return nil
}

func isLicence(path string) bool { return licenceFile.MatchString(filepath.Base(path)) }

var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|patents|notice)(\.(txt|md))?$`)

// gather joins the licence files of a folder.
func gather(files map[string]entry, to, title, dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	text := title + "\n"
	found := false
	for _, f := range list {
		if !isLicence(f.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		found = true
		text += "\n" + strings.TrimSpace(string(data)) + "\n"
	}
	if !found {
		return fmt.Errorf("%s: no licence in its folder", title)
	}
	files[to] = entry{data: []byte(text)}
	return nil
}

// ofDawn returns the sections of a list of licences about Dawn and its dependencies. A
// section's title is between two lines of equals signs.
func ofDawn(notices string) (string, error) {
	parts := strings.Split(notices, "\n"+strings.Repeat("=", 78)+"\n")
	var kept strings.Builder
	for i := 1; i+1 < len(parts); i += 2 {
		title := parts[i]
		if strings.Contains(title, "Dawn") || strings.Contains(title, "libwebgpu_dawn") {
			fmt.Fprintf(&kept, "%s\n\n%s\n\n", title, strings.TrimSpace(parts[i+1]))
		}
	}
	if strings.Count(kept.String(), "Dawn") < 4 {
		return "", fmt.Errorf("the licences that came with Dawn are not as they were")
	}
	return kept.String(), nil
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return string(out), nil
}
