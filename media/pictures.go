//go:build !js

package media

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tessera/latent"
)

// pictureKinds are the extensions of pictures that are read without ffmpeg. ffmpeg
// decodes only OpenEXR's pixels.
var pictureKinds = map[string]string{
	".png": ".png", ".jpg": ".jpg", ".jpeg": ".jpg", ".webp": ".webp", ".tif": ".tiff", ".tiff": ".tiff", ".exr": ".exr",
}

// pictureList lists them.
const pictureList = ".png, .jpg, .webp, .tiff or .exr"

// pictureClip is one file per frame, or one animated file. It decodes files on request.
type pictureClip struct {
	ctx           context.Context
	paths         []string
	animation     *animation // of the only path, nil for still pictures
	turn          turn       // orientation of the animation
	fps           latent.Rational
	height, width int
	channels      int
	options       OpenOptions
	hdr           map[string]string // paths to tone-map
	dropped       func()            // warns once that transparency is dropped
	clipped       func(least, most float32)
	light         *lightImage // the last picture, because reading it again would take a run of ffmpeg
	lightOf       string      // its path
}

// openFolder opens the pictures of a folder in natural order: frame_9 before frame_10.
func openFolder(ctx context.Context, path string, channels int, o OpenOptions) (Clip, error) {
	names, others, err := folderNames(path)
	if err != nil {
		return nil, badInput(path, err)
	}
	if len(names) == 0 {
		return nil, badInputf(path, "folder holds no %s files (%d others)", pictureList, others)
	}
	count := map[string]int{}
	for _, name := range names {
		count[pictureKinds[extension(name)]]++
	}
	if len(count) > 1 {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(count)) {
			kinds = append(kinds, fmt.Sprintf("%d %s", count[kind], kind))
		}
		return nil, badInputf(path, "folder holds %s files, expected one kind", strings.Join(kinds, " and "))
	}
	if err := o.numbers(path, names); err != nil {
		return nil, err
	}
	return openPictures(ctx, path, inFolder(path, names), channels, o)
}

// folderNames returns the pictures in a folder, in order, and the number of other files.
func folderNames(path string) (names []string, others int, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if !e.IsDir() && pictureKinds[extension(e.Name())] != "" && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, naturalCompare)
	return names, len(entries) - len(names), nil
}

func inFolder(folder string, names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(folder, name)
	}
	return paths
}

// numbering matches a pattern with one place for a number and no other percent sign.
var numbering = regexp.MustCompile(`^([^%]*)%(0[1-9])?d([^%]*)$`)

