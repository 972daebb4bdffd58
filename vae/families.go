//go:build !first

package vae

// families are those that Open knows. HunyuanImage 2.1 has tensors that AutoencoderKL is
// told by, and comes first.
var families = append(usual, &hunyuanFamily, &hunyuan15Family, &hunyuanImageFamily, &ltxFamily, &mochiFamily, &cogVideoXFamily, &cosmosFamily, &klFamily, flux2Family(), &taehvFamily, &taesdFamily)

// errNoFamily is the error for a checkpoint of none of them.
var errNoFamily = ErrUnknownModel
