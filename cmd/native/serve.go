package main

import (
	"context"
	"io/fs"
	"os"
	"sync"

	"tessera/app/serve"
	"tessera/gpu"
	"tessera/temporary"
	"tessera/web"
)

type serveCmd struct {
	Addr    string `default:"127.0.0.1:7878" placeholder:"HOST:PORT" help:"Address to listen on; default 127.0.0.1:7878, port 0 takes a free one."`
	Folder  string `placeholder:"DIR" help:"Folder whose checkpoints and latents pages may open by name; default none."`
	Page    string `placeholder:"DIR" help:"Serve the page from this folder, rather than the one in the program."`
	Open    bool   `help:"Open the page in the browser."`
	Backend string `group:"device" enum:"auto,vulkan,d3d12,metal" default:"auto" env:"TESSERA_BACKEND" help:"Graphics API: auto, vulkan, d3d12 or metal."`

	Adapter adapterFlag `group:"device" default:"best" placeholder:"N" help:"Adapter by its number in 'tessera devices'; default the best."`
	cacheFlag
	tuneFlag
	Dawn string `group:"device" placeholder:"FILE" help:"Dawn library; default: searched beside the program, in the user's cache and the system."`
}

// Help is shown below the flags.
func (serveCmd) Help() string {
	return `The page runs in the browser's own GPU process, or, with its switch "Native engine", here. Only who has the printed address can use this engine: it holds a token that is new at each start.

    tessera serve --open
    tessera serve --folder models`
}

func (c *serveCmd) Run(a *app) error {
	temporary.Sweep(os.TempDir())
	page, err := c.page()
	if err != nil {
		return err
	}
	o := gpu.Options{Backend: c.Backend, Adapter: int(c.Adapter), Library: c.Dawn, NoCache: c.NoCache}
	arrived := make(chan struct{})
	s, err := serve.New(c.Addr, serve.Options{
		Page: page, Folder: c.Folder, Device: o, Choose: c.choose(a, c.NoCache), Log: func(line string) { a.note("%s", line) },
		Arrived: sync.OnceFunc(func() { close(arrived) }),
	})
	if err != nil {
		return err
	}
	detach := context.AfterFunc(a.ctx, func() { s.Close() })
	defer s.Close()
	defer detach()
	if s.Beyond() {
		a.warn("--addr %s: other machines can reach this engine, and what is sent to it crosses the network unencrypted, the token too", c.Addr)
	}
	if err := c.announce(a, s.URL()); err != nil {
		return err
	}
	if c.Open {
		remove, err := openPage(s.URL())
		if err != nil {
			a.warn("no browser could be opened: %v", err)
		}
		defer remove()
		go func() {
			<-arrived
			remove()
		}()
	}
	return s.Serve()
}

// page is what is served.
func (c *serveCmd) page() (fs.FS, error) {
	if c.Page != "" {
		return os.DirFS(c.Page), nil
	}
	return web.Page()
}

// announce tells the address.
func (c *serveCmd) announce(a *app, url string) error {
	if a.json {
		if err := a.print(struct {
			URL string `json:"url"`
		}{url}); err != nil {
			return err
		}
	}
	a.say("%s", url)
	a.note("Ctrl-C ends it.")
	return nil
}
