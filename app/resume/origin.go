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

// Origin is what made an output or a part of one, in every record.
type Origin struct {
	Program    string `json:"program"`
	Checkpoint string `json:"checkpoint"` // SHA-256
	Options    string `json:"options"`
	Adapter    string `json:"adapter"`
}

// Hash returns a file's SHA-256.
func Hash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", job.Mark(err, job.ErrInput)
	}
	defer f.Close()
	return hashOfAll(f, path)
}

// HashCheckpoint returns the SHA-256 of a checkpoint: of its file, or of an index's files
// concatenated.
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
