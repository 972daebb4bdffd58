package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// python is the folder of the Python package.
const python = "integrations/python"

// versionFile has the package's version.
const versionFile = "src/tessera_vae/_version.py"

// wheel returns the Python package with the program and the Dawn library in it, named
// as pip requires, and the wheel's own name.
func (j *job) wheel(p platform) (name string, data []byte, err error) {
	text, err := os.ReadFile(filepath.Join(python, "pyproject.toml"))
	if err != nil {
		return "", nil, err
	}
	project := string(text)
	said, err := os.ReadFile(filepath.Join(python, versionFile))
	if err != nil {
		return "", nil, err
	}
	version := pythonVersion(j.version, value(string(said), "__version__"))
	files, err := j.wheelFiles(p, "tessera_vae-"+version+".dist-info")
	if err != nil {
		return "", nil, err
	}
	info := "tessera_vae-" + version + ".dist-info/"
	licences := slices.Sorted(maps.Keys(files))
	licences = slices.DeleteFunc(licences, func(name string) bool { return !strings.HasPrefix(name, info+"licenses/") })
	for i := range licences {
		licences[i] = strings.TrimPrefix(licences[i], info+"licenses/")
	}
	readme, err := os.ReadFile(filepath.Join(python, "README.md"))
	if err != nil {
		return "", nil, err
	}
	files["tessera_vae/_version.py"] = entry{data: fmt.Appendf(nil, "__version__ = %q\n", version)}
	files[info+"METADATA"] = entry{data: metadata(project, version, j.addresses(), licences, string(readme))}
	files[info+"entry_points.txt"] = entry{data: []byte("[console_scripts]\ntessera = tessera_vae.__main__:main\ntessera-vae = tessera_vae.__main__:main\n")}
	files[info+"WHEEL"] = entry{data: []byte("Wheel-Version: 1.0\nGenerator: tessera\nRoot-Is-Purelib: false\nTag: py3-none-" + p.wheel + "\n")}
	files[info+"RECORD"] = entry{data: record(files, info+"RECORD")}
	data, err = j.pack("", files)
	return fmt.Sprintf("tessera_vae-%s-py3-none-%s.whl", version, p.wheel), data, err
}

// wheelFiles returns all files except the metadata.
func (j *job) wheelFiles(p platform, info string) (map[string]entry, error) {
	program, err := j.build(p)
	if err != nil {
		return nil, err
	}
	files := map[string]entry{}
	from := map[string]string{program: "tessera_vae/bin/" + filepath.Base(program)}
	sources, err := filepath.Glob(python + "/src/tessera_vae/*.*")
	if err != nil || len(sources) == 0 {
		return nil, fmt.Errorf("no sources in %s", python)
	}
	for _, s := range sources {
		from[s] = "tessera_vae/" + filepath.Base(s)
	}
	for from, to := range from {
		if err := add(files, from, to); err != nil {
			return nil, err
		}
	}
	licences := map[string]entry{}
	if err := j.licences(p, licences); err != nil {
		return nil, err
	}
	for from, to := range map[string]string{"LICENSE": "LICENSE", "assets/README.md": "licenses/demo.md"} {
		if err := add(licences, from, to); err != nil {
			return nil, err
		}
	}
	for name, l := range licences {
		files[path.Join(info, "licenses", strings.TrimPrefix(name, "licenses/"))] = entry{data: l.data}
	}
	return files, nil
}

// described matches versions from git describe: a tag, commits since, the last commit.
var described = regexp.MustCompile(`^v?(\d+(?:\.\d+)*)(?:-(\d+)-g([0-9a-f]+))?(-dirty)?$`)

var (
	released   = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)$`)
	separators = regexp.MustCompile(`[^a-zA-Z0-9]+`)
)

// pythonVersion returns a version for Python packages. If it names no tag, it becomes a
// local version of the package's.
func pythonVersion(version, said string) string {
	m := described.FindStringSubmatch(version)
	switch {
	case m == nil:
		local := separators.ReplaceAllString(version, ".")
		return said + "+g" + strings.ToLower(strings.Trim(local, ".")) // not as a number, which would lose zeros
	case m[2] == "" && m[4] == "":
		return m[1]
	case m[2] == "":
		return m[1] + "+dirty"
	}
	return fmt.Sprintf("%s.post%s+g%s%s", m[1], m[2], m[3], strings.Replace(m[4], "-", ".", 1))
}

// value returns a string of pyproject.toml, in which the requested keys are unique.
func value(project, key string) string {
	if m := regexp.MustCompile(`(?m)^` + key + ` = "(.*)"$`).FindStringSubmatch(project); m != nil {
		return m[1]
	}
	return ""
}

// values returns the items of a list of pyproject.toml.
func values(project, key string) (all []string) {
	m := regexp.MustCompile(`(?m)^` + key + ` = \[(.*)\]$`).FindStringSubmatch(project)
	if m == nil {
		return nil
	}
	for _, v := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(m[1], -1) {
		all = append(all, v[1])
	}
	return all
}

// metadata returns the metadata for pip.
func metadata(project, version string, addresses [][2]string, licences []string, readme string) []byte {
	author := regexp.MustCompile(`(?m)^authors = .*name = "(.*?)"`).FindStringSubmatch(project)
	lines := []string{
		"Metadata-Version: 2.4", "Name: " + value(project, "name"), "Version: " + version, "Summary: " + value(project, "description"),
		"License-Expression: Apache-2.0 AND LicenseRef-Bundled", "Author: " + author[1],
	}
	for _, a := range addresses {
		lines = append(lines, "Project-URL: "+a[0]+", "+a[1])
	}
	for _, l := range licences {
		lines = append(lines, "License-File: "+l)
	}
	lines = append(lines, "Requires-Python: "+value(project, "requires-python"))
	for _, d := range values(project, "dependencies") {
		lines = append(lines, "Requires-Dist: "+d)
	}
	lines = append(lines, "Provides-Extra: diffusers")
	for _, d := range values(project, "diffusers") {
		lines = append(lines, "Requires-Dist: "+d+"; extra == 'diffusers'")
	}
	lines = append(lines, "Description-Content-Type: text/markdown", "", readme)
	return []byte(strings.Join(lines, "\n"))
}

// record lists files with their checksums, and itself without.
func record(files map[string]entry, own string) []byte {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := sha256.Sum256(files[name].data)
		fmt.Fprintf(&out, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name].data))
	}
	return []byte(out.String() + own + ",,\n")
}
