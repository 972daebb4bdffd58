//go:build linux

package faults

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// most bounds the additional memory of a command compared with a harmless file, in
// bytes. The files have at most some megabytes.
const most = 512 << 20

// uses are the commands that get a hostile FILE. CLIP is a video.
var uses = []string{
	"info FILE", "decode FILE -m MODEL -o out.npy", "decode LATENT -m FILE -o out.npy", "encode FILE -m MODEL -o out.npy",
	"roundtrip FILE -m MODEL -o out.npy", "decode LATENT -m MODEL -o out.mkv --audio FILE", "batch --manifest FILE -m MODEL -o {name}.npy",
	"decode FILE -m MODEL -o out.y4m --accept-damaged", "encode FILE -m MODEL -o out.npy --accept-damaged --track 1", "decode LATENT -m MODEL -o out.npy --dawn FILE",
	"decode LATENT -m BESIDE -o out.npy", "decode LATENT -m MODEL -o out.npy --resume",
}

// Files that are made to do harm are refused by name, or read as what they are, in
// bounded memory. The program must not crash on them. A server that receives them
// continues to serve.
func TestHostileFiles(t *testing.T) {
	needs(t, true)
	files := hostileFiles(t)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	r := random(t)
	type try struct{ name, use string }
	var all []try
	for _, name := range names {
		for _, use := range uses {
			if strings.HasSuffix(use, "--accept-damaged") && strings.HasPrefix(use, "decode") || // it has no such flag
				strings.Contains(use, "BESIDE") != (name == "config.json" || strings.HasPrefix(name, "config-")) ||
				strings.Contains(use, "--resume") != strings.HasPrefix(name, "unfinished-") {
				continue
			}
			all = append(all, try{name, use})
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	usual := run(t, command(t.TempDir(), "decode", built.latent, "-m", built.model, "-o", filepath.Join(t.TempDir(), "out.npy")))
	require.Equal(t, job.ExitDone, usual.code, usual.text)
	counts := map[string]int{}
	for _, try := range all[:min(len(all), 8*count(t))] {
		counts[hostileUse(t, files[try.name], try.name, try.use, usual.memory)]++
	}
	t.Logf("%d of %d uses of %d hostile files: %v", min(len(all), 8*count(t)), len(all), len(files), counts)
}

// hostileUse runs a command with a hostile file, and returns how it ended.
func hostileUse(t *testing.T, make func(path string) error, name, use string, memory int64) string {
	t.Helper()
	p := newPlace(t)
	dir := t.TempDir()
	path, model := filepath.Join(dir, name), built.model
	if err := make(path); err != nil {
		return "not made" // for example, a socket's path is too long
	}
	if strings.Contains(use, "BESIDE") { // the file is a config.json beside a checkpoint
		model = filepath.Join(dir, "model.safetensors")
		require.NoError(t, os.Link(built.model, model))
		require.NoError(t, os.Rename(path, filepath.Join(dir, "config.json")))
	}
	if strings.Contains(use, "--resume") {
		require.NoError(t, os.Rename(path, filepath.Join(p.work, "out.npy.unfinished")))
	}
	before := names(t, dir)
	line := strings.NewReplacer("FILE", path, "BESIDE", model, "LATENT", built.latent, "MODEL", built.model).Replace(use)
	args := strings.Fields(line)
	o := p.run(t, args, 2*time.Minute) // the machine may be busy
	what := name + ": " + use
	p.check(t, append(args, "--resume"), o, what) // it leaves a refused file as it is
	assert.Contains(t, []int{job.ExitDone, job.ExitUsage, job.ExitInput, job.ExitDevice, job.ExitMemory}, o.code, "%s: %s%.500s", what, o.text, o.stdout)
	assert.Equal(t, o.code == job.ExitDevice, o.code != job.ExitDone && strings.Contains(use, "--dawn"), "%s: code %d: %s", what, o.code, o.text)
	assert.Less(t, o.memory, memory+most, "%s: bytes of memory, %d with another file", what, memory)
	assert.LessOrEqual(t, len(o.text), 64<<10, "%s: bytes of messages", what)
	assert.Equal(t, before, names(t, dir), "%s: its folder", what)
	assert.False(t, o.code == job.ExitDone && strings.HasPrefix(name, "no-file-"), "%s: what is no file was read", what)
	return kindOf[o.code]
}

// names lists the files of a folder, of any kind.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name()+" "+e.Type().String())
	}
	return all
}

// inputs are the extensions of jobs' inputs; true for decodes.
var inputs = map[bool][]string{
	true:  {"safetensors", "latent", "npy", "npz", "pt", "pth"},
	false: {"mp4", "mov", "mkv", "webm", "y4m", "npy", "safetensors", "png", "jpg", "webp"},
}

// A server that receives hostile files as jobs refuses them as bad input, in bounded
// memory, stores nothing of them and answers the next request.
func TestHostileJobs(t *testing.T) {
	needs(t, true)
	jobs := t.TempDir()
	s := serve(t, "--jobs", jobs)
	l := newLoad(t, s)
	l.prepareGood()
	before, memory := l.settled(), s.peak(t)
	files := hostileFiles(t)
	var all []string
	for name := range files {
		all = append(all, name)
	}
	slices.Sort(all)
	r := random(t)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	counts := map[string]int{}
	for _, name := range all[:min(len(all), 4*count(t))] {
		path := filepath.Join(t.TempDir(), name)
		if err := files[name](path); err != nil {
			continue
		}
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > 1<<30 {
			continue // can't be sent
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, query := range []string{"kind=decode&output=u8&input=", "kind=encode&output=npy&input=", "kind=roundtrip&output=y4m&input="} {
			input := strings.TrimPrefix(filepath.Ext(name), ".")
			if !slices.Contains(inputs[strings.HasPrefix(query, "kind=decode")], input) {
				continue
			}
			query += input
			j, status := l.job(1, "POST", "/v1/jobs?"+query, data)
			require.Equal(t, 201, status, "%s: %s", name, j.Error)
			j = l.ended(1, j.ID)
			if counts[j.State+" "+j.Code]++; j.State != "done" {
				assert.Contains(t, []string{"bad_input", "wrong_model", "packed_size", "too_large"}, j.Code, "%s as %s: %s", name, query, j.Error)
				assert.NotContains(t, j.Error, jobs, name)
			}
		}
		for range 2 { // two clients that wait
			l.beGood(1, rand.New(rand.NewPCG(r.Uint64(), 1)))
		}
	}
	s.healthy(t)
	l.settled(before)
	assert.Less(t, s.peak(t), memory+most, "bytes of memory")
	for id, files := range folders(t, jobs) {
		if j, _ := l.job(1, "GET", "/v1/jobs/"+id, nil); id != "lock" && j.State != "done" {
			assert.Equal(t, []string{"job.json"}, files, "of a job that %s: %s", j.State, j.Error)
		}
	}
	t.Logf("%v", counts)
}
