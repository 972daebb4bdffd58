//go:build !js

package dawn

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"tessera/gpu/internal/driver"
)

// library is a loaded Dawn. It stays loaded until the process ends, because its threads
// may outlive the last device.
type library struct {
	path   string
	passed []string // other libraries that were found, and why they are not used
	hidden bool     // in a library that does not export it; see hidden.go
	*apiVersion
	procs
	callbacks
}

// place is a place to look for the library.
type place struct {
	path  string
	where string // description of the place, for the error message
	named bool   // found by the system's search, not by a path
	own   bool   // the bundle, unpacked below path
}

// load finds and loads Dawn: exactly the library that the flag or the environment
// names, else the first usable one of places.
func load(flag string) (*library, error) {
	var look []place
	if flag != "" {
		look = []place{{path: flag, where: "named by the option"}}
	} else if env := os.Getenv("TESSERA_DAWN"); env != "" {
		look = []place{{path: env, where: "named by TESSERA_DAWN"}}
	} else {
		look = places()
	}
	var tried strings.Builder
	var passed []string
	for _, p := range look {
		l, err := p.load()
		if err == nil {
			l.passed = append(passed, l.passed...)
			return l, nil
		}
		fmt.Fprintf(&tried, "\n  %s (%s): %v", p.path, p.where, err)
		if !errors.Is(err, errNotThere) {
			passed = append(passed, fmt.Sprintf("%s: %v", p.path, err))
		}
	}
	return nil, fmt.Errorf("dawn: %w; tried%s\n%s; `--dawn FILE` or TESSERA_DAWN names another", driver.ErrNoLibrary, tried.String(), adviceNoLibrary())
}

var errNotThere = errors.New("not there")

func adviceNoLibrary() string {
	switch {
	case bundle != "":
		return "this program has one inside, which it unpacks into the user's folder for caches"
	case runtime.GOOS == "windows":
		return "a released program has one inside; in a checkout tools/deps.sh fetches one"
	}
	return "put one beside the program; in a checkout tools/deps.sh fetches one"
}

// load opens the library and detects its API version.
func (p place) load() (*library, error) {
	path := p.path
	if p.own {
		return loadBundle()
	}
	if !p.named {
		var err error
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, errNotThere
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular(): // a pipe would block forever
			return nil, fmt.Errorf("not a file: mode is %v, expected a library", info.Mode())
		}
	}
	handle, err := openLibrary(path)
	if err != nil {
		if p.named {
			return nil, errNotThere
		}
		return nil, fmt.Errorf("does not load: %w", err)
	}
	l := &library{path: path}
	find := func(name string) uintptr { return symbol(handle, name) }
	if from := symbol(handle, hiddenFrom); from != 0 {
		l.hidden = true
		find, err = getProcAddress(path, from)
	}
	if err == nil {
		err = l.bind(find)
	}
	if err != nil {
		closeLibrary(handle)
		return nil, err
	}
	return l, nil
}

// bind detects the API version from the exports and finds the functions.
func (l *library) bind(symbol func(string) uintptr) error {
	switch {
	case symbol("wgpuHasInstanceFeature") != 0:
		l.apiVersion = &apiStable
	case symbol("wgpuGetInstanceCapabilities") != 0:
		l.apiVersion = &api2025
	default:
		return errors.New("not a Dawn this program can use: it exports neither wgpuHasInstanceFeature (the stable API) nor wgpuGetInstanceCapabilities (the API of 2025)")
	}
	if err := l.find(symbol); err != nil {
		return fmt.Errorf("not a Dawn this program can use: it looks like %s, but %w", l.name, err)
	}
	l.callbacks = cCallbacks()
	return nil
}

// Folders into which tools/deps.sh installs, one for each of names.
const (
	cacheStable = "dawn-2026-10"
	cacheHidden = "dawn-2026-09"
	cache2025   = "dawn-2025"
)

// names returns the file names of Dawn's builds for this system, best first: Dawn's own,
// the one hidden in ONNX Runtime's provider, and the one of 2025.
func names() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{"webgpu_dawn.dll", "onnxruntime_providers_webgpu.dll", "webgpu_wrapper.dll"}
	case "darwin":
		return []string{"libwebgpu_dawn.dylib", "libonnxruntime_providers_webgpu.dylib", "libwebgpu_wrapper.dylib"}
	}
	return []string{"libwebgpu_dawn.so", "libonnxruntime_providers_webgpu.so", "libwebgpu_wrapper.so"}
}

// places lists where to look, in order: the bundle, beside the executable, the user's
// cache, the system. On Windows it lists only the bundle if there is one, else only
// beside the executable: a single-file program often lies among downloads, where
// another program could plant a library.
func places() []place {
	var list []place
	if bundle != "" {
		list = append(list, place{path: names()[0], where: "inside the program", own: true})
		if runtime.GOOS == "windows" {
			return list
		}
	}
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		for _, name := range names() {
			list = append(list, place{path: filepath.Join(filepath.Dir(exe), name), where: "beside the program"})
		}
	}
	if runtime.GOOS == "windows" {
		return list
	}
	if cache, err := os.UserCacheDir(); err == nil {
		for i, pin := range []string{cacheStable, cacheHidden, cache2025} {
			path := filepath.Join(cache, "tessera", "dawn", pin, names()[i])
			list = append(list, place{path: path, where: "the user's cache"})
		}
	}
	if runtime.GOOS == "linux" {
		list = append(list, place{path: "libwebgpu_dawn.so.0", where: "the system", named: true})
	}
	return append(list, place{path: names()[0], where: "the system", named: true})
}
