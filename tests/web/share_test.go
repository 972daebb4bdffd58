package web

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
)

//go:embed testdata/share.html
var sharePage string

// writeShare draws web/share.jpg: the demo clip's first frame, half original and half
// decoded.
func writeShare(t *testing.T) {
	t.Helper()
	frame := func(path, kind string) string {
		data, err := os.ReadFile(root + path)
		require.NoError(t, err)
		return "data:image/" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
	}
	v := newVisitAt(t, "")
	v.screen(1200, 630, 1, false, "dark")
	eval[bool](t, v.tab, `(document.documentElement.innerHTML = $, true)`,
		fmt.Sprintf(sharePage, frame("/assets/demo/frame_0000.png", "png"), frame("/web/recorded/poster.webp", "webp")))
	eval[bool](t, v.tab, `Promise.all([...document.images].map((i) => i.decode())).then(() => true)`)
	shot, err := chromedp.Run(v.tab, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(shot))
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, picture, &jpeg.Options{Quality: 90}))
	require.NoError(t, os.WriteFile(root+"/web/share.jpg", b.Bytes(), 0o666))
}

// metas returns the meta tags of a page's file.
func metas(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	all := map[string]string{}
	for _, m := range regexp.MustCompile(`<meta (?:name|property)="(.*?)" content="(.*?)">`).FindAllStringSubmatch(string(text), -1) {
		all[m[1]] = m[2]
	}
	return all
}

// TestSharedLink: a shared link to the page has a title, a sentence and a picture.
func TestSharedLink(t *testing.T) {
	if *update {
		writeShare(t)
	}
	dir := built(t)
	got := metas(t, filepath.Join(dir, "index.html"))
	for name, want := range map[string]string{
		"og:title": "Tessera", "og:type": "website", "og:description": got["description"],
		"og:image:type": "image/jpeg", "og:image:width": "1200", "og:image:height": "630", "twitter:card": "summary_large_image",
	} {
		assert.Equal(t, want, got[name], name)
	}
	assert.NotEmpty(t, got["description"])
	assert.NotEmpty(t, got["og:image:alt"])
	assert.Regexp(t, `^(https?://.*/)?share\.jpg$`, got["og:image"])
	data, err := os.ReadFile(filepath.Join(dir, "share.jpg"))
	require.NoError(t, err)
	assert.Less(t, len(data), 300_000, "bytes of the picture")
	picture, kind, err := image.DecodeConfig(bytes.NewReader(data))
	require.NoError(t, err)
	assert.Equal(t, "jpeg 1200 630", fmt.Sprint(kind, " ", picture.Width, " ", picture.Height))
}

// TestSharedAddress: built with PAGE_URL, the page has its picture's absolute address;
// addresses other than http are refused.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil && !testenv.Required() {
		t.Skip("no node")
	}
	require.NoError(t, err)
	for url, want := range map[string]string{
		"":                               "share.jpg",
		"https://example.com":            "https://example.com/share.jpg",
		"https://example.com/a/tessera/": "https://example.com/a/tessera/share.jpg",
		"http://example.com/a&b":         "http://example.com/a&amp;b/share.jpg",
		"example.com/tessera":            "",
		"file:///tmp":                    "",
		"https://example.com/?a":         "",
	} {
		dir := t.TempDir()
		for _, file := range []string{"index.html", "app.js"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(source(t, file)), 0o666))
		}
		cmd := exec.Command(node, root+"/tools/page.js", dir)
		cmd.Env = append(os.Environ(), "PAGE_URL="+url)
		said, err := cmd.CombinedOutput()
		if want == "" {
			assert.Error(t, err, url)
			assert.Equal(t, fmt.Sprintf("PAGE_URL is %q, not the http or https address of a folder\n", url), string(said))
			continue
		}
		if assert.NoError(t, err, "%s: %s", url, said) {
			assert.Equal(t, want, metas(t, filepath.Join(dir, "index.html"))["og:image"], url)
		}
	}
}

// TestPublished: built with SOURCE_URL, the page links to the guide, the releases and
// the source; without it there are no dead links.
func TestPublished(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil && !testenv.Required() {
		t.Skip("no node")
	}
	require.NoError(t, err)
	link := regexp.MustCompile(`<a href="(.*?)" data-t="links\.(.*?)">`)
	for url, want := range map[string][][]string{
		"": nil,
		"https://example.com/me/tessera/": {
			{"https://example.com/me/tessera#readme", "guide"}, {"https://example.com/me/tessera/releases", "download"}, {"https://example.com/me/tessera", "source"},
		},
		"git@example.com": {},
	} {
		dir := t.TempDir()
		for _, file := range []string{"index.html", "app.js"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(source(t, file)), 0o666))
		}
		cmd := exec.Command(node, root+"/tools/page.js", dir)
		cmd.Env = append(os.Environ(), "SOURCE_URL="+url)
		said, err := cmd.CombinedOutput()
		if want != nil && len(want) == 0 {
			assert.Error(t, err, url)
			assert.Equal(t, fmt.Sprintf("SOURCE_URL is %q, not the http or https address of a repository\n", url), string(said))
			continue
		}
		require.NoError(t, err, "%s: %s", url, said)
		page, err := os.ReadFile(filepath.Join(dir, "index.html"))
		require.NoError(t, err)
		var got [][]string
		for _, m := range link.FindAllStringSubmatch(string(page), -1) {
			got = append(got, m[1:])
		}
		assert.Equal(t, want, got, url)
	}
}

// source reads a file of the page, or one of its scripts without imports.
func source(t *testing.T, file string) string {
	t.Helper()
	if file != "index.html" {
		return "export {};\n"
	}
	text, err := os.ReadFile(root + "/web/" + file)
	require.NoError(t, err)
	return string(text)
}
