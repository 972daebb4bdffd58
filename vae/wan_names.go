package vae

import (
	"fmt"
	"strconv"
	"strings"
)

// wanNames are the names of a Wan checkpoint's blocks. Wan 2.1 numbers residual blocks
// and samplers in one list, Wan 2.2 nests them in stages.
type wanNames struct {
	nested bool
	blocks int // residual blocks in an encoder stage
}

// encoder returns the name of block r of encoder stage i; the sampler follows the last
// block.
func (n *wanNames) encoder(i, r int) string {
	if n.nested {
		return fmt.Sprintf("encoder.downsamples.%d.downsamples.%d", i, r)
	}
	return fmt.Sprintf("encoder.downsamples.%d", i*(n.blocks+1)+r)
}

// decoder returns the name of block r of decoder stage i; the sampler follows the last
// block.
func (n *wanNames) decoder(i, r int) string {
	if n.nested {
		return fmt.Sprintf("decoder.upsamples.%d.upsamples.%d", i, r)
	}
	return fmt.Sprintf("decoder.upsamples.%d", i*(n.blocks+2)+r)
}

// Prefixes of original names, with diffusers' names for them
// (convert_wan_to_diffusers.py).
var (
	wanTop = []string{
		"conv1.", "quant_conv.",
		"conv2.", "post_quant_conv.",
	}
	wanNetwork = []string{
		"conv1.", "conv_in.",
		"head.0.", "norm_out.",
		"head.2.", "conv_out.",
		"middle.0.", "mid_block.resnets.0.",
		"middle.1.", "mid_block.attentions.0.",
		"middle.2.", "mid_block.resnets.1.",
	}
	wanBlock = []string{
		".residual.0.", ".norm1.", ".residual.2.", ".conv1.", ".residual.3.", ".norm2.", ".residual.6.", ".conv2.",
		".shortcut.", ".conv_shortcut.",
	}
)

// diffusers returns diffusers' name for a tensor of the original name.
func (n *wanNames) diffusers(name string) string {
	network, rest, _ := strings.Cut(name, ".")
	if network != "encoder" && network != "decoder" {
		return prefixed(name, wanTop)
	}
	if inner := prefixed(rest, wanNetwork); inner != rest {
		return renamed(network+"."+inner, wanBlock)
	}
	return renamed(network+"."+n.block(rest), wanBlock)
}

// block renames "downsamples.3." and similar at the start of rest.
func (n *wanNames) block(rest string) string {
	list, rest, _ := strings.Cut(rest, ".")
	number, rest, _ := strings.Cut(rest, ".")
	i, _ := strconv.Atoi(number)
	if list == "downsamples" && !n.nested {
		return fmt.Sprintf("down_blocks.%d.%s", i, rest)
	}
	r := 0
	if n.nested {
		_, rest, _ = strings.Cut(rest, ".")
		number, rest, _ = strings.Cut(rest, ".")
		r, _ = strconv.Atoi(number)
	} else {
		i, r = i/(n.blocks+2), i%(n.blocks+2)
	}
	down := list == "downsamples"
	switch {
	case down && r < n.blocks:
		return fmt.Sprintf("down_blocks.%d.resnets.%d.%s", i, r, rest)
	case down:
		return fmt.Sprintf("down_blocks.%d.downsampler.%s", i, rest)
	case r <= n.blocks:
		return fmt.Sprintf("up_blocks.%d.resnets.%d.%s", i, r, rest)
	case n.nested:
		return fmt.Sprintf("up_blocks.%d.upsampler.%s", i, rest)
	}
	return fmt.Sprintf("up_blocks.%d.upsamplers.0.%s", i, rest)
}

// prefixed replaces the first prefix of pairs that name has.
func prefixed(name string, pairs []string) string {
	for i := 0; i < len(pairs); i += 2 {
		if rest, ok := strings.CutPrefix(name, pairs[i]); ok {
			return pairs[i+1] + rest
		}
	}
	return name
}

// renamed replaces the one old name in name by the new one that follows it in pairs; at
// most one applies. (A strings.Replacer takes 30 kB of the page's engine.)
func renamed(name string, pairs []string) string {
	for i := 0; i < len(pairs); i += 2 {
		if strings.Contains(name, pairs[i]) {
			return strings.Replace(name, pairs[i], pairs[i+1], 1)
		}
	}
	return name
}
