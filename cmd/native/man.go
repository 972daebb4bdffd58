package main

import (
	"fmt"
	"slices"
	"strings"

	"tessera/app/terminal"

	"github.com/alecthomas/kong"
)

type manCmd struct{}

// Help is shown below the flags.
func (manCmd) Help() string {
	return `The page has the whole help of every command.

    tessera man | man -l -
    tessera man > ~/.local/share/man/man1/tessera.1`
}

func (manCmd) Run(t *terminal.Terminal, k *kong.Context) error { return t.Text(manual(k.Model)) }

// manual returns the manual page.
func manual(m *kong.Application) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH TESSERA 1 \"\" \"tessera %s\" \"User Commands\"\n", programVersion().Version)
	b.WriteString(".SH NAME\ntessera \\- encode video to latents and decode latents to video\n.SH SYNOPSIS\n")
	for _, n := range m.Children {
		fmt.Fprintf(&b, ".B tessera\n%s\n.br\n", roff(n.Summary()))
	}
	b.WriteString(".SH DESCRIPTION\n")
	prose(&b, m.Help)
	b.WriteString(".SH OPTIONS\nThese go with every command.\n")
	options(&b, m.Flags)
	b.WriteString(".SH COMMANDS\n")
	for _, n := range m.Children {
		fmt.Fprintf(&b, ".SS %s\n%s\n", roff(n.Name), roff(n.Help))
		for _, p := range n.Positional {
			fmt.Fprintf(&b, ".TP\n.I %s\n%s\n", roff(p.Name), roff(fullText(p)))
		}
		options(&b, n.Flags)
		if n.Detail != "" {
			b.WriteString(".PP\n")
			prose(&b, n.Detail)
		}
	}
	b.WriteString(".SH ENVIRONMENT\n")
	for _, e := range environment(m.Children) {
		fmt.Fprintf(&b, ".TP\n.B %s\nDefault of\n.BR %s .\n", roff(e[0]), roff(e[1]))
	}
	return b.String()
}

// environment lists the variables of flags and the program's other variables.
func environment(all []*kong.Node) (vars [][2]string) {
	for _, n := range all {
		for _, f := range n.Flags {
			for _, e := range f.Envs {
				if v := [2]string{e, "--" + f.Name}; !slices.Contains(vars, v) {
					vars = append(vars, v)
				}
			}
		}
	}
	return vars
}

// options describes flags.
func options(b *strings.Builder, flags []*kong.Flag) {
	for _, f := range flags {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(flagName(f)), roff(fullText(f.Value)))
	}
}

// prose writes paragraphs; indented ones stay unchanged.
func prose(b *strings.Builder, text string) {
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if !strings.HasPrefix(p, "    ") {
			b.WriteString(roff(p) + "\n")
			continue
		}
		b.WriteString(".RS 4\n.nf\n")
		for line := range strings.Lines(p) {
			b.WriteString(roff(strings.TrimPrefix(strings.TrimRight(line, "\n"), "    ")) + "\n")
		}
		b.WriteString(".fi\n.RE\n")
	}
}

// roff escapes text for roff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", "\\(ga", "'", `\(aq`, `"`, `\(dq`, "~", `\(ti`, "^", `\(ha`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
