//go:build js

package browser

import (
	"context"
	"syscall/js"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/driver/drivertest"
)

// TestReleasedBinding: the driver reports a released buffer before the browser sees it.
func TestReleasedBinding(t *testing.T) {
	d := open(t)
	p := drivertest.Must(drivertest.Compile(d, drivertest.Scale(1)))(t)
	uniform := drivertest.Must(d.NewBuffer("uniform", 256, true))(t)
	b := drivertest.NewBuffer(t, d, make([]byte, 1024))
	ok := driver.Binding{Buffer: b, Size: 512}
	b.Release()
	_, err := d.NewBindGroup("group", p, uniform, []driver.Binding{ok, ok})
	drivertest.Wants(t, err, nil, "data was released")
	drivertest.Alive(t, d)
}

// TestUncaptured: an error that only the browser detects is returned by the next Wait,
// once.
func TestUncaptured(t *testing.T) {
	d := open(t)
	p := drivertest.Must(drivertest.Compile(d, drivertest.Scale(1)))(t)
	b := drivertest.NewBuffer(t, d, make([]byte, 1024))
	ok := driver.Binding{Buffer: b, Size: 512}
	drivertest.Must(d.NewBindGroup("not a uniform", p, b, []driver.Binding{ok, ok}))(t)
	f := drivertest.Must(d.Submit("nothing", nil, nil))(t)
	drivertest.Wants(t, d.Wait(context.Background(), f), nil, "not a uniform", "Uniform")
	require.NoError(t, d.Wait(context.Background(), f), "a second wait")

	event := js.Global().Get("GPUUncapturedErrorEvent").New("uncapturederror", map[string]any{
		"error": js.Global().Get("GPUOutOfMemoryError").New("no room"),
	})
	d.handle.Call("dispatchEvent", event)
	drivertest.Wants(t, d.Wait(context.Background(), f), driver.ErrOutOfMemory, "no room")
	drivertest.Alive(t, d)
}