// patternNames returns the files that match a pattern such as frame_%04d.png, in the
// order of their numbers; ok is false if the name is not a pattern, or a file has exactly
// that name.
func patternNames(path string) (names []string, ok bool, err error) {
	folder, base := filepath.Split(path)
	m := numbering.FindStringSubmatch(base)
	if m == nil || pictureKinds[extension(base)] == "" {
		return nil, false, nil
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	entries, err := os.ReadDir(filepath.Clean(folder))
	if err != nil {
		return nil, true, err
	}
	for _, e := range entries {
		digits, before := strings.CutPrefix(e.Name(), m[1])
		digits, after := strings.CutSuffix(digits, m[3])
		n, err := strconv.Atoi(digits)
		if before && after && err == nil && n >= 0 && fmt.Sprintf(base, n) == e.Name() && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, naturalCompare)
	return names, true, nil
}

// openPattern opens the files of a pattern; it returns nil if path is not a pattern.
func openPattern(ctx context.Context, path string, channels int, o OpenOptions) (Clip, error) {
	names, ok, err := patternNames(path)
	switch {
	case !ok:
		return nil, nil
	case err != nil:
		return nil, badInput(path, err)
	case len(names) == 0:
		return nil, badInputf(path, "no file has this name or a number in this place")
	}
	if err := o.numbers(path, names); err != nil {
		return nil, err
	}
	return openPictures(ctx, path, inFolder(filepath.Dir(path), names), channels, o)
}

// PictureFiles returns the files of an input that is a folder of pictures or a pattern,
// nil for other inputs.
func PictureFiles(path string) []string {
	if names, ok, _ := patternNames(path); ok {
		return inFolder(filepath.Dir(path), names)
	}
	names, _, _ := folderNames(path)
	return inFolder(path, names)
}

// lastNumber splits a name at its last run of digits.
var lastNumber = regexp.MustCompile(`^(.*?)(\d+)(\D*)$`)

// numbers refuses ordered names with a repeated number, and warns of missing numbers. It
// ignores names that differ in more than a number.
func (o OpenOptions) numbers(path string, names []string) error {
	missing, first, last := 0, "", 0
	for i, name := range names {
		m, was := lastNumber.FindStringSubmatch(name), lastNumber.FindStringSubmatch(names[max(0, i-1)])
		if m == nil || was == nil || m[1] != was[1] || m[3] != was[3] {
			return nil
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return nil
		}
		switch {
		case i > 0 && n == last:
			return badInputf(path, "%s and %s have the same number", names[i-1], name)
		case i > 0 && n > last+1:
			if missing == 0 {
				first = names[i-1]
			}
			missing += n - last - 1
		}
		last = n
	}
	if missing > 0 {
		o.warn(fmt.Sprintf("%s: %d numbers are missing, the first after %s: the %d existing frames are used in order", path, missing, first, len(names)))
	}
	return nil
}

// openPictures opens one file per frame and checks that all have one size. path is the
// requested name.
func openPictures(ctx context.Context, path string, paths []string, channels int, o OpenOptions) (Clip, error) {
	c := &pictureClip{ctx: ctx, paths: paths, channels: channels, options: o, hdr: map[string]string{}}
	var turned, profiled, hdr, wide, others marked
	transparent, light, are := "", "", "used as stored"
	for i, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("media: %s: %w", path, err)
		}
		p, err := readPictureHeader(path)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			c.height, c.width = p.height, p.width
		}
		if p.height != c.height || p.width != c.width {
			return nil, badInputf(path, "is %d x %d, expected %d x %d as %s has",
				p.width, p.height, c.width, c.height, filepath.Base(paths[0]))
		}
		if p.animated && len(paths) > 1 {
			return nil, badInputf(path, "is animated, expected a still picture: give it alone as a clip")
		}
		if p.animated {
			if c.animation, err = openAnimation(path, p, o); err != nil {
				return nil, err
			}
			c.turn = p.turn
		}
		if p.turn > 1 {
			turned.add(path, "")
		}
		if p.profile != "" {
			profiled.add(path, p.profile)
		}
		if p.colours.hdr != "" {
			hdr.add(path, p.colours.hdr)
			c.hdr[path] = p.colours.hdr
		}
		if p.colours.wide != "" && (p.colours.hdr == "" || !o.ToneMap) {
			wide.add(path, p.colours.wide)
		}
		if p.others != "" {
			others.add(path, p.others)
		}
		if p.alpha && transparent == "" {
			transparent = path
		}
		if p.divided {
			are = "divided by it"
		}
		if p.light && light == "" {
			light = path
		}
	}
	c.dropped = sync.OnceFunc(func() {
		o.warn(fmt.Sprintf("%s: transparency is dropped: colours are %s, without blending", path, are))
	})
	var once sync.Once
	c.clipped = func(least, most float32) {
		once.Do(func() {
			o.warn(fmt.Sprintf("%s: is linear light from %.4g to %.4g: values outside 0 to 1 are clipped", path, least, most))
		})
	}
	if c.animation != nil {
		if err := c.begin(path, o); err != nil {
			c.Close()
			return nil, err
		}
	} else if channels == 4 {
		transparent = ""
	}
	for _, path := range slices.Compact([]string{transparent, light}) { // before the work, if it is known by then
		if path == "" || c.animation != nil || o.headers {
			continue
		}
		if _, _, err := c.picture(path); err != nil {
			return nil, err
		}
	}
	if n := turned.count; n == 1 {
		o.note(fmt.Sprintf("%s: %s is rotated as its EXIF data specifies", path, turned.first))
	} else if n > 1 {
		o.note(fmt.Sprintf("%s: %d pictures are rotated as their EXIF data specifies, %s the first", path, n, turned.first))
	}
	if n := profiled.count; n == 1 {
		o.warn(fmt.Sprintf("%s: %s has a colour profile, %s, which isn't applied: its colours are read as sRGB", path, profiled.first, profiled.what))
	} else if n > 1 {
		o.warn(fmt.Sprintf("%s: %d pictures have colour profiles, the first is %s's, %s; they aren't applied: colours are read as sRGB", path, n, profiled.first, profiled.what))
	}
	if n := others.count; n == 1 {
		o.note(fmt.Sprintf("%s: %s of %s are left out", path, others.what, others.first))
	} else if n > 1 {
		o.note(fmt.Sprintf("%s: %s of %s are ignored, also in %d more", path, others.what, others.first, n-1))
	}
	if wide.count > 0 {
		o.warn(path + ": " + wide.of(len(paths)) + fmt.Sprintf(saidWide, wide.what))
	}
	if hdr.count > 0 && o.ToneMap && c.animation != nil {
		o.warn(fmt.Sprintf("%s: HDR (%s) of an animation is read as if it were SDR, flat and dark; --tone-map is for pictures and video", path, hdr.what))
	} else if hdr.count > 0 && !o.ToneMap {
		o.warn(path + ": " + hdr.of(len(paths)) + fmt.Sprintf(saidHDR, hdr.what))
	} else if hdr.count > 0 {
		if err := canToneMap(ctx); err != nil {
			return nil, fmt.Errorf("media: %s: %w", path, err)
		}
		o.note(path + ": " + hdr.of(len(paths)) + fmt.Sprintf(saidTone, hdr.what))
	}
	if o.Matrix != "" {
		o.warn(fmt.Sprintf("%s: is a picture: --matrix %s has no effect", path, o.Matrix))
	}
	if o.ToneMap && hdr.count == 0 {
		o.warn(path + ": " + saidNoHDR)
	}
	return c, nil
}

