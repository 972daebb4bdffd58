package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/build"
)

var example = &job{version: "v1.2.3", commit: "0123456789abcdef", repository: "example.com/someone/tessera", date: time.Unix(1e9, 0).UTC()}

// Versions of the npm package are semantic versions, and its package.json names its
// repository.
func TestNPM(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3": "1.2.3", "v1.2.3-7-gabc12": "0.1.0-dev.v1-2-3-7-gabc12", "89cbafd": "0.1.0-dev.89cbafd",
	} {
		assert.Equal(t, want, npmVersion(version, "0.1.0"), version)
	}
	text, err := os.ReadFile("../../integrations/npm/package.json")
	require.NoError(t, err)
	described, version, err := example.npmDescription(text)
	require.NoError(t, err)
	require.Equal(t, "1.2.3", version)
	var p struct {
		Name, Version, GitHead, Homepage string
		Repository                       struct{ URL string }
	}
	require.NoError(t, json.Unmarshal(described, &p))
	require.Equal(t, []string{"tessera-vae", "1.2.3", example.commit, "https://example.com/someone/tessera", "git+https://example.com/someone/tessera.git"},
		[]string{p.Name, p.Version, p.GitHead, p.Homepage, p.Repository.URL})
}

// Package managers get the addresses and hashes of the archives, but no archive without
// Dawn.
func TestManifests(t *testing.T) {
	archives := map[string]download{}
	for _, p := range platforms {
		name := "tessera-v1.2.3-" + p.os + "-" + p.arch + ".zip"
		archives[p.os+"/"+p.arch] = download{name, []byte(name)}
	}
	files := example.manifests(archives)
	address := func(platform string) string {
		return "https://example.com/someone/tessera/releases/download/v1.2.3/" + archives[platform].name
	}
	sum := func(platform string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(archives[platform].name))) }

	const winget = "winget/manifests/s/someone/Tessera/1.2.3/someone.Tessera"
	for _, kind := range []string{"", ".locale.en-US", ".installer"} {
		text := string(files[winget+kind+".yaml"])
		for _, want := range []string{"PackageIdentifier: someone.Tessera\n", "PackageVersion: 1.2.3\n", "ManifestVersion: 1.6.0\n"} {
			assert.Contains(t, text, want, kind)
		}
	}
	installer := string(files[winget+".installer.yaml"])
	for platform, name := range map[string]string{"windows/amd64": "x64", "windows/arm64": "arm64"} {
		assert.Contains(t, installer, "- Architecture: "+name+"\n  InstallerUrl: "+address(platform)+
			"\n  InstallerSha256: "+strings.ToUpper(sum(platform))+"\n  NestedInstallerFiles:\n  - RelativeFilePath: tessera-v1.2.3-"+
			strings.ReplaceAll(platform, "/", "-")+`\tessera.exe`)
	}

	var scoop struct {
		Version      string
		Architecture map[string]struct{ URL, Hash, Extract_dir string }
		Autoupdate   struct {
			Architecture map[string]struct{ URL string }
		}
	}
	require.NoError(t, json.Unmarshal(files["scoop/tessera.json"], &scoop))
	assert.Equal(t, "1.2.3", scoop.Version)
	for platform, name := range map[string]string{"windows/amd64": "64bit", "windows/arm64": "arm64"} {
		folder := "tessera-v1.2.3-" + strings.ReplaceAll(platform, "/", "-")
		assert.Equal(t, address(platform), scoop.Architecture[name].URL)
		assert.Equal(t, sum(platform), scoop.Architecture[name].Hash)
		assert.Equal(t, folder, scoop.Architecture[name].Extract_dir)
		assert.Contains(t, scoop.Autoupdate.Architecture[name].URL, "/v$version/"+strings.ReplaceAll(folder, "1.2.3", "$version")+".zip")
	}

	brew := string(files["homebrew/tessera.rb"])
	for _, platform := range []string{"darwin/arm64", "linux/amd64", "linux/arm64"} {
		assert.Contains(t, brew, fmt.Sprintf("url %q\n      sha256 %q\n", address(platform), sum(platform)))
	}
	for name, text := range files {
		assert.NotContains(t, string(text), "darwin-amd64", name)
	}
}

// The bill of materials has the modules of a program, the bundles' libraries with
// hashes and pins, and the page's library, each once.
func TestSBOM(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	require.NoError(t, build.Program(program, "tessera/tools/dawn", nil))
	t.Chdir("../..")
	j := *example
	j.libraries = t.TempDir()
	linux := []platform{{os: "linux", arch: "amd64", libraries: []string{"linux/libwebgpu_dawn.so"}}}
	require.NoError(t, os.Mkdir(filepath.Join(j.libraries, "linux"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(j.libraries, "linux/libwebgpu_dawn.so"), []byte("dawn"), 0o666))
	text, err := j.sbom([]string{program}, linux)
	require.NoError(t, err)
	again, err := j.sbom([]string{program}, linux)
	require.NoError(t, err)
	require.Equal(t, text, again)
	var b bom
	require.NoError(t, json.Unmarshal(text, &b))
	require.Equal(t, []string{"CycloneDX", "1.6", "2001-09-09T01:46:40Z"}, []string{b.Format, b.Spec, b.Metadata.Timestamp})
	require.Regexp(t, `^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, b.Serial)
	require.Equal(t, "v1.2.3", b.Metadata.Component.Version)
	require.Equal(t, []property{{"commit", example.commit}}, b.Metadata.Component.Properties)
	there := map[string]component{}
	for _, c := range b.Components {
		require.NotContains(t, there, c.Ref)
		there[c.Ref] = c
		require.NotEmpty(t, c.Version, c.Ref)
	}
	require.Len(t, b.Dependencies[0].On, len(there))
	names := map[string]component{}
	for _, c := range there {
		names[c.Name] = c
	}
	require.NotEmpty(t, names["github.com/ebitengine/purego"].Properties, "a module's sum")
	require.Contains(t, names, "github.com/x448/float16", "the engine's")
	require.Contains(t, names, "mediabunny")
	require.Contains(t, names, "std")
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256([]byte("dawn"))), names["libwebgpu_dawn.so"].Hashes[0].Content)
	require.Regexp(t, `^pkg:pypi/rillfacet@[\d.]+\?arch=amd64#libwebgpu_dawn.so$`, names["libwebgpu_dawn.so"].PURL)
	for _, p := range platforms { // every pin is found
		for _, l := range p.libraries {
			require.Contains(t, pinned, filepath.Dir(l))
		}
	}
}

// docker build accepts the context as it is, and the image's labels describe it.
func TestContainer(t *testing.T) {
	t.Chdir("../..")
	data, err := example.container(download{"tessera-v1.2.3-linux-amd64.zip", []byte("zip")})
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		files[h.Name] = string(text)
	}
	require.Len(t, files, 2)
	require.Equal(t, "zip", files["build/dist/tessera-v1.2.3-linux-amd64.zip"])
	require.Contains(t, files["Dockerfile"], "COPY build/dist/tessera-*-linux-amd64.zip ")
	require.Contains(t, files["Dockerfile"], `org.opencontainers.image.version="v1.2.3" \`)
	require.Contains(t, files["Dockerfile"], `org.opencontainers.image.revision="0123456789abcdef" \`)
}
