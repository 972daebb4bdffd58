package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// npmPackage returns what npm installs: the folder filled by tools/npm.sh, with version
// and addresses in its package.json, and the licences of everything in it.
func (j *job) npmPackage() (name string, data []byte, err error) {
	files := map[string]entry{}
	err = filepath.WalkDir(j.npm, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(j.npm, path)
		if err != nil {
			return err
		}
		return add(files, path, filepath.ToSlash(rel))
	})
	if err != nil {
		return "", nil, err
	}
	described, version, err := j.npmDescription(files["package.json"].data)
	if err != nil {
		return "", nil, err
	}
	files["package.json"] = entry{data: described}
	if err := j.engineLicences(files); err != nil {
		return "", nil, err
	}
	var list []download
	for _, name := range slices.Sorted(maps.Keys(files)) {
		list = append(list, download{"package/" + name, files[name].data})
	}
	data, err = j.tarball(list)
	return "tessera-vae-" + version + ".tgz", data, err
}

// npmDescription adds version and addresses to a package.json.
func (j *job) npmDescription(text []byte) (described []byte, version string, err error) {
	var p map[string]any
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, "", fmt.Errorf("package.json: %w", err)
	}
	said, _ := p["version"].(string)
	version = npmVersion(j.version, said)
	home := "https://" + j.repository
	p["version"], p["gitHead"], p["homepage"] = version, j.commit, home
	p["repository"] = map[string]string{"type": "git", "url": "git+" + home + ".git"}
	p["bugs"] = map[string]string{"url": home + "/issues"}
	described, err = json.MarshalIndent(p, "", "  ")
	return append(described, '\n'), version, err
}

// npmVersion returns a version for npm. If it does not name a release, it becomes a
// prerelease of the version in package.json.
func npmVersion(version, said string) string {
	if m := released.FindStringSubmatch(version); m != nil {
		return m[1]
	}
	return said + "-dev." + separators.ReplaceAllString(version, "-")
}

// tarball packs files in the given order.
func (j *job) tarball(files []download) ([]byte, error) {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	t := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Size: int64(len(f.data)), Mode: 0o644, ModTime: j.date, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	err := z.Close()
	return out.Bytes(), err
}

// container returns the input for `docker build -`: the Dockerfile with labels that
// describe it, and the archive that it copies.
func (j *job) container(archive download) ([]byte, error) {
	file, err := os.ReadFile("Dockerfile")
	if err != nil {
		return nil, err
	}
	file = fmt.Appendf(file, "LABEL org.opencontainers.image.title=\"tessera\" \\\n"+
		"    org.opencontainers.image.version=%q \\\n    org.opencontainers.image.revision=%q \\\n"+
		"    org.opencontainers.image.source=\"https://%s\" \\\n    org.opencontainers.image.licenses=\"Apache-2.0\"\n", j.version, j.commit, j.repository)
	return j.tarball([]download{{"Dockerfile", file}, {"build/dist/" + archive.name, archive.data}})
}
