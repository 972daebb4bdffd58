package batch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tessera/app/interrupt"
	"tessera/app/resume"
	"tessera/format"
	"tessera/media"
	"tessera/remote"
	"tessera/vae"
)

// clipRecord says what an output was made of. It is written once the whole output exists.
// Hashes are SHA-256.
type clipRecord struct {
	resume.Origin
	Op         string           `json:"op"`
	Input      string           `json:"input"`
	InputName  string           `json:"input_name"` // a file with the same name, size and time, or a URL with the same tag, counts as unchanged without being read
	InputBytes int64            `json:"input_bytes,omitempty"`
	InputTime  string           `json:"input_time,omitempty"`
	InputTag   string           `json:"input_etag,omitempty"`
	Sound      string           `json:"sound,omitempty"`
	Outputs    []recordedOutput `json:"outputs,omitempty"` // empty for a URL
}

// recordedOutput is a file or folder beside the record.
type recordedOutput struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// recordEnding is the extension of a record's name.
const recordEnding = ".done.json"

// recordPath returns where the clip's record lies, "" if it has none.
func (w *work) recordPath() string {
	switch {
	case w.batch.Records != "":
		return filepath.Join(w.batch.Records, w.Name+recordEnding)
	case remote.Is(w.Output):
		return ""
	}
	return filepath.Clean(w.Output) + recordEnding
}

// begin fills in what is known before the input is read.
func (w *work) begin(p Command) (err error) {
	args, err := w.batch.options(w.Clip)
	if err != nil {
		return err
	}
	w.is = clipRecord{Origin: resume.Origin{Program: w.batch.Program, Options: strings.Join(args, " ")}, Op: w.Op, InputName: shown(w.Input)}
	if name, err := filepath.Abs(w.Input); err == nil && !remote.Is(w.Input) {
		w.is.InputName = name
	}
	if w.is.Checkpoint, err = w.checkpoint(); err != nil {
		return err
	}
	if sound := p.Sound(); sound != "" {
		w.is.Sound, err = w.hashed(sound)
	}
	return err
}

// checkpoint returns the hash of the clip's checkpoint. A batch reads each one once.
func (w *work) checkpoint() (hash string, err error) {
	b := w.batch
	b.hashing.Lock()
	defer b.hashing.Unlock()
	if b.hashes[w.Model] != "" {
		return b.hashes[w.Model], nil
	}
	if hash, err = interrupt.Await(w.ctx, func() (string, error) { return checkpointOf(w.Model) }); err != nil {
		return "", err
	}
	if beside, err := w.hashed(vae.ConfigBeside(w.Model)); err == nil && beside != "" {
		hash += " " + beside // the second file may hold its statistics
	}
	b.hashes[w.Model] = hash
	return hash, nil
}

// isDone reports whether the record matches this clip and the output exists.
func (w *work) isDone() (bool, error) {
	var was clipRecord
	text, err := os.ReadFile(w.recordPath())
	if err != nil || json.Unmarshal(text, &was) != nil {
		return false, nil
	}
	if was.Op != w.is.Op || was.Options != w.is.Options || was.Checkpoint != w.is.Checkpoint || was.Sound != w.is.Sound {
		return false, nil
	}
	for _, o := range was.Outputs {
		if sizeOf(filepath.Join(filepath.Dir(filepath.Clean(w.Output)), o.Name)) != o.Bytes {
			return false, nil
		}
	}
	if same, err := w.unread(was); same || err != nil {
		return same, err
	}
	if err := w.identify(); err != nil {
		return false, err
	}
	return was.Input == w.is.Input, nil
}

// unread reports whether the input is unchanged, as far as this is known without reading
// it.
func (w *work) unread(was clipRecord) (bool, error) {
	if was.InputName != w.is.InputName {
		return false, nil
	}
	if !remote.Is(w.Input) {
		size, at := fileState(w.Input)
		return at != "" && was.InputBytes == size && was.InputTime == at, nil
	}
	if was.InputTag == "" {
		return false, nil
	}
	is, err := remote.Transfer{}.Look(w.ctx, w.Input)
	return is.Tag == was.InputTag, remoteError(err)
}

// fileState returns a file's size and time, "" if it is not a file.
func fileState(path string) (size int64, at string) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0, ""
	}
	return info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)
}

// identify hashes the input, downloading it if needed. A missing input is left to the
// command, which reports it.
func (w *work) identify() error {
	if w.is.Input != "" {
		return nil
	}
	if err := w.fetch(); err != nil {
		return err
	}
	if !remote.Is(w.Input) {
		w.is.InputBytes, w.is.InputTime = fileState(w.input)
	}
	var err error
	w.is.Input, err = w.hashed(w.input)
	return err
}

// hashed returns the hash of a file, or of the names and hashes of a folder's or
// pattern's pictures; "" if nothing exists there.
func (w *work) hashed(path string) (string, error) {
	return interrupt.Await(w.ctx, func() (string, error) {
		pictures := media.PictureFiles(path)
		if len(pictures) == 0 {
			return hashOf(path)
		}
		all := sha256.New()
		for _, picture := range slices.Sorted(slices.Values(pictures)) {
			sum, err := hashOf(picture)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(all, "%q %s\n", filepath.Base(picture), sum)
		}
		return hex.EncodeToString(all.Sum(nil)), nil
	})
}

// checkpointOf returns a checkpoint's hash, "" if it cannot be opened; the command
// reports that.
func checkpointOf(path string) (string, error) {
	c, err := format.ReadContents(path)
	if err != nil {
		return "", nil
	}
	c.Close()
	return resume.HashCheckpoint(path)
}

// hashOf returns a file's hash, "" if it is not a file.
func hashOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	return resume.Hash(path)
}

// sizeOf returns the size of a file, or of the files in a folder; -1 if it does not
// exist.
func sizeOf(path string) int64 {
	size := int64(0)
	err := filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		return -1
	}
	return size
}

// record writes the clip's record.
func (w *work) record() error {
	path := w.recordPath()
	if path == "" {
		return nil
	}
	w.is.Adapter = w.made.Adapter.Name
	if !remote.Is(w.Output) {
		for _, o := range w.made.Outputs {
			w.is.Outputs = append(w.is.Outputs, recordedOutput{filepath.Base(filepath.Clean(string(o))), sizeOf(string(o))})
		}
	}
	text, err := json.MarshalIndent(w.is, "", "\t")
	if err != nil {
		return err
	}
	return media.WriteFile(path, append(text, '\n'))
}
