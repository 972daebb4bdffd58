//go:build !first

package vae

// families are the families that Open knows. HunyuanImage 2.1 also has the tensors that
// identify AutoencoderKL, so it comes first.
var families = append(usual, &hunyuanFamily, &hunyuan15Family, &hunyuanImageFamily, &ltxFamily, &mochiFamily, &cogVideoXFamily, &cosmosFamily, &klFamily, flux2Family(), &taehvFamily, &taesdFamily)

// errNoFamily is the error for a checkpoint of no family.
var errNoFamily = ErrUnknownModel
