package flags

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

// Profiling reports where the time of a job goes.
type Profiling struct {
	Profile ProfileChoice `group:"device" help:"Print where the time goes, by layer, on standard error; --profile=FILE.json also writes a trace for chrome://tracing or Perfetto."`
}

// ProfileChoice is whether to profile, and the file for the trace.
type ProfileChoice struct {
	On   bool
	File string // "" for none
}

// IsBool makes the flag's value optional.
func (ProfileChoice) IsBool() bool { return true }

// Decode reads =FILE.json, or a FILE.json that follows, since no command's argument has
// such a name.
func (c *ProfileChoice) Decode(k *kong.DecodeContext) error {
	next := k.Scan.Peek()
	name, text := next.Value.(string)
	switch {
	case next.Type == kong.FlagValueToken || text && next.Type == kong.UntypedToken && isTrace(name):
		k.Scan.Pop()
	default:
		c.On = true
		return nil
	}
	if on, ok := next.Value.(bool); ok {
		c.On = on
		return nil
	}
	if !isTrace(name) {
		return fmt.Errorf("%q: expected FILE.json, or nothing for tables alone", name)
	}
	c.On, c.File = true, name
	return nil
}

func isTrace(name string) bool { return strings.EqualFold(filepath.Ext(name), ".json") }

// Outputs returns the flag's output.
func (f Profiling) Outputs() (out files.Outputs) {
	if f.Profile.File != "" {
		out = files.Outputs{files.Named("--profile="+f.Profile.File, f.Profile.File)}
	}
	return out
}

// Report prints a command's profile as tables, writes the trace, and adds the profile to
// the result.
func (f Profiling) Report(r *report.Result, e *machine.Machine, version string) error {
	if !f.Profile.On {
		return nil
	}
	r.Profile = e.Profiles
	for _, s := range e.Profiles {
		s.Print(e.Terminal)
	}
	if f.Profile.File == "" {
		return nil
	}
	r.Outputs = append(r.Outputs, terminal.FileName(f.Profile.File))
	return media.WriteFile(f.Profile.File, report.Trace(e.Profiles, e.Device.Info(), version))
}
