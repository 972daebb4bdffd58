//go:build first

package vae

import "tessera/format"

// families are those of the engine that the page loads first.
var families = usual

// errNoFamily is the error for a checkpoint of none of them: the page then loads the
// engine that has all families.
var errNoFamily = ErrLeftOut

// refuseOther leaves naming other VAEs to the engine that has all families.
func refuseOther(format.File, string) error { return nil }
