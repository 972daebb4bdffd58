// Package resume stores a decode's progress, so that another start can continue it.
//
// A Folder lies beside the output until the output is complete: the finished frames, the
// causal memory behind them, and a Record of what they belong to and how far they go. Find
// looks for one, Open compares it with the requested decode, and the decode then hands its
// frames to the Folder (machine.Keeper). Leave reports what is kept of an unfinished decode.
//
// The Record is written last, after the rest is on the disk; data beyond it is ignored. Any
// difference in latent, checkpoint, program, adapter, driver or options is refused, because
// the frames would not match.
//
// Origin is the part of a record that says what made an output, here and in batch.
package resume

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"

	"tessera/app/files"
	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/app/terminal"
	"tessera/engine"
	"tessera/latent"
	"tessera/media"
	"tessera/temporary"
	"tessera/vae"
)

// Content of a --resume folder.
const (
	RecordFile  = "record.json"
	FramesFile  = "frames"
	memoryFiles = "memory%d"
)

// Folder stores a decode's progress beside its output until the output is complete: the
// finished frames, the causal memory after them, and a record of what they belong to and
// how far they go. The record is replaced atomically, after the rest is on the disk; data
// beyond it is ignored. Each memory file says after which slice it was written, so a
// record never reads the memory of another slice.
type Folder struct {
	*terminal.Terminal
	path   string
	found  bool   // it existed at this start
	is     Record // as stored in the folder
	to     Output
	clip   int   // frames of the clip
	size   int64 // bytes of a frame
	frames *os.File
	memory [2]*os.File
	began  int // frames that existed at this start

	started  bool // this start has made frames
	writing  bool // writing the memory after the next slice
	complete bool

	mu      sync.Mutex
	taken   *sync.Cond
	written int // frames written
	err     error
}

// Record says what a folder's content belongs to and how far it goes.
type Record struct {
	Origin
	Latent  string            `json:"latent"`
	Kernels map[string]string `json:"kernels"`
	Memory  string            `json:"memory"`      // which buffers it holds
	File    int               `json:"memory_file"` // index of its file
	Chunk   int               `json:"chunk"`       // latent frames per slice
	Slices  int               `json:"slices"`      // finished slices
	Frames  int               `json:"frames"`
}

// Output receives a folder's frames at the end.
type Output interface {
	machine.Taker
	NeedsFloat() bool // floats rather than 8 bits
}

