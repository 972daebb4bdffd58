//go:build !js && !bundle

package dawn

// bundle is empty: this program looks for a library outside.
var bundle string
