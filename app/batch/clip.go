package batch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tessera/app/files"
	"tessera/app/interrupt"
	"tessera/app/models"
	"tessera/app/terminal"
	"tessera/format/file"
	"tessera/media"
	"tessera/remote"
)

// Clip is one clip, as a line of a manifest describes it.
type Clip struct {
	Name    string         `json:"name"` // for results and shards; default: the input's name without extension
	Input   string         `json:"input"`
	Output  string         `json:"output"` // default --output
	Op      string         `json:"op"`
	Model   string         `json:"model"`   // default --model
	Options map[string]any `json:"options"` // flags by name

	where  string // line of the manifest
	err    error  // of the line
	number int    // of the clips that begun, from 1
}

// key returns the clip's output as equal outputs have it.
func (c *Clip) key() string {
	name, err := filepath.Abs(c.Output)
	if err != nil || remote.Is(c.Output) {
		return shown(c.Output)
	}
	return name
}

// clips returns the clips of this shard, from the command line or a manifest, after
// checking them all.
func (b *run) clips() ([]*Clip, error) {
	all, err := b.listed()
	if err != nil {
		return nil, err
	}
	var own []*Clip
	taken, named := map[string]*Clip{}, map[string]*Clip{}
	for _, c := range all {
		if err := b.complete(c); err != nil {
			return nil, c.at(err)
		}
		if other := taken[c.key()]; other != nil {
			return nil, c.at(terminal.Refused("--output=%s: used for %s and %s, expected different outputs; {name} is replaced by the input's name", shown(c.Output), shown(other.Input), shown(c.Input)))
		}
		taken[c.key()] = c
		if b.Records != "" {
			if other := named[c.Name]; other != nil {
				return nil, c.at(terminal.Refused("name %q: used for %s and %s, expected different names with --records", c.Name, shown(other.Input), shown(c.Input)))
			}
			named[c.Name] = c
		}
		if err := b.possible(c); err != nil {
			return nil, c.at(err)
		}
		if b.Shard.Has(c.Name) {
			own = append(own, c)
		}
	}
	return own, nil
}

// maxManifest limits a manifest that is read before the first clip, in bytes: some
// millions of lines.
const maxManifest = 1 << 28

// listed returns all clips in the order of their names on the command line or in the
// manifest.
func (b *run) listed() (all []*Clip, err error) {
	if b.Manifest == "" {
		inputs, err := expanded(b.Inputs)
		for _, input := range inputs {
			if !strings.HasSuffix(input, recordEnding) { // a pattern such as latents/* matches records too
				all = append(all, &Clip{Input: input})
			}
		}
		return all, err
	}
	info, err := file.Look(b.Manifest)
	switch {
	case err != nil:
		return nil, terminal.Refused("--manifest: %w; --manifest - reads standard input", err)
	case info.Size() > maxManifest:
		return nil, terminal.Refused("--manifest: %s has %d bytes, expected at most %d; --manifest - reads standard input line by line", b.Manifest, info.Size(), maxManifest)
	}
	text, err := interrupt.Await(b.ctx, func() ([]byte, error) { return os.ReadFile(b.Manifest) })
	if err != nil {
		return nil, terminal.Refused("--manifest: %w", err)
	}
	if text, err = file.Text(text); err != nil {
		return nil, terminal.Refused("--manifest: %s %w", b.Manifest, err)
	}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if c := readClip(line, fmt.Sprintf("%s:%d", b.Manifest, n)); c != nil {
			if c.err != nil {
				return nil, c.at(c.err)
			}
			all = append(all, c)
		}
	}
	return all, nil
}

// expanded expands the patterns that the shell did not.
func expanded(inputs []string) (all []string, err error) {
	for _, input := range inputs {
		_, serr := os.Stat(input)
		if serr == nil || remote.Is(input) || !strings.ContainsAny(input, "*?[") {
			all = append(all, input)
			continue
		}
		found, err := filepath.Glob(input)
		if err != nil || len(found) == 0 {
			return nil, terminal.Refused("%s: no such file", input)
		}
		all = append(all, found...)
	}
	return all, nil
}

