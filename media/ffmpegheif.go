//go:build !js

package media

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tessera/format/file"
)

// heifKind names the kind of a picture file in boxes, as phones write them; "" for other
// files.
func heifKind(path string) string {
	switch brand := heifBrand(path); {
	case brand == "avif":
		return "AVIF"
	case slices.Contains([]string{"heic", "heix", "heim", "heis", "mif1"}, brand):
		return "HEIC"
	}
	return ""
}

// isSequence reports whether a file is mainly a clip, with one picture for programs that
// show no clips.
func isSequence(path string) bool {
	return slices.Contains([]string{"avis", "hevc", "hevx", "msf1"}, heifBrand(path))
}

// heifBrand returns the main brand of a file in boxes, "" for other files.
func heifBrand(path string) string {
	f, _, err := file.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 12)
	if _, err := io.ReadFull(f, head); err != nil || string(head[4:8]) != "ftyp" {
		return ""
	}
	return string(head[8:])
}

// tileGrid is a picture in tiles, each of which is a stream. ffmpeg reports tiles since
// 7.1.
type tileGrid struct {
	Width, Height int
	X             int `json:"horizontal_offset"` // of the picture within the assembled tiles
	Y             int `json:"vertical_offset"`
	Tiles         []struct {
		Stream int `json:"stream_index"` // index within the group
		X      int `json:"tile_horizontal_offset"`
		Y      int `json:"tile_vertical_offset"`
	} `json:"subcomponents"`
}

// heif completes the stream of a picture file: its tiles, rotation and colours, which few
// versions of ffmpeg report. tiles is whether ffmpeg reports any.
func (s *ffprobeStream) heif(ctx context.Context, path string, tiles bool) error {
	if s.isTile() {
		grid, err := gridOf(ctx, path)
		if err != nil {
			return err
		}
		s.grid, s.Width, s.Height = grid, grid.Width, grid.Height
	}
	p, err := heifProperties(path)
	if err != nil {
		return err
	}
	if p.tiled && !tiles {
		return badInputf(path, "is a picture in tiles, which this ffmpeg doesn't put together (7.1 and newer do); expected a PNG or JPEG of it, such as heif-convert makes")
	}
	s.still, s.upright, s.mirror, s.apart = true, p.turns, p.mirror, p.alpha
	s.SideData = nil
	s.colours(p.colours)
	return nil
}

// gridOf finds the tiles of the file's main picture.
func gridOf(ctx context.Context, path string) (*tileGrid, error) {
	out, _, err := ffprobeRun(ctx, path, "-show_stream_groups", "-of", "json")
	if err != nil {
		return nil, err
	}
	var found struct {
		Groups []struct {
			Type        string
			Components  []tileGrid
			Streams     []struct{ Index int }
			Disposition struct{ Default int }
		} `json:"stream_groups"`
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("media: %s: ffprobe's answer: %w", path, err)
	}
	var best *tileGrid
	for _, g := range found.Groups {
		if g.Type != "Tile Grid" || len(g.Components) != 1 || len(g.Components[0].Tiles) == 0 || best != nil && g.Disposition.Default == 0 {
			continue
		}
		best = &g.Components[0]
		for i := range best.Tiles {
			t := &best.Tiles[i]
			if t.Stream < 0 || t.Stream >= len(g.Streams) {
				return nil, badInputf(path, "is a picture in tiles, of which number %d is stream %d of %d", i, t.Stream, len(g.Streams))
			}
			t.Stream = g.Streams[t.Stream].Index
		}
		if g.Disposition.Default == 1 {
			break
		}
	}
	if best == nil {
		return nil, badInputf(path, "is a picture in tiles, and this ffmpeg doesn't tell their places; expected a PNG or JPEG of it, such as heif-convert makes")
	}
	return best, nil
}

// filter assembles the tiles.
func (g *tileGrid) filter() string {
	var inputs, places []string
	for _, t := range g.Tiles {
		inputs = append(inputs, fmt.Sprintf("[0:%d]", t.Stream))
		places = append(places, fmt.Sprintf("%d_%d", t.X, t.Y))
	}
	stack := ""
	if len(inputs) > 1 {
		stack = fmt.Sprintf("xstack=inputs=%d:layout=%s:fill=black,", len(inputs), strings.Join(places, "|"))
	}
	return fmt.Sprintf("%s%scrop=%d:%d:%d:%d:exact=1", strings.Join(inputs, ""), stack, g.Width, g.Height, g.X, g.Y)
}

// pictureProperties are the properties of the file's main picture: its rotation in
// quarters, counterclockwise; the mirroring after that; its colours, nil if not stated;
// and whether it is in tiles.
type pictureProperties struct {
	turns   int
	mirror  string // ffmpeg's filter, "" for none
	colours *cicp
	tiled   bool
	alpha   bool // another picture in the file has transparency
}

