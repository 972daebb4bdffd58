//go:build first

package vae

// families are the families of the engine that the page loads first.
var families = usual

// errNoFamily is the error for a checkpoint of no family here: the page then loads the
// engine with all families.
var errNoFamily = ErrLeftOut
