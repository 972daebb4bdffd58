//go:build !js && !(linux && amd64) && !windows

package dawn

// everyAdapter returns nil: of several equal cards Dawn returns one here.
func (in *instance) everyAdapter(requestAdapterOptions) []*adapter { return nil }
