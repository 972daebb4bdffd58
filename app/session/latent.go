package session

import (
	"bytes"
	"cmp"
	"io"
	"strconv"
	"strings"

	"tessera/app/job"
	"tessera/format/quote"
	"tessera/latent"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

type latentInfo struct {
	Shape       []int             `json:"shape"`
	Clip        clip              `json:"clip"`
	Independent bool              `json:"independent"`
	Metadata    map[string]string `json:"metadata"`
}

// inspect describes a latent file, for the open checkpoint if there is one.
func (s *Session) inspect(r *request) (*latentInfo, error) {
	c := vae.Usual() // no checkpoint is open yet
	if m, err := s.plannerModel(); err == nil {
		c = m.Config
	}
	l, name, err := s.header(r, c)
	if err != nil {
		return nil, err
	}
	d, err := job.Decode(c, l, name, job.Choices{Independent: r.Options.Independent, Scale: r.Options.Scale, As: r.Options.As})
	if err != nil {
		return nil, err
	}
	metadata, _ := quote.Map(l.Meta)
	return &latentInfo{l.Shape(), clipOf(d.Clip), d.Options.Independent, metadata}, nil
}

// header reads what comes before a latent's data, in a separate turn.
func (s *Session) header(r *request, c vae.Config) (l latent.Latent, name string, err error) {
	file, size, name, closed, err := s.file(r, r.Source)
	if err != nil {
		return l, name, err
	}
	defer closed()
	reading, err := r.Options.reading(c)
	if err != nil {
		return l, name, err
	}
	done, err := s.reading(r)
	if err != nil {
		return l, name, err
	}
	defer done()
	if l, err = media.InspectLatent(headerOf(file, name), size, name, reading); err != nil {
		return l, name, err
	}
	return l, name, checkLatent(name, l, c)
}

// latent reads a whole latent, in the device's turn, so that only one page has one in
// memory. It reads the header again, because a page may send another one than before.
func (s *Session) latent(r *request, c vae.Config) (l latent.Latent, err error) {
	file, size, name, closed, err := s.file(r, r.Source)
	if err != nil {
		return l, err
	}
	defer closed()
	reading, err := r.Options.reading(c)
	if err != nil {
		return l, err
	}
	same := &pinned{ReaderAt: file, seen: map[span][]byte{}}
	if l, err = media.InspectLatent(same, size, name, reading); err != nil {
		return l, err
	}
	if err := checkLatent(name, l, c); err != nil {
		return l, err
	}
	same.full = true
	return media.DecodeLatent(same, size, name, reading)
}

// reading returns how to read a model's latents. A page chooses the size of packed ones
// and the order of dimensions.
func (o options) reading(c vae.Config) (media.LatentOptions, error) {
	var want job.Choices
	if o.Layout != "" {
		layout, err := media.ParseLayout(o.Layout)
		if err != nil {
			return media.LatentOptions{}, job.BadInput("session: layout %v", err)
		}
		want.Layout = layout
	}
	if o.Packed != "" {
		w, h, _ := strings.Cut(o.Packed, "x")
		width, err := strconv.Atoi(w)
		height, err2 := strconv.Atoi(h)
		if err != nil || err2 != nil || min(width, height) < 1 || max(width, height) > maxSide {
			return media.LatentOptions{}, job.BadInput("session: packed latents of %.20q pixels, expected width x height such as 1024x768", o.Packed)
		}
		want.Packed = tiling.Size{H: height, W: width}
	}
	return want.Reading(c)
}

// pinned returns the bytes that were read before it was full to later readers, so that
// the header in use is the one that was checked.
type pinned struct {
	io.ReaderAt
	seen map[span][]byte
	full bool
}

// span is n bytes from an offset.
type span struct {
	offset int64
	n      int
}

func (p *pinned) ReadAt(b []byte, offset int64) (int, error) {
	at := span{offset, len(b)}
	if seen, ok := p.seen[at]; ok {
		return copy(b, seen), nil
	}
	n, err := p.ReaderAt.ReadAt(b, offset)
	if !p.full && err == nil {
		p.seen[at] = bytes.Clone(b)
	}
	return n, err
}

// latentName returns the file name of an encoded latent.
func (o options) latentName() (string, error) {
	all := job.LatentFormats()
	format := cmp.Or(o.Format, "."+all[0])
	for _, f := range all {
		if format == "."+f {
			return "latent" + format, nil
		}
	}
	last := len(all) - 1
	return "", job.BadInput("session: format %.20q, expected .%s or .%s", format, strings.Join(all[:last], ", ."), all[last])
}
