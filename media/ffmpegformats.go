//go:build !js

package media

import "strings"

// oneFile are the formats, by ffmpeg's names, that store their frames in the opened file.
// Other formats of ffmpeg name further files: playlists (hls, dash, concat, imf), scripts
// (avisynth, vapoursynth), sdp, and some look for parts beside them (mlv, vobsub). A file
// can have any of these formats under any name, so formats outside of this list are not
// opened. Sound formats are listed for their covers, and so that the error can say that
// there is no video.
var oneFile = strings.Join(strings.Fields(`
	4xm amv anm apng asf asf_o av1 avi avs2 avs3 bethsoftvid bfi bink bmv c93
	cavsvideo cdg cdxl cine dfa dhav dirac dnxhd dv dxa ea ea_cdata evc film_cpk
	filmstrip fits flic flv frm gdv gif gxf h261 h263 h264 hevc hnm ico idcin iff
	ifv image2 ingenient ipmovie ipu iv8 ivf ivr jpegxl_anim jv kux live_flv lmlm4
	luodat lvf lxf m4v matroska webm mgsts mjpeg mjpeg_2000 mm moflex mods
	mov mp4 mpeg mpegts mpegvideo mpjpeg msnwctcp mtv mv mvi mxf mxg nc nsv nut nuv
	obu ogg paf pmp psxstr pva r3d rl2 rm roq rpl sdr2 ser sga siff simbiosis_imx
	smjpeg smk smush svs swf thp tiertexseq tmv txd ty vc1 vc1test vividas vivo vmd vvc
	wc3movie wsvqa wtv xmv yop yuv4mpegpipe
	alias_pix brender_pix bmp_pipe cri_pipe dds_pipe dpx_pipe exr_pipe gem_pipe
	gif_pipe hdr_pipe j2k_pipe jpeg_pipe jpegls_pipe jpegxl_pipe pam_pipe pbm_pipe
	pcx_pipe pfm_pipe pgm_pipe pgmyuv_pipe pgx_pipe phm_pipe photocd_pipe
	pictor_pipe png_pipe ppm_pipe psd_pipe qdraw_pipe qoi_pipe sgi_pipe
	sunrast_pipe tiff_pipe vbn_pipe webp_pipe xbm_pipe xpm_pipe xwd_pipe
	aac ac3 aiff amr ape au caf dts eac3 flac mp3 oma tta w64 wav wv`), ",")

// inputArgs makes ffmpeg or ffprobe read only the file at path. literal is for readers of
// single pictures: only they treat %03d as a number, and have an option to disable that.
func inputArgs(path string, literal bool) []string {
	args := []string{"-protocol_whitelist", "file", "-format_whitelist", oneFile}
	if literal {
		args = append(args, "-pattern_type", "none")
	}
	return append(args, "-i", "file:"+path)
}
