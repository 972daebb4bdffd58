//go:build js

// Command wasm is the engine in a browser. web/worker.js loads it and carries its
// messages, which web/protocol.js defines and app/session answers, to and from the page.
package main

import (
	"errors"
	"runtime/debug"
	"syscall/js"

	"tessera/app/session"
)

// gcPercent trades time for memory, which a tab never gives back.
const gcPercent = 50

func main() {
	debug.SetGCPercent(gcPercent)
	worker := js.Global().Get("tessera")
	s := session.New(newConn(worker), &host{}, session.Options{
		Kind: "browser", Spool: spools(worker), HostBytes: func() int64 { return int64(worker.Call("memory").Float()) },
	})
	failed := make(chan error, 1)
	// The worker calls receive(text, payload) for every message of the page. It must not
	// block, because the event loop must go on.
	worker.Set("receive", js.FuncOf(func(_ js.Value, args []js.Value) any {
		if err := s.Receive([]byte(args[0].String()), bytesOf(args[1])); err != nil {
			select {
			case failed <- err:
			default:
			}
		}
		return nil
	}))
	worker.Call("ready")
	err := <-failed
	s.Close()
	worker.Call("failed", err.Error())
}

// bytesOf copies a Uint8Array; undefined gives nil.
func bytesOf(v js.Value) []byte {
	if v.IsUndefined() {
		return nil
	}
	b := make([]byte, v.Get("length").Int())
	js.CopyBytesToGo(b, v)
	return b
}

// conn sends messages through the worker.
type conn struct{ send, array js.Value }

func newConn(worker js.Value) *conn {
	return &conn{worker.Get("send").Call("bind", worker), js.Global().Get("Uint8Array")}
}

// Send copies payload out of wasm's memory.
func (c *conn) Send(header, payload []byte) error {
	bytes := js.Undefined()
	if payload != nil {
		bytes = c.array.New(len(payload))
		js.CopyBytesToJS(bytes, payload)
	}
	c.send.Invoke(string(header), bytes)
	return nil
}

// await blocks until a promise settles.
func await(promise js.Value) (value js.Value, err error) {
	done := make(chan struct{})
	resolved := js.FuncOf(func(_ js.Value, args []js.Value) any {
		value = args[0]
		close(done)
		return nil
	})
	rejected := js.FuncOf(func(_ js.Value, args []js.Value) any {
		err = errors.New(args[0].Call("toString").String())
		close(done)
		return nil
	})
	defer resolved.Release()
	defer rejected.Release()
	promise.Call("then", resolved, rejected)
	<-done
	return value, err
}
