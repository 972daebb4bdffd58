//go:build !js

package dawn

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"tessera/gpu/internal/diskcache"
	"tessera/gpu/internal/driver"
)

// maxCache bounds the bytes of stored shaders and pipelines of all adapters together.
const maxCache = 256 << 20

// cache stores what Dawn compiles. Dawn's keys cover the shader, the pipeline and the
// driver; identity adds what else distinguishes adapters and libraries.
type cache struct {
	folder   *diskcache.Cache
	identity []byte

	mu    sync.Mutex
	asked map[string][]byte // values whose size Dawn has asked for; it reads them next
}

// caches maps the integers that C returns as userdata. The process shares it, for the
// same reason as waiters.
var caches = struct {
	sync.Mutex
	next uintptr
	m    map[uintptr]*cache
}{m: map[uintptr]*cache{}}

// newCache returns the cache of an adapter, or nil if the user has no cache folder.
func newCache(i driver.Info) *cache {
	folder := diskcache.Open("pipelines", maxCache)
	if folder == nil {
		return nil
	}
	identity := fmt.Sprintln(i.Name, i.Driver, i.Backend, i.Library)
	if library, err := os.Stat(i.Library); err == nil {
		identity += fmt.Sprintln(library.Size(), library.ModTime())
	}
	return &cache{folder: folder, identity: []byte(identity), asked: map[string][]byte{}}
}

// register lets Dawn's callbacks find c until forgetCache.
func (c *cache) register() uintptr {
	caches.Lock()
	defer caches.Unlock()
	caches.next++
	caches.m[caches.next] = c
	return caches.next
}

func forgetCache(key uintptr) {
	caches.Lock()
	defer caches.Unlock()
	delete(caches.m, key)
}

func cacheOf(key uintptr) *cache {
	caches.Lock()
	defer caches.Unlock()
	return caches.m[key]
}

// key returns the key of a stored value; Dawn's own key is at p.
func (c *cache) key(p, size uintptr) []byte {
	return append(c.identity[:len(c.identity):len(c.identity)], unsafe.Slice((*byte)(pointer(p)), size)...)
}

// load returns a value's size if room is 0, and else the value. Dawn calls it in this
// order.
func (c *cache) load(key []byte, value, room uintptr) uintptr {
	c.mu.Lock()
	defer c.mu.Unlock()
	if room == 0 {
		v := c.folder.Get(key)
		if v != nil {
			c.asked[string(key)] = v
		}
		return uintptr(len(v))
	}
	v := c.asked[string(key)]
	delete(c.asked, string(key))
	if uintptr(len(v)) > room {
		return 0
	}
	return uintptr(copy(unsafe.Slice((*byte)(pointer(value)), room), v))
}

// store stores a value.
func (c *cache) store(key []byte, value, size uintptr) {
	c.folder.Put(key, append([]byte(nil), unsafe.Slice((*byte)(pointer(value)), size)...))
}

// The callbacks of the stable API and of the API of 2025. Dawn also calls them from its
// own threads.

func onLoad(keySize, key, valueSize, value, id, _ uintptr) uintptr {
	if c := cacheOf(id); c != nil {
		return c.load(c.key(key, keySize), value, valueSize)
	}
	return 0
}

func onStore(keySize, key, valueSize, value, id, _ uintptr) uintptr {
	if c := cacheOf(id); c != nil {
		c.store(c.key(key, keySize), value, valueSize)
	}
	return 0
}

func onLoad2025(key, keySize, value, valueSize, id uintptr) uintptr {
	return onLoad(keySize, key, valueSize, value, id, 0)
}

func onStore2025(key, keySize, value, valueSize, id uintptr) uintptr {
	return onStore(keySize, key, valueSize, value, id, 0)
}

// cacheDescriptor makes a device use the cache with this id.
func (l *library) cacheDescriptor(id uintptr) unsafe.Pointer {
	chain := chainedStruct{sType: sTypeCache}
	if l.capabilities {
		return unsafe.Pointer(&cacheDescriptor2025{chain: chain, load: l.callbacks.load2025, store: l.callbacks.store2025, userdata: id})
	}
	return unsafe.Pointer(&cacheDescriptor{
		chain:                          chain,
		dawnLoadCacheDataCallbackInfo:  cacheCallbackInfo{callback: l.callbacks.load, userdata1: id},
		dawnStoreCacheDataCallbackInfo: cacheCallbackInfo{callback: l.callbacks.store, userdata1: id},
	})
}
