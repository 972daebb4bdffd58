//go:build !js

package dawn

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"tessera/gpu/internal/driver"
)

// adapter is a WGPUAdapter with its description.
type adapter struct {
	*instance
	handle   uintptr
	features []uint32
	info     driver.Info
	id       string // equal for the same adapter found in different ways, and for equal cards
}

func (a *adapter) release() { call(a.AdapterRelease, a.handle) }

// has reports whether the adapter has a feature, given its number; 0 is no feature.
func (a *adapter) has(feature uint32) bool {
	return feature != 0 && slices.Contains(a.features, feature)
}

// backends returns the backends to try, in order; b is Options.Backend.
func backends(b string) ([]uint32, error) {
	switch b {
	case "", "auto":
		switch runtime.GOOS {
		case "windows":
			return []uint32{backendD3D12, backendVulkan}, nil
		case "darwin":
			return []uint32{backendMetal}, nil
		}
		return []uint32{backendVulkan}, nil
	case "d3d12":
		return []uint32{backendD3D12}, nil
	case "metal":
		return []uint32{backendMetal}, nil
	case "vulkan":
		return []uint32{backendVulkan}, nil
	}
	return nil, fmt.Errorf("dawn: unknown backend %q: want auto, vulkan, d3d12 or metal", b)
}

func backendName(b uint32) string {
	switch b {
	case backendD3D12:
		return "d3d12"
	case backendMetal:
		return "metal"
	case backendVulkan:
		return "vulkan"
	}
	return fmt.Sprintf("backend %d", b)
}

// adapters finds the adapters of this machine and numbers them. webgpu.h can't list
// them, so adapters asks with every kind of request, and once per backend for every
// adapter if this library can tell equal cards apart; it drops duplicates. Info.Passed
// of each says which backends had no adapter, and why.
func (in *instance) adapters(backend string) ([]*adapter, error) {
	types, err := backends(backend)
	if err != nil {
		return nil, err
	}
	var list []*adapter
	reasons := slices.Clone(in.passed)
	for _, t := range types {
		var why []string
		before, listed := len(list), false
		for _, o := range []requestAdapterOptions{
			{powerPreference: powerHigh}, {powerPreference: powerLow}, {forceFallbackAdapter: 1},
		} {
			o.featureLevel, o.backendType = featureLevelCore, t
			a, err := in.requestAdapter(o)
			switch {
			case errors.Is(err, errTooOld):
				return nil, fmt.Errorf("dawn: %s: %w: %w", in.path, driver.ErrNoLibrary, err)
			case err != nil:
				if !slices.Contains(why, err.Error()) {
					why = append(why, err.Error())
				}
			default:
				if !listed {
					list, listed = withNew(list, in.everyAdapter(o)), true
				}
				list = withNew(list, []*adapter{a})
			}
		}
		if len(list) == before {
			reasons = append(reasons, in.noAdapter(t, why))
		}
	}
	for _, a := range list {
		a.info.Passed = strings.Join(reasons, "\n")
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("dawn: %w: %s; %s", driver.ErrNoAdapter, strings.Join(reasons, "; "), adviceNoAdapter())
	}
	return list, nil
}

// noAdapter says why backend t has no adapter: in Dawn's words, or with the missing
// compiler's name.
func (in *instance) noAdapter(t uint32, why []string) string {
	if t == backendD3D12 {
		if reason := in.withoutCompiler(); reason != "" {
			why = []string{reason}
		}
	}
	return backendName(t) + ": " + strings.Join(why, ", ")
}

func adviceNoAdapter() string {
	if runtime.GOOS == "linux" {
		return "is a Vulkan driver installed? Mesa's package (Debian's mesa-vulkan-drivers, version 23 or later) has one that computes on the processor, too; VK_DRIVER_FILES, if set, must name a driver's .json file"
	}
	return "is the graphics driver installed and up to date?"
}

// requestAdapter requests one adapter. It refuses Dawn's Null backend, which computes
// nothing.
func (in *instance) requestAdapter(o requestAdapterOptions) (*adapter, error) {
	toggles := in.adapterToggles(o.backendType)
	toggles.chain.next, o.nextInChain = o.nextInChain, unsafe.Pointer(toggles)
	r, err := in.await(in.request(in.callbacks.handle, func(info *callbackInfo) uintptr {
		return callInfo(in.InstanceRequestAdapter, info, in.handle, uintptr(unsafe.Pointer(&o)))
	}))
	if err != nil {
		return nil, err
	}
	if r.status != statusSuccess || r.handle == 0 {
		return nil, errors.New(oneLine(r.message))
	}
	a := &adapter{instance: in, handle: r.handle}
	if in.capabilities && in.tooOld(a.handle) {
		a.release()
		return nil, errTooOld
	}
	a.features = a.listFeatures()
	backendType, err := a.describe()
	if err == nil && (backendType == backendNull || backendType != o.backendType) {
		err = fmt.Errorf("the adapter found is of %s", backendName(backendType))
	}
	if err != nil {
		a.release()
		return nil, err
	}
	return a, nil
}

