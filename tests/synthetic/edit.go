package synthetic

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tessera/format/safetensors"
)

// Raw is a tensor with its bytes, for other files of a checkpoint.
type Raw struct {
	safetensors.Spec
	Data []byte
}

// Read reads all tensors of a .safetensors file.
func Read(path string) ([]Raw, map[string]string, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var all []Raw
	for _, name := range f.Names() {
		t, _ := f.Tensor(name)
		r := Raw{safetensors.Spec{Name: name, DType: t.DType, Shape: t.Shape}, make([]byte, t.Bytes())}
		if err := t.ReadRaw(r.Data, 0); err != nil {
			return nil, nil, err
		}
		all = append(all, r)
	}
	return all, f.Metadata(), nil
}

// Create writes a .safetensors file of tensors.
func Create(path string, all []Raw, metadata map[string]string) error {
	var specs []safetensors.Spec
	for _, r := range all {
		specs = append(specs, r.Spec)
	}
	return create(path, func(out io.Writer) error {
		w, err := safetensors.NewWriter(out, specs, metadata)
		if err != nil {
			return err
		}
		for _, r := range all {
			if err := w.Begin(r.Name); err != nil {
				return err
			}
			if _, err := w.Write(r.Data); err != nil {
				return err
			}
		}
		return w.Close()
	})
}

// Split distributes the tensors of a file over n files in a folder, in turn, writes
// their index, and returns its path.
func Split(path, folder string, n int) (string, error) {
	all, metadata, err := Read(path)
	if err != nil {
		return "", err
	}
	total, shards, of := 0, make([][]Raw, n), map[string]string{}
	name := func(i int) string { return fmt.Sprintf("diffusion_pytorch_model-%05d-of-%05d.safetensors", i+1, n) }
	for i, r := range all {
		shards[i%n] = append(shards[i%n], r)
		of[r.Name], total = name(i%n), total+len(r.Data)
	}
	for i, shard := range shards {
		if err := Create(filepath.Join(folder, name(i)), shard, metadata); err != nil {
			return "", err
		}
	}
	text, err := json.MarshalIndent(map[string]any{"metadata": map[string]any{"total_size": total}, "weight_map": of}, "", "  ")
	if err != nil {
		return "", err
	}
	index := filepath.Join(folder, "diffusion_pytorch_model.safetensors.index.json")
	return index, os.WriteFile(index, text, 0o666)
}
