package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tessera/app/api"
	"tessera/app/desktop"
	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/app/models"
	"tessera/app/report"
	"tessera/app/serve"
	"tessera/app/terminal"
	"tessera/cmd/native/flags"
	"tessera/format/file"
	"tessera/gpu"
	"tessera/temporary"
	"tessera/tune"
	"tessera/vae"
	"tessera/web"
)

type serveCmd struct {
	Models    []string      `group:"server" everyday:"" name:"model" short:"m" sep:"none" placeholder:"[NAME=]FILE" help:"Checkpoint for programs, named NAME or after its file; repeatable; default: serve only the page."`
	As        []string      `group:"server" sep:"none" placeholder:"[NAME=]MODEL" help:"Model of an AutoencoderKL checkpoint, as for decode, for all checkpoints or the one called NAME: ${kinds}. A request may choose another."`
	Listen    string        `group:"server" everyday:"" aliases:"addr" default:"127.0.0.1:7878" placeholder:"HOST:PORT" help:"Address to listen on; default 127.0.0.1:7878; port 0 means any free port." more:"Programs on other machines need a token."`
	Memory    flags.Bytes   `group:"tiles" everyday:"" placeholder:"SIZE" help:"Limit of device memory for programs' jobs, such as 6GiB; default as for decode."`
	Host      flags.Bytes   `group:"tiles" name:"host-memory" placeholder:"SIZE" help:"Limit of host memory for programs' jobs, such as 20GiB; default as for decode."`
	Disk      flags.Bytes   `group:"tiles" default:"10GiB" placeholder:"SIZE" help:"Limit of disk space for programs' inputs and results; default 10GiB."`
	Jobs      string        `group:"server" placeholder:"DIR" help:"Folder for jobs and their results; default: one per port in the user's cache folder."`
	Keep      time.Duration `group:"server" default:"24h" placeholder:"TIME" help:"How long to keep a finished job, such as 90m; default 24h."`
	Queue     int           `group:"server" default:"512" placeholder:"N" help:"Requests of programs that may wait; further requests receive 429 with Retry-After. Default 512."`
	TokenFile string        `group:"server" everyday:"" placeholder:"FILE" help:"Tokens for programs, one per line, as NAME TOKEN or TOKEN." more:"Default: the printed token, which only other machines need."`
	TLSCert   string        `group:"server" name:"tls-cert" placeholder:"FILE" help:"Certificate chain (PEM), to serve https instead of http."`
	TLSKey    string        `group:"server" name:"tls-key" placeholder:"FILE" help:"Key of the certificate (PEM)."`
	Folder    string        `group:"server" everyday:"" placeholder:"DIR" help:"Folder of checkpoints and latents that pages may open by name; default none."`
	Page      string        `group:"server" placeholder:"DIR" help:"Serve the page from this folder instead of the built-in one."`
	Open      bool          `group:"server" everyday:"" help:"Open the page in the browser."`
	Backend   string        `group:"device" enum:"auto,vulkan,d3d12,metal" default:"auto" env:"TESSERA_BACKEND" help:"Graphics API: auto, vulkan, d3d12 or metal."`

	AllowNoAdapter bool          `group:"device" help:"Start without a usable adapter; then only the page works."`
	Adapter        flags.Adapter `group:"device" default:"best" placeholder:"N" help:"Adapter by its number in 'tessera devices'; default the best."`
	Precision      string        `group:"device" everyday:"" enum:"auto,f32,f16" default:"auto" help:"Storage of activations in programs' jobs: auto (f16 if the GPU supports it), f32 or f16."`
	flags.ShaderCache
	flags.Tuning
	Dawn string `group:"device" placeholder:"FILE" help:"Dawn library; default: searched beside the program, in the user's cache and in the system."`
}

// Help is shown below the flags.
func (serveCmd) Help() string {
	return `The page computes in the browser or, with its switch "Native engine", in this program. Using this engine needs the printed address, which contains a new token at each start.

With --model the server also answers programs: diffusers' remote_decode and remote_encode at /v1/decode and /v1/encode, and jobs (docs/guides/server.md). On this machine they need no token.

    tessera serve --open
    tessera serve --folder models
    tessera serve -m Wan2.1_VAE.pth -m qwen=qwen_image_vae.safetensors`
}

