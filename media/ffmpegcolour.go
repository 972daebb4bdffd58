//go:build !js

package media

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tessera/latent"
)

// Matrices are the supported colour matrices, see OpenOptions.Matrix.
var Matrices = []string{"bt601", "bt709", "bt2020"}

// checkMatrix refuses other names.
func checkMatrix(m string) error {
	if m != "" && !slices.Contains(Matrices, m) {
		return fmt.Errorf("colour matrix %.20q, expected %s", m, strings.Join(Matrices, ", "))
	}
	return nil
}

// remarks are a reader's messages about a video: what is lost or guessed, and what is
// kept although it may surprise.
type remarks struct{ warnings, notes []string }

func (r *remarks) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

func (r *remarks) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// tell passes them on with the file's name.
func (r *remarks) tell(path string, o OpenOptions) {
	for _, text := range r.warnings {
		o.warn(path + ": " + text)
	}
	for _, text := range r.notes {
		o.note(path + ": " + text)
	}
}

// Patterns for names of pixel formats: without a matrix, such as RGB, palettes and gray;
// with transparency; the depth; and those whose name contains a number that is not the
// depth.
var (
	noMatrix = regexp.MustCompile(`^(x2)?(rgb|bgr|gbr|argb|abgr|0rgb|0bgr|pal|gray|ya8|ya16|mono|xyz|bayer)`)
	hasAlpha = regexp.MustCompile(`^(yuva|rgba|bgra|argb|abgr|gbrap|ya8|ya16|ayuv|vuya)`)
	depth    = regexp.MustCompile(`(\d+)(?:le|be)$`)
	shallow  = regexp.MustCompile(`^(rgb|bgr)(565|555|444)`)
)

// isRGB reports whether pictures have no matrix.
func (s ffprobeStream) isRGB() bool {
	return s.ColorSpace == "gbr" || noMatrix.MatchString(s.PixelFormat)
}

// fixedMatrix are codecs that imply BT.601 if the file has no tag.
var fixedMatrix = []string{"vp8", "theora", "mjpeg", "webp", "dvvideo"}

// untagged reports whether the matrix must be guessed.
func (s ffprobeStream) untagged() bool {
	return !s.isRGB() && (s.ColorSpace == "" || s.ColorSpace == "unknown") && !slices.Contains(fixedMatrix, s.CodecName)
}

// scalerMatrices are the matrices of ffmpeg's scaler, by ffprobe's names.
var scalerMatrices = map[string]string{"bt709": "bt709", "smpte170m": "bt601", "bt470bg": "bt601", "bt2020nc": "bt2020", "fcc": "fcc", "smpte240m": "smpte240m"}

// strange reports whether the scaler does not know the matrix.
func (s ffprobeStream) strange() bool {
	return !s.isRGB() && s.ColorSpace != "" && s.ColorSpace != "unknown" && scalerMatrices[s.ColorSpace] == ""
}

// matrix returns the matrix for ffmpeg's scaler. A file without a tag is read as BT.601,
// because ffmpeg, and with it diffusers and imageio, converts RGB to BT.601 and writes no
// tag.
func (s ffprobeStream) matrix(asked string) string {
	switch {
	case asked != "":
		return asked
	case s.ColorSpace == "" || s.ColorSpace == "unknown":
		return "bt601"
	}
	return cmp.Or(scalerMatrices[s.ColorSpace], "auto") // set explicitly, since decoders may drop the container's tag
}

// hdr names the transfer function of high dynamic range; "" for other video.
func (s ffprobeStream) hdr() string {
	return map[string]string{"smpte2084": "PQ", "arib-std-b67": "HLG"}[s.Transfer]
}

// bits returns the bits of a channel, from the pixel format's name.
func (s ffprobeStream) bits() int {
	m := depth.FindStringSubmatch(s.PixelFormat)
	if m == nil || shallow.MatchString(s.PixelFormat) {
		return 8
	}
	n, _ := strconv.Atoi(m[1])
	switch n {
	case 48, 64: // per pixel
		return 16
	case 30, 36:
		return n / 3
	}
	return n % 100 // p010, p210, p416
}

// alpha reports transparency in the pixel format or in WebM, where ffmpeg's own decoders
// ignore it.
func (s ffprobeStream) alpha() bool {
	return s.Tags.AlphaMode == "1" || hasAlpha.MatchString(s.PixelFormat)
}

// aspect returns the shape of a displayed pixel, unknown if it is square.
func (s ffprobeStream) aspect() latent.Rational {
	r, err := latent.ParseRational(s.Aspect)
	if err != nil || r.Num == r.Den {
		return latent.Rational{}
	}
	if s.turned() {
		r.Num, r.Den = r.Den, r.Num
	}
	return r
}

// angle returns the rotation for display, 0 to 359 degrees.
func (s ffprobeStream) angle() int {
	if s.upright > 0 {
		return 90 * s.upright
	}
	for _, d := range s.SideData {
		if a := int(math.Round(d.Rotation)); a%360 != 0 {
			return (a%360 + 360) % 360
		}
	}
	return 0
}

