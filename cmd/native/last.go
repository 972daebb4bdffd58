package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tessera/app/job"
	"tessera/media"
	"tessera/vae"
)

// A file alone on the command line is one that was dragged onto the program: a
// checkpoint is remembered, a latent is decoded beside itself with the
// checkpoint that was used last.

// dropped makes a command of such arguments and returns others as they are.
func (a *app) dropped(args []string) ([]string, error) {
	if len(args) != 1 || strings.HasPrefix(args[0], "-") || !slices.Contains([]string{".safetensors", ".latent", ".npy", ".pth", ".pt"}, strings.ToLower(filepath.Ext(args[0]))) {
		return args, nil
	}
	file := args[0]
	if info, err := os.Stat(file); err != nil {
		return nil, job.Mark(err, media.ErrInput)
	} else if !info.Mode().IsRegular() {
		return nil, job.Mark(fmt.Errorf("%s: not a file", file), media.ErrInput)
	}
	if _, err := a.check(file, vae.Settings{Precision: vae.Auto, Force: true}); err == nil {
		return []string{"info", file}, remember(file)
	}
	model, err := remembered()
	if err != nil {
		return nil, err
	}
	out := beside(file)
	a.note("decoding %s with %s", file, model)
	return []string{"decode", "-m", model, file, "-o", out}, nil
}

// beside is a fresh name for the video of a latent, in the latent's folder. A
// folder of frames has no dot in its name, as formats are told by what follows
// one.
func beside(latent string) string {
	dir, base := filepath.Split(latent)
	stem, ext := strings.TrimSuffix(base, filepath.Ext(base)), ".mp4"
	if !media.HaveFFmpeg() {
		stem, ext = strings.ReplaceAll(stem, ".", "_"), ""
	}
	stem = filepath.Join(dir, stem) + "-decoded"
	for n := 1; ; n++ {
		out := stem + ext
		if n > 1 {
			out = fmt.Sprintf("%s-%d%s", stem, n, ext)
		}
		if _, err := os.Lstat(out); errors.Is(err, fs.ErrNotExist) {
			return out
		}
	}
}

// model is the checkpoint that the command line names.
func (c *cli) model() string { return c.Decode.Model + c.Encode.Model + c.Roundtrip.Model }

// memory is the file that holds the path of the last checkpoint.
func memory() (string, error) {
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "tessera", "last-model.txt"), err
}

// remember keeps a checkpoint's path for latents that are dragged onto the
// program.
func remember(model string) error {
	file, err := memory()
	if err != nil {
		return err
	}
	if model, err = filepath.Abs(model); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".last-model-*")
	if err != nil {
		return err
	}
	_, err = temp.WriteString(model + "\n")
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}

// remembered is the path that was kept.
func remembered() (string, error) {
	file, err := memory()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", usage(errors.New("no checkpoint was used yet: drag one onto the program first, or name it: tessera decode -m MODEL LATENT -o OUT"))
	}
	return strings.TrimRight(string(text), "\r\n"), err
}