func (c *serveCmd) Run(a *app) error {
	temporary.Sweep(os.TempDir())
	page, err := c.page()
	if err != nil {
		return err
	}
	o := gpu.Options{Backend: c.Backend, Adapter: int(c.Adapter), Library: c.Dawn, NoCache: c.NoCache}
	models, err := c.models()
	if err != nil {
		return err
	}
	tokens, err := c.tokens(a.ctx)
	if err != nil {
		return err
	}
	certificates, err := c.certificates(a.ctx)
	if err != nil {
		return err
	}
	jobs, err := c.jobs()
	if err != nil {
		return err
	}
	tuner := machine.Tuner(a.Terminal, c.NoTune, c.NoCache)
	info, err := c.adapter(a, tuner, &o)
	if err != nil {
		return err
	}
	arrived := make(chan struct{})
	s, err := serve.New(c.Listen, serve.Options{
		Page: page, Folder: c.Folder, Device: o, Choose: tuner.Choose, Log: func(line string) { a.Note("%s", line) },
		Tokens: tokens, Certificates: certificates,
		API:     api.Options{Models: models, Budget: int64(c.Memory), Host: int64(c.Host), Disk: int64(c.Disk), Places: c.Queue, Folder: jobs, Keep: c.Keep},
		Arrived: sync.OnceFunc(func() { close(arrived) }),
	})
	if err != nil {
		return err
	}
	detach := context.AfterFunc(a.ctx, func() { s.Close() })
	defer s.Close()
	defer detach()
	if s.Beyond() && len(certificates) == 0 {
		a.Warn("--listen %s: other machines can reach this engine, and clips and tokens cross the network unencrypted", c.Listen)
	}
	if err := c.announce(a, s.URL(), info, models); err != nil {
		return err
	}
	if t := s.Token(); t != "" && len(tokens) == 0 && len(models) > 0 {
		a.Note("programs send Authorization: Bearer %s", t)
	}
	a.Note("Ctrl-C ends it.")
	if c.Open {
		remove, err := desktop.OpenPage(s.URL())
		if err != nil {
			a.Warn("cannot open a browser: %v", err)
		}
		defer remove()
		go func() {
			<-arrived
			remove()
		}()
	}
	return s.Serve()
}

// Validate refuses an empty queue, a zero time and an address without a port.
func (c *serveCmd) Validate() error {
	_, _, address := net.SplitHostPort(c.Listen)
	switch {
	case c.Queue < 1:
		return fmt.Errorf("--queue=%d: expected at least 1", c.Queue)
	case c.Keep < time.Second:
		return fmt.Errorf("--keep=%v: expected a second or more, such as 24h", c.Keep)
	case address != nil:
		return fmt.Errorf("--listen=%s: %w, expected HOST:PORT", c.Listen, address)
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key: expected both or none")
	}
	return nil
}

// jobs returns the folder that keeps jobs over a restart. Without models there are no
// jobs. A free port differs at each start, so it gets only the folder that --jobs names.
func (c *serveCmd) jobs() (string, error) {
	_, port, err := net.SplitHostPort(c.Listen)
	if c.Jobs != "" || len(c.Models) == 0 || err != nil || port == "0" || port == "" {
		return c.Jobs, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cannot find a folder for jobs: %w; --jobs chooses one", err)
	}
	return filepath.Join(cache, "tessera", "jobs-"+port), nil
}

// models returns the models for programs.
func (c *serveCmd) models() ([]api.Model, error) {
	var all []api.Model
	for _, text := range c.Models {
		name, path, named := strings.Cut(text, "=")
		if _, err := os.Stat(text); err == nil || !named { // a file's name may contain =
			path = text
			name = strings.TrimSuffix(filepath.Base(text), ".index.json") // of a checkpoint in several files
			name = strings.TrimSuffix(name, filepath.Ext(name))
		}
		if name == "" || path == "" {
			return nil, terminal.Refused("--model=%s: expected a checkpoint, or NAME=FILE", text)
		}
		found := models.Path(path)
		if _, err := os.Stat(found); err != nil {
			if told := missing(path, err); told != err {
				return nil, told
			}
		}
		if found != path && !named {
			name = path
		}
		path = found
		if slices.ContainsFunc(all, func(m api.Model) bool { return m.Name == name }) {
			return nil, terminal.Refused("--model=%s: the name %s is taken, expected NAME=FILE with another name", text, name)
		}
		all = append(all, api.Model{Name: name, Path: path, Settings: vae.Settings{Precision: vae.Precision(c.Precision)}})
	}
	for _, text := range c.As {
		name, as, named := strings.Cut(text, "=")
		if !named {
			as = text
		}
		found := false
		for i := range all {
			if !named || all[i].Name == name {
				all[i].Settings.As, found = as, true
			}
		}
		if !found {
			return nil, terminal.Refused("--as=%s: no --model is named %.60q", text, name)
		}
	}
	return all, nil
}

