package media

import "io"

// orShard returns a: only the program reads shards and lists of caches.
func orShard(a *array, err error, _ string, _ picker, _ io.ReaderAt, _ int64) (*array, error) {
	return a, err
}

// errNPZ refuses .npz: inflating would be a twentieth of the page's engine.
var errNPZ = unfit(ErrProgram, ".npz is read by the program only, expected .npy, .safetensors, .latent or .pt")

func openNPZArray(string, picker) (*array, error) { return nil, errNPZ }

func readNPZ(io.ReaderAt, int64, string, picker) (*array, error) { return nil, errNPZ }
