package main

import (
	"context"
	"fmt"
	"reflect"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"tessera/app/job"
	"tessera/app/models"
	"tessera/app/terminal"
	"tessera/format/known"
)

type modelsCmd struct{}

// Help is shown below the flags.
func (modelsCmd) Help() string {
	return `"here" is in the folder of pulled checkpoints: TESSERA_MODELS, or tessera/models in the user's cache folder. Where no licence is shown, the page of the repository has it.

    tessera models
    tessera pull wan2.1
    tessera decode -m wan2.1 latent.safetensors -o out.mp4`
}

// published is a checkpoint in JSON.
type published struct {
	Name    string            `json:"name"`
	Model   string            `json:"model"`
	File    string            `json:"file"`
	Bytes   int64             `json:"bytes"`
	About   bool              `json:"about,omitempty"` // bytes is rounded
	SHA256  string            `json:"sha256,omitempty"`
	Licence string            `json:"licence,omitempty"`
	From    string            `json:"from"`
	Address string            `json:"address"`
	Path    terminal.FileName `json:"path,omitempty"` // if it is stored here
}

func (c *modelsCmd) Run(t *terminal.Terminal) error {
	var all []published
	for _, k := range known.Checkpoints {
		all = append(all, publishedOf(k))
	}
	if t.JSON {
		return t.Print(struct {
			Command string      `json:"command"`
			Models  []published `json:"models"`
		}{"models", all})
	}
	if t.Quiet {
		return nil
	}
	w := tabwriter.NewWriter(t.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tMODEL\tFILE\tSIZE\tLICENCE\tFROM\tHERE")
	for i, p := range all {
		here, licence := "no", p.Licence
		if p.Path != "" {
			here = "yes"
		}
		if licence == "" {
			licence = "on its page"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Name, p.Model, p.File, known.Checkpoints[i].Bytes(), licence, p.From, here)
	}
	return w.Flush()
}

// publishedOf describes a checkpoint, and looks for it here.
func publishedOf(c known.Checkpoint) published {
	return published{c.Name, c.Model, c.Base(), c.Size, c.About, c.SHA256, c.Licence, c.Repo, c.Address(models.Hub()), terminal.FileName(models.Here(c))}
}

type pullCmd struct {
	Names []string `arg:"" name:"name" help:"Names from 'tessera models', such as wan2.1."`
}

// Help is shown below the flags.
func (pullCmd) Help() string {
	return `pull downloads a checkpoint from Hugging Face, or from HF_ENDPOINT. An interrupted download continues where it ended. The size and, where it is published, the SHA-256 are checked before the file gets its name. No other command downloads a checkpoint.

The file is kept in TESSERA_MODELS, or in tessera/models in the user's cache folder. Its name then works wherever a checkpoint is expected:

    tessera pull wan2.1
    tessera decode -m wan2.1 latent.safetensors -o out.mp4`
}

func (c *pullCmd) Run(a *app) error {
	var all []known.Checkpoint
	for _, name := range c.Names {
		k, ok := known.Find(name)
		if !ok {
			hint := "`tessera models` lists the names"
			if near, ok := known.Suggest(name); ok {
				hint += "; one of them is " + near.Name
			}
			return terminal.Refused("%s: no published checkpoint has that name\n%s", name, hint)
		}
		all = append(all, k)
	}
	var pulled []published
	for _, k := range all {
		path, err := c.pull(a, k)
		if err != nil {
			return err
		}
		p := publishedOf(k)
		p.Path = terminal.FileName(path)
		pulled = append(pulled, p)
	}
	if a.JSON {
		return a.Print(struct {
			Command string      `json:"command"`
			Models  []published `json:"models"`
		}{"pull", pulled})
	}
	return nil
}

// pull downloads a checkpoint.
func (c *pullCmd) pull(a *app, k known.Checkpoint) (string, error) {
	if path := models.Here(k); path != "" {
		a.Say("%s is here: %s", k.Name, path)
		return path, nil
	}
	licence := k.Licence
	if licence == "" {
		licence = "licence on its page"
	}
	a.Note("pulling %s: %s, %s, %s, from %s", k.Name, k.Base(), k.Bytes(), licence, k.Address(models.Hub()))
	var p models.Puller
	p.Transfer.Come = a.coming(k.Name)
	path, err := p.Pull(a.ctx, k)
	if err != nil {
		if context.Cause(a.ctx) != nil {
			return "", a.ctx.Err()
		}
		return "", err
	}
	a.Say("%s: use it with -m %s", path, k.Name)
	return path, nil
}

// coming reports every few seconds how much was downloaded.
func (a *app) coming(name string) func(have, all int64) {
	const every = 5 * time.Second
	begun := time.Now()
	first, last := int64(-1), begun
	return func(have, all int64) {
		now := time.Now()
		if first < 0 {
			first = have
		}
		if now.Sub(last) < every {
			return
		}
		last = now
		rate := float64(have-first) / now.Sub(begun).Seconds()
		text := fmt.Sprintf("%s: %s", name, known.Bytes(have))
		if all > 0 {
			text += fmt.Sprintf(" of %s", known.Bytes(all))
		}
		text += fmt.Sprintf(", %s/s", known.Bytes(int64(rate)))
		if rate > 0 && all > 0 {
			text += fmt.Sprintf(", %v left", time.Duration(float64(all-have)/rate*1e9).Round(time.Second))
		}
		a.Note("%s", text)
	}
}

// checkpointPath reads a flag or argument that names a checkpoint: a file, or the name of
// a pulled one.
func checkpointPath(k *kong.DecodeContext, target reflect.Value) error {
	if err := verbatim(k, target); err != nil {
		return err
	}
	target.SetString(models.Path(target.String()))
	return nil
}

// missing adds the name of the intended checkpoint to the error of a missing file.
func missing(text string, err error) error {
	if told := models.Missing(text, err); told != err {
		return job.Mark(told, job.ErrInput)
	}
	return err
}
