package wgsl

import "math"

// Noise fills dst with samples first, first+1, ... of the N(0,1) sequence of a seed. A
// sample depends only on the seed and its index, and has the same bits on every
// machine: the random bits come from Philox4x32-10 (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", 2011) with the index as counter and the seed as key,
// and float64 arithmetic that rounds exactly everywhere turns them into a normal. It
// runs here instead of on a device, because devices differ in transcendental functions.
func Noise(dst []float32, seed, first uint64) {
	for i := range dst {
		w := philox([4]uint32{uint32(first + uint64(i)), uint32((first + uint64(i)) >> 32)}, [2]uint32{uint32(seed), uint32(seed >> 32)})
		// 52 bits and a half: symmetric about 1/2, never 0 or 1.
		u := float64(uint64(w[0])<<20|uint64(w[1])>>12) + 0.5
		dst[i] = float32(normalQuantile(u * 0x1p-52))
	}
}

// philox returns Philox4x32-10 of a counter and a key.
func philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	for range 10 {
		a := uint64(counter[0]) * 0xD2511F53
		b := uint64(counter[2]) * 0xCD9E8D57
		counter = [4]uint32{uint32(b>>32) ^ counter[1] ^ key[0], uint32(b), uint32(a>>32) ^ counter[3] ^ key[1], uint32(a)}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return counter
}

// Coefficients of Wichura, "Algorithm AS 241: the percentage points of the
// normal distribution", 1988 (PPND16), lowest order first.
var (
	centreP = [8]float64{3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
		4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3}
	centreQ = [8]float64{1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
		2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}
	middleP = [8]float64{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
		1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4}
	middleQ = [8]float64{1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
		1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}
	tailP = [8]float64{6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
		2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7}
	tailQ = [8]float64{1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
		7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}
)

// normalQuantile is the inverse of the normal distribution at p in (0, 1). It converts
// products explicitly, which prevents fused multiply-adds: only some processors have
// them.
func normalQuantile(p float64) float64 {
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return q * (polynomial(&centreP, r) / polynomial(&centreQ, r))
	}
	r := math.Sqrt(-logarithm(min(p, 1-p)))
	var v float64
	if r <= 5 {
		v = polynomial(&middleP, r-1.6) / polynomial(&middleQ, r-1.6)
	} else {
		v = polynomial(&tailP, r-5) / polynomial(&tailQ, r-5)
	}
	return math.Copysign(v, q)
}

func polynomial(c *[8]float64, x float64) float64 {
	sum := c[7]
	for i := 6; i >= 0; i-- {
		sum = float64(sum*x) + c[i]
	}
	return sum
}

// logarithm is the natural logarithm of a positive, normal x; math.Log differs
// between processors in the last place. ln f = 2 atanh((f-1)/(f+1)).
func logarithm(x float64) float64 {
	f, e := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f, e = 2*f, e-1
	}
	s := (f - 1) / (f + 1)
	z := float64(s * s)
	sum := 0.0
	for k := 25; k >= 1; k -= 2 {
		sum = float64(sum*z) + 1/float64(k)
	}
	return float64(2*s*sum) + float64(float64(e)*math.Ln2)
}
