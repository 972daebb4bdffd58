package media

import (
	"errors"
	"io"
)

// errShard: several files of torch.save in one are for the program.
var errShard = errors.New("a cache of several latents is read by the program only")

func openShard(string, picker) (*array, error) { return nil, errShard }

func listOfCache(_ string, err error) error { return err }

func readShard(io.ReaderAt, int64, string, picker) (*array, error) { return nil, errShard }

// errNPZ: inflating would be a twentieth of the page's engine.
var errNPZ = errors.New(".npz is read by the program only, expected .npy, .safetensors, .latent or .pt")

func openNPZArray(string, picker) (*array, error) { return nil, errNPZ }

func readNPZ(io.ReaderAt, int64, string, picker) (*array, error) { return nil, errNPZ }