// turned reports whether the rotation swaps height and width.
func (s ffprobeStream) turned() bool { return s.angle()%180 == 90 }

// remarks returns the messages about the stream's pictures, read with the given channels.
func (s ffprobeStream) remarks(channels int, o OpenOptions) (r remarks) {
	if s.choice != "" {
		r.note("%s", s.choice)
	}
	s.colourRemarks(&r, o)
	if hdr := s.hdr(); hdr != "" && !o.ToneMap {
		r.warn(saidHDR, hdr)
	} else if hdr != "" {
		r.note(saidTone, hdr)
	} else if o.ToneMap {
		r.warn(saidNoHDR)
	}
	if n := s.bits(); n > 8 {
		r.warn("%d bits a channel are rounded to 8", n)
	}
	if s.alpha() && channels == 3 {
		r.warn("transparency is dropped: colours are used as stored, without blending")
	}
	if s.apart {
		r.warn("transparency is stored as a separate picture, which is ignored")
	}
	if !slices.Contains([]string{"", "unknown", "progressive"}, s.FieldOrder) {
		r.warn("is interlaced: both fields of a frame are read as one picture")
	}
	if a := s.angle(); a != 0 {
		r.note("is rotated by %d degrees, as the file specifies", a)
	}
	if s.mirror != "" {
		r.note("is mirrored, as the file specifies")
	}
	return r
}

func (s ffprobeStream) colourRemarks(r *remarks, o OpenOptions) {
	switch {
	case o.Matrix != "" && s.isRGB():
		r.warn("is RGB: --matrix %s has no effect", o.Matrix)
	case o.Matrix != "":
	case s.untagged():
		r.warn("names no colour matrix: read as BT.601, which ffmpeg, diffusers and imageio write; --matrix bt709 reads it as HD video")
	case s.strange() && !o.ToneMap:
		r.warn("the colour matrix %s isn't known to ffmpeg's scaler: colours are wrong", s.ColorSpace)
	}
	if wide := s.wide(); wide != "" && (s.hdr() == "" || !o.ToneMap) {
		r.warn(saidWide, wide)
	}
}

// filter converts the pictures to RGB. Deeper video is rounded to 8 bits, because the
// 16-bit RGB that ffmpeg 5.1's scaler makes of 10-bit YUV is 0.7 levels of 255 too dark
// on average, with errors up to 1.3, which is worse than rounding's 0.5.
func (s ffprobeStream) filter(o OpenOptions) string {
	const scale = "scale=flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp"
	if !o.ToneMap || s.hdr() == "" {
		untag := ""
		if s.strange() { // newer versions refuse it, older ones read it as BT.601
			untag = "setparams=colorspace=unknown,"
		}
		return untag + scale + ":in_color_matrix=" + s.matrix(o.Matrix)
	}
	matrix := "2020_ncl"
	switch {
	case o.Matrix == "bt601":
		matrix = "170m"
	case o.Matrix == "bt709" || o.Matrix == "" && s.ColorSpace == "bt709":
		matrix = "709"
	case o.Matrix == "" && s.isRGB():
		matrix = "gbr"
	case o.Matrix == "" && s.ColorSpace == "ictcp":
		matrix = "ictcp"
	}
	primaries := "2020"
	switch s.Primaries {
	case "bt709":
		primaries = "709"
	case "smpte431", "smpte432":
		primaries = strings.TrimPrefix(s.Primaries, "smpte")
	}
	planes := ""
	if matrix == "gbr" { // ffmpeg 5.1 has no conversion from RGB whose frames have no colour tags
		wide := "bt2020"
		if s.Primaries != "" && s.Primaries != "unknown" {
			wide = s.Primaries
		}
		planes = fmt.Sprintf("format=gbrp16le,setparams=colorspace=gbr:color_primaries=%s:color_trc=%s,", wide, s.Transfer)
	}
	// White of SDR is at 203 nits in HDR (ITU-R BT.2408).
	return planes + fmt.Sprintf("zscale=tin=%s:min=%s:pin=%s:t=linear:npl=203,format=gbrpf32le,zscale=p=709,"+
		"tonemap=tonemap=hable:desat=0,zscale=t=709:m=gbr:r=full,format=gbrp,%s", s.Transfer, matrix, primaries, scale)
}

// canToneMap returns an error if ffmpeg lacks the filters for tone mapping.
func canToneMap(ctx context.Context) error {
	cmd, log, err := ffmpegCommand(ctx, "ffmpeg", "-v", "error", "-filters")
	if err != nil {
		return err
	}
	out, err := cmd.Output()
	if err := log.failure(ctx, err, ""); err != nil {
		return err
	}
	for _, filter := range []string{"zscale", "tonemap"} {
		if !strings.Contains(string(out), " "+filter+" ") {
			return fmt.Errorf("--tone-map needs an ffmpeg with the filter %s, which the installed one lacks", filter)
		}
	}
	return nil
}