// readClip reads a line of a manifest; an empty line gives nil.
func readClip(line []byte, where string) *Clip {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	c := &Clip{where: where}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	d.UseNumber()
	err := d.Decode(c)
	if _, more := d.Token(); err == nil && more != io.EOF {
		err = errors.New("unexpected data after the object")
	}
	if err != nil {
		c.err = terminal.Refused("%w, expected an object with input, output, name, op, model and options", err)
	}
	return c
}

// at adds the manifest's line to an error.
func (c *Clip) at(err error) error {
	if c.where == "" {
		return err
	}
	return terminal.Refused("%s: %w", c.where, err)
}

// follow returns a function that waits for the next clip of a stream, and returns nil at
// its end.
func (b *run) follow(r io.Reader) func() (*Clip, error) {
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		for in := bufio.NewReader(r); ; {
			line, err := in.ReadBytes('\n')
			if len(line) > 0 {
				lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	n := 0
	return func() (*Clip, error) {
		for {
			select {
			case <-b.ctx.Done():
				return nil, b.ctx.Err()
			case line, more := <-lines:
				if !more {
					return nil, nil
				}
				n++
				if n == 1 {
					var err error
					if line, err = file.Text(line); err != nil {
						return nil, terminal.Refused("--manifest: %s %w", files.Stdin, err)
					}
				}
				if c := b.streamed(line, n); c != nil {
					return c, nil
				}
			}
		}
	}
}

// streamed reads line n of a stream; an empty line and a clip of another shard give nil.
func (b *run) streamed(line []byte, n int) *Clip {
	c := readClip(line, fmt.Sprintf("%s:%d", files.Stdin, n))
	if c == nil {
		return nil
	}
	if c.err == nil {
		c.err = b.complete(c)
	}
	if c.err == nil && !b.Shard.Has(c.Name) {
		return nil
	}
	return c
}

// complete fills in the fields that a clip leaves to the command line or to its names.
func (b *run) complete(c *Clip) error {
	switch {
	case c.Input == "" || c.Input == files.Stream:
		return terminal.Refused("input %q: expected a file, folder, pattern or URL", c.Input)
	case remote.Is(c.Input):
		if err := remote.Check(c.Input); err != nil {
			return terminal.Refused("%w", err)
		}
	}
	if c.Name == "" {
		c.Name = nameOf(c.Input)
	}
	if strings.ContainsAny(c.Name, `/\`) || c.Name == "" {
		return terminal.Refused("name %q: expected one without / and \\", c.Name)
	}
	if c.Output == "" {
		c.Output = strings.ReplaceAll(b.Output, "{name}", c.Name)
	}
	if c.Model == "" {
		c.Model = b.Model
	}
	c.Model = models.Path(c.Model) // from a manifest, too
	if c.Op == "" && b.Op != "auto" {
		c.Op = b.Op
	}
	if c.Op == "" {
		c.Op = opOf(c.Input, c.Output)
	}
	switch {
	case c.Output == "" || c.Output == files.Stream:
		return terminal.Refused("output %q of %s: expected a file, folder or URL", c.Output, shown(c.Input))
	case c.Op == "":
		return terminal.Refused("%s to %s: ambiguous, expected --op=decode, --op=encode or --op=roundtrip", shown(c.Input), shown(c.Output))
	case !slices.Contains([]string{"decode", "encode", "roundtrip"}, c.Op):
		return terminal.Refused("op %q: expected decode, encode or roundtrip", c.Op)
	}
	return b.completeRemote(c)
}

// completeRemote refuses outputs that cannot be uploaded to a URL.
func (b *run) completeRemote(c *Clip) error {
	switch {
	case !remote.Is(c.Output):
		return nil
	case remote.Check(c.Output) != nil:
		return terminal.Refused("%w", remote.Check(c.Output))
	case endingOf(c.Output) == "":
		return terminal.Refused("%s: has no file extension, expected the URL of a file", shown(c.Output))
	case c.Op == "roundtrip":
		return terminal.Refused("%s: roundtrip writes a sheet beside its output, expected a file", shown(c.Output))
	case b.NoClobber:
		return terminal.Refused("%s: cannot check whether it exists, expected no --no-clobber", shown(c.Output))
	case b.Resume && b.Records == "":
		return terminal.Refused("%s: a record cannot be stored beside it, expected --records=FOLDER for --resume", shown(c.Output))
	}
	return nil
}

// nameOf returns the last part of an input's name, without its extension.
func nameOf(input string) string {
	base := filepath.Base(input)
	if u, err := url.Parse(input); remote.Is(input) && err == nil {
		base = path.Base(u.Path)
	}
	if name := strings.TrimSuffix(base, filepath.Ext(base)); name != "" {
		return name
	}
	return base
}

// endingOf returns the extension of a name or of a URL's path, in lower case.
func endingOf(name string) string {
	if u, err := url.Parse(name); remote.Is(name) && err == nil {
		name = u.Path
	}
	return strings.ToLower(path.Ext(filepath.ToSlash(name)))
}

// shown returns an input or output as messages may show it.
func shown(name string) string {
	if remote.Is(name) {
		return remote.Name(name)
	}
	return name
}

// opOf derives the operation from the names, "" if they do not decide it.
func opOf(input, output string) string {
	either := []string{".safetensors", ".npy"} // of a video's floats, too
	from, to := endingOf(input), endingOf(output)
	latents := append([]string{".latent", ".npz", ".pt", ".pth", ".bin"}, either...)
	switch in, out := slices.Contains(latents, from), slices.Contains(latents, to); {
	case !in && out:
		return "encode"
	case in && !out:
		return "decode"
	case in && out && !slices.Contains(either, from):
		return "decode"
	case in && out && !slices.Contains(either, to):
		return "encode"
	}
	return ""
}

// options returns a clip's flags, as on the command line.
func (b *run) options(c *Clip) ([]string, error) {
	args := slices.Clone(b.Flags)
	for _, key := range slices.Sorted(maps.Keys(c.Options)) {
		if slices.Contains([]string{"model", "output", "help"}, key) {
			return nil, terminal.Refused("option %q: belongs beside options, not in them", key)
		}
		switch v := c.Options[key].(type) {
		case string, json.Number, bool:
			args = append(args, fmt.Sprintf("--%s=%v", key, v))
		default:
			return nil, terminal.Refused("option %q: expected a string, a number, true or false", key)
		}
	}
	return args, nil
}

// parse makes a clip's command on a worker, with the given output and input.
func (b *run) parse(worker int, c *Clip, output, input string) (Command, error) {
	args, err := b.options(c)
	if err != nil {
		return nil, err
	}
	args = append([]string{c.Op}, args...)
	if c.Model != "" {
		args = append(args, "--model="+c.Model)
	}
	args = append(args, "--output="+output, "--", input)
	p, err := b.Parse(worker, args)
	if err != nil {
		return nil, terminal.Refused("%s: %w", shown(c.Input), err)
	}
	if remote.Is(c.Output) && p.Renames() {
		return nil, terminal.Refused("%s: the cache chooses its file name, expected --output in a folder", shown(c.Output))
	}
	return p, nil
}

// possible refuses what the clip's command would refuse before it opens anything.
func (b *run) possible(c *Clip) error {
	if _, err := b.parse(0, c, c.Output, c.Input); err != nil {
		return err
	}
	check := media.CheckVideoName
	if c.Op == "encode" {
		check = media.CheckLatentName
	}
	output := c.Output
	if remote.Is(output) {
		output = "output" + endingOf(output)
	}
	return check(output)
}
