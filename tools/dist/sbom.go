package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The parts of CycloneDX 1.6, the format of the bill of materials, that this command
// uses.
type (
	bom struct {
		Schema       string       `json:"$schema"`
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Serial       string       `json:"serialNumber"`
		Version      int          `json:"version"`
		Metadata     bomMetadata  `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	bomMetadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type       string      `json:"type"`
		Ref        string      `json:"bom-ref"`
		Name       string      `json:"name"`
		Version    string      `json:"version"`
		Hashes     []bomHash   `json:"hashes,omitempty"`
		Licenses   []licence   `json:"licenses,omitempty"`
		PURL       string      `json:"purl,omitempty"`
		References []reference `json:"externalReferences,omitempty"`
		Properties []property  `json:"properties,omitempty"`
	}
	licence struct {
		Expression string `json:"expression"`
	}
	bomHash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	reference struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn"`
	}
)

// pinned are the variables of tools/pins.sh that name the source of the folders of
// libraries.
var pinned = map[string]string{
	"windows": "npm_windows", "linux": "wheel", "macos": "wheel",
	"provider": "provider", "provider-windows-arm64": "provider", "provider-linux-arm64": "provider",
	"fxc": "fxc", "fxc-arm64": "fxc", "msvc": "msvc", "msvc-arm64": "msvc",
}

// sbom lists the components of the programs, the page and the bundles.
func (j *job) sbom(programs []string, platforms []platform) ([]byte, error) {
	all := map[string]component{}
	if err := goComponents(all, programs); err != nil {
		return nil, err
	}
	pins, err := os.ReadFile("tools/pins.sh")
	if err != nil {
		return nil, err
	}
	for _, p := range platforms {
		for _, l := range p.libraries {
			c, err := j.library(p, l, string(pins))
			if err != nil {
				return nil, err
			}
			all[c.Ref] = c
		}
	}
	page, err := ofPage()
	if err != nil {
		return nil, err
	}
	all[page.Ref] = page
	sum := sha256.Sum256([]byte("tessera " + j.version + " " + j.commit))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8, with our own hash
	own := "pkg:golang/" + j.repository + "@" + j.version
	list := bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1,
		Serial: fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]),
		Metadata: bomMetadata{j.date.Format(time.RFC3339), component{
			Type: "application", Ref: own, Name: "tessera", Version: j.version, PURL: own, Licenses: []licence{{"Apache-2.0"}},
			References: []reference{{"vcs", "https://" + j.repository}}, Properties: []property{{"commit", j.commit}},
		}},
		Dependencies: []dependency{{own, slices.Sorted(maps.Keys(all))}},
	}
	for _, ref := range slices.Sorted(maps.Keys(all)) {
		list.Components = append(list.Components, all[ref])
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err = e.Encode(list)
	return out.Bytes(), err
}

// goComponents adds the modules that programs report to be built from, and those of the
// page's engine.
func goComponents(all map[string]component, programs []string) error {
	add := func(path, version, sum string) {
		c := component{Type: "library", Name: path, Version: version, PURL: "pkg:golang/" + path + "@" + version}
		if c.Ref = c.PURL; sum != "" {
			c.Properties = []property{{"go.sum", sum}}
		}
		if _, there := all[c.Ref]; !there || sum != "" {
			all[c.Ref] = c
		}
	}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return err
		}
		add("std", strings.TrimPrefix(info.GoVersion, "go"), "")
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			add(m.Path, m.Version, m.Sum)
		}
	}
	engine, err := listed([]string{"GOOS=js", "GOARCH=wasm"}, `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}`, "./cmd/wasm")
	if err != nil {
		return err
	}
	for line := range strings.Lines(engine) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			add(path, version, "")
		}
	}
	return nil
}

// library returns a file of p's bundle, with its hash and the package that pins it.
func (j *job) library(p platform, name, pins string) (component, error) {
	data, err := os.ReadFile(filepath.Join(j.libraries, name))
	if err != nil {
		return component{}, err
	}
	pin := regexp.MustCompile(`(?m)^` + pinned[filepath.Dir(name)] + `=(.+?)(==|@)(\S+)$`).FindStringSubmatch(pins)
	if pin == nil {
		return component{}, fmt.Errorf("%s: no pin of its folder in tools/pins.sh", name)
	}
	purl := map[string]string{"==": "pkg:pypi/", "@": "pkg:npm/"}[pin[2]] + pin[1] + "@" + pin[3] + "?arch=" + p.arch + "#" + filepath.Base(name)
	return component{
		Type: "library", Ref: purl, Name: filepath.Base(name), Version: pin[3],
		PURL: purl, Hashes: []bomHash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(data))}},
	}, nil
}

// ofPage returns the page's only library.
func ofPage() (component, error) {
	text, err := os.ReadFile("web/package-lock.json")
	if err != nil {
		return component{}, err
	}
	var lock struct {
		Packages map[string]struct{ Version, License string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return component{}, fmt.Errorf("web/package-lock.json: %w", err)
	}
	p, ok := lock.Packages["node_modules/mediabunny"]
	if !ok {
		return component{}, fmt.Errorf("web/package-lock.json: no mediabunny")
	}
	purl := "pkg:npm/mediabunny@" + p.Version
	return component{Type: "library", Ref: purl, Name: "mediabunny", Version: p.Version, PURL: purl, Licenses: []licence{{p.License}}}, nil
}
