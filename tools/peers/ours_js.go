//go:build js

// Command peers, in a page, is only our side: globalThis.tessera has open(case,
// checkpoint), once() and close(), which return promises, and result(). The checkpoint,
// a Uint8Array, is for a decoder.
package main

import (
	"bytes"
	"encoding/json"
	"syscall/js"

	"tessera/gpu"
	"tessera/vae"
)

func main() {
	var dev *gpu.Device
	var now side
	js.Global().Set("tessera", map[string]any{
		"open": promising(func(args []js.Value) (err error) {
			var c Case
			if err := json.Unmarshal([]byte(args[0].String()), &c); err != nil {
				return err
			}
			if dev == nil {
				if dev, err = gpu.Open(gpu.Options{Adapter: -1}); err != nil {
					return err
				}
			}
			if c.Op != decoder {
				now, err = newOurs(dev, c, c.numbers(), false)
				return err
			}
			weights := make([]byte, args[1].Length())
			js.CopyBytesToGo(weights, args[1])
			model, err := vae.OpenReader(dev, bytes.NewReader(weights), int64(len(weights)), "checkpoint", networkSettings)
			if err != nil {
				return err
			}
			now, err = newNetwork(model, c)
			return err
		}),
		"once":  promising(func([]js.Value) error { return now.once() }),
		"close": promising(func([]js.Value) error { now.close(); return nil }),
		"result": js.FuncOf(func(js.Value, []js.Value) any {
			b := encode(now.lay())
			to := js.Global().Get("Uint8Array").New(len(b))
			js.CopyBytesToJS(to, b)
			return to
		}),
	})
	select {}
}

// promising returns a JavaScript function for one that may wait.
func promising(f func(args []js.Value) error) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		settle := js.FuncOf(func(_ js.Value, to []js.Value) any {
			go func() {
				if err := f(args); err != nil {
					to[1].Invoke(err.Error())
					return
				}
				to[0].Invoke()
			}()
			return nil
		})
		defer settle.Release() // it has been called by now
		return js.Global().Get("Promise").New(settle)
	})
}
