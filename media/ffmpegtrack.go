//go:build !js

package media

import (
	"errors"
	"fmt"

	"tessera/format/quote"
)

// isCover tells of pictures that stand for the file: covers of music and films, and
// thumbnails of places in them.
func (s ffprobeStream) isCover() bool {
	return s.Disposition.AttachedPic == 1 || s.Disposition.Thumbnails == 1
}

// isStill tells of pictures beside a video: those that say so, and the one of a file that
// is for a clip of pictures, such as an animated AVIF.
func (p *probed) isStill(s ffprobeStream) bool {
	return s.Disposition.Still == 1 || p.sequence && s.Count == "1"
}

// isTile tells of parts of pictures.
func (s ffprobeStream) isTile() bool { return s.Disposition.Dependent == 1 }

// videos are the indices of the video streams, in order, with one for all tiles of
// pictures. Track n is the n-th of them.
func (p *probed) videos() (all []int) {
	tiled := false
	for i, s := range p.Streams {
		if s.CodecType != "video" || tiled && s.isTile() {
			continue
		}
		all = append(all, i)
		tiled = tiled || s.isTile()
	}
	return all
}

// video is the index of the track-th video stream, or with 0 of the one that a player
// would show: the first that the file marks as default, else the first, and of covers
// none.
func (p *probed) video(track int) (int, error) {
	all := p.videos()
	switch {
	case len(all) == 0:
		return -1, errors.New("holds no video")
	case track > len(all):
		return -1, fmt.Errorf("has no video track %d, only %s", track, p.tracks(all))
	case track > 0:
		return all[track-1], nil
	}
	best, rank := -1, 0
	for _, i := range all {
		s := p.Streams[i]
		if s.isCover() {
			continue
		}
		mine := 1
		if !p.isStill(s) {
			mine += 4
		}
		switch {
		case s.Disposition.Default == 1:
			mine += 2
		case s.isTile(): // of the picture that the file is for; others are thumbnails
			mine++
		}
		if mine > rank {
			best, rank = i, mine
		}
	}
	if best < 0 {
		return -1, fmt.Errorf("holds no video, only a cover: %s; --track 1 reads it", p.tracks(all))
	}
	return best, nil
}

// tracks describes video streams: "track 2 (64x48, h264)".
func (p *probed) tracks(streams []int) string {
	numbers := map[int]int{}
	for n, i := range p.videos() {
		numbers[i] = n + 1
	}
	var texts []string
	for _, i := range streams {
		s := p.Streams[i]
		text := fmt.Sprintf("track %d (%dx%d, %s", numbers[i], s.Width, s.Height, s.CodecName)
		switch {
		case s.isCover():
			text += ", a cover"
		case p.isStill(s):
			text += ", a still picture"
		case s.Disposition.Default == 1:
			text += ", default"
		}
		texts = append(texts, text+")")
	}
	return quote.List(texts, ", ")
}

// choice says that stream at was chosen among several, "" where it is the only one.
func (p *probed) choice(at int) string {
	var others []int
	for _, i := range p.videos() {
		if i != at {
			others = append(others, i)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("has %d video tracks: reads %s, not %s; --track chooses another",
		len(others)+1, p.tracks([]int{at}), p.tracks(others))
}
