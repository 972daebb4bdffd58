package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"tessera/app/job"
)

// origin is what an output, or a part of one, was made by, as every record says it.
type origin struct {
	Program    string `json:"program"`
	Checkpoint string `json:"checkpoint"` // its SHA-256
	Options    string `json:"options"`
	Adapter    string `json:"adapter"`
}

// hashed is a file's SHA-256.
func hashed(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", job.Mark(err, job.ErrInput)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", job.Mark(fmt.Errorf("%s: %w", path, err), job.ErrInput)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