func heifProperties(path string) (p pictureProperties, err error) {
	f, size, err := file.Open(path)
	if err != nil {
		return p, badInput(path, err)
	}
	defer f.Close()
	const most = 1 << 24 // bytes of the box with everything but pixels
	var meta []byte
	for at := int64(0); at < size; {
		head := make([]byte, 16)
		if n, _ := f.ReadAt(head, at); n < 8 {
			break
		}
		name, data, length := boxHead(head, size-at)
		if length < data || length > size-at {
			break
		}
		if name == "meta" && length <= most {
			meta = make([]byte, length-data)
			if _, err := f.ReadAt(meta, at+data); err != nil {
				return p, badInput(path, err)
			}
			break
		}
		at += length
	}
	if p, err = primaryProperties(meta); err != nil {
		return p, badInput(path, err)
	}
	return p, nil
}

// boxHead reads the name of a box, the start of its data and its length, at most left.
func boxHead(b []byte, left int64) (name string, data, length int64) {
	length = int64(binary.BigEndian.Uint32(b))
	name, data = string(b[4:8]), 8
	switch {
	case length == 1 && len(b) >= 16:
		length, data = int64(min(binary.BigEndian.Uint64(b[8:]), 1<<62)), 16
	case length == 0:
		length = left
	}
	return name, data, length
}

// boxes calls do for the boxes in b.
func boxes(b []byte, do func(name string, data []byte)) {
	for len(b) >= 8 {
		name, data, length := boxHead(b, int64(len(b)))
		if length < data || length > int64(len(b)) {
			return
		}
		do(name, b[data:length])
		b = b[length:]
	}
}

var errTruncated = errors.New("its box of properties ends early")

// primaryProperties reads the properties of the primary item in the box "meta".
func primaryProperties(meta []byte) (found pictureProperties, err error) {
	if len(meta) < 4 {
		return found, nil
	}
	be := binary.BigEndian
	var primary uint32
	var links, items []byte // ipma, iinf
	type property struct {
		name string
		data []byte
	}
	var properties []property
	boxes(meta[4:], func(name string, data []byte) {
		switch {
		case name == "pitm" && len(data) >= 8 && data[0] > 0:
			primary = be.Uint32(data[4:])
		case name == "pitm" && len(data) >= 6:
			primary = uint32(be.Uint16(data[4:]))
		case name == "iinf":
			items = data
		case name == "iprp":
			boxes(data, func(name string, data []byte) {
				switch name {
				case "ipma":
					links = data
				case "ipco":
					boxes(data, func(name string, data []byte) { properties = append(properties, property{name, data}) })
				}
			})
		}
	})
	found.tiled = itemKind(items, primary) == "grid"
	found.alpha = slices.ContainsFunc(properties, func(p property) bool {
		return p.name == "auxC" && (bytes.Contains(p.data, []byte("auxiliary:alpha")) || bytes.Contains(p.data, []byte("hevc:2015:auxid:1\x00")))
	})
	if len(links) < 8 {
		return found, nil
	}
	wide, long := links[0] > 0, links[3]&1 != 0
	b := links[8:]
	take := func(bytes int) (v uint32) {
		if len(b) < bytes {
			err = errTruncated
			b = nil
			return 0
		}
		for range bytes {
			v = v<<8 | uint32(b[0])
			b = b[1:]
		}
		return v
	}
	size := func(wide bool, narrow int) int {
		if wide {
			return 2 * narrow
		}
		return narrow
	}
	for n := be.Uint32(links[4:]); n > 0 && err == nil; n-- {
		item := take(size(wide, 2))
		for k := take(1); k > 0 && err == nil; k-- {
			at := take(size(long, 1))
			if long {
				at &= 1<<15 - 1
			} else {
				at &= 1<<7 - 1
			}
			if item != primary || at == 0 || int(at) > len(properties) {
				continue
			}
			switch p := properties[at-1]; {
			case p.name == "irot" && len(p.data) > 0:
				turns := int(p.data[0] & 3)
				if found.mirror != "" { // mirroring before rotating equals rotating back before mirroring
					turns = -turns & 3
				}
				found.turns = turns
			case p.name == "colr" && found.colours == nil:
				found.colours = nclx(p.data)
			case p.name == "imir" && len(p.data) > 0:
				found.mirror = [2]string{"vflip,", "hflip,"}[p.data[0]&1]
			}
		}
	}
	return found, err
}

// itemKind finds the kind of an item in the box "iinf", "" if it is not there.
func itemKind(items []byte, item uint32) (kind string) {
	head := 6 // version, flags and a count
	if len(items) > 0 && items[0] > 0 {
		head = 8
	}
	if len(items) < head {
		return ""
	}
	boxes(items[head:], func(name string, data []byte) {
		switch {
		case name != "infe":
		case len(data) >= 12 && data[0] == 2 && uint32(binary.BigEndian.Uint16(data[4:])) == item:
			kind = string(data[8:12])
		case len(data) >= 14 && data[0] == 3 && binary.BigEndian.Uint32(data[4:]) == item:
			kind = string(data[10:14])
		}
	})
	return kind
}

// turnFilter rotates a picture by quarters counterclockwise.
func turnFilter(turns int) string {
	return [4]string{"", "transpose=cclock,", "hflip,vflip,", "transpose=clock,"}[turns&3]
}
