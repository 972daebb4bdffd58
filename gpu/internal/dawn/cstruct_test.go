//go:build !js

package dawn

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStructLayout checks every C struct against sizes and offsets measured with a C
// compiler.
func TestStructLayout(t *testing.T) {
	for name, v := range map[string]any{
		"WGPUStringView":                   stringView{},
		"WGPUChainedStruct":                chainedStruct{},
		"WGPUFutureWaitInfo":               futureWaitInfo{},
		"WGPUInstanceDescriptor":           instanceDescriptor{},
		"WGPURequestAdapterOptions":        requestAdapterOptions{},
		"WGPURequestAdapterCallbackInfo":   callbackInfo{},
		"WGPURequestDeviceCallbackInfo":    callbackInfo{},
		"WGPUBufferMapCallbackInfo":        callbackInfo{},
		"WGPUQueueWorkDoneCallbackInfo":    callbackInfo{},
		"WGPUPopErrorScopeCallbackInfo":    callbackInfo{},
		"WGPUDeviceLostCallbackInfo":       callbackInfo{},
		"WGPUCompilationInfoCallbackInfo":  callbackInfo{},
		"WGPUUncapturedErrorCallbackInfo":  uncapturedErrorCallbackInfo{},
		"WGPUCompilationInfo":              compilationInfo{},
		"WGPUCompilationMessage":           compilationMessage{},
		"WGPUAdapterInfo":                  adapterInfo{},
		"WGPULimits":                       limits{},
		"WGPUSupportedFeatures":            supportedFeatures{},
		"WGPUQueueDescriptor":              queueDescriptor{},
		"WGPUDeviceDescriptor":             deviceDescriptor{},
		"WGPUBufferDescriptor":             bufferDescriptor{},
		"WGPUShaderModuleDescriptor":       shaderModuleDescriptor{},
		"WGPUShaderSourceWGSL":             shaderSourceWGSL{},
		"WGPUConstantEntry":                constantEntry{},
		"WGPUComputeState":                 computeState{},
		"WGPUComputePipelineDescriptor":    computePipelineDescriptor{},
		"WGPUPipelineLayoutDescriptor":     pipelineLayoutDescriptor{},
		"WGPUBindGroupLayoutEntry":         bindGroupLayoutEntry{},
		"WGPUBufferBindingLayout":          bufferBindingLayout{},
		"WGPUBindGroupLayoutDescriptor":    bindGroupLayoutDescriptor{},
		"WGPUBindGroupEntry":               bindGroupEntry{},
		"WGPUBindGroupDescriptor":          bindGroupDescriptor{},
		"WGPUCommandEncoderDescriptor":     commandEncoderDescriptor{},
		"WGPUComputePassDescriptor":        computePassDescriptor{},
		"WGPUPassTimestampWrites":          passTimestampWrites{},
		"WGPUQuerySetDescriptor":           querySetDescriptor{},
		"WGPUDawnTogglesDescriptor":        togglesDescriptor{},
		"WGPUAdapterPropertiesMemoryHeaps": memoryHeaps{},
		"WGPUMemoryHeapInfo":               memoryHeapInfo{},
		"WGPUSubgroupMatrixConfig":         subgroupMatrixConfig{},
		"WGPUDawnCacheDeviceDescriptor":    cacheDescriptor{},

		"WGPUAdapterPropertiesSubgroupMatrixConfigs": subgroupMatrixConfigs{},
	} {
		t.Run(name, func(t *testing.T) { checkLayout(t, structs(t)[name], reflect.TypeOf(v)) })
	}
}

// TestStructLayout2025 checks the structs that differed before the API was stable:
// nextInChain with WGPUInstanceCapabilities{nextInChain, timedWaitAnyEnable,
// timedWaitAnyMaxCount} at 8, and the cache's callbacks with one userdata.
func TestStructLayout2025(t *testing.T) {
	checkLayout(t, map[string]any{
		"size": 32., "nextInChain": at(0, 8), "capabilitiesChain": at(8, 8), "timedWaitAnyEnable": at(16, 4), "timedWaitAnyMaxCount": at(24, 8),
	}, reflect.TypeOf(instanceDescriptor2025{}))
	checkLayout(t, map[string]any{
		"size": 56., "chain": at(0, 16), "isolationKey": at(16, 16), "load": at(32, 8), "store": at(40, 8), "userdata": at(48, 8),
	}, reflect.TypeOf(cacheDescriptor2025{}))
}

func at(offset, size float64) []any { return []any{offset, size} }

// structs reads webgpu_abi.json: for each struct its size and {field: [offset, size]}.
// If a struct has a field named size, that entry replaces the struct's size.
func structs(t *testing.T) map[string]map[string]any {
	t.Helper()
	raw, err := os.ReadFile("testdata/webgpu_abi.json")
	require.NoError(t, err)
	var abi struct {
		Structs map[string]map[string]any
	}
	require.NoError(t, json.Unmarshal(raw, &abi))
	return abi.Structs
}

// checkLayout compares all fields: neither side may lack one.
func checkLayout(t *testing.T, want map[string]any, got reflect.Type) {
	t.Helper()
	require.NotNil(t, want, "not in webgpu_abi.json")
	seen := map[string]bool{}
	if size, ok := want["size"].(float64); ok {
		seen["size"] = true
		assert.EqualValues(t, size, got.Size(), "size")
	}
	for i := range got.NumField() {
		f := got.Field(i)
		if f.Name == "_" {
			continue
		}
		name := f.Name
		if name == "kind" {
			name = "type"
		}
		seen[name] = true
		if assert.Contains(t, want, name, "not in C") {
			assert.Equal(t, want[name], at(float64(f.Offset), float64(f.Type.Size())), "offset and size of %s", name)
		}
	}
	for name := range want {
		assert.True(t, seen[name], "field %s: missing in Go", name)
	}
}