// minToken is the shortest token, in characters: shorter ones can be guessed.
const minToken = 16

// tokens reads the tokens in a file, with each one's name.
func (c *serveCmd) tokens(ctx context.Context) (map[string]string, error) {
	if c.TokenFile == "" {
		return nil, nil
	}
	text, err := interrupt.ReadSmall(ctx, c.TokenFile)
	if err != nil {
		return nil, job.Mark(fmt.Errorf("--token-file: %w", err), job.ErrInput)
	}
	if text, err = file.Text(text); err != nil {
		return nil, job.BadInput("--token-file %s: %w", c.TokenFile, err)
	}
	all := map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		token := words[len(words)-1]
		if len(words) > 2 || len(token) < minToken {
			return nil, job.BadInput("--token-file %s: line %d is invalid, expected NAME TOKEN with a token of at least %d characters", c.TokenFile, i+1, minToken)
		}
		all[token] = words[0]
		if len(words) == 1 {
			all[token] = fmt.Sprintf("line %d", i+1)
		}
	}
	if len(all) == 0 {
		return nil, job.BadInput("--token-file %s: no token, expected one per line", c.TokenFile)
	}
	return all, nil
}

// certificates loads the certificates for https; without any the server uses http.
func (c *serveCmd) certificates(ctx context.Context) ([]tls.Certificate, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	chain, err := interrupt.ReadSmall(ctx, c.TLSCert)
	var key []byte
	if err == nil {
		key, err = interrupt.ReadSmall(ctx, c.TLSKey)
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.X509KeyPair(chain, key)
	}
	if err != nil {
		return nil, job.Mark(fmt.Errorf("--tls-cert %s, --tls-key %s: %w", c.TLSCert, c.TLSKey, err), job.ErrInput)
	}
	return []tls.Certificate{pair}, nil
}

// page returns the page's files.
func (c *serveCmd) page() (fs.FS, error) {
	if c.Page == "" {
		return web.Page()
	}
	if _, err := os.Stat(filepath.Join(c.Page, "index.html")); err != nil {
		return nil, job.BadInput("--page %s: expected a folder with index.html: %w", c.Page, err)
	}
	return os.DirFS(c.Page), nil
}

// adapter returns the adapter that jobs will use, and selects it in o if a trial has; nil
// if the machine has none and that is allowed.
func (c *serveCmd) adapter(a *app, tuner *tune.Tuner, o *gpu.Options) (*report.Adapter, error) {
	dev, why, err := machine.OpenFaster(a.ctx, tuner, *o)
	switch {
	case err == nil:
		defer dev.Close()
		info := report.NewAdapter(dev.Info())
		if why != "" {
			o.Adapter = info.Index
		}
		return &info, nil
	case c.AllowNoAdapter:
		a.Warn("%v: pages compute in their browsers, and programs' jobs fail", err)
		return nil, nil
	}
	return nil, job.Mark(fmt.Errorf("%w (--allow-no-adapter serves the page alone)", err), job.ErrNoDevice)
}

// announcement is what the server prints at the start; its JSON is for machines.
type announcement struct {
	URL       string          `json:"url"`
	Adapter   *report.Adapter `json:"adapter,omitempty"`
	Models    []string        `json:"models"`
	Endpoints []string        `json:"endpoints"` // for programs; empty without models
}

// announce prints the address, and what is served.
func (c *serveCmd) announce(a *app, url string, adapter *report.Adapter, models []api.Model) error {
	told := announcement{URL: url, Adapter: adapter, Models: []string{}, Endpoints: []string{}}
	base, _, _ := strings.Cut(url, "/#")
	if len(models) > 0 {
		for _, path := range []string{"/v1/decode", "/v1/encode", "/v1/jobs", "/v1/models", "/openapi.json"} {
			told.Endpoints = append(told.Endpoints, base+path)
		}
	}
	if adapter != nil {
		a.Note("adapter: %s (%s)", adapter.Name, adapter.Backend)
	}
	for _, m := range models {
		told.Models = append(told.Models, m.Name)
		a.Note("model: %s, from %s", m.Name, m.Path)
	}
	for _, e := range told.Endpoints {
		a.Note("endpoint: %s", e)
	}
	if a.JSON {
		if err := a.Print(told); err != nil {
			return err
		}
	}
	a.Say("%s", url)
	return nil
}
