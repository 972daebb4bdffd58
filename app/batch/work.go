package batch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tessera/app/files"
	"tessera/app/job"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/engine"
	"tessera/media"
	"tessera/remote"
	"tessera/temporary"
)

// work is a clip being processed.
type work struct {
	*terminal.Terminal
	ctx context.Context
	*Clip
	batch         *run
	worker        int
	made          *report.Result
	input, output string   // files; for URLs, their local copies
	folder        *os.File // of the local copies; nil: none
	is            clipRecord
	fetched       bool // the input was downloaded, if it is a URL
}

// do runs a clip unless it is done.
func (w *work) do() (skipped bool, err error) {
	p, err := w.batch.parse(w.worker, w.Clip, w.Output, w.Input) // before anything is downloaded
	if err != nil {
		return false, err
	}
	if err := w.place(); err != nil {
		return false, err
	}
	if err := w.begin(p); err != nil {
		return false, err
	}
	if w.batch.Resume {
		if done, err := w.isDone(); done || err != nil {
			return done, err
		}
	}
	if err := w.identify(); err != nil {
		return false, err
	}
	if p, err = w.batch.parse(w.worker, w.Clip, w.output, w.input); err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(w.output)), 0o777); err != nil {
		return false, fmt.Errorf("--output=%s: %w", w.Output, media.Lasting(err))
	}
	if err := w.forget(); err != nil {
		return false, err
	}
	if w.made, err = p.Run(w.ctx, w.Terminal); err != nil {
		return false, err
	}
	return false, w.finish()
}

// place chooses where a URL's local copy is stored.
func (w *work) place() (err error) {
	if !remote.Is(w.Input) && !remote.Is(w.Output) {
		return nil
	}
	if w.folder, err = temporary.Mkdir(os.TempDir(), "tessera-batch", 0o700); err != nil {
		return fmt.Errorf("cannot create a folder for downloads: %w; TMPDIR chooses another place", media.Lasting(err))
	}
	if remote.Is(w.Input) {
		w.input = filepath.Join(w.folder.Name(), "input"+endingOf(w.Input))
	}
	if remote.Is(w.Output) {
		w.output = filepath.Join(w.folder.Name(), "output"+endingOf(w.Output))
		w.Call(w.output, shown(w.Output))
	}
	return nil
}

// close removes local copies.
func (w *work) close() {
	if w.folder != nil {
		os.RemoveAll(w.folder.Name())
		w.folder.Close()
		os.RemoveAll(w.folder.Name())
	}
}

// fetch downloads a URL's input.
func (w *work) fetch() error {
	if !remote.Is(w.Input) || w.fetched {
		return nil
	}
	f, err := os.OpenFile(w.input, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	is, err := remote.Transfer{Room: room}.Fetch(w.ctx, w.Input, f)
	if err != nil {
		return remoteError(err)
	}
	w.is.InputTag = is.Tag
	w.fetched = true
	if endingOf(w.Input) == "" {
		head := make([]byte, 64)
		n, _ := f.ReadAt(head, 0)
		f.Close() // Windows does not rename an open file
		w.input += files.Ending(head[:n])
		if err := os.Rename(f.Name(), w.input); err != nil {
			return err
		}
	}
	w.Call(w.input, shown(w.Input))
	return nil
}

// room refuses a file unless the disk has room for it and some to spare.
func room(size int64) error {
	const spare = 256 << 20
	if free, known := files.FreeSpace(os.TempDir()); known && free < size+spare {
		return fmt.Errorf("the download has %s, but %s are free in %s, expected %s to spare; TMPDIR chooses another folder",
			engine.Bytes(max(0, size)), engine.Bytes(free), os.TempDir(), engine.Bytes(spare))
	}
	return nil
}

// remoteError classifies a transfer's error: a refused request would be refused again.
func remoteError(err error) error {
	if errors.Is(err, remote.ErrRefused) {
		return job.Mark(err, job.ErrInput)
	}
	return err
}

// put uploads the output to its URL.
func (w *work) put() error {
	if !remote.Is(w.Output) {
		return nil
	}
	if n := len(w.made.Outputs); n != 1 {
		return job.BadInput("%s: a batch of %d clips, expected one for a URL", shown(w.Input), n)
	}
	f, err := os.Open(w.output)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return remoteError(remote.Transfer{}.Put(w.ctx, w.Output, f, info.Size()))
}

// forget removes the record of an earlier output, because the new output replaces that
// one.
func (w *work) forget() error {
	if path := w.recordPath(); path != "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return media.Lasting(err)
		}
	}
	return nil
}

// finish delivers the output and records it.
func (w *work) finish() error {
	if err := w.put(); err != nil {
		return err
	}
	return w.record()
}

// told replaces the names of local copies in an error by the user's names.
func (w *work) told(err error) error {
	text := err.Error()
	if w.folder != nil {
		text = strings.ReplaceAll(w.Spoken(text), w.input, shown(w.Input))
	}
	return &toldError{err, text}
}

// toldError is an error with another text.
type toldError struct {
	error
	text string
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.error }
