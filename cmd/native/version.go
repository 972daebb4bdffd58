package main

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"tessera/app/job"
	"tessera/app/terminal"
)

// tools/dist sets both with -ldflags -X.
var version, commit string

// versionFlag prints the version and ends the program.
type versionFlag bool

// BeforeReset runs before kong checks the rest of the command line.
func (versionFlag) BeforeReset(t *terminal.Terminal, k *kong.Kong) error {
	if err := (versionCmd{}).Run(t); err != nil {
		return err
	}
	k.Exit(job.ExitDone)
	return nil
}

type versionCmd struct{}

func (versionCmd) Run(t *terminal.Terminal) error {
	v := programVersion()
	if t.JSON {
		return t.Print(v)
	}
	t.Say("tessera %s (%s)", v.Version, strings.Join(slices.DeleteFunc([]string{v.Commit, v.System, v.Go}, func(s string) bool { return s == "" }), ", "))
	return nil
}

// build identifies the program.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"` // if the version does not contain it
	System  string `json:"system"`           // GOOS/GOARCH
	Go      string `json:"go"`
}

// programVersion returns the stamped version, or else what the Go tool knows about the
// checkout.
func programVersion() build {
	b := build{version, commit, runtime.GOOS + "/" + runtime.GOARCH, runtime.Version()}
	if b.Version != "" {
		return b
	}
	b.Version = "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		dirty := ""
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Version = s.Value[:min(len(s.Value), 12)]
			case "vcs.modified":
				if s.Value == "true" {
					dirty = "-dirty"
				}
			}
		}
		b.Version += dirty
	}
	return b
}
