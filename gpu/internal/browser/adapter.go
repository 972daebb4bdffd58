//go:build js

package browser

import (
	"context"
	"fmt"
	"strings"
	"syscall/js"

	"tessera/gpu/internal/driver"
)

// adapter is a GPUAdapter with its description. It can give only one device.
type adapter struct {
	handle js.Value
	info   driver.Info
}

// adapters returns the high-performance adapter and, if it is a different one, the
// low-power adapter. A browser offers no others.
func adapters(backend string) ([]*adapter, error) {
	if backend != "" && backend != "auto" && backend != "webgpu" {
		return nil, fmt.Errorf("browser: unknown backend %q: want auto or webgpu", backend)
	}
	gpu, err := navigatorGPU()
	if err != nil {
		return nil, err
	}
	var list []*adapter
	reason := "the browser found no usable GPU: check hardware acceleration in its settings, and the graphics driver"
	for _, preference := range []string{"high-performance", "low-power"} {
		v, err := request(gpu, "requestAdapter", map[string]any{"powerPreference": preference})
		switch {
		case err != nil:
			reason = err.Error()
			continue
		case !v.Truthy():
			continue
		}
		a := &adapter{handle: v, info: describe(v)}
		a.info.Index = len(list)
		if len(list) > 0 && sameAdapter(list[0].info, a.info) {
			continue
		}
		list = append(list, a)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("browser: %w: %s", driver.ErrNoAdapter, reason)
	}
	return list, nil
}

// request calls a method that returns a promise and awaits it.
func request(of js.Value, method string, options map[string]any) (js.Value, error) {
	var p js.Value
	if err := try(func() { p = of.Call(method, options) }); err != nil {
		return js.Value{}, err
	}
	return await(context.Background(), p)
}

func sameAdapter(a, b driver.Info) bool {
	return a.Name == b.Name && a.Vendor == b.Vendor && a.Architecture == b.Architecture &&
		a.Driver == b.Driver && a.Type == b.Type && a.F16 == b.F16 && a.Limits == b.Limits
}

// describe reads an adapter's info, features and limits.
func describe(a js.Value) driver.Info {
	info, features := a.Get("info"), a.Get("features")
	has := func(name string) bool { return features.Call("has", name).Bool() }
	out := driver.Info{
		Vendor:       text(info, "vendor"),
		Architecture: text(info, "architecture"),
		Driver:       text(info, "driver"),
		Backend:      "webgpu",
		Type:         "unknown",
		F16:          has(featureF16),
		Subgroups:    has(featureSubgroups),
		SubgroupMin:  int(number(info, "subgroupMinSize")),
		SubgroupMax:  int(number(info, "subgroupMaxSize")),
		SubgroupSize: has(featureSubgroupSize),
		Timestamps:   has(featureTimestamps),
		Library:      "navigator.gpu",
		Limits:       limits(a.Get("limits")),
	}
	out.Name = adapterName(info, out)
	if fallback := info.Get("isFallbackAdapter"); fallback.Truthy() || strings.EqualFold(text(info, "type"), "cpu") ||
		out.Architecture == "swiftshader" {
		out.Type = "cpu"
	}
	return out
}

// adapterName returns the most specific text available: browsers leave most fields
// empty.
func adapterName(info js.Value, i driver.Info) string {
	for _, name := range []string{text(info, "description"), text(info, "device"), strings.TrimSpace(i.Vendor + " " + i.Architecture)} {
		if name != "" {
			return name
		}
	}
	return "the browser's GPU"
}

// text returns a property that is a string, or "".
func text(v js.Value, name string) string {
	if p := v.Get(name); p.Type() == js.TypeString {
		return p.String()
	}
	return ""
}

// number returns a property that is a number, or 0.
func number(v js.Value, name string) float64 {
	if p := v.Get(name); p.Type() == js.TypeNumber {
		return p.Float()
	}
	return 0
}

// Features that are requested if the adapter has them.
const (
	featureF16          = "shader-f16"
	featureSubgroups    = "subgroups"
	featureTimestamps   = "timestamp-query"
	featureSubgroupSize = "subgroup-size-control"
)

// computeLimits are requested at the adapter's value; other limits keep WebGPU's
// default.
var computeLimits = [...]string{
	"maxBindGroups",
	"maxBindingsPerBindGroup",
	"maxBufferSize",
	"maxComputeInvocationsPerWorkgroup",
	"maxComputeWorkgroupSizeX",
	"maxComputeWorkgroupSizeY",
	"maxComputeWorkgroupSizeZ",
	"maxComputeWorkgroupStorageSize",
	"maxComputeWorkgroupsPerDimension",
	"maxDynamicStorageBuffersPerPipelineLayout",
	"maxDynamicUniformBuffersPerPipelineLayout",
	"maxStorageBufferBindingSize",
	"maxStorageBuffersPerShaderStage",
	"maxUniformBufferBindingSize",
	"maxUniformBuffersPerShaderStage",
	"minStorageBufferOffsetAlignment",
	"minUniformBufferOffsetAlignment",
}

// limits converts a GPUSupportedLimits.
func limits(l js.Value) driver.Limits {
	axis := func(name string) int { return int(number(l, "maxComputeWorkgroupSize"+name)) }
	return driver.Limits{
		MaxBuffer:          size(l, "maxBufferSize"),
		MaxBinding:         size(l, "maxStorageBufferBindingSize"),
		MaxStorageBuffers:  int(number(l, "maxStorageBuffersPerShaderStage")),
		MaxWorkgroupMemory: int(number(l, "maxComputeWorkgroupStorageSize")),
		MaxInvocations:     int(number(l, "maxComputeInvocationsPerWorkgroup")),
		MaxWorkgroupSize:   [3]int{axis("X"), axis("Y"), axis("Z")},
		MaxGroups:          uint32(min(number(l, "maxComputeWorkgroupsPerDimension"), 1<<32-1)),
		StorageAlignment:   size(l, "minStorageBufferOffsetAlignment"),
		UniformAlignment:   size(l, "minUniformBufferOffsetAlignment"),
	}
}

// size returns a property that is a size. It caps sizes that mean "any" at a value that
// a JS number holds exactly.
func size(v js.Value, name string) int64 { return int64(min(number(v, name), 1<<53-4)) }

// requestDevice requests every feature and limit of a that the device can use.
func (a *adapter) requestDevice() (js.Value, error) {
	features := []any{}
	for _, name := range []string{featureF16, featureSubgroups, featureSubgroupSize, featureTimestamps} {
		if a.handle.Get("features").Call("has", name).Bool() {
			features = append(features, name)
		}
	}
	required, have := map[string]any{}, a.handle.Get("limits")
	for _, name := range computeLimits {
		if v := have.Get(name); v.Type() == js.TypeNumber {
			required[name] = v
		}
	}
	v, err := request(a.handle, "requestDevice", map[string]any{
		"label": "tessera", "requiredFeatures": features, "requiredLimits": required,
	})
	if err != nil {
		return js.Value{}, fmt.Errorf("browser: adapter %d, %s: %w: no device: %w", a.info.Index, a.info.Name, driver.ErrNoAdapter, err)
	}
	return v, nil
}
