//go:build first

package known

// The engine that the page loads first has no tables: what it does not recognise it leaves
// to the engine that has all families.

// Checkpoint is a published file.
type Checkpoint struct{ Model string }

// Find finds none.
func Find(string) (Checkpoint, bool) { return Checkpoint{}, false }

// Kind is none here.
type Kind struct{}

// ByTensors finds none.
func ByTensors(Tensors, string) (Kind, string) { return Kind{}, "" }

// Latent finds none.
func Latent(Tensors) string { return "" }

// Mistake of no kind.
func (Kind) Mistake(string, string) *Mistake { return &Mistake{} }

func whole(string) string                { return "" }
func sizeOf(string) int64                { return 0 }
func (m *Mistake) pointed(_, _ string)   {}
func (m *Mistake) quantised(text []byte) {}
