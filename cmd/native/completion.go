package main

import (
	"fmt"
	"slices"
	"strings"

	"tessera/app/terminal"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"bash, zsh, fish or powershell."`
}

// Help is shown below the flags.
func (completionCmd) Help() string {
	return `Write the script to where the shell looks for completions:

    tessera completion bash > ~/.local/share/bash-completion/completions/tessera
    tessera completion zsh > "${fpath[1]}/_tessera"
    tessera completion fish > ~/.config/fish/completions/tessera.fish
    tessera completion powershell >> $PROFILE`
}

func (c *completionCmd) Run(t *terminal.Terminal, k *kong.Context) error {
	write := map[string]func([]command) string{"bash": bash, "zsh": zsh, "fish": fish, "powershell": powershell}
	return t.Text(write[c.Shell](commandsOf(k.Model.Node)))
}

// command is a command as completion scripts need it.
type command struct {
	name, help string
	flags      []option
	words      []string // possible values of its argument; none if it is a file
}

// option is a flag.
type option struct {
	long, short string // with dashes; short may be empty
	help        string
	value       string   // the value's name, "" if the flag has none
	words       []string // possible values
	file        bool     // the value is a file or folder
}

// commandsOf lists the commands below a node. The first is the program without a command.
func commandsOf(top *kong.Node) []command {
	all := []command{{flags: optionsOf(top)}}
	for _, n := range top.Children {
		c := command{name: n.Name, help: n.Help, flags: append(optionsOf(n), optionsOf(top)...)}
		for _, p := range n.Positional {
			c.words = wordsOf(p.Enum)
		}
		all = append(all, c)
	}
	return all
}

func optionsOf(n *kong.Node) (all []option) {
	for _, f := range n.Flags {
		o := option{long: "--" + f.Name, help: f.Help, words: wordsOf(f.Enum)}
		if f.Short != 0 {
			o.short = "-" + string(f.Short)
		}
		if !f.IsBool() {
			o.value = strings.ToUpper(f.FormatPlaceHolder())
			o.file = slices.Contains([]string{"model", "output", "dawn", "audio", "folder", "page", "report"}, f.Name)
		}
		all = append(all, o)
		if f.Tag.Negatable != "" {
			all = append(all, option{long: "--no-" + f.Name, help: "Not " + o.long + "."})
		}
	}
	return all
}

// wordsOf returns the values of an enum, without the empty one.
func wordsOf(enum string) (all []string) {
	for _, w := range strings.Split(enum, ",") {
		if w != "" && w != "default" {
			all = append(all, w)
		}
	}
	return all
}

// names returns the names of a command's flags.
func (c command) names() (all []string) {
	for _, o := range c.flags {
		all = append(all, o.long)
		if o.short != "" {
			all = append(all, o.short)
		}
	}
	return all
}

// namesOf returns the names of commands.
func namesOf(all []command) (names []string) {
	for _, c := range all[1:] {
		names = append(names, c.name)
	}
	return names
}

// bash writes a script for bash, which completes files where it offers nothing else, by
// -o default.
func bash(all []command) string {
	var b strings.Builder
	b.WriteString(`# bash completion of tessera
_tessera() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= words= word
  if [[ $cur == = ]]; then # words are cut at it
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
`)
	fmt.Fprintf(&b, "      %s) command=$word; break ;;\n    esac\n  done\n  COMPREPLY=()\n", strings.Join(namesOf(all), "|"))
	b.WriteString("  case $command:$prev in\n")
	for _, c := range all {
		for _, o := range c.flags {
			if o.value == "" {
				continue
			}
			pattern := c.name + ":" + o.long
			if o.short != "" {
				pattern += "|" + c.name + ":" + o.short
			}
			switch {
			case len(o.words) > 0:
				fmt.Fprintf(&b, "    %s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", pattern, strings.Join(o.words, " "))
			case o.file:
				fmt.Fprintf(&b, "    %s) return ;;\n", pattern)
			default:
				fmt.Fprintf(&b, "    %s) compopt +o default; return ;;\n", pattern)
			}
		}
	}
	b.WriteString("  esac\n  case $command in\n")
	for _, c := range all {
		words := c.words
		if c.name == "" {
			words = namesOf(all)
		}
		fmt.Fprintf(&b, "    '%s') words='%s'; [[ $cur == -* ]] && words='%s' ;;\n", c.name, strings.Join(words, " "), strings.Join(c.names(), " "))
	}
	b.WriteString(`  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _tessera tessera
`)
	return b.String()
}

// zsh writes a script for zsh, with its _arguments.
func zsh(all []command) string {
	var b strings.Builder
	b.WriteString("#compdef tessera\n\n_tessera() {\n  local context state state_descr line\n  typeset -A opt_args\n  _arguments -C \\\n")
	for _, o := range all[0].flags {
		b.WriteString("    " + o.zsh() + " \\\n")
	}
	b.WriteString("    '1: :->command' '*:: :->arguments'\n  case $state in\n    command)\n      local -a commands=(\n")
	for _, c := range all[1:] {
		fmt.Fprintf(&b, "        %s\n", quoted(c.name+":"+c.help))
	}
	b.WriteString("      )\n      _describe command commands ;;\n    arguments)\n      case $line[1] in\n")
	for _, c := range all[1:] {
		fmt.Fprintf(&b, "        %s) _arguments \\\n", c.name)
		for _, o := range c.flags {
			b.WriteString("          " + o.zsh() + " \\\n")
		}
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "          '*: :(%s)' ;;\n", strings.Join(c.words, " "))
		} else {
			b.WriteString("          '*: :_files' ;;\n")
		}
	}
	b.WriteString("      esac ;;\n  esac\n}\n\nif [[ $funcstack[1] == _tessera ]]; then\n  _tessera \"$@\"\nelse\n  compdef _tessera tessera\nfi\n")
	return b.String()
}

// zsh returns a flag as an argument of _arguments.
func (o option) zsh() string {
	help := "[" + strings.NewReplacer("[", "(", "]", ")", `\`, "").Replace(o.help) + "]"
	value := ""
	switch {
	case o.value == "":
	case len(o.words) > 0:
		value = ":" + o.value + ":(" + strings.Join(o.words, " ") + ")"
	case o.file:
		value = ":" + o.value + ":_files"
	default:
		value = ":" + o.value + ": "
	}
	long, short := o.long, o.short
	if o.value != "" {
		long += "="
	}
	if short == "" {
		return quoted(long + help + value)
	}
	return quoted("("+short+" "+o.long+")") + "{" + short + "," + long + "}" + quoted(help+value)
}

// quoted returns s as one word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// fish writes a script for fish, which completes files without being asked.
func fish(all []command) string {
	var b strings.Builder
	b.WriteString("# fish completion of tessera\n")
	escape := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }
	for _, c := range all[1:] {
		fmt.Fprintf(&b, "complete -c tessera -n __fish_use_subcommand -f -a %s -d %s\n", c.name, escape(c.help))
	}
	for _, c := range all {
		when := "__fish_use_subcommand"
		if c.name != "" {
			when = "'__fish_seen_subcommand_from " + c.name + "'"
		}
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "complete -c tessera -n %s -f -a %s\n", when, escape(strings.Join(c.words, " ")))
		}
		for _, o := range c.flags {
			fmt.Fprintf(&b, "complete -c tessera -n %s -l %s", when, strings.TrimPrefix(o.long, "--"))
			if o.short != "" {
				fmt.Fprintf(&b, " -s %s", strings.TrimPrefix(o.short, "-"))
			}
			switch {
			case o.value == "":
			case len(o.words) > 0:
				fmt.Fprintf(&b, " -x -a %s", escape(strings.Join(o.words, " ")))
			case o.file:
				b.WriteString(" -r -F")
			default:
				b.WriteString(" -x")
			}
			fmt.Fprintf(&b, " -d %s\n", escape(o.help))
		}
	}
	return b.String()
}

// powershell writes a script for PowerShell, which completes files where it offers
// nothing else.
func powershell(all []command) string {
	var b strings.Builder
	list := func(words []string) string {
		if len(words) == 0 {
			return "@()"
		}
		return "@('" + strings.Join(words, "', '") + "')"
	}
	b.WriteString("# PowerShell completion of tessera\nRegister-ArgumentCompleter -Native -CommandName tessera, tessera.exe -ScriptBlock {\n" +
		"  param($word, $ast, $position)\n  $flags = @{\n")
	for _, c := range all {
		fmt.Fprintf(&b, "    '%s' = %s\n", c.name, list(c.names()))
	}
	b.WriteString("  }\n  $values = @{\n")
	for _, c := range all {
		for _, o := range c.flags {
			if len(o.words) > 0 {
				fmt.Fprintf(&b, "    '%s:%s' = %s\n", c.name, o.long, list(o.words))
			}
		}
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "    '%s:' = %s\n", c.name, list(c.words))
		}
	}
	fmt.Fprintf(&b, "  }\n  $commands = %s\n", list(namesOf(all)))
	b.WriteString(`  $said = @($ast.CommandElements | Where-Object { $_.Extent.EndOffset -lt $position } | ForEach-Object { "$_" })
  $command = @($said | Select-Object -Skip 1 | Where-Object { $commands -ccontains $_ }) + '' | Select-Object -First 1
  $previous = if ($said.Count -gt 1) { $said[-1] } else { '' }
  $prefix = ''
  if ($word -match '^(--[^=]+)=(.*)$') { $previous = $Matches[1]; $prefix = "$previous="; $word = $Matches[2] }
  $offer = if ($values.ContainsKey("${command}:$previous")) { $values["${command}:$previous"] }
    elseif ($word.StartsWith('-')) { $flags[$command] }
    elseif ($command -eq '') { $commands }
    else { $values["${command}:"] }
  $offer | Where-Object { $_ -and $_.StartsWith($word) } | ForEach-Object { [System.Management.Automation.CompletionResult]::new("$prefix$_") }
}
`)
	return b.String()
}
