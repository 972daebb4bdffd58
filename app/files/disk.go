package files

import (
	"fmt"
	"os"
	"strings"

	"tessera/app/terminal"
	"tessera/engine"
	"tessera/media"
)

// Disk is what a command keeps in temporary files at most, in bytes.
type Disk struct {
	Frames int64 // decoded
	Spool  int64 // what the device has no room for
	Output int64 // that is streamed, until it is complete
	Alpha  int64 // of decoded frames, until their colours are
}

// Hold has a clip that is decoded while it is read kept on disk where a plan reads
// its frames several times, and sees to the disk for that and for what else is
// needed.
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

// Room says how much disk a stage takes, and refuses what the disk has not.
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

// smaller names the flags that help.
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