// Find looks for an output's folder.
func Find(t *terminal.Terminal, output string, to Output) (*Folder, error) {
	u := &Folder{Terminal: t, path: filepath.Clean(output) + ".unfinished", to: to}
	u.taken = sync.NewCond(&u.mu)
	text, err := os.ReadFile(filepath.Join(u.path, RecordFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return u, u.vacant()
	case err != nil:
		return nil, fmt.Errorf("--resume: %w", media.Lasting(err))
	}
	if err := json.Unmarshal(text, &u.is); err != nil {
		return nil, u.other("%s is not a record of --resume: %v", RecordFile, err)
	}
	u.found, u.began, u.written = true, u.is.Frames, u.is.Frames
	return u, nil
}

// vacant refuses a folder that holds other files.
func (u *Folder) vacant() error {
	entries, err := os.ReadDir(u.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--resume: %w", media.Lasting(err))
	}
	for _, e := range entries {
		if n := e.Name(); n != FramesFile && n != u.name(0) && n != u.name(1) && n != RecordFile+".part" {
			return u.other("has %s but no %s", n, RecordFile)
		}
	}
	return nil
}

// other refuses a folder whose content differs.
func (u *Folder) other(format string, args ...any) error {
	return terminal.Refused("--resume: %s: %s; expected the folder of this decode: remove it to start from the beginning", u.path, fmt.Sprintf(format, args...))
}

func (u *Folder) name(file int) string { return fmt.Sprintf(memoryFiles, file) }

// Began returns how many frames existed at this start.
func (u *Folder) Began() int { return u.began }

// Chunk returns the latent frames per slice of the stored progress, if there is any.
func (u *Folder) Chunk() (n int, found bool) { return u.is.Chunk, u.found }

// Choose chooses the kernels that made the stored frames.
func (u *Folder) Choose(by vae.Chooser) vae.Chooser { return by.Noted(&u.is.Kernels, u.found) }

// Open creates the folder, or compares its record with the requested decode.
func (u *Folder) Open(is Record, d job.Decoding, plan *vae.DecodePlan) (err error) {
	for _, field := range []struct{ name, was, is string }{
		{"latent", u.is.Latent, is.Latent}, {"checkpoint", u.is.Checkpoint, is.Checkpoint}, {"program", u.is.Program, is.Program},
		{"adapter or driver", u.is.Adapter, is.Adapter}, {"choice of options", u.is.Options, is.Options},
	} {
		if u.found && field.was != field.is {
			return u.other("was started with another %s", field.name)
		}
	}
	is.Kernels, is.Memory, is.File, is.Slices, is.Frames = u.is.Kernels, u.is.Memory, u.is.File, u.is.Slices, u.is.Frames
	u.is, u.clip, u.size = is, d.Clip.Frames, 4*int64(d.Clip.Height)*int64(d.Clip.Width)
	if !d.Options.RGBA8 {
		u.size *= int64(d.Clip.Channels)
	}
	if err := os.MkdirAll(u.path, 0o777); err != nil {
		return fmt.Errorf("--resume: %w", media.Lasting(err))
	}
	for name, f := range map[string]**os.File{FramesFile: &u.frames, u.name(0): &u.memory[0], u.name(1): &u.memory[1]} {
		if *f, err = os.OpenFile(filepath.Join(u.path, name), os.O_RDWR|os.O_CREATE, 0o666); err != nil {
			return fmt.Errorf("--resume: %w", media.Lasting(err))
		}
	}
	if temporary.Locked(u.frames) {
		u.close()
		u.frames = nil
		return u.other("is in use by another program")
	}
	if u.found {
		u.Note("decode: %d of %d frames are in %s: continuing", u.began, u.clip, u.path)
	}
	return u.room(plan.Plan)
}

// RecordOf returns the record of a decode before its first frame. program is the
// program's version. noFold and winograd are passed because neither the decoding nor the
// plan contains them.
func RecordOf(ctx context.Context, program, checkpoint string, e *machine.Machine, d job.Decoding, p *vae.Plan, noFold bool, winograd string) (Record, error) {
	var is Record
	sum, err := interrupt.Await(ctx, func() (string, error) { return HashCheckpoint(checkpoint) })
	if err != nil {
		return is, err
	}
	o := d.Options
	o.Budget, o.Host, o.Offload, o.Internals.Spool, o.Chunk = 0, 0, "", nil, p.Chunk // the plan contains these
	is.Chunk = p.Chunk
	i := e.Device.Info()
	is.Program = program
	is.Latent = hashedFloats(d.Latent)
	is.Checkpoint = sum
	is.Adapter = fmt.Sprintf("%s, %s, %s", i.Name, i.Backend, i.Driver)
	is.Options = fmt.Sprintf("%+v %+v %v %v %v %v %v %v %s %v %v", o, d.Clip, p.Tile, p.Tiling, p.Overlap, p.Depth, e.Model.Elem, noFold, winograd, e.Model.Config.Mean, e.Model.Config.Scale)
	return is, nil
}

// hashedFloats returns the hash of a latent's shape and numbers.
func hashedFloats(z latent.Latent) string {
	h := sha256.New()
	fmt.Fprintln(h, z.Channels, z.Frames, z.Height, z.Width)
	b := make([]byte, 0, 4*z.Width)
	for i, v := range z.Data {
		if b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v)); len(b) == cap(b) || i == len(z.Data)-1 {
			h.Write(b)
			b = b[:0]
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// room refuses the decode if the disk lacks room for the rest.
func (u *Folder) room(p *vae.Plan) error {
	need := int64(u.clip)*u.size + 2*int64(len(p.Tiles.Tiles))*(p.Causal+p.Host-p.Streamed)
	for _, f := range append(u.memory[:], u.frames) {
		if info, err := f.Stat(); err == nil {
			need -= info.Size()
		}
	}
	if free, known := files.FreeSpace(u.path); known && free < need {
		return fmt.Errorf("--resume: %s needs %s more for the complete output, %s are free", u.path, engine.Bytes(need), engine.Bytes(free))
	}
	return nil
}

// memoryHead is the length of a memory file's header: the number of slices after which it
// was written, or 0 while it is being written.
const memoryHead = 8

// mark writes the number of slices to a memory file's header, on the disk.
func (u *Folder) mark(file, slices int) error {
	_, err := u.memory[file].WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(slices)), 0)
	return cmp.Or(err, u.memory[file].Sync())
}

