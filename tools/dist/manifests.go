package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// what describes the program in package managers' lists.
const what = "Encode video and pictures to latents and decode latents back, on any GPU"

// plain returns the version for package managers, without its tag's v.
func (j *job) plain() string { return strings.TrimPrefix(j.version, "v") }

// download returns the address of an archive.
func (j *job) download(file string) string {
	return "https://" + j.repository + "/releases/download/" + j.version + "/" + file
}

// manifests returns the files for package managers, by their path below manifests/.
// archives are the platforms' files, such as linux/amd64's, by name and content.
func (j *job) manifests(archives map[string]download) map[string][]byte {
	owner := path.Base(path.Dir(j.repository))
	x64, arm64 := archives["windows/amd64"], archives["windows/arm64"]
	winget := fmt.Sprintf("winget/manifests/%s/%s/Tessera/%s/%s.Tessera", strings.ToLower(owner[:1]), owner, j.plain(), owner)
	return map[string][]byte{
		winget + ".yaml":              j.winget(owner, "version", "DefaultLocale: en-US\n"),
		winget + ".locale.en-US.yaml": j.winget(owner, "defaultLocale", fmt.Sprintf("PackageLocale: en-US\nPublisher: %s\nPackageName: Tessera\nPackageUrl: https://%s\nLicense: Apache-2.0\nShortDescription: %s\nReleaseNotesUrl: https://%s/releases/tag/%s\n", owner, j.repository, what, j.repository, j.version)),
		winget + ".installer.yaml": j.winget(owner, "installer", fmt.Sprintf(`InstallerType: zip
NestedInstallerType: portable
Commands:
- tessera
Installers:
%s%s`, j.installer("x64", x64), j.installer("arm64", arm64))),
		"scoop/tessera.json":  j.scoop(x64, arm64),
		"homebrew/tessera.rb": j.homebrew(archives),
	}
}

// download is a published file.
type download struct {
	name string
	data []byte
}

func (d download) sum() string { return fmt.Sprintf("%x", sha256.Sum256(d.data)) }

// winget returns one of the three files of a package: its kind, and the fields of that
// kind.
func (j *job) winget(owner, kind, fields string) []byte {
	return fmt.Appendf(nil, `# yaml-language-server: $schema=https://aka.ms/winget-manifest.%s.1.6.0.schema.json
PackageIdentifier: %s.Tessera
PackageVersion: %s
%sManifestType: %s
ManifestVersion: 1.6.0
`, kind, owner, j.plain(), fields, kind)
}

// installer returns winget's entry for an archive.
func (j *job) installer(architecture string, win download) string {
	return fmt.Sprintf(`- Architecture: %s
  InstallerUrl: %s
  InstallerSha256: %s
  NestedInstallerFiles:
  - RelativeFilePath: %s\tessera.exe
    PortableCommandAlias: tessera
`, architecture, j.download(win.name), strings.ToUpper(win.sum()), strings.TrimSuffix(win.name, ".zip"))
}

// scoop returns the manifest for a bucket.
func (j *job) scoop(x64, arm64 download) []byte {
	newer := func(s string) string { return strings.ReplaceAll(s, j.version, "v$version") }
	now := func(win download) map[string]string {
		return map[string]string{"url": j.download(win.name), "hash": win.sum(), "extract_dir": strings.TrimSuffix(win.name, ".zip")}
	}
	later := func(win download) map[string]string {
		return map[string]string{"url": newer(j.download(win.name)), "extract_dir": newer(strings.TrimSuffix(win.name, ".zip"))}
	}
	text, _ := json.MarshalIndent(map[string]any{
		"version": j.plain(), "description": what, "homepage": "https://" + j.repository, "license": "Apache-2.0",
		"architecture": map[string]any{"64bit": now(x64), "arm64": now(arm64)},
		"bin":          "tessera.exe",
		"checkver":     map[string]string{"github": "https://" + j.repository},
		"autoupdate": map[string]any{
			"architecture": map[string]any{"64bit": later(x64), "arm64": later(arm64)},
			"hash":         map[string]string{"url": "$baseurl/SHA256SUMS"},
		},
	}, "", "    ") // these values can't fail
	return append(text, '\n')
}

// homebrew returns the formula for a tap. It leaves out archives without Dawn.
func (j *job) homebrew(archives map[string]download) []byte {
	source := func(platform string) string {
		return fmt.Sprintf("url %q\n      sha256 %q", j.download(archives[platform].name), archives[platform].sum())
	}
	return fmt.Appendf(nil, `class Tessera < Formula
  desc %q
  homepage "https://%s"
  version %q
  license "Apache-2.0"

  on_macos do
    depends_on arch: :arm64
    on_arm do
      %s
    end
  end

  on_linux do
    on_intel do
      %s
    end
    on_arm do
      %s
    end
  end

  def install
    bin.install "tessera"
    pkgshare.install "demo", "licenses"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tessera --version")
  end
end
`, what, j.repository, j.plain(), source("darwin/arm64"), source("linux/amd64"), source("linux/arm64"))
}
