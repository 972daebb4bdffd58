//go:build first

package known

// The engine that the page loads first leaves naming files to the one that has all
// families.
var (
	Checkpoints   []Checkpoint
	kinds         []Kind
	architectures map[string]Kind
)
