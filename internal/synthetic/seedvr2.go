package synthetic

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"tessera/internal/safetensors"
)

// Spec is a tensor of a checkpoint by name and shape.
type Spec struct {
	Name  string
	Shape []int
}

// SeedVR2Config is a SeedVR2 autoencoder of any size.
type SeedVR2Config struct {
	Widths []int             // channels per stage, encoder order; default 128, 256, 512, 512
	Latent int               // latent channels; default 16
	Groups int               // of the group norms; default 32, anything else goes into the metadata
	DType  safetensors.DType // default F16, as published. F32 leaves the weights unrounded.
}

func (c SeedVR2Config) withDefaults() SeedVR2Config {
	if c.Widths == nil {
		c.Widths = []int{128, 256, 512, 512}
	}
	c.Latent = cmp.Or(c.Latent, 16)
	c.Groups = cmp.Or(c.Groups, 32)
	c.DType = cmp.Or(c.DType, safetensors.F16)
	return c
}

// WriteSeedVR2 streams a checkpoint of synthetic weights, laid out as the
// published file is: tensors by name, no metadata but the norm's groups where
// they are not 32.
func WriteSeedVR2(out io.Writer, c SeedVR2Config) error {
	c = c.withDefaults()
	specs, metadata := c.layout()
	w, err := safetensors.NewWriter(out, specs, metadata)
	if err != nil {
		return err
	}
	buffer := make([]float32, 1<<20)
	for _, s := range specs {
		if err := w.Begin(s.Name); err != nil {
			return err
		}
		n := elements(s.Shape)
		for start := 0; start < n; start += len(buffer) {
			part := buffer[:min(len(buffer), n-start)]
			fillParallel(s.Name, s.Shape, start, part)
			if err := w.WriteF32(part); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// CreateSeedVR2 is WriteSeedVR2 into a new file at path.
func CreateSeedVR2(path string, c SeedVR2Config) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("synthetic: %w", err)
	}
	out := bufio.NewWriterSize(file, 1<<20)
	err = errors.Join(WriteSeedVR2(out, c), out.Flush(), file.Close())
	if err != nil {
		return fmt.Errorf("synthetic: %s: %w", path, err)
	}
	return nil
}

// layout is the file's header: specs in file order, and metadata.
func (c SeedVR2Config) layout() ([]safetensors.Spec, map[string]string) {
	var specs []safetensors.Spec
	for _, s := range SeedVR2(c.Widths, c.Latent) {
		specs = append(specs, safetensors.Spec{Name: s.Name, DType: c.DType, Shape: s.Shape})
	}
	slices.SortFunc(specs, func(a, b safetensors.Spec) int { return cmp.Compare(a.Name, b.Name) })
	if c.Groups == 32 {
		return specs, nil
	}
	return specs, map[string]string{"norm_num_groups": strconv.Itoa(c.Groups)}
}

func fillParallel(key string, shape []int, start int, dst []float32) {
	part := max(1<<14, (len(dst)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for at := 0; at < len(dst); at += part {
		wait.Go(func() {
			FillWeight(key, shape, start+at, dst[at:min(at+part, len(dst))])
		})
	}
	wait.Wait()
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
