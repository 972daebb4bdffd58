package files

import (
	"fmt"
	"os"
	"strings"

	"tessera/app/terminal"
	"tessera/engine"
	"tessera/media"
)

// Disk is the largest size of a command's temporary files, in bytes.
type Disk struct {
	Frames int64 // decoded frames
	Spool  int64 // what does not fit on the device
	Output int64 // of a streamed output, until it is complete
	Alpha  int64 // of decoded frames, until their colours are decoded
}

// Hold stores a clip on disk if it is decoded while it is read and the plan reads its
// frames several times. It checks that the disk has room for this and the other files.
func (d Disk) Hold(t *terminal.Terminal, stage string, clip media.Clip, reads int) error {
	s, streamed := clip.(media.Streamed)
	if !streamed || reads < 2 {
		return d.Room(t, stage)
	}
	d.Frames = s.KeepBytes()
	if err := d.Room(t, stage); err != nil {
		return err
	}
	return s.Keep()
}

// Room reports a stage's disk use, and refuses it if the disk has less space.
func (d Disk) Room(t *terminal.Terminal, stage string) error {
	var what []string
	for _, part := range []struct {
		bytes int64
		text  string
	}{
		{d.Frames, "decoded frames, which every tile reads"},
		{d.Spool, "what the memory of the device has no room for"},
		{d.Alpha, "alpha, which is decoded before the colours"},
		{d.Output, "the output until it is complete, since its frames are interleaved"},
	} {
		if part.bytes > 0 {
			what = append(what, engine.Bytes(part.bytes)+" for "+part.text)
		}
	}
	if len(what) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s: temporary files in %s take %s", stage, os.TempDir(), strings.Join(what, " and "))
	if free, known := FreeSpace(os.TempDir()); known && free < d.Frames+d.Spool+d.Alpha+d.Output {
		return fmt.Errorf("%s; %s is free there; TMPDIR names another folder%s", text, engine.Bytes(free), d.smaller())
	}
	t.Note("%s", text)
	return nil
}

// smaller names the flags that reduce it.
func (d Disk) smaller() string {
	text := ""
	if d.Frames > 0 || d.Spool > 0 {
		text = ", and --tile off and --memory make them smaller"
	}
	if d.Output > 0 {
		text += "; --format y4m needs none for the output"
	}
	return text
}
