//go:build !js && !(linux && amd64)

package dawn

// everyAdapter returns nil: of several equal cards Dawn returns one here.
func (in *instance) everyAdapter(requestAdapterOptions) []*adapter { return nil }
