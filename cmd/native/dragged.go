package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tessera/app/desktop"
	"tessera/app/job"
	"tessera/media"
	"tessera/vae"
)

// Arguments that are only files were dragged onto the program. It describes a checkpoint,
// and decodes a latent to a video beside it. If a checkpoint comes with a latent, the
// program remembers it for latents that come alone; nothing else stores a path.

// dropped turns such arguments into a command, and returns others unchanged.
func (a *app) dropped(args []string) ([]string, error) {
	if len(args) != 1 && len(args) != 2 || slices.ContainsFunc(args, func(s string) bool { return !droppable(s) }) {
		return args, nil
	}
	var models, latents []string
	for _, file := range args {
		if info, err := os.Stat(file); err != nil {
			return nil, job.Mark(err, media.ErrInput)
		} else if !info.Mode().IsRegular() {
			return nil, job.Mark(fmt.Errorf("%s: not a file", file), media.ErrInput)
		}
		if _, err := a.machines.Check(a.ctx, file, vae.Settings{Precision: vae.Auto, Force: true}); err == nil {
			models = append(models, file)
		} else {
			latents = append(latents, file)
		}
	}
	switch {
	case len(latents) == 2 || len(models) == 2:
		return nil, usage(errors.New("two latents or two checkpoints, expected a latent, a checkpoint or one of each"))
	case len(latents) == 0:
		return []string{"info", models[0]}, nil
	case len(models) == 1:
		a.keep = models[0]
	}
	model, err := a.lastModel(models)
	if err != nil {
		return nil, err
	}
	a.Note("decoding %s with %s", latents[0], model)
	return []string{"decode", "-m", model, latents[0], "-o", beside(latents[0])}, nil
}

// droppable reports whether an argument is named like a checkpoint or latent.
func droppable(arg string) bool {
	name := strings.TrimSuffix(strings.ToLower(arg), ".index.json")
	return !strings.HasPrefix(arg, "-") && slices.Contains([]string{".safetensors", ".latent", ".npy", ".npz", ".pth", ".pt"}, filepath.Ext(name))
}

// lastModel returns the checkpoint that came with a latent, else the remembered one, else
// the environment's, else what the user types, for whom the program then has a window.
func (a *app) lastModel(given []string) (string, error) {
	if len(given) > 0 {
		return given[0], nil
	}
	kept, err := desktop.Model()
	if err != nil {
		return "", err
	}
	if model := cmp.Or(kept, os.Getenv("TESSERA_MODEL")); model != "" {
		return model, nil
	}
	if desktop.Started() {
		a.keep, err = a.ask(os.Stdin)
		return a.keep, err
	}
	return "", usage(errors.New("no checkpoint is known: drag one together with the latent, or name it: tessera decode -m MODEL LATENT -o OUT"))
}

// ask asks for a checkpoint. A file dragged into a terminal becomes its path, in quotes
// if it has spaces.
func (a *app) ask(in io.Reader) (string, error) {
	fmt.Fprint(a.Stderr, "Drag the checkpoint into this window and press Enter: ")
	line, err := bufio.NewReader(in).ReadString('\n')
	if line = strings.Trim(strings.TrimSpace(line), `"`); line != "" {
		return line, nil
	}
	return "", usage(errors.Join(errors.New("no checkpoint named"), err))
}

// beside returns an unused name for a latent's video, in the latent's folder. A folder of
// frames gets no dot in its name, because the text after a dot is a format.
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
