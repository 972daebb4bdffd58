//go:build !js

package dawn

import (
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"tessera/gpu/internal/driver"
)

// reply is a copy of the arguments of any of Dawn's callbacks.
type reply struct {
	status  uint32 // of the request, or the reason of a loss
	kind    uint32 // WGPUErrorType
	handle  uintptr
	message string
	notes   []driver.Note // a shader's errors
}

// waiters maps the integers that C returns as userdata to Go functions. The process
// shares it and the C function pointers, because Go can create only a limited number of
// those and never frees one.
var waiters = struct {
	sync.Mutex
	next uintptr
	m    map[uintptr]func(reply)
}{m: map[uintptr]func(reply){}}

// register keeps f until unregister.
func register(f func(reply)) uintptr {
	waiters.Lock()
	defer waiters.Unlock()
	waiters.next++
	waiters.m[waiters.next] = f
	return waiters.next
}

func unregister(key uintptr) {
	waiters.Lock()
	defer waiters.Unlock()
	delete(waiters.m, key)
}

// deliver calls the function behind key without holding the lock.
func deliver(key uintptr, r reply) {
	waiters.Lock()
	f := waiters.m[key]
	waiters.Unlock()
	if f != nil {
		f(r)
	}
}

// callbacks are the C function pointers, one for each signature.
type callbacks struct {
	handle   uintptr // (status, handle, message, …): adapter and device requests
	message  uintptr // (status, message, …): map, work done
	scope    uintptr // (status, type, message, …)
	lost     uintptr // (device*, reason, message, …)
	captured uintptr // (device*, type, message, …): uncaptured errors
	compiled uintptr // (status, info*, …)

	load, store         uintptr // (key's size, key*, size, value*, userdata, userdata): cache.go
	load2025, store2025 uintptr // (key*, its size, value*, size, userdata)
}

var cCallbacks = sync.OnceValue(func() callbacks {
	return callbacks{
		handle:   purego.NewCallback(onHandle),
		message:  purego.NewCallback(onMessage),
		scope:    purego.NewCallback(onScope),
		lost:     purego.NewCallback(onLost),
		captured: purego.NewCallback(onUncaptured),
		compiled: purego.NewCallback(onCompiled),

		load: purego.NewCallback(onLoad), store: purego.NewCallback(onStore),
		load2025: purego.NewCallback(onLoad2025), store2025: purego.NewCallback(onStore2025),
	}
})

func onCompiled(status uintptr, info *compilationInfo, key, _ uintptr) uintptr {
	r := reply{status: uint32(status)}
	if info != nil && info.messages != nil {
		for _, m := range unsafe.Slice(info.messages, info.messageCount) {
			if m.kind == messageError {
				r.notes = append(r.notes, driver.Note{Line: int(m.lineNum), Column: int(m.linePos), Text: m.message.String()})
			}
		}
	}
	deliver(key, r)
	return 0
}
