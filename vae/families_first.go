//go:build first

package vae

// families are those of the engine that the page loads first.
var families = usual

// errNoFamily is the error for a checkpoint of none of them: the page then loads the
// engine that has all families.
var errNoFamily = ErrLeftOut