func (a *adapter) listFeatures() []uint32 {
	f := &supportedFeatures{}
	call(a.AdapterGetFeatures, a.handle, uintptr(unsafe.Pointer(f)))
	if f.features == nil {
		return nil
	}
	defer callStruct(a.SupportedFeaturesFreeMembers, unsafe.Pointer(f), unsafe.Sizeof(*f))
	return slices.Clone(unsafe.Slice(f.features, f.featureCount))
}

// getInfo reads the adapter's description with as many extensions as the adapter
// accepts. Dawn refuses a request with an unknown extension as a whole, so getInfo
// tries again with fewer.
func (a *adapter) getInfo() (info *adapterInfo, heaps *memoryHeaps, matrices *subgroupMatrixConfigs, err error) {
	info, heaps, matrices = &adapterInfo{}, &memoryHeaps{}, &subgroupMatrixConfigs{}
	heaps.chain.sType, matrices.chain.sType = sTypeMemoryHeaps, sTypeMatrices
	var chain unsafe.Pointer
	chains := []unsafe.Pointer{nil}
	if a.has(a.featureMemoryHeaps) {
		chain = unsafe.Pointer(heaps)
		chains = append(chains, chain)
	}
	if a.has(a.featureMatrices) {
		matrices.chain.next = chain
		chains = append(chains, unsafe.Pointer(matrices))
	}
	for _, chain := range slices.Backward(chains) {
		info.nextInChain = chain
		if uint32(call(a.AdapterGetInfo, a.handle, uintptr(unsafe.Pointer(info)))) == statusSuccess {
			return info, heaps, matrices, nil
		}
	}
	return nil, nil, nil, errors.New("the adapter does not describe itself")
}

// describe fills in info and id.
func (a *adapter) describe() (backendType uint32, err error) {
	info, heaps, matrices, err := a.getInfo()
	if err != nil {
		return 0, err
	}
	defer callStruct(a.AdapterInfoFreeMembers, unsafe.Pointer(info), unsafe.Sizeof(*info))
	limits, _, err := a.limits(a.AdapterGetLimits, a.handle)
	if err != nil {
		return 0, err
	}
	a.info = driver.Info{
		Name:         info.device.String(),
		Vendor:       info.vendor.String(),
		DeviceID:     deviceID(info.vendorID, info.deviceID),
		Architecture: info.architecture.String(),
		Driver:       info.description.String(),
		Backend:      backendName(info.backendType),
		Type:         typeName(info.adapterType),
		F16:          a.has(a.featureF16),
		Subgroups:    a.has(a.featureSubgroups),
		SubgroupMin:  int(info.subgroupMinSize),
		SubgroupMax:  int(info.subgroupMaxSize),
		SubgroupSize: a.has(a.featureSubgroupSize),
		Timestamps:   a.has(a.featureTimestamps),
		Memory:       a.takeHeaps(heaps),
		Library:      a.path,
		Limits:       limits,
		Matrices:     a.takeMatrices(matrices),
	}
	a.describeF16(info)
	a.id = fmt.Sprint(info.backendType, info.vendorID, info.deviceID, a.info.Name, a.info.Driver)
	return info.backendType, nil
}

// deviceID formats PCI's IDs of a card's vendor and model.
func deviceID(vendor, device uint32) string { return fmt.Sprintf("%04x:%04x", vendor, device) }

// takeHeaps returns the bytes of the largest device-local heap and frees the list.
func (a *adapter) takeHeaps(h *memoryHeaps) int64 {
	if h.heapInfo == nil {
		return 0
	}
	var most uint64
	for _, heap := range unsafe.Slice(h.heapInfo, h.heapCount) {
		if heap.properties&heapDeviceLocal != 0 {
			most = max(most, heap.size)
		}
	}
	callStruct(a.AdapterPropertiesMemoryHeapsFreeMembers, unsafe.Pointer(h), unsafe.Sizeof(*h))
	return int64(most)
}

// componentTypes are the names of WGPUSubgroupMatrixComponentType's values.
var componentTypes = []string{1: "f32", 2: "f16", 3: "u32", 4: "i32", 5: "u8", 6: "i8"}