// marked counts pictures with a remark, and keeps the first's name.
type marked struct {
	count       int
	first, what string
}

func (m *marked) add(path, what string) {
	if m.count == 0 {
		m.first, m.what = filepath.Base(path), what
	}
	m.count++
}

// of names the marked pictures among all, "" if all are.
func (m marked) of(all int) string {
	if m.count == all {
		return ""
	}
	return fmt.Sprintf("%d of %d pictures, %s the first: ", m.count, all, m.first)
}

// picture reads one picture, and reports what is lost.
func (c *pictureClip) picture(path string) (image.Image, turn, error) {
	if path == c.lightOf {
		return c.light, 1, nil
	}
	img, turn, err := readPicture(c.ctx, path)
	if err != nil {
		return nil, 0, err
	}
	if l, ok := img.(*lightImage); ok {
		c.light, c.lightOf = l, path
	}
	c.look(img)
	return img, turn, nil
}

// look reports that a picture's transparency is dropped, or light is clipped.
func (c *pictureClip) look(img image.Image) {
	if l, ok := img.(*lightImage); ok {
		if least, most, beyond := l.clipped(); beyond {
			c.clipped(least, most)
		}
	}
	if o, ok := img.(interface{ Opaque() bool }); ok && c.channels == 3 && !o.Opaque() {
		c.dropped()
	}
}

// begin finds the rate of an animation, and draws its first frame if that shows whether
// transparency is dropped.
func (c *pictureClip) begin(path string, o OpenOptions) error {
	rate, text := c.animation.rate()
	c.fps = rate
	if text != "" {
		o.warn(path + ": " + text)
	}
	if c.channels == 4 {
		return nil
	}
	canvas, err := c.animation.frame(0)
	if err == nil && !opaque(canvas) {
		c.dropped()
	}
	return err
}

func (c *pictureClip) Frames() int {
	if c.animation != nil {
		return len(c.animation.parts)
	}
	return len(c.paths)
}

func (c *pictureClip) Size() (height, width int) { return c.height, c.width }
func (c *pictureClip) Channels() int             { return c.channels }
func (c *pictureClip) FPS() latent.Rational      { return c.fps }

func (c *pictureClip) Close() error {
	if c.animation != nil {
		return c.animation.file.Close()
	}
	return nil
}

// readAnimation is ReadFrame for an animation.
func (c *pictureClip) readAnimation(t int, dst []float32) error {
	canvas, err := c.animation.frame(t)
	if err != nil {
		return err
	}
	if c.channels == 3 && !opaque(canvas) {
		c.dropped()
	}
	frame := dst
	if c.turn > 1 {
		frame = make([]float32, len(dst))
	}
	for i := range len(canvas) / 4 {
		copy(frame[i*c.channels:][:c.channels], canvas[4*i:])
	}
	if c.turn > 1 {
		c.turn.apply(dst, frame, c.height, c.width, c.channels)
	}
	return nil
}

func (c *pictureClip) ReadFrame(t int, dst []float32) error {
	checkRead(c, t, dst)
	if c.animation != nil {
		return c.readAnimation(t, dst)
	}
	path := c.paths[t]
	img, turn, err := c.picture(path)
	if err != nil {
		return err
	}
	h, w := img.Bounds().Dy(), img.Bounds().Dx()
	if turn >= 5 {
		h, w = w, h
	}
	if h != c.height || w != c.width {
		return badInputf(path, "is %d x %d now, was %d x %d when opened", w, h, c.width, c.height)
	}
	frame := dst
	if turn > 1 {
		frame = make([]float32, len(dst))
	}
	if err := imageFloats(frame, c.channels, img); err != nil {
		return badInput(path, err)
	}
	if c.hdr[path] != "" && c.options.ToneMap {
		if err := toneMapped(c.ctx, path, frame, c.channels); err != nil {
			return err
		}
	}
	if turn > 1 {
		turn.apply(dst, frame, h, w, c.channels)
	}
	return nil
}

// naturalCompare orders names as people do: runs of digits by their value.
func naturalCompare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if !isDigit(x[0]) || !isDigit(y[0]) {
			if x[0] != y[0] {
				return int(x[0]) - int(y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		var p, q string
		p, x = cutDigits(x)
		q, y = cutDigits(y)
		if len(p) != len(q) {
			return len(p) - len(q)
		}
		if p != q {
			return strings.Compare(p, q)
		}
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b) // equal except for leading zeros
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// cutDigits splits s after its leading digits and drops their leading zeros.
func cutDigits(s string) (digits, rest string) {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return strings.TrimLeft(s[:n], "0"), s[n:]
}
