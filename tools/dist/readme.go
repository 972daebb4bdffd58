package main

import (
	"fmt"
	"strings"
)

// readme returns the archive's README.txt.
func (j *job) readme(p platform) []byte {
	run := "./tessera"
	if p.os == "windows" {
		run = "tessera"
	}
	text := fmt.Sprintf("Tessera %s, %s on %s\n\n", j.version, systems[p.os], p.arch)
	text += `Encodes video to latents and decodes latents to video with the VAEs of video
generators, on any GPU. Nothing has to be installed: run the program in a terminal.
It needs no other file and may be moved anywhere.

`
	if p.without != "" {
		text += p.without + "\n\n"
	}
	text += strings.ReplaceAll(`    RUN devices      the graphics cards, and which one is taken
    RUN demo         encodes and decodes a clip with a small model, both built in
    RUN decode -m MODEL.safetensors LATENT.safetensors -o frames
    RUN serve --open the page, in the browser
    RUN --help       all commands

    RUN encode -m demo/tiny-seedvr2.safetensors demo/clip -o latent.safetensors
    RUN decode -m demo/tiny-seedvr2.safetensors latent.safetensors -o frames

`, "RUN", run)
	switch p.os {
	case "windows":
		text += `docs\windows.md has the rest: the choice of backend, limits, what to do when
something fails. docs\windows.tr.md is the same in Turkish. A latent that is dragged
onto tessera.exe together with its model is decoded beside itself.

`
	case "linux":
		text += "A Vulkan driver is needed; Mesa's lavapipe, which computes on the processor, will do.\n\n"
	case "darwin":
		text += "If macOS refuses to run it: xattr -d com.apple.quarantine tessera\n\n"
	}
	text += `Tessera is under the Apache License 2.0 (LICENSE.txt), the small model under
CC-BY-4.0 with the credits in demo/README.md; licenses has the licences of all else
in this folder.
`
	if p.os == "windows" {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return []byte(text)
}

var systems = map[string]string{"windows": "Windows", "linux": "Linux", "darwin": "macOS"}
