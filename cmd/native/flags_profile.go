package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"tessera/app/files"
	"tessera/app/machine"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/media"
)

// profileFlag tells where the time of a job goes.
type profileFlag struct {
	Profile profileChoice `group:"device" help:"Tell where the time goes, in tables on standard error; with --profile=FILE.json also in a trace for chrome://tracing or Perfetto."`
}

// profileChoice is whether to profile, and the trace's file.
type profileChoice struct {
	on   bool
	file string // "" for none
}

// IsBool says that the flag needs no value.
func (profileChoice) IsBool() bool { return true }

// Decode reads =FILE.json or, since no argument of a command is called so, a
// FILE.json that follows.
func (c *profileChoice) Decode(k *kong.DecodeContext) error {
	next := k.Scan.Peek()
	name, text := next.Value.(string)
	switch {
	case next.Type == kong.FlagValueToken || text && next.Type == kong.UntypedToken && isTrace(name):
		k.Scan.Pop()
	default:
		c.on = true
		return nil
	}
	if on, ok := next.Value.(bool); ok {
		c.on = on
		return nil
	}
	if !isTrace(name) {
		return fmt.Errorf("%q: expected FILE.json, or nothing for tables alone", name)
	}
	c.on, c.file = true, name
	return nil
}

func isTrace(name string) bool { return strings.EqualFold(filepath.Ext(name), ".json") }

// outputs are those of the flag.
func (f profileFlag) outputs() (out files.Outputs) {
	if f.Profile.file != "" {
		out = files.Outputs{files.Named("--profile="+f.Profile.file, f.Profile.file)}
	}
	return out
}

// report ends a command's profile: tables for people, the trace, and what is
// told of it in the result.
func (f profileFlag) report(a *app, r *report.Result, e *machine.Machine) error {
	if !f.Profile.on {
		return nil
	}
	r.Profile = e.Profiles
	for _, s := range e.Profiles {
		s.Print(a.Terminal)
	}
	if f.Profile.file == "" {
		return nil
	}
	r.Outputs = append(r.Outputs, terminal.FileName(f.Profile.file))
	return media.WriteFile(f.Profile.file, report.Trace(e.Profiles, e.Device.Info(), programVersion().Version))
}
