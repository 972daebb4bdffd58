// Command drawings makes the pictures of docs/guides/less.md, in English and Turkish:
//
//	go run ./tools/drawings
//
// They are SVG with the colours of the reader's light or dark scheme. TestDrawings compares
// the files with what this program makes.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("drawings: ")
	for name, svg := range drawings() {
		if err := os.WriteFile(filepath.Join("docs/guides/less", name), []byte(svg), 0o666); err != nil {
			log.Fatal(err)
		}
	}
}

// drawings are the files, by name.
func drawings() map[string]string {
	all := map[string]string{}
	for name, draw := range map[string]func(*canvas){
		"causal": causal, "folded": folded, "winograd": winograd, "exact": exact, "offload": offload,
	} {
		for i, ending := range []string{".svg", ".tr.svg"} {
			c := &canvas{language: i}
			draw(c)
			all[name+ending] = c.svg()
		}
	}
	return all
}

// width is that of every drawing.
const width = 720

// style gives classes their colours: n new data, k what is kept, w weights or work, o an
// outline, h a hint, l a line.
const style = `text{font:14px system-ui,sans-serif;fill:#1f2328}text.h{fill:#59636e;font-size:13px}
.bg{fill:#fff}.n{fill:#cfe3ff;stroke:#2f6fd0}.k{fill:#ffe2b3;stroke:#b96a00}.w{fill:#d3f0d3;stroke:#2b7d32}
.o{fill:none;stroke:#6e7781}.d{fill:none;stroke:#b96a00;stroke-dasharray:5 3;stroke-width:1.5}.l{fill:none;stroke:#59636e}.p{fill:#59636e}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}text.h{fill:#9aa4b0}
.bg{fill:#0d1117}.n{fill:#173a67;stroke:#6aa7ff}.k{fill:#5a3a06;stroke:#f0a63c}.w{fill:#173f1d;stroke:#63c46c}
.o{stroke:#8b949e}.d{stroke:#f0a63c}.l{stroke:#9aa4b0}.p{fill:#9aa4b0}}`

// canvas is a drawing. Its height is that of the lowest shape.
type canvas struct {
	language int // 0 English, 1 Turkish
	body     strings.Builder
	height   int
	title    string
}

