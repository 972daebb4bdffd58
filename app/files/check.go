package files

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

// File is a file or folder of the command line, with its name in messages.
type File struct{ What, Path string }

// Named makes a File.
func Named(what, path string) File { return File{what, path} }

// Outputs are the files that a command will write.
type Outputs []File

// Inputs are the files that it reads, by their flags; empty ones are ignored.
type Inputs []File

// check refuses, before anything is opened, impossible outputs and outputs that would
// replace an input or become one of its frames.
func (out Outputs) check(in Inputs) error {
	for _, o := range out {
		if err := CheckName(o.Path); err != nil {
			return err
		}
		if o.Path == Stream {
			if err := checkStream(in); err != nil {
				return err
			}
			continue
		}
		if here, err := os.Getwd(); err == nil && sameFile(o.Path, here) {
			return terminal.Refused("%s is the current folder, expected the name of a file or of a folder for frames", o.What)
		}
		for _, i := range in.all() {
			if err := o.checkAgainst(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckName refuses a name without a file part.
func CheckName(output string) error {
	switch output {
	case "":
		return terminal.Refused(`--output="": expected a name`)
	}
	return nil
}

// checkStream refuses standard output if it is a file that the command reads.
func checkStream(in Inputs) error {
	out, err := os.Stdout.Stat()
	for _, i := range in {
		if info, ierr := os.Stat(i.Path); err == nil && ierr == nil && os.SameFile(out, info) && info.Mode().IsRegular() {
			return terminal.Refused("--output=-: standard output is the %s %s", i.What, i.Path)
		}
	}
	return nil
}

// checkAgainst compares an output, which need not exist, with an input.
func (o File) checkAgainst(in File) error {
	target, err := media.Target(o.Path)
	if err != nil {
		return nil // it cannot be created; creating it reports why
	}
	source := in.Path
	if t, err := media.Target(source); err == nil {
		source = t
	}
	switch {
	case target == source || sameFile(target, source):
		return terminal.Refused("%s is the %s %s, which it would replace", o.What, in.What, in.Path)
	case within(source, target) || within(in.Path, target): // the input may be a link there
		return terminal.Refused("%s holds the %s %s, which it would replace", o.What, in.What, in.Path)
	case framesLike(target) && within(target, source):
		return terminal.Refused("%s lies in the %s %s, expected frames of another folder", o.What, in.What, in.Path)
	}
	return nil
}

// all returns the inputs, with the shards that a checkpoint's index names, the frames
// that a pattern matches and the targets of links in a folder.
func (in Inputs) all() Inputs {
	var all Inputs
	for _, i := range in {
		if i.Path == "" {
			continue
		}
		all = append(all, i)
		if i.What == "checkpoint" {
			for _, path := range format.Files(i.Path) {
				if path != i.Path {
					all = append(all, File{"checkpoint's shard", path})
				}
			}
		}
		folder, _ := os.Stat(i.Path)
		for _, path := range media.PictureFiles(i.Path) {
			info, err := os.Lstat(path)
			if err == nil && (folder == nil || info.Mode()&fs.ModeSymlink != 0) { // other frames lie in the folder, which is checked
				all = append(all, File{i.What + "'s frame", path})
			}
		}
	}
	return all
}

// sameFile reports whether two names refer to one file or folder, by any path or link.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, berr := os.Stat(b)
	return err == nil && berr == nil && os.SameFile(x, y)
}

// within reports whether path, which need not exist, is below a folder.
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

// framesLike reports whether a path would be read as a frame among others: a picture or a
// folder of pictures.
func framesLike(path string) bool {
	info, err := os.Stat(path)
	ext := strings.ToLower(filepath.Ext(strings.TrimLeft(filepath.Base(path), ".")))
	return err == nil && info.IsDir() || slices.Contains([]string{"", ".png", ".tif", ".tiff", ".exr"}, ext)
}

// Begin checks a command's files before it opens any. It refuses impossible outputs, and
// with noClobber also existing ones. It removes leftovers of killed programs where the
// command will write.
func Begin(noClobber bool, out Outputs, in Inputs) error {
	if err := out.check(in); err != nil {
		return err
	}
	if noClobber {
		if err := out.Vacant(); err != nil {
			return err
		}
	}
	temporary.Sweep(os.TempDir())
	for i, o := range out {
		if o.Path == Stream {
			continue
		}
		if target, err := media.Target(o.Path); err == nil && (i == 0 || filepath.Dir(o.Path) != filepath.Dir(out[i-1].Path)) {
			temporary.Sweep(filepath.Dir(target))
		}
	}
	return nil
}

// Vacant refuses outputs that exist, for --no-clobber.
func (out Outputs) Vacant() error {
	for _, o := range out {
		if _, err := os.Lstat(o.Path); err == nil && o.Path != Stream {
			return terminal.Refused("%s: exists, and --no-clobber is set", o.Path)
		}
	}
	return nil
}