// marked reads what mark wrote.
func (u *Folder) marked(file int) uint64 {
	b := make([]byte, memoryHead)
	if _, err := u.memory[file].ReadAt(b, 0); err != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// Begin returns how many slices are done of a plan with this causal memory: 0 if the
// stored slices have another one, because a smaller plan had to follow them.
func (u *Folder) Begin(memory string, bytes int64) (int, error) {
	sum := sha256.Sum256([]byte(memory))
	is := hex.EncodeToString(sum[:])
	if u.is.Memory != is && u.is.Slices > 0 {
		u.Note("decode: the plan's causal memory differs from %s: starting from the first frame", u.path)
		if u.is.Slices, u.is.Frames = 0, 0; !u.started {
			u.written = 0
		}
	}
	u.started = true
	if u.is.Slices == 0 {
		u.is.Memory = is
		return 0, nil
	}
	for _, f := range []struct {
		file  *os.File
		bytes int64
	}{{u.frames, int64(u.is.Frames) * u.size}, {u.memory[u.is.File], memoryHead + bytes}} {
		if info, err := f.file.Stat(); err != nil || info.Size() < f.bytes && u.is.Frames < u.clip {
			return 0, u.other("%s is cut short", filepath.Base(f.file.Name()))
		}
	}
	if behind := u.marked(u.is.File); behind != uint64(u.is.Slices) && u.is.Frames < u.clip {
		return 0, u.other("%s does not belong to %s, which has %d slices", u.name(u.is.File), RecordFile, u.is.Slices)
	}
	return u.is.Slices, nil
}

// ReadAt reads the memory after the finished slices.
func (u *Folder) ReadAt(b []byte, at int64) (int, error) {
	n, err := u.memory[u.is.File].ReadAt(b, memoryHead+at)
	return n, u.failed(err)
}

// WriteAt writes the memory after the next slices.
func (u *Folder) WriteAt(b []byte, at int64) (int, error) {
	file := 1 - u.is.File
	if !u.writing { // over the memory after fewer slices
		if err := u.mark(file, 0); err != nil {
			return 0, u.failed(err)
		}
		u.writing = true
	}
	n, err := u.memory[file].WriteAt(b, memoryHead+at)
	return n, u.failed(err)
}

func (u *Folder) failed(err error) error {
	if err != nil {
		err = fmt.Errorf("--resume: %w", err)
	}
	return err
}

// Done waits until the given frames are written and everything is on the disk, then
// updates the record.
func (u *Folder) Done(slices, frames int) error {
	u.mu.Lock()
	for u.written < frames && u.err == nil {
		u.taken.Wait()
	}
	err := u.err
	u.mu.Unlock()
	if err != nil {
		return err
	}
	next := u.is
	next.Slices, next.Frames, next.File = slices, frames, 1-next.File
	if err := cmp.Or(u.frames.Sync(), u.memory[next.File].Sync(), u.mark(next.File, slices)); err != nil {
		return u.failed(err)
	}
	if err := u.write(next); err != nil {
		return err
	}
	u.is, u.writing = next, false
	return nil
}

// write replaces the record atomically.
func (u *Folder) write(r Record) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	path := filepath.Join(u.path, RecordFile)
	f, err := os.Create(path + ".part")
	if err != nil {
		return u.failed(err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = cmp.Or(err, f.Sync()); err != nil {
		f.Close()
		return u.failed(err)
	}
	return u.failed(cmp.Or(f.Close(), os.Rename(path+".part", path), temporary.FlushNames(u.path)))
}

// Take stores a frame.
func (u *Folder) Take(f vae.Frame) error {
	b := f.RGBA
	if f.Pixels != nil {
		b = make([]byte, 0, u.size)
		for _, v := range f.Pixels {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	_, err := u.frames.WriteAt(b, int64(f.Index)*u.size)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.written, u.err = f.Index+1, u.failed(err)
	u.taken.Broadcast()
	return u.err
}

// End writes the output from all frames and removes the folder.
func (u *Folder) End() error {
	frame := vae.Frame{}
	b := make([]byte, u.size)
	for frame.Index = range u.clip {
		if _, err := u.frames.ReadAt(b, int64(frame.Index)*u.size); err != nil {
			return u.failed(err)
		}
		if frame.RGBA = b; u.to.NeedsFloat() {
			frame.RGBA = nil
			frame.Pixels = floatsOf(frame.Pixels, b)
		}
		if err := u.to.Take(frame); err != nil {
			return err
		}
	}
	if err := u.to.End(); err != nil {
		return err
	}
	u.complete = true
	u.remove()
	return nil
}

// floatsOf decodes the numbers in b into the memory of v.
func floatsOf(v []float32, b []byte) []float32 {
	v = v[:0]
	for ; len(b) > 0; b = b[4:] {
		v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return v
}

// remove deletes what was stored, and the folder if nothing else is in it.
func (u *Folder) remove() {
	u.close()
	for _, name := range []string{RecordFile, RecordFile + ".part", FramesFile, u.name(0), u.name(1)} {
		os.Remove(filepath.Join(u.path, name))
	}
	os.Remove(u.path)
}

func (u *Folder) close() {
	for _, f := range append(u.memory[:], u.frames) {
		f.Close() // closing twice does no harm
	}
}

// Leave reports what is stored of an unfinished decode, if anything.
func (u *Folder) Leave() {
	if u.frames == nil || u.complete {
		return
	}
	if u.is.Slices == 0 {
		u.remove()
		return
	}
	u.close()
	u.Note("decode: %d of %d frames are kept in %s: run the same command to continue", u.is.Frames, u.clip, u.path)
}
