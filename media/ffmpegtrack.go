//go:build !js

package media

import (
	"errors"
	"fmt"

	"tessera/format/quote"
)

// isCover reports whether a picture represents the file: a cover of music or film, or a
// thumbnail.
func (s ffprobeStream) isCover() bool {
	return s.Disposition.AttachedPic == 1 || s.Disposition.Thumbnails == 1
}

// isStill reports whether a stream is a picture beside a video: it says so, or it is the
// single picture of a file that is mainly a clip, such as an animated AVIF.
func (p *probed) isStill(s ffprobeStream) bool {
	return s.Disposition.Still == 1 || p.sequence && s.Count == "1"
}

// isTile reports whether a stream is part of a picture.
func (s ffprobeStream) isTile() bool { return s.Disposition.Dependent == 1 }

// videos returns the indices of the video streams in order, with one entry for all tiles
// of pictures. Track n is the n-th entry.
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

// video returns the index of the track-th video stream, or with 0 of the one that a
// player would show: the first marked as default, else the first, but never a cover.
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
		case s.isTile(): // tile of the main picture; others belong to thumbnails
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

// choice says which of several streams was chosen, "" if there is only one.
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
