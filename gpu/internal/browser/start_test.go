//go:build js

package browser

import (
	"context"
	"fmt"
	"syscall/js"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/driver/drivertest"
)

func TestAwait(t *testing.T) {
	promise := js.Global().Get("Promise")
	v, err := await(context.Background(), promise.Call("resolve", 7))
	require.NoError(t, err)
	require.Equal(t, 7, v.Int())
	for _, c := range []struct {
		reason any
		want   string
	}{
		{js.Global().Get("TypeError").New("a\n b"), "TypeError: a b"},
		{js.Global().Get("DOMException").New("gone", "AbortError"), "AbortError: gone"},
		{"just text", "just text"},
		{js.ValueOf(map[string]any{"code": 3}), "[object Object]"},
		{nil, "<null>"},
	} {
		t.Run(fmt.Sprint("rejected with ", c.want), func(t *testing.T) {
			_, err := await(context.Background(), promise.Call("reject", c.reason))
			require.EqualError(t, err, c.want)
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = await(ctx, promise.New(js.FuncOf(func(js.Value, []js.Value) any { return nil })))
	require.ErrorIs(t, err, context.DeadlineExceeded, "never settled")
}

func TestAdapters(t *testing.T) {
	d := open(t)
	list, err := Adapters(driver.Options{Adapter: 99})
	require.NoError(t, err)
	require.NotEmpty(t, list)
	for i, a := range list {
		t.Logf("%+v", a)
		require.Equal(t, i, a.Index)
		require.NotEmpty(t, a.Name)
		require.Equal(t, "webgpu", a.Backend)
		require.GreaterOrEqual(t, a.Limits.MaxBinding, int64(128<<20))
		require.GreaterOrEqual(t, a.Limits.StorageAlignment, int64(4))
	}
	require.Equal(t, list[0].Limits, d.Info().Limits, "the adapter's, the device's")
	_, err = Open(driver.Options{Adapter: len(list)})
	drivertest.Wants(t, err, driver.ErrNoAdapter, "there are")
	_, err = Open(driver.Options{Adapter: -1, Backend: "vulkan"})
	drivertest.Wants(t, err, nil, "vulkan", "webgpu")
}

// TestFeatures: a device has the requested features; WebGPU enables only those.
func TestFeatures(t *testing.T) {
	d := open(t)
	for name, want := range map[string]bool{featureF16: d.info.F16, featureSubgroups: d.info.Subgroups, featureTimestamps: d.info.Timestamps} {
		require.Equal(t, want, d.handle.Get("features").Call("has", name).Bool(), "%s: adapter, device", name)
	}
}

// instead replaces navigator.gpu for one test.
func instead(t *testing.T, gpu any) {
	navigator := js.Global().Get("navigator")
	js.Global().Get("Object").Call("defineProperty", navigator, "gpu", map[string]any{"value": gpu, "configurable": true})
	t.Cleanup(func() { navigator.Delete("gpu") })
}

// adapterLike returns a GPU object whose requestAdapter returns promise's result.
func adapterLike(t *testing.T, promise func() js.Value) map[string]any {
	request := js.FuncOf(func(js.Value, []js.Value) any { return promise() })
	t.Cleanup(request.Release)
	return map[string]any{"requestAdapter": request}
}

func TestNoWebGPU(t *testing.T) {
	open(t)
	promise := js.Global().Get("Promise")
	t.Run("no navigator.gpu", func(t *testing.T) {
		instead(t, js.Undefined())
		_, err := Open(driver.Options{Adapter: -1})
		drivertest.Wants(t, err, driver.ErrNoLibrary, "browser: ", "no WebGPU", "Firefox")
	})
	t.Run("no adapter", func(t *testing.T) {
		instead(t, adapterLike(t, func() js.Value { return promise.Call("resolve", nil) }))
		_, err := Open(driver.Options{Adapter: -1})
		drivertest.Wants(t, err, driver.ErrNoAdapter, "hardware acceleration")
	})
	t.Run("refused", func(t *testing.T) {
		instead(t, adapterLike(t, func() js.Value { return promise.Call("reject", js.Global().Get("TypeError").New("blocked")) }))
		_, err := Adapters(driver.Options{})
		drivertest.Wants(t, err, driver.ErrNoAdapter, "TypeError: blocked")
	})
}

// TestNoDevice: an adapter gives only one device, so a second request is refused.
func TestNoDevice(t *testing.T) {
	open(t)
	list := drivertest.Must(adapters(""))(t)
	d := drivertest.Must(openDevice(list[0]))(t)
	defer d.Close()
	_, err := openDevice(list[0])
	drivertest.Wants(t, err, driver.ErrNoAdapter, "adapter 0", "no device")
}
