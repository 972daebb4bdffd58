package resume

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"tessera/app/job"
	"tessera/format"
)

// Origin is what an output, or a part of one, was made by, as every record says it.
type Origin struct {
	Program    string `json:"program"`
	Checkpoint string `json:"checkpoint"` // its SHA-256
	Options    string `json:"options"`
	Adapter    string `json:"adapter"`
}

// Hash is a file's SHA-256.
func Hash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", job.Mark(err, job.ErrInput)
	}
	defer f.Close()
	return hashOfAll(f, path)
}

// HashCheckpoint is a checkpoint's: a file's, or that of the files that an index
// names, one behind the other.
func HashCheckpoint(path string) (string, error) {
	all, err := format.ReadContents(path)
	if err != nil {
		return "", job.Mark(err, job.ErrInput)
	}
	defer all.Close()
	return hashOfAll(io.NewSectionReader(all, 0, all.Size()), path)
}

func hashOfAll(r io.Reader, path string) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", job.Mark(fmt.Errorf("%s: %w", path, err), job.ErrInput)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