// takeMatrices returns the sizes of known types and frees the list.
func (a *adapter) takeMatrices(c *subgroupMatrixConfigs) []driver.Matrix {
	if c.configs == nil {
		return nil
	}
	defer callStruct(a.AdapterPropertiesSubgroupMatrixConfigsFreeMembers, unsafe.Pointer(c), unsafe.Sizeof(*c))
	var list []driver.Matrix
	for _, m := range unsafe.Slice(c.configs, c.configCount) {
		if in, out := int(m.componentType), int(m.resultComponentType); in < len(componentTypes) && out < len(componentTypes) {
			list = append(list, driver.Matrix{M: int(m.M), N: int(m.N), K: int(m.K), In: componentTypes[in], Out: componentTypes[out]})
		}
	}
	return list
}

// withoutCompiler names the compiler for Direct3D 12 that is missing, if any. The Dawn
// of 2025 then has no such adapter; newer ones compile with FXC, without halves.
func (in *instance) withoutCompiler() string {
	if file := missingCompiler(in.path); file != "" {
		return file + " is missing: it belongs beside Dawn's library"
	}
	return ""
}

// describeF16 sets UnprovenF16 if halves need a test, or NoF16 with the reason why they
// are missing.
func (a *adapter) describeF16(info *adapterInfo) {
	ofNVIDIA := info.vendorID == vendorNVIDIA && info.backendType == backendVulkan
	switch i := &a.info; {
	case i.F16:
		i.UnprovenF16 = ofNVIDIA
	case ofNVIDIA && a.hidesF16:
		i.NoF16 = "this Dawn hides it on NVIDIA's cards through Vulkan, newer ones do not"
	case info.backendType == backendVulkan:
		i.NoF16 = "the driver lacks 16-bit floats or 16-bit storage"
	case info.backendType == backendD3D12 && a.withoutCompiler() != "":
		i.NoF16 = a.withoutCompiler()
	case info.backendType == backendD3D12:
		i.NoF16 = "the driver or the shader compiler lacks 16-bit types (shader model 6.2)"
	default:
		i.NoF16 = "the adapter does not offer it"
	}
}

func typeName(t uint32) string {
	switch t {
	case adapterDiscrete:
		return "discrete"
	case adapterIntegrated:
		return "integrated"
	case adapterCPU:
		return "cpu"
	}
	return "unknown"
}

// limits calls get for the limits of an adapter or a device.
func (in *instance) limits(get, handle uintptr) (driver.Limits, *limits, error) {
	raw := &limits{}
	if uint32(call(get, handle, uintptr(unsafe.Pointer(raw)))) != statusSuccess {
		return driver.Limits{}, nil, errors.New("dawn: the limits can't be read")
	}
	return driver.Limits{
		MaxBuffer:          clamp(raw.maxBufferSize),
		MaxBinding:         clamp(raw.maxStorageBufferBindingSize),
		MaxStorageBuffers:  int(raw.maxStorageBuffersPerShaderStage),
		MaxWorkgroupMemory: int(raw.maxComputeWorkgroupStorageSize),
		MaxInvocations:     int(raw.maxComputeInvocationsPerWorkgroup),
		MaxWorkgroupSize: [3]int{
			int(raw.maxComputeWorkgroupSizeX), int(raw.maxComputeWorkgroupSizeY), int(raw.maxComputeWorkgroupSizeZ),
		},
		MaxGroups:        raw.maxComputeWorkgroupsPerDimension,
		StorageAlignment: int64(raw.minStorageBufferOffsetAlignment),
		UniformAlignment: int64(raw.minUniformBufferOffsetAlignment),
	}, raw, nil
}

// clamp keeps a limit that means "any" positive.
func clamp(n uint64) int64 { return int64(min(n, 1<<62)) }

// choose returns the adapter with the given index, or for -1 all adapters, best first.
func choose(list []*adapter, index int) ([]*adapter, error) {
	if index >= 0 && index < len(list) {
		return list[index : index+1], nil
	}
	if index != -1 {
		var there []string
		for _, a := range list {
			there = append(there, fmt.Sprintf("%d %s (%s, %s)", a.info.Index, a.info.Name, a.info.Backend, a.info.Type))
		}
		return nil, fmt.Errorf("dawn: adapter %d: %w; there are: %s", index, driver.ErrNoAdapter, strings.Join(there, ", "))
	}
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b *adapter) int { return rank(a.info) - rank(b.info) })
	return sorted, nil
}

// rank orders adapters by type, best first.
func rank(i driver.Info) int {
	return slices.Index([]string{"discrete", "integrated", "unknown", "cpu"}, i.Type)
}
