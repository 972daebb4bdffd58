// Command dist writes a release's files. For each platform it writes a zip with the
// program, which contains the Dawn library, the licences of everything in it, a short
// README, the demo clip and the small model; and for a platform with that library, a
// wheel of the Python package. Besides these it writes SHA256SUMS. For all platforms
// together it adds the npm package, a bill of materials, the context of the container
// image, and manifests for winget, Scoop and Homebrew.
//
// Equal commits give equal bytes. tools/dist.sh runs it.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// job is one run.
type job struct {
	version    string
	commit     string
	repository string    // where the release is published, such as github.com/OWNER/tessera
	date       time.Time // of all files
	libraries  string    // folder filled by tools/deps.sh --dist
	npm        string    // folder filled by tools/npm.sh
	scratch    string    // folder for the programs
	out        string
}

// platform is a pair of GOOS and GOARCH, with its source of Dawn.
type platform struct {
	os, arch  string
	libraries []string // below job.libraries, embedded in the program
	without   string   // advice if there are none
	wheel     string   // tag of the Python package's wheel; "" for none
}

var platforms = []platform{
	{os: "windows", arch: "amd64", wheel: "win_amd64", libraries: []string{
		"provider/onnxruntime_providers_webgpu.dll", "windows/webgpu_wrapper.dll",
		"provider/dxcompiler.dll", "provider/dxil.dll", "fxc/d3dcompiler_47.dll",
		"msvc/msvcp140.dll", "msvc/msvcp140_atomic_wait.dll", "msvc/vcruntime140.dll", "msvc/vcruntime140_1.dll",
	}},
	{os: "linux", arch: "amd64", wheel: "manylinux_2_27_x86_64", libraries: []string{"linux/libwebgpu_dawn.so"}},
	{os: "darwin", arch: "arm64", wheel: "macosx_12_0_arm64", libraries: []string{"macos/libwebgpu_dawn.dylib"}},
	{os: "windows", arch: "arm64", wheel: "win_arm64", libraries: []string{
		"provider-windows-arm64/onnxruntime_providers_webgpu.dll",
		"provider-windows-arm64/dxcompiler.dll", "provider-windows-arm64/dxil.dll", "fxc-arm64/d3dcompiler_47.dll",
		"msvc-arm64/msvcp140.dll", "msvc-arm64/msvcp140_atomic_wait.dll", "msvc-arm64/vcruntime140.dll",
	}},
	{os: "linux", arch: "arm64", wheel: "manylinux_2_28_aarch64", libraries: []string{
		"provider-linux-arm64/libonnxruntime_providers_webgpu.so",
	}},
	{os: "darwin", arch: "amd64", without: `This archive has no Dawn library, which the program needs. Put the
libwebgpu_dawn.dylib of one of Dawn's own releases for macOS on Intel
(github.com/google/dawn, releases) beside the program.`},
}

func main() {
	j := &job{}
	var date int64
	flag.StringVar(&j.version, "version", "", "version to stamp")
	flag.StringVar(&j.commit, "commit", "", "commit to stamp")
	flag.StringVar(&j.repository, "repository", "", "where it is published, such as github.com/OWNER/tessera")
	flag.Int64Var(&date, "date", 0, "date of all files, in seconds since 1970")
	flag.StringVar(&j.libraries, "libraries", "build/dist/libraries", "folder that tools/deps.sh --dist filled")
	flag.StringVar(&j.npm, "npm", "build/npm", "folder that tools/npm.sh filled")
	flag.StringVar(&j.out, "o", "build/dist", "folder for the archives")
	flag.Parse()
	j.date = time.Unix(date, 0).UTC()
	if err := j.run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// run writes the archives of the named platforms, such as windows/amd64, or of all.
func (j *job) run(only []string) error {
	if j.version == "" || j.commit == "" || j.repository == "" || j.date.Unix() == 0 {
		return fmt.Errorf("-version, -commit, -repository and -date are needed")
	}
	var err error
	if j.scratch, err = os.MkdirTemp("", "tessera-dist-*"); err != nil {
		return err
	}
	defer os.RemoveAll(j.scratch)
	if err := os.MkdirAll(j.out, 0o777); err != nil {
		return err
	}
	var programs []string
	archives := map[string]download{}
	for _, p := range platforms {
		if len(only) > 0 && !slices.Contains(only, p.os+"/"+p.arch) {
			continue
		}
		name := fmt.Sprintf("tessera-%s-%s-%s", j.version, p.os, p.arch)
		data, err := j.archive(p, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		archives[p.os+"/"+p.arch] = download{name + ".zip", data}
		if err := j.write(name+".zip", data); err != nil {
			return err
		}
		program, err := j.build(p)
		if err != nil {
			return err
		}
		programs = append(programs, program)
		if p.wheel == "" {
			continue
		}
		if name, data, err = j.wheel(p); err != nil {
			return fmt.Errorf("a wheel for %s: %w", p.wheel, err)
		}
		if err := j.write(name, data); err != nil {
			return err
		}
	}
	if len(archives) == 0 {
		return fmt.Errorf("no platform %s", strings.Join(only, ", "))
	}
	if len(only) == 0 {
		if err := j.release(programs, archives); err != nil {
			return err
		}
	}
	return j.sums()
}

// release writes the files that only a release of all platforms has.
func (j *job) release(programs []string, archives map[string]download) error {
	data, err := j.sbom(programs, platforms)
	if err != nil {
		return fmt.Errorf("the bill of materials: %w", err)
	}
	if err := j.write("tessera-"+j.version+".cdx.json", data); err != nil {
		return err
	}
	if data, err = j.container(archives["linux/amd64"]); err != nil {
		return fmt.Errorf("the container's context: %w", err)
	}
	if err := j.write("tessera-"+j.version+"-container.tar.gz", data); err != nil {
		return err
	}
	name, data, err := j.npmPackage()
	if err != nil {
		return fmt.Errorf("the npm package: %w", err)
	}
	if err := j.write(name, data); err != nil {
		return err
	}
	for name, data := range j.manifests(archives) {
		if err := j.write(filepath.Join("manifests", name), data); err != nil {
			return err
		}
	}
	return nil
}

// addresses returns the project's addresses with their names.
func (j *job) addresses() [][2]string {
	home := "https://" + j.repository
	return [][2]string{
		{"Homepage", home}, {"Documentation", home + "/tree/main/docs"}, {"Changelog", home + "/blob/main/CHANGELOG.md"},
		{"Issues", home + "/issues"}, {"Commit", home + "/commit/" + j.commit},
	}
}

// write writes a file that anybody may read.
func (j *job) write(name string, data []byte) error {
	file := filepath.Join(j.out, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	fmt.Printf("dist: %s, %.1f MB\n", name, float64(len(data))/1e6)
	return os.WriteFile(file, data, 0o666)
}

// sums writes the checksums of all files to publish, including those that tools/dist.sh
// wrote to the folder before.
func (j *job) sums() error {
	list, err := os.ReadDir(j.out)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, f := range list {
		if !f.Type().IsRegular() || f.Name() == sumsFile {
			continue
		}
		data, err := os.ReadFile(filepath.Join(j.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), f.Name())
	}
	return os.WriteFile(filepath.Join(j.out, sumsFile), []byte(sums.String()), 0o666)
}

const sumsFile = "SHA256SUMS"
