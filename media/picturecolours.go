//go:build !js

package media

import "io"

// cicp says what a picture's numbers mean, by the code points of ITU-T H.273: PNG stores
// them in its chunk cICP, HEIC and AVIF in a property.
type cicp struct{ primaries, transfer, matrix byte }

// The code points used here, by ffprobe's names.
var (
	cicpPrimaries = map[byte]string{1: "bt709", 5: "bt470bg", 6: "smpte170m", 9: "bt2020", 11: "smpte431", 12: "smpte432"}
	cicpTransfers = map[byte]string{1: "bt709", 6: "smpte170m", 8: "linear", 13: "iec61966-2-1", 16: "smpte2084", 18: "arib-std-b67"}
	cicpMatrices  = map[byte]string{1: "bt709", 5: "bt470bg", 6: "smpte170m", 8: "ycgco", 9: "bt2020nc", 14: "ictcp"}
)

// pngColours reads the chunk cICP, nil without one.
func pngColours(r io.ReadSeeker) *cicp {
	data := pngParts.find(r, "cICP", "")
	if len(data) != 4 {
		return nil
	}
	return &cicp{data[0], data[1], data[2]}
}

// pictureFileColours is pngColours for a file, nil if it is not a PNG.
func pictureFileColours(path string) *cicp {
	f, format, err := openPicture(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if format.name != "PNG" {
		return nil
	}
	return pngColours(f)
}

// nclx reads the property colr of a picture in boxes, nil if that is a profile.
func nclx(data []byte) *cicp {
	if len(data) < 10 || string(data[:4]) != "nclx" {
		return nil
	}
	return &cicp{data[5], data[7], data[9]} // the low bytes: all code points are below 256
}

// colours adds the file's code points, because ffprobe before 7.1 does not read cICP. It
// keeps what c does not name.
func (s *ffprobeStream) colours(c *cicp) {
	if c == nil {
		return
	}
	for _, field := range []struct {
		is   *string
		name string
	}{{&s.Primaries, cicpPrimaries[c.primaries]}, {&s.Transfer, cicpTransfers[c.transfer]}, {&s.ColorSpace, cicpMatrices[c.matrix]}} {
		if field.name != "" {
			*field.is = field.name
		}
	}
}

// wide names primaries wider than BT.709's; "" for others.
func (s ffprobeStream) wide() string {
	return map[string]string{"bt2020": "BT.2020", "smpte431": "DCI P3", "smpte432": "Display P3"}[s.Primaries]
}

// Texts about HDR and wide colours, in video and in pictures.
const (
	saidHDR   = "HDR (%s) is read as if it were SDR, flat and dark; --tone-map converts it"
	saidTone  = "HDR (%s) is tone-mapped to SDR, BT.709"
	saidWide  = "colours of %s are read as BT.709's, paler than they are"
	saidNoHDR = "is not HDR: --tone-map has no effect"
)
