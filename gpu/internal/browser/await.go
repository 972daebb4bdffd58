//go:build js

package browser

import (
	"context"
	"errors"
	"syscall/js"
)

// promise follows a JS promise. The other fields are valid once done is closed.
type promise struct {
	done  chan struct{}
	value js.Value
	err   error // "name: message" of a rejection
}

// watch follows p. It does not wait and needs no release.
func watch(p js.Value) *promise {
	w := &promise{done: make(chan struct{})}
	var resolved, rejected js.Func
	settle := func(v js.Value, err error) any {
		resolved.Release()
		rejected.Release()
		w.value, w.err = v, err
		close(w.done)
		return nil
	}
	resolved = js.FuncOf(func(_ js.Value, args []js.Value) any { return settle(args[0], nil) })
	rejected = js.FuncOf(func(_ js.Value, args []js.Value) any { return settle(js.Undefined(), jsError(args[0])) })
	p.Call("then", resolved, rejected)
	return w
}

// await blocks until p settles or ctx ends. It returns the value, or the rejection as
// an error.
func await(ctx context.Context, p js.Value) (js.Value, error) {
	w := watch(p)
	select {
	case <-w.done:
		return w.value, w.err
	case <-ctx.Done():
		return js.Undefined(), ctx.Err()
	}
}

// jsError returns what JS threw or rejected with, as "name: message".
func jsError(v js.Value) error {
	if v.Type() != js.TypeObject {
		return errors.New(v.String())
	}
	name, message := v.Get("name"), v.Get("message")
	if name.Type() != js.TypeString || message.Type() != js.TypeString {
		return errors.New(v.Call("toString").String())
	}
	return errors.New(name.String() + ": " + oneLine(message.String()))
}

// try runs f and returns an error that a JS call in f throws.
func try(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case js.Error:
			err = jsError(r.Value)
		default:
			panic(r)
		}
	}()
	f()
	return nil
}
