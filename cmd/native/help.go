package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"tessera/app/job"
	"tessera/cmd/native/flags"
)

// summary says what the program is, on the first screen.
const summary = `Encode video and pictures to latents and decode latents back, with the VAEs of
Wan, Qwen-Image, HunyuanVideo, LTX-2, FLUX, SDXL and others, on any GPU.

    tessera demo                                     # try it without any file
    tessera decode -m VAE.safetensors LATENT -o OUT.mp4
`

// screenFlag prints at most a screen of help and ends the program.
type screenFlag bool

// BeforeReset runs before kong checks the rest of the command line.
func (screenFlag) BeforeReset(k *kong.Context) error { return printHelp(k, false) }

// allFlag prints the whole help and ends the program.
type allFlag bool

func (allFlag) BeforeReset(k *kong.Context) error { return printHelp(k, true) }

func printHelp(k *kong.Context, all bool) error {
	text := ""
	switch n := k.Selected(); {
	case n != nil && all:
		text = fullHelp(n, k.Model)
	case n != nil:
		text = screenHelp(n, k.Model)
	case all:
		text = programHelp(k.Model)
	default:
		text = overview(k.Model)
	}
	if _, err := fmt.Fprint(k.Stdout, text); err != nil {
		return err
	}
	k.Kong.Exit(job.ExitDone)
	return nil
}

// overview is the first screen.
func overview(m *kong.Application) string {
	var b strings.Builder
	b.WriteString(summary + "\n")
	commandRows(&b, m)
	b.WriteString("\n")
	flagRows(&b, m.Flags, screenText)
	b.WriteString("\n`tessera COMMAND --help` shows the everyday flags of a command.\n`tessera --help-all` also explains exit codes.\n")
	return b.String()
}

// programHelp is the whole help of the program without a command.
func programHelp(m *kong.Application) string {
	var b strings.Builder
	b.WriteString("Usage: tessera COMMAND [flags]\n\n")
	paragraphs(&b, m.Help)
	b.WriteString("\nCommands:\n")
	commandRows(&b, m)
	for _, s := range sections(m.Flags) {
		b.WriteString("\n" + s.title + ":\n")
		flagRows(&b, s.flags, fullText)
	}
	b.WriteString("\n`tessera COMMAND --help-all` shows all flags of a command.\n")
	return b.String()
}

// screenHelp is all of a command's help where that fits on a screen. Elsewhere it has the
// everyday flags, the names of the others, and two examples.
func screenHelp(n *kong.Node, m *kong.Application) string {
	if text := fullHelp(n, m); strings.Count(text, "\n") <= screenLines {
		return text
	}
	var b strings.Builder
	intro(&b, n, screenText)
	var everyday, others []*kong.Flag
	for _, f := range commandFlags(n, m) {
		if f.Tag.Has("everyday") {
			everyday = append(everyday, f)
		} else {
			others = append(others, f)
		}
	}
	b.WriteString("\nEveryday flags:\n")
	flagRows(&b, everyday, screenText)
	b.WriteString("\nOther flags:\n")
	for _, s := range sections(others) {
		names := ""
		for _, f := range s.flags {
			names += " --" + f.Name
		}
		b.WriteString(wrap("  "+s.title+": ", names, "    "))
	}
	b.WriteString("\n")
	for _, e := range examples(n)[:2] {
		b.WriteString(e + "\n")
	}
	fmt.Fprintf(&b, "\n`tessera %s --help-all` shows all flags.\n", n.Name)
	return b.String()
}

// fullHelp is all that there is to say about a command.
func fullHelp(n *kong.Node, m *kong.Application) string {
	var b strings.Builder
	intro(&b, n, fullText)
	for _, s := range sections(commandFlags(n, m)) {
		b.WriteString("\n" + s.title + ":\n")
		flagRows(&b, s.flags, fullText)
	}
	if n.Detail != "" {
		b.WriteString("\n")
		paragraphs(&b, n.Detail)
	}
	return b.String()
}

// intro is what a command does, how it is called, and its arguments.
func intro(b *strings.Builder, n *kong.Node, text func(*kong.Value) string) {
	fmt.Fprintf(b, "%s\nUsage: tessera %s\n", n.Help, n.Summary())
	if len(n.Positional) > 0 {
		b.WriteString("\n")
	}
	for _, p := range n.Positional {
		b.WriteString(row("  "+p.Summary(), flagColumn, text(p)))
	}
}

// section is a heading with its flags.
type section struct {
	title string
	flags []*kong.Flag
}

// sections lists flags under the headings of package flags, in the order of the headings.
func sections(all []*kong.Flag) (found []section) {
	for _, g := range flags.Groups {
		s := section{title: g.Title}
		for _, f := range all {
			if f.Group.Key == g.Key {
				s.flags = append(s.flags, f)
			}
		}
		if len(s.flags) > 0 {
			found = append(found, s)
		}
	}
	return found
}

// commandFlags are the flags of a command, then those of every command.
func commandFlags(n *kong.Node, m *kong.Application) []*kong.Flag {
	return slices.Concat(n.Flags, m.Flags)
}

// examples are the command lines in a command's long text.
func examples(n *kong.Node) (lines []string) {
	for line := range strings.Lines(n.Detail) {
		if strings.HasPrefix(line, indent) {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return lines
}

const (
	screen        = 80 // columns
	screenLines   = 40
	flagColumn    = 26
	commandColumn = 14
	indent        = "    " // of lines that stay as they are, such as examples
)

// screenText is a flag's or argument's help on a screen: at most two lines.
func screenText(v *kong.Value) string { return kong.DefaultHelpValueFormatter(v) }

// fullText is its whole help.
func fullText(v *kong.Value) string {
	return strings.TrimSpace(screenText(v) + " " + v.Tag.Get("more"))
}

// commandRows lists the commands.
func commandRows(b *strings.Builder, m *kong.Application) {
	for _, n := range m.Children {
		b.WriteString(row("  "+n.Name, commandColumn, n.Help))
	}
}

// flagRows lists flags, with the long names below each other.
func flagRows(b *strings.Builder, all []*kong.Flag, text func(*kong.Value) string) {
	for _, f := range all {
		margin := "      "
		if f.Short != 0 {
			margin = "  "
		}
		b.WriteString(row(margin+flagName(f), flagColumn, text(f.Value)))
	}
}

// flagName is a flag as people write it: "-m, --model=MODEL".
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

// row is a name and, in the column beside it, its help. A long name has a line to itself.
func row(name string, column int, help string) string {
	if len(name) > column {
		return name + "\n" + row("", column, help)
	}
	return wrap(fmt.Sprintf("%-*s  ", column, name), help, strings.Repeat(" ", column+2))
}

// paragraphs wraps paragraphs; indented ones stay as they are.
func paragraphs(b *strings.Builder, text string) {
	for i, p := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		if !strings.HasPrefix(p, indent) {
			p = strings.TrimSuffix(wrap("", p, ""), "\n")
		}
		b.WriteString(p + "\n")
	}
}

// wrap is a line broken between words; the lines that follow begin with a margin.
func wrap(start, text, margin string) string {
	var lines []string
	line := start
	for _, w := range strings.Fields(text) {
		if len(line)+len(w) >= screen {
			lines, line = append(lines, strings.TrimRight(line, " ")), margin
		}
		line += w + " "
	}
	return strings.Join(append(lines, strings.TrimRight(line, " ")), "\n") + "\n"
}
