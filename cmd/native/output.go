package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tessera/app/terminal"
	"tessera/format"
	"tessera/media"
	"tessera/temporary"
)

// named is a file or folder of the command line, and what it is called there.
type named struct{ what, path string }

// outputs are what a command will make.
type outputs []named

// inputs are what it reads, as flags name it; those that are empty are left out.
type inputs []named

// check refuses, before anything is opened, outputs that can't be and those that
// would replace an input or come to lie among its frames.
func (out outputs) check(in inputs) error {
	for _, o := range out {
		if err := checkName(o.path); err != nil {
			return err
		}
		if o.path == streamed {
			if err := checkStream(in); err != nil {
				return err
			}
			continue
		}
		if here, err := os.Getwd(); err == nil && sameFile(o.path, here) {
			return terminal.Refused("%s is the current folder, expected the name of a file or of a folder for frames", o.what)
		}
		for _, i := range in.all() {
			if err := o.checkAgainst(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkName refuses what names nothing.
func checkName(output string) error {
	switch output {
	case "":
		return terminal.Refused(`--output="": expected a name`)
	}
	return nil
}

// checkStream refuses standard output that is a file which is read.
func checkStream(in inputs) error {
	out, err := os.Stdout.Stat()
	for _, i := range in {
		if info, ierr := os.Stat(i.path); err == nil && ierr == nil && os.SameFile(out, info) && info.Mode().IsRegular() {
			return terminal.Refused("--output=-: standard output is the %s %s", i.what, i.path)
		}
	}
	return nil
}

// checkAgainst compares an output, which need not be there, with an input.
func (o named) checkAgainst(in named) error {
	target, err := media.Target(o.path)
	if err != nil {
		return nil // it can't come into being, and creating it tells why
	}
	source := in.path
	if t, err := media.Target(source); err == nil {
		source = t
	}
	switch {
	case target == source || sameFile(target, source):
		return terminal.Refused("%s is the %s %s, which it would replace", o.what, in.what, in.path)
	case within(source, target) || within(in.path, target): // which may be a link there
		return terminal.Refused("%s holds the %s %s, which it would replace", o.what, in.what, in.path)
	case framesLike(target) && within(target, source):
		return terminal.Refused("%s lies in the %s %s, expected frames of another folder", o.what, in.what, in.path)
	}
	return nil
}

// all are the inputs, the shards that a checkpoint's index names, the frames that a
// pattern stands for and those that links in a folder lead to.
func (in inputs) all() inputs {
	var all inputs
	for _, i := range in {
		if i.path == "" {
			continue
		}
		all = append(all, i)
		if i.what == "checkpoint" {
			for _, path := range format.Files(i.path) {
				if path != i.path {
					all = append(all, named{"checkpoint's shard", path})
				}
			}
		}
		folder, _ := os.Stat(i.path)
		for _, path := range media.PictureFiles(i.path) {
			info, err := os.Lstat(path)
			if err == nil && (folder == nil || info.Mode()&fs.ModeSymlink != 0) { // others lie in the folder that is refused
				all = append(all, named{i.what + "'s frame", path})
			}
		}
	}
	return all
}

// sameFile reports whether two names are of one file or folder, by whatever path or
// link.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, berr := os.Stat(b)
	return err == nil && berr == nil && os.SameFile(x, y)
}

// within reports whether path, which need not be there, is below a folder.
func within(path, folder string) bool {
	top, err := os.Stat(folder)
	if err != nil || !top.IsDir() {
		return false
	}
	if path, err = filepath.Abs(path); err != nil {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, top) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// framesLike is what would be taken for frames among others: pictures, and
// folders of them.
func framesLike(path string) bool {
	info, err := os.Stat(path)
	ext := strings.ToLower(filepath.Ext(strings.TrimLeft(filepath.Base(path), ".")))
	return err == nil && info.IsDir() || slices.Contains([]string{"", ".png", ".tif", ".tiff", ".exr"}, ext)
}

// clobberFlag chooses what becomes of what is there.
type clobberFlag struct {
	NoClobber bool `help:"Fail where something of the output is there already, which otherwise is replaced. Inputs never are."`
}

// begin is what every command does before it opens anything. What programs that
// were killed have left where this one will write is removed.
func (f clobberFlag) begin(out outputs, in inputs) error {
	if err := out.check(in); err != nil {
		return err
	}
	if err := f.vacant(out); err != nil {
		return err
	}
	temporary.Sweep(os.TempDir())
	for i, o := range out {
		if o.path == streamed {
			continue
		}
		if target, err := media.Target(o.path); err == nil && (i == 0 || filepath.Dir(o.path) != filepath.Dir(out[i-1].path)) {
			temporary.Sweep(filepath.Dir(target))
		}
	}
	return nil
}

// vacant refuses, with the flag, outputs whose names are taken. It is asked
// before the work and once more when it is done.
func (f clobberFlag) vacant(out outputs) error {
	if !f.NoClobber {
		return nil
	}
	for _, o := range out {
		if _, err := os.Lstat(o.path); err == nil && o.path != streamed {
			return terminal.Refused("%s: exists, expected nothing there with --no-clobber", o.path)
		}
	}
	return nil
}
