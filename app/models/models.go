// Package models stores published checkpoints on this machine, under the names that
// package known has for them. Puller.Pull downloads one when the user asks for it. Path
// finds one that is stored, so that a command's -m accepts its name:
//
//	path := models.Path("wan2.1") // the stored file, or the text itself
package models

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tessera/format/known"
	"tessera/remote"
	"tessera/temporary"
)

// Folder returns the folder of pulled checkpoints: TESSERA_MODELS, else a folder in the
// user's cache.
func Folder() (string, error) {
	if folder := os.Getenv("TESSERA_MODELS"); folder != "" {
		return folder, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for models, TESSERA_MODELS names one: %w", err)
	}
	return filepath.Join(cache, "tessera", "models"), nil
}

// Hub returns the address that checkpoints are downloaded from: HF_ENDPOINT, as in
// Hugging Face's own programs, else Hugging Face.
func Hub() string { return cmp.Or(os.Getenv("HF_ENDPOINT"), known.Hub) }

// Here returns the path of a pulled checkpoint, "" if it is not stored here.
func Here(c known.Checkpoint) string {
	folder, err := Folder()
	if err != nil {
		return ""
	}
	path := filepath.Join(folder, c.Base())
	if !complete(c, path) {
		return ""
	}
	return path
}

// complete reports whether path is a checkpoint's file, with the right size if that is
// known.
func complete(c known.Checkpoint, path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (c.About || info.Size() == c.Size)
}

// Path returns the file that text names: a file's path, or the name of a pulled
// checkpoint. Other texts are returned unchanged, and Missing explains them.
func Path(text string) string {
	if _, err := os.Stat(text); err == nil {
		return text
	}
	if c, ok := known.Find(text); ok {
		return cmp.Or(Here(c), text)
	}
	return text
}

// Missing adds to the error of a missing file which checkpoint its name is, or may be. It
// returns other errors unchanged.
func Missing(text string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(text, `/\`) {
		return err
	}
	if _, there := os.Stat(text); there == nil { // the file exists: a shard of it is missing
		return err
	}
	if c, ok := known.Find(text); ok {
		return fmt.Errorf("%s: %w", text, &known.Mistake{
			Is:  fmt.Sprintf("is not on this machine: no such file, and the model %s was not pulled", c.Name),
			Do:  fmt.Sprintf("`tessera pull %s` fetches %s, %s", c.Name, c.Base(), c.Bytes()),
			Err: err,
		})
	}
	if c, ok := known.Suggest(text); ok {
		return fmt.Errorf("%s: %w", text, &known.Mistake{
			Is:  "no such file, and no published model has this name",
			Do:  fmt.Sprintf("`tessera models` lists the models; one of them is %s", c.Name),
			Err: err,
		})
	}
	return err
}

// Puller downloads checkpoints. Its zero value uses the defaults.
type Puller struct {
	Folder   string // "": Folder()
	Hub      string // "": Hub()
	Transfer remote.Transfer
}

// Pull downloads a checkpoint and returns its path. It continues an interrupted pull. The
// file gets its name only after its size and, if published, its SHA-256 are checked.
func (p Puller) Pull(ctx context.Context, c known.Checkpoint) (path string, err error) {
	if p.Folder == "" {
		if p.Folder, err = Folder(); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(p.Folder, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(p.Folder, c.Base())
	if complete(c, path) {
		return path, nil
	}
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if temporary.Locked(f) {
		return "", fmt.Errorf("%s: another program is pulling %s, expected one at a time", part, c.Name)
	}
	if err := p.fetch(ctx, c, f, path+".part.json"); err != nil {
		return "", err
	}
	if err := checkWhole(c, f); err != nil {
		return "", errors.Join(err, discard(f, path+".part.json"))
	}
	if err := cmp.Or(f.Sync(), f.Close()); err != nil {
		return "", err
	}
	if err := os.Rename(part, path); err != nil {
		return "", err
	}
	return path, os.Remove(path + ".part.json")
}

// fetch downloads the missing part of a checkpoint's file. What the server says about the
// file is stored beside it, so that a later pull continues only if the file has not
// changed.
func (p Puller) fetch(ctx context.Context, c known.Checkpoint, f *os.File, beside string) error {
	var was remote.State
	info, err := f.Stat()
	if err != nil {
		return err
	}
	have := info.Size()
	text, err := os.ReadFile(beside)
	if err != nil || json.Unmarshal(text, &was) != nil || have > was.Size {
		was, have = remote.State{}, 0
	}
	if have > 0 && have == was.Size { // it was interrupted before the check
		return nil
	}
	t := p.Transfer
	t.Begin = func(is remote.State) error {
		if !c.About && is.Size >= 0 && is.Size != c.Size {
			return fmt.Errorf("the server's file has %d bytes, expected %d as published", is.Size, c.Size)
		}
		text, err := json.Marshal(is)
		if err != nil {
			return err
		}
		return os.WriteFile(beside, text, 0o644)
	}
	address := c.Address(cmp.Or(p.Hub, Hub()))
	if _, err = t.Continue(ctx, address, f, was, have); err == nil {
		return nil
	}
	m := &known.Mistake{Is: fmt.Sprintf("cannot be pulled: %v", err), Err: err}
	info, serr := f.Stat()
	if serr == nil && info.Size() > 0 && !errors.Is(err, remote.ErrRefused) {
		m.Do = fmt.Sprintf("%s are here: `tessera pull %s` continues", known.Bytes(info.Size()), c.Name)
		return fmt.Errorf("%s: %w", c.Name, m)
	}
	m.Do = fmt.Sprintf("its page is %s/%s, which may ask for consent to a licence; a file from there works with -m, too", strings.TrimRight(cmp.Or(p.Hub, Hub()), "/"), c.Repo)
	return errors.Join(fmt.Errorf("%s: %w", c.Name, m), discard(f, beside))
}

// checkWhole compares a downloaded file with its published size and hash.
func checkWhole(c known.Checkpoint, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !c.About && info.Size() != c.Size {
		return fmt.Errorf("%s: has %d bytes, expected %d as published; it was removed", f.Name(), info.Size(), c.Size)
	}
	if c.SHA256 == "" {
		return nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	if sum := hex.EncodeToString(h.Sum(nil)); !strings.HasPrefix(sum, c.SHA256) {
		return fmt.Errorf("%s: has SHA-256 %s, expected %s as published; it was removed, pull it again", f.Name(), sum[:len(c.SHA256)], c.SHA256)
	}
	return nil
}

// discard removes a downloaded file.
func discard(f *os.File, beside string) error {
	f.Close()
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Remove(f.Name())
}
