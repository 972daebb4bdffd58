//go:build first

package known

// The engine that the page loads first has no tables: it leaves what it does not
// recognise to the engine with all families.

// Checkpoint is a published file.
type Checkpoint struct{ Model string }

// Find finds no checkpoint.
func Find(string) (Checkpoint, bool) { return Checkpoint{}, false }

// Kind is empty here.
type Kind struct{}

// ByTensors finds no kind.
func ByTensors(Tensors, string) (Kind, string) { return Kind{}, "" }

// Latent finds no latent.
func Latent(Tensors) string { return "" }

// Mistake returns an empty mistake.
func (Kind) Mistake(string, string) *Mistake { return &Mistake{} }

func whole(string) string                { return "" }
func sizeOf(string) int64                { return 0 }
func (m *Mistake) pointed(_, _ string)   {}
func (m *Mistake) quantised(text []byte) {}
