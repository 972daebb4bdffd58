//go:build !js && !bundle

package dawn

// bundle is empty: this program looks for its library elsewhere.
var bundle string
