//go:build js

package main

import (
	"errors"
	"fmt"
	"io"
	"syscall/js"

	"tessera/vae"
)

// spool is a spool of web/spool.js: on disk if the browser offers that to the page, else
// in memory outside of wasm's.
type spool struct {
	handle js.Value
	view   js.Value // scratch Uint8Array
}

// spools returns a function that creates spools through the worker.
func spools(worker js.Value) func(size int64) (vae.Spool, error) {
	return func(size int64) (vae.Spool, error) {
		handle, err := await(worker.Call("spool", size))
		if err != nil {
			return nil, fmt.Errorf("wasm: %w", err)
		}
		return &spool{handle: handle}, nil
	}
}

// bytes returns scratch of n bytes.
func (s *spool) bytes(n int) js.Value {
	if s.view.IsUndefined() || s.view.Get("length").Int() < n {
		s.view = js.Global().Get("Uint8Array").New(n)
	}
	return s.view.Call("subarray", 0, n)
}

// ReadAt reads zeros where nothing was written.
func (s *spool) ReadAt(p []byte, at int64) (n int, err error) {
	view := s.bytes(len(p))
	err = s.try(func() { n = s.handle.Call("read", view, at).Int() })
	js.CopyBytesToGo(p[:n], view)
	if err == nil && n < len(p) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (s *spool) WriteAt(p []byte, at int64) (n int, err error) {
	view := s.bytes(len(p))
	js.CopyBytesToJS(view, p)
	err = s.try(func() { n = s.handle.Call("write", view, at).Int() })
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}

// Close discards the spool's content.
func (s *spool) Close() error { return s.try(func() { s.handle.Call("close") }) }

// try turns an exception of a JS call in f into an error, for example of a full disk.
func (s *spool) try(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case js.Error:
			err = errors.New(r.Value.Call("toString").String())
		default:
			panic(r)
		}
	}()
	f()
	return nil
}
