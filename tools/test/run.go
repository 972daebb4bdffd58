package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// logs is the folder for the steps' outputs.
const logs = "build/test"

// atOnce is the number of steps that run at once.
const atOnce = 2

// run runs steps in order.
type run struct {
	name  string // of the set; "" for single steps
	list  []step
	again bool          // run even steps that passed with equal inputs
	limit time.Duration // after which all steps end; 0: none

	mu      sync.Mutex
	started int
	ended   map[string]bool
	passed  map[string]bool
	failed  []string
	cut     []string  // steps cut by the limit
	over    time.Time // when the limit was reached
}

func newRun(name string, s set) *run {
	r := &run{name: name}
	for _, step := range steps {
		if step.in&s != 0 {
			r.list = append(r.list, step)
		}
	}
	return r
}

// errLimit is the cause of a context that a run's limit ended.
var errLimit = errors.New("the run's limit")

// run runs the steps and prints a line for each.
func (r *run) run(ctx context.Context) error {
	if r.limit == 0 {
		return r.until(ctx, ctx)
	}
	r.oldestFirst()
	limited, cancel := context.WithTimeoutCause(ctx, r.limit, errLimit)
	defer cancel()
	return r.until(ctx, limited)
}

// until runs within a second context; if that ends by errLimit, it is no failure.
func (r *run) until(ctx, limited context.Context) error {
	if err := os.MkdirAll(logs, 0o777); err != nil {
		return err
	}
	begun := time.Now()
	within, end := context.WithCancelCause(ctx)
	defer end(nil)
	context.AfterFunc(limited, func() {
		r.over = time.Now()
		end(context.Cause(limited))
	})
	r.ended, r.passed = map[string]bool{}, map[string]bool{}
	var workers sync.WaitGroup
	changed := sync.NewCond(&r.mu)
	for range atOnce {
		workers.Go(func() {
			for s := r.next(within, changed); s != nil; s = r.next(within, changed) {
				r.one(within, s)
				r.mu.Lock()
				r.ended[s.name] = true
				changed.Broadcast()
				r.mu.Unlock()
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(r.failed) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(r.failed, ", "))
	}
	for _, s := range r.list[r.started:] {
		if _, _, day, err := r.known(&s); err != nil || day == "" {
			r.cut = append(r.cut, s.name)
		}
	}
	if len(r.cut) > 0 {
		fmt.Printf("%-14s %4.0f s, none failed\nstill due, left by the limit of %v: %s\n", "", time.Since(begun).Seconds(), r.limit, strings.Join(r.cut, ", "))
		return nil
	}
	fmt.Printf("%-14s %4.0f s, all passed\n", "", time.Since(begun).Seconds())
	r.sayLeft()
	return nil
}

// oldestFirst moves the remembered steps behind the others, the one that passed longest
// ago first, so that a limit does not always cut the same ones.
func (r *run) oldestFirst() {
	day := map[string]string{}
	list, _ := readPassed(committed) // the first step reports an unreadable file
	for _, p := range list {
		day[p.step] = p.day
	}
	slices.SortStableFunc(r.list, func(a, b step) int {
		remembered := func(s step) int {
			if s.inputs != nil && s.in&(check|test) == 0 {
				return 1
			}
			return 0
		}
		if n := remembered(a) - remembered(b); n != 0 || remembered(a) == 0 {
			return n
		}
		return strings.Compare(day[a.name], day[b.name])
	})
}

// next returns the first step that has not started, once the step it waits for has
// ended; nil after the last.
func (r *run) next(ctx context.Context, changed *sync.Cond) *step {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ctx.Err() == nil && r.started < len(r.list) {
		s, running := &r.list[r.started], r.started-len(r.ended)
		waits := s.after != "" && r.has(s.after) && !r.ended[s.after] || running > 0 && (s.alone || r.list[r.started-1].alone)
		if !waits {
			r.started++
			return s
		}
		changed.Wait()
	}
	return nil
}

func (r *run) has(name string) bool {
	for _, s := range r.list {
		if s.name == name {
			return true
		}
	}
	return false
}

// one runs a step, unless it passed with equal inputs.
func (r *run) one(ctx context.Context, s *step) {
	start := time.Now()
	file, fingerprint, day, err := r.known(s)
	narrow := s.kernels != nil && s.kernels.changed && (s.inputs == nil || day != "")
	if err == nil && day != "" && !narrow {
		r.say("%-14s         passed with the same inputs on %s\n", s.name, day)
		return
	}
	var texts map[string]string
	if err == nil && s.kernels != nil {
		texts, err = kernelTexts(ctx)
	}
	var changed []string
	if err == nil && narrow {
		changed = changedKernels(s.kernels.file(), texts)
		if len(changed) == 0 {
			r.say("%-14s %4.0f s  no text has changed since its kernel passed\n", s.name, time.Since(start).Seconds())
			return
		}
		r.say("  %s: changed since they passed here: %s\n", s.name, strings.Join(changed, " "))
	}
	if s.kernels != nil && s.kernels.changed {
		asked := strings.TrimSpace(s.kernels.tables + " " + strings.Join(changed, " "))
		s.env = append(slices.Clone(s.env), "TABLES="+asked)
	}
	if err == nil {
		r.mu.Lock()
		rest := s.rest != "" && r.passed[s.rest]
		r.mu.Unlock()
		err = s.execute(ctx, rest, r.say)
	}
	if skipped := (skip{}); errors.As(err, &skipped) {
		r.say("%-14s %4.0f s  skipped: %s\n", s.name, time.Since(start).Seconds(), skipped.why)
		return
	}
	if err == nil && texts != nil {
		err = rememberKernels(s.kernels.file(), texts)
	}
	if err == nil && narrow {
		err = r.sayNotRun(s, changed)
	}
	if err == nil && fingerprint != "" {
		r.mu.Lock()
		err = remember(file, s.name, fingerprint)
		r.mu.Unlock()
	}
	if err != nil && errors.Is(context.Cause(ctx), errLimit) && !s.failedBefore(r.over) {
		r.mu.Lock()
		r.cut = append(r.cut, s.name)
		r.mu.Unlock()
		r.say("%-14s %4.0f s  ended by the limit\n", s.name, time.Since(start).Seconds())
		return
	}
	if err != nil {
		r.mu.Lock()
		r.failed = append(r.failed, s.name)
		r.mu.Unlock()
		r.say("%-14s %4.0f s  FAILED: %v\n%s", s.name, time.Since(start).Seconds(), err, ending(s.log()))
		return
	}
	r.mu.Lock()
	r.passed[s.name] = true
	r.mu.Unlock()
	r.say("%-14s %4.0f s  %s\n", s.name, time.Since(start).Seconds(), s.shows)
}

// failedBefore reports whether one of a step's Go tests failed before a limit ended it.
func (s *step) failedBefore(end time.Time) bool {
	data, err := os.ReadFile(filepath.Join(logs, s.name+".json"))
	if s.tests == "" || err != nil {
		return false
	}
	for line := range bytes.Lines(data) {
		var e event
		if json.Unmarshal(line, &e) == nil && e.Action == "fail" && e.Test != "" && e.Time.Before(end) {
			return true
		}
	}
	return false
}

// known returns what is recorded about a step with these inputs: the day it passed, ""
// if it did not; and the file for it.
func (r *run) known(s *step) (file, fingerprint, day string, err error) {
	if s.inputs == nil {
		return "", "", "", nil
	}
	if fingerprint, err = s.inputs.fingerprint(s.command() + strings.Join(s.env, " ")); err != nil {
		return "", "", "", err
	}
	file = committed
	if s.in&(check|test) != 0 {
		file = here
	}
	if _, missing := os.Stat(s.makes); !r.again && (s.makes == "" || missing == nil) {
		day, err = passedOn(file, s.name, fingerprint)
	}
	return file, fingerprint, day, err
}

func (r *run) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Printf(format, args...)
}

// sayNotRun names the kernels that a step's driver could not run.
func (r *run) sayNotRun(s *step, names []string) error {
	log, err := os.ReadFile(filepath.Join(logs, s.name+".json"))
	if list := notRun(log, names); len(list) > 0 {
		r.say("  %s cannot run of them: %s\n", s.kernels.driver, strings.Join(list, " "))
	}
	return err
}

// sayLeft names the steps that this set leaves to larger ones.
func (r *run) sayLeft() {
	if r.name == "" {
		return
	}
	done := sets[r.name]
	for _, larger := range []struct {
		set     set
		command string
	}{{test, "make test"}, {all, "make test-all"}} {
		var names []string
		for _, s := range steps {
			if s.in&done == 0 && s.in&larger.set != 0 {
				names = append(names, s.name)
			}
		}
		if len(names) > 0 {
			fmt.Printf("left to %s: %s\n", larger.command, strings.Join(names, ", "))
		}
		done |= larger.set
	}
}

// skip is the error of a step that cannot run on this machine.
type skip struct{ why string }

func (s skip) Error() string { return s.why }

func (s *step) log() string { return filepath.Join(logs, s.name+".log") }

// execute runs a step's command with its output in a file. If the last line is
// "skipped: REASON", the step could not run. With rest it runs only what another step
// left out.
func (s *step) execute(ctx context.Context, rest bool, say func(string, ...any)) error {
	log, err := os.Create(s.log())
	if err != nil {
		return err
	}
	defer log.Close()
	command := s.command()
	if rest {
		flags, packages, _ := strings.Cut(s.tests, " ./")
		args, ok, err := leftOut(s.rest, strings.Fields("./"+packages))
		if err != nil {
			return err
		}
		if ok {
			command = s.commandFor(flags + " " + args)
		}
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", ". tools/adapter.sh; "+command)
	grouped(cmd)
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = append(append(os.Environ(), environment()...), s.env...)
	cmd.Stdout, cmd.Stderr = log, log
	if s.tests != "" {
		cmd.Stdout = io.MultiWriter(log, &packages{say: say})
	}
	if err := cmd.Run(); err != nil {
		return err
	}
	data, err := os.ReadFile(s.log())
	if at := bytes.LastIndex(data, []byte("skipped: ")); at >= 0 && bytes.Count(data[at:], []byte("\n")) <= 1 {
		return skip{strings.TrimSpace(string(data[at+len("skipped: "):]))}
	}
	return err
}

// packages passes on gotestsum's lines about slow packages.
type packages struct {
	say  func(string, ...any)
	rest []byte
}

func (p *packages) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		line, rest, found := bytes.Cut(p.rest, []byte("\n"))
		if !found {
			return len(b), nil
		}
		p.rest = rest
		if bytes.HasPrefix(line, []byte("✖")) || bytes.HasPrefix(line, []byte("✓")) && bytes.HasSuffix(line, []byte("s)")) && !bytes.HasSuffix(line, []byte("ms)")) {
			p.say("  %s\n", line)
		}
	}
}

// ending returns the end of a failed step's log: gotestsum's list of failed tests, or
// the last lines.
func ending(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	text := string(data)
	if at := strings.Index(text, "=== Failed"); at >= 0 {
		text = text[at:]
	}
	lines := strings.SplitAfter(text, "\n")
	const most = 80
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return strings.Join(lines, "") + "all of it: " + file + "\n"
}

// environment returns the environment of every step. Programs outside of the module are
// invisible to Go's test cache, so TESSERA_MACHINE has their versions, and tests that
// depend on them read it.
func environment() []string {
	env := []string{"CGO_ENABLED=0", "TESSERA_MACHINE=" + machine()}
	if _, set := os.LookupEnv("GPU"); !set {
		env = append(env, "GPU=require")
	}
	return env
}

// machine lists the versions of what tests use besides Go.
func machine() string {
	var all []string
	found := versions()
	for _, name := range outside {
		all = append(all, name+"="+found[name])
	}
	return strings.Join(append(all, os.Getenv("VK_DRIVER_FILES"), os.Getenv("ADAPTER")), " ")
}
