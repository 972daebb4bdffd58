package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"tessera/cmd/native/flags"
)

// summary describes the program on the first screen.
const summary = `Encode video and pictures to latents and decode latents back, with the VAEs of
Wan, Qwen-Image, HunyuanVideo, LTX-2, FLUX, SDXL and others, on any GPU.

    tessera demo                                     # try it without any file
    tessera decode -m VAE.safetensors LATENT -o OUT.mp4
`

// help prints one screen for -h and for no arguments, and everything for --help.
func help(short bool) kong.HelpPrinter {
	if !short {
		return kong.DefaultHelpPrinter
	}
	return func(_ kong.HelpOptions, k *kong.Context) error {
		text := overview(k.Model)
		if n := k.Selected(); n != nil {
			text = brief(n, k.Model)
		}
		_, err := fmt.Fprint(k.Stdout, text)
		return err
	}
}

// overview returns the first screen.
func overview(m *kong.Application) string {
	var b strings.Builder
	b.WriteString(summary + "\n")
	for _, n := range m.Children {
		b.WriteString(row("  "+n.Name, 14, n.Help))
	}
	b.WriteString("\n")
	flagRows(&b, m.Flags)
	b.WriteString("\n`tessera COMMAND -h` lists a command's flags; `tessera --help` also explains\nexit codes.\n")
	return b.String()
}

// brief returns one screen for a command: a line for each main flag, and the names of
// flags under headings.
func brief(n *kong.Node, m *kong.Application) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nUsage: tessera %s\n\n", n.Help, n.Summary())
	for _, p := range n.Positional {
		b.WriteString(row("  "+p.Summary(), flagColumn, p.Help))
	}
	var own []*kong.Flag
	titled := map[string][]string{}
	for _, f := range n.Flags {
		if f.Group == nil {
			own = append(own, f)
		} else {
			titled[f.Group.Title] = append(titled[f.Group.Title], "--"+f.Name)
		}
	}
	flagRows(&b, own)
	for _, g := range flags.Groups {
		if names := titled[g.Title]; names != nil {
			b.WriteString(wrap(g.Title+" "+strings.Join(names, " "), "  "))
		}
	}
	var all []string
	for _, f := range m.Flags {
		all = append(all, "--"+f.Name)
	}
	b.WriteString(wrap("Every command: "+strings.Join(all, " "), "  "))
	fmt.Fprintf(&b, "\n`tessera %s --help` explains them and has examples.\n", n.Name)
	return b.String()
}

const (
	screen     = 80 // columns
	flagColumn = 26
)

// flagRows writes one line per flag, with the long names aligned.
func flagRows(b *strings.Builder, all []*kong.Flag) {
	for _, f := range all {
		indent := "      "
		if f.Short != 0 {
			indent = "  "
		}
		b.WriteString(row(indent+flagName(f), flagColumn, f.Help))
	}
}

// flagName returns a flag as people write it: "-m, --model=MODEL".
func flagName(f *kong.Flag) string {
	name := "--" + f.Name
	if f.Tag.Negatable != "" {
		name = "--[no-]" + f.Name
	}
	if f.Short != 0 {
		name = "-" + string(f.Short) + ", " + name
	}
	if !f.IsBool() {
		name += "=" + f.FormatPlaceHolder()
	}
	return name
}

// row returns a name and the beginning of its help, in one line.
func row(name string, column int, help string) string {
	line := fmt.Sprintf("%-*s  ", column, name)
	words := strings.Fields(clause(help))
	for i, w := range words {
		if len([]rune(line))+len([]rune(w)) > screen-2 {
			return strings.TrimRight(line, " ,") + "…\n"
		}
		line += w
		if i < len(words)-1 {
			line += " "
		}
	}
	return strings.TrimRight(line, " ") + "\n"
}

// clause returns a help text up to its first full stop, semicolon or colon.
func clause(help string) string {
	end := len(help)
	for _, mark := range []string{". ", "; ", ": "} {
		if i := strings.Index(help, mark); i >= 0 {
			end = min(end, i)
		}
	}
	return strings.TrimSuffix(help[:end], ".")
}

// wrap breaks lines between words.
func wrap(text, indent string) string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > screen-1 {
			lines, line = append(lines, line), indent+w
			continue
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return strings.Join(append(lines, line), "\n") + "\n"
}

// short reports whether a command line asks for one screen of help.
func short(args []string) bool { return slices.Contains(args, "-h") }
