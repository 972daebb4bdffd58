//go:build !js

package media

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tessera/format/quote"
)

// warnDropped warns about streams of the input video that the output will not have.
func (o CreateOptions) warnDropped(ctx context.Context, path string) {
	if o.From == "" || soundless(o.From) {
		return
	}
	from, err := probeAll(ctx, o.From)
	if err != nil {
		return // the video was read, so another program has changed the file since
	}
	if left := from.besides(); len(left) > 0 {
		o.warn(fmt.Sprintf("%s: its %s are not copied to %s", o.From, strings.Join(left, ", "), path))
	}
}

// besides lists, in words, what the file has besides one video track and sound.
func (p *probed) besides() (all []string) {
	count := map[string]int{"video": -1}
	for _, s := range p.Streams {
		count[s.CodecType]++
	}
	if len(p.Chapters) > 0 {
		count["data"] = 0 // in MP4, chapter titles are such a track
	}
	for _, kind := range []string{"subtitle", "video", "data", "attachment"} {
		if n := count[kind]; n > 0 {
			text := map[string]string{"subtitle": "subtitles", "video": "other video", "data": "data", "attachment": "attachments"}[kind]
			all = append(all, fmt.Sprintf("%s (%d)", text, n))
		}
	}
	if n := len(p.Chapters); n > 0 {
		all = append(all, fmt.Sprintf("chapters (%d)", n))
	}
	if keys := p.tags(); len(keys) > 0 {
		all = append(all, "metadata ("+quote.List(keys, ", ")+")")
	}
	return all
}

// tags returns the names of the metadata that the container did not add.
func (p *probed) tags() []string {
	own := strings.Fields("major_brand minor_version compatible_brands encoder duration")
	keys := slices.Sorted(maps.Keys(p.Format.Tags))
	return slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(own, strings.ToLower(key)) })
}
