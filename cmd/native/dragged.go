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

// Files alone on the command line are ones that were dragged onto the program: a
// checkpoint is told of, a latent is decoded beside itself. A checkpoint dragged
// together with a latent is remembered for latents that come alone; nothing else
// keeps a path.

// dropped makes a command of such arguments and returns others as they are.
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

// droppable is what has the name of a checkpoint or latent.
func droppable(arg string) bool {
	name := strings.TrimSuffix(strings.ToLower(arg), ".index.json")
	return !strings.HasPrefix(arg, "-") && slices.Contains([]string{".safetensors", ".latent", ".npy", ".npz", ".pth", ".pt"}, filepath.Ext(name))
}

// lastModel is the checkpoint that came with a latent, else the one that is
// remembered, else the environment's, else what the user says, who then is at a
// window of the program's own.
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

// ask asks for a checkpoint. A file dragged into a window becomes its path, in
// quotes where it has spaces.
func (a *app) ask(in io.Reader) (string, error) {
	fmt.Fprint(a.Stderr, "Drag the checkpoint into this window and press Enter: ")
	line, err := bufio.NewReader(in).ReadString('\n')
	if line = strings.Trim(strings.TrimSpace(line), `"`); line != "" {
		return line, nil
	}
	return "", usage(errors.Join(errors.New("no checkpoint named"), err))
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
