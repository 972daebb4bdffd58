//go:build !js && bundle

package dawn

import _ "embed" // of the bundle

// bundle is a zip of the library and of what it is linked with, in a folder named
// dawn- and the start of their SHA-256. tools/dist makes it and builds the program with
// the tag bundle and an overlay that puts it here.
//
//go:embed bundle.zip
var bundle string