// svg is the file.
func (c *canvas) svg() string {
	h := c.height + 16
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-label="%[3]s">
<style>%[4]s</style>
<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="p" d="M0 0L8 4L0 8z"/></marker></defs>
<rect class="bg" width="%[1]d" height="%[2]d" rx="8"/>
%[5]s</svg>
`, width, h, c.title, style, c.body.String())
}

// say is a text in the drawing's language.
func (c *canvas) say(english, turkish string) string {
	return [...]string{english, turkish}[c.language]
}

// name sets what screen readers say of the drawing.
func (c *canvas) name(english, turkish string) { c.title = c.say(english, turkish) }

// box is a rectangle of a class.
func (c *canvas) box(class string, x, y, w, h int) {
	c.height = max(c.height, y+h)
	fmt.Fprintf(&c.body, "<rect class=%q x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\"/>\n", class, x, y, w, h)
}

// label is a box with a text in its middle.
func (c *canvas) label(class string, x, y, w, h int, text string) {
	c.box(class, x, y, w, h)
	c.text("", "middle", x+w/2, y+h/2+5, text)
}

// text is a line of text, whose anchor is start, middle or end.
func (c *canvas) text(class, anchor string, x, y int, text string) {
	c.height = max(c.height, y+4)
	if class != "" {
		class = fmt.Sprintf(" class=%q", class)
	}
	fmt.Fprintf(&c.body, "<text%s x=\"%d\" y=\"%d\" text-anchor=%q>%s</text>\n", class, x, y, anchor, text)
}

// hint is a small explanation.
func (c *canvas) hint(x, y int, english, turkish string) {
	c.text("h", "start", x, y, c.say(english, turkish))
}

// heading names a part of the drawing.
func (c *canvas) heading(x, y int, english, turkish string) {
	c.text("", "start", x, y, c.say(english, turkish))
}

// arrow is a line from one point to another, with a head.
func (c *canvas) arrow(x1, y1, x2, y2 int) {
	fmt.Fprintf(&c.body, "<path class=\"l\" marker-end=\"url(#a)\" d=\"M%d %dL%d %d\"/>\n", x1, y1, x2, y2)
}

// causal: each slice begins with the last two frames of the slice before.
func causal(c *canvas) {
	c.name("Causal memory: three slices of a clip, each with two frames kept from the one before", "Nedensel bellek: bir klibin üç dilimi, her birinde öncekinden kalan iki kare")
	const step, left, size = 42, 176, 34
	for slice := range 3 {
		y := 40 + 84*slice
		c.text("", "start", 16, y+22, fmt.Sprintf("%s %d", c.say("slice", "dilim"), slice+1))
		for i := range 4 {
			frame := 4*slice + i
			c.label("n", left+step*frame, y, size, size, fmt.Sprint(frame))
		}
		if slice == 0 {
			continue
		}
		for i := range 2 {
			x := left + step*(4*slice-2+i)
			c.arrow(x+size/2, y-84+size+2, x+size/2, y-3)
			c.label("k", x, y, size, size, fmt.Sprint(4*slice-2+i))
		}
	}
	c.box("d", left+step*2-5, 40+84-5, step*3+2, size+10)
	c.hint(left, 26, "frames of a layer's input; only those of one row are on the device", "bir katmanın girdisindeki kareler; aygıtta yalnız bir satırınkiler bulunur")
	c.hint(16, 40+84+56, "dashed: what frame 4 needs", "kesikli: 4. karenin gerektirdiği")
	c.box("k", 16, 292, 16, 16)
	c.hint(40, 305, "kept: two frames for each layer, however long the clip is", "saklanan: klip ne kadar uzun olursa olsun her katman için iki kare")
}

// folded: nine taps on an enlarged picture are four on the small one.
func folded(c *canvas) {
	c.name("Folded upsampling: nine products on the enlarged frame become four on the small one", "Katlanmış büyütme: büyütülmüş karede dokuz çarpım, küçük karede dört olur")
	const cell, top = 64, 46
	grid := func(left, parts int) {
		for y := range 3 * parts {
			for x := range 3 * parts {
				c.box("o", left+x*cell/parts, top+y*cell/parts, cell/parts, cell/parts)
			}
		}
	}
	c.heading(40, 30, "enlarge ×2, then 3×3", "×2 büyüt, sonra 3×3")
	grid(40, 2)
	const half = cell / 2
	for y := range 3 {
		for x := range 3 {
			c.label("w", 40+(1+x)*half+2, top+(1+y)*half+2, half-4, half-4, fmt.Sprintf("w%d", 3*y+x+1))
		}
	}
	c.arrow(240, top+96, 290, top+96)
	c.heading(300, 30, "folded: 2×2 on the small frame", "katlanmış: küçük karede 2×2")
	grid(300, 1)
	for i, sum := range []string{"w1", "w2+w3", "w4+w7", ""} {
		c.label("w", 300+i%2*cell+3, top+i/2*cell+3, cell-6, cell-6, sum)
	}
	for i, sum := range []string{"w5+w6", "+w8", "+w9"} {
		c.text("", "middle", 300+3*half, top+3*half-10+16*i, sum)
	}
	c.text("", "start", 510, top+40, c.say("9 products → 4", "9 çarpım → 4"))
	c.text("", "start", 510, top+72, c.say("27 → 12 with three", "27 → 12, üç zaman"))
	c.text("", "start", 510, top+92, c.say("temporal taps", "ağırlığıyla"))
	c.text("", "start", 510, top+124, c.say("27 → 8 if time is", "27 → 8, zaman da"))
	c.text("", "start", 510, top+144, c.say("enlarged, too", "büyütülürse"))
	c.hint(40, 262, "Taps that read copies of one cell are added up, once, when the weights are loaded.", "Bir hücrenin kopyalarını okuyan ağırlıklar yüklenirken bir kez toplanır.")
	c.hint(40, 282, "Each of the four pixels of a cell has its own four sums.", "Bir hücrenin dört pikselinden her birinin kendi dört toplamı vardır.")
}

// winograd: F(2,3) in time.
func winograd(c *canvas) {
	c.name("Winograd in time: two frames from four convolutions in place of six", "Zamanda Winograd: altı yerine dört evrişimle iki kare")
	const left, step, w, h = 190, 132, 104, 34
	rows := []int{32, 104, 176, 262}
	for i, word := range []string{c.say("four input frames", "dört girdi karesi"), c.say("sums of frames", "kare toplamları"), c.say("four convolutions", "dört evrişim"), c.say("two output frames", "iki çıktı karesi")} {
		c.text("", "start", 16, rows[i]+22, word)
	}
	at := func(i int) int { return left + step*i }
	for i, from := range [][]int{{0, 2}, {1, 2}, {2, 1}, {1, 3}} {
		for _, j := range from {
			c.arrow(at(j)+w/2, rows[0]+h, at(i)+w/2+6*(j-i), rows[1]-2)
		}
	}
	for i, to := range [][]int{{0}, {0, 1}, {0, 1}, {1}} {
		c.arrow(at(i)+w/2, rows[1]+h, at(i)+w/2, rows[2]-2)
		for _, j := range to {
			c.arrow(at(i)+w/2, rows[2]+h, at(1+j)+w/2+14*(i-1-j), rows[3]-2)
		}
	}
	for i, sum := range []string{"d0 − d2", "d1 + d2", "d2 − d1", "d1 − d3"} {
		c.label("n", at(i), rows[0], w, h, fmt.Sprintf("d%d", i))
		c.label("n", at(i), rows[1], w, h, sum)
		c.label("w", at(i), rows[2], w, h, fmt.Sprintf("∗ G%d = m%[1]d", i))
	}
	c.label("k", at(1)-11, rows[3], w+22, h, "m0 + m1 + m2")
	c.label("k", at(2)-11, rows[3], w+22, h, "m1 − m2 − m3")
	c.hint(16, 322, "Directly, each output frame takes three convolutions with W0, W1 and W2: six for two frames, not four.", "Doğrudan hesapta her çıktı karesi W0, W1, W2 ile üç evrişim ister: iki kare için dört değil altı.")
	c.text("h", "start", 16, 342, "G0 = W0,  G1 = (W0 + W1 + W2)/2,  G2 = (W0 − W1 + W2)/2,  G3 = W2")
}

// exact: a tile with its halo.
func exact(c *canvas) {
	c.name("Exact tiles: the middle runs on the whole latent frame, each tile reads a halo and keeps its own pixels", "Tam karolar: ağın ortası bütün latent karesinde çalışır, her karo bir çevre okur ve kendi piksellerini tutar")
	c.label("w", 16, 96, 110, 62, c.say("middle", "ağın ortası"))
	c.hint(16, 64, "once, on the whole", "bir kez, bütün")
	c.hint(16, 82, "latent frame", "latent karesinde")
	c.arrow(130, 127, 172, 127)
	const left, top, w, h = 184, 50, 84, 78
	for i := range 6 {
		c.box("o", left+i%3*w, top+i/3*h, w, h)
	}
	c.box("n", left+w, top, w, h)
	c.box("d", left+w-20, top, w+40, h+20)
	c.text("", "middle", left+w+w/2, top+h/2+5, c.say("tile", "karo"))
	c.text("h", "middle", left+w+w/2, top+h+14, c.say("halo", "çevre"))
	c.hint(left, 34, "the rest, tile by tile", "gerisi, karo karo")
	c.arrow(left+3*w+8, 127, left+3*w+50, 127)
	const right = left + 3*w + 60
	for i := range 6 {
		class := "k"
		if i > 1 {
			class = "o"
		}
		c.box(class, right+i%3*w*2/3, top+20+i/3*h*2/3, w*2/3, h*2/3)
	}
	c.hint(right, 34, "kept: own pixels only", "tutulan: yalnız kendi pikselleri")
	c.hint(16, 240, "The halo is as wide as the layers reach, so every kept pixel has all that it depends on:", "Çevre, katmanların uzandığı kadar geniştir; tutulan her piksel bağlı olduğu her şeyi görür:")
	c.hint(16, 260, "the result is that of one tile. Only the halo is computed twice.", "sonuç tek karonunkidir. Yalnız çevre iki kez hesaplanır.")
}

// offload: bands of a layer, and what waits on the host.
func offload(c *canvas) {
	c.name("Bands and offload: a layer is computed in bands of rows; memory and weights of other layers wait on the host", "Bantlar ve makine belleğine aktarma: bir katman satır bantlarıyla hesaplanır; öbür katmanların belleği ve ağırlıkları makinede bekler")
	c.heading(16, 28, "bands", "bantlar")
	const top, h, w = 44, 160, 96
	c.box("o", 16, top, w, h)
	c.box("n", 16, top+56, w, 56)
	c.box("d", 12, top+46, w+8, 76)
	c.arrow(122, top+84, 158, top+84)
	c.box("o", 166, top, w, h)
	c.box("k", 166, top, w, 56)
	c.box("w", 166, top+56, w, 56)
	c.text("", "middle", 214, top+33, c.say("done", "bitti"))
	c.text("", "middle", 214, top+89, c.say("now", "şimdi"))
	c.hint(16, 226, "A band reads one row more on", "Bir bant iki yanında birer satır")
	c.hint(16, 244, "either side. It may overwrite", "fazla okur. Artık gerekmeyen")
	c.hint(16, 262, "rows that are not needed again.", "satırların üzerine yazılabilir.")
	c.heading(320, 28, "offload", "makine belleğine aktarma")
	c.box("o", 320, top, 170, h)
	c.text("", "middle", 405, top+22, c.say("device", "aygıt"))
	c.label("w", 336, top+40, 138, 34, c.say("layer 7: weights", "7: ağırlıklar"))
	c.label("k", 336, top+82, 138, 34, c.say("layer 7: memory", "7: bellek"))
	c.box("o", 566, top, 138, h)
	c.text("", "middle", 635, top+22, c.say("host", "makine"))
	for i, layer := range []int{6, 8, 9} {
		c.label("k", 582, top+36+40*i, 106, 32, fmt.Sprintf("%s %d", c.say("layer", "katman"), layer))
	}
	c.arrow(560, top+62, 498, top+62)
	c.arrow(498, top+100, 560, top+100)
	c.text("h", "middle", 529, top+50, c.say("upload", "yükle"))
	c.text("h", "middle", 529, top+120, c.say("download", "indir"))
	c.hint(320, 226, "Causal memory and weights are on the device only while", "Nedensel bellek ve ağırlıklar yalnız katmanları çalışırken")
	c.hint(320, 244, "their layer runs. The numbers are the same.", "aygıttadır. Sayılar aynıdır.")
}
