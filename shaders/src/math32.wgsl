// Elementary functions for f32. The polynomials are minimax fits of the usual
// reduced ranges (Cephes' coefficients, public domain); no step needs a fused
// multiply-add, and none breaks if the compiler makes one.

// y * 2^k for k from -252 to 254, rounded once.
fn ldexp_f32(y: f32, k: i32) -> f32 {
    let half = k >> 1u;
    return keep_f32(scale_f32(y, half)) * bitcast<f32>(u32(k - half + 127) << 23u);
}

// exp(r) - 1 for |r| at most log(2) / 2.
fn expm1_poly_f32(r: f32) -> f32 {
    var p = 1.9875691500e-4;
    p = p * r + 1.3981999507e-3;
    p = p * r + 8.3334519073e-3;
    p = p * r + 4.1665795894e-2;
    p = p * r + 1.6666665459e-1;
    p = p * r + 5.0000001201e-1;
    return keep_f32(r + r * r * p);
}

// exp(x) * 2^n.
fn exp_scaled_f32(x: f32, n: i32) -> f32 {
    let c = bitcast<f32>(select(bitcast<u32>(x), 0x43160000u | (bitcast<u32>(x) & 0x80000000u), abs_f32(x) > 150.0));
    let k = floor(c * 1.44269504 + 0.5);
    let r = keep_f32(c - k * 0.693359375) - k * -2.12194440e-4;
    return ldexp_f32(1.0 + expm1_poly_f32(r), i32(k) + n);
}

fn exp_f32(x: f32) -> f32 {
    return select_f32(isnan_f32(x), x, exp_scaled_f32(x, 0));
}

fn expm1_f32(x: f32) -> f32 {
    if (isnan_f32(x) || iszero_f32(x)) { return x; }
    if (!signbit_f32(x) && abs_f32(x) > 80.0) { return exp_scaled_f32(x, 0); }
    if (abs_f32(x) > 20.0 && signbit_f32(x)) { return lit_f32(0xbf800000u); }
    let k = floor(x * 1.44269504 + 0.5);
    let r = keep_f32(x - k * 0.693359375) - k * -2.12194440e-4;
    let e = expm1_poly_f32(r);
    let s = bitcast<f32>(u32(i32(k) + 127) << 23u);
    return select(keep_f32(s * e) + (s - 1.0), e, k == 0.0);
}

// The exponent e and f = m - 1 with x = m * 2^e and m from sqrt(1/2) to sqrt(2),
// for positive finite x; subnormals are normalised as integers.
struct LogParts { e: f32, f: f32 }

fn log_parts_f32(x: f32) -> LogParts {
    var b = bitcast<u32>(x);
    var e = -127;
    if (b < 0x00800000u) {
        let shift = clz_u32(b) - 8u;
        b = (b << shift) & 0x007fffffu;
        e = -126 - i32(shift);
    } else {
        e += i32(b >> 23u);
        b &= 0x007fffffu;
    }
    // Mantissas above sqrt(2) are halved.
    let high = b > 0x003504f3u;
    let m = bitcast<f32>(b | select(0x3f800000u, 0x3f000000u, high));
    return LogParts(f32(e + select(0, 1, high)), m - 1.0);
}

// log(1 + f) - f for the reduced f.
fn log_tail_f32(f: f32) -> f32 {
    let z = f * f;
    var p = 7.0376836292e-2;
    p = p * f - 1.1514610310e-1;
    p = p * f + 1.1676998740e-1;
    p = p * f - 1.2420140846e-1;
    p = p * f + 1.4249322787e-1;
    p = p * f - 1.6668057665e-1;
    p = p * f + 2.0000714765e-1;
    p = p * f - 2.4999993993e-1;
    p = p * f + 3.3333331174e-1;
    return keep_f32(f * z * p) - 0.5 * z;
}

// What a logarithm gives outside of the positive finite numbers.
fn log_special_f32(x: f32) -> f32 {
    if (iszero_f32(x)) { return lit_f32(0xff800000u); }
    return select_f32(isnan_f32(x) || !signbit_f32(x), x, nan_f32());
}

fn log_is_special_f32(x: f32) -> bool {
    return iszero_f32(x) || signbit_f32(x) || !isfinite_f32(x);
}

fn log_f32(x: f32) -> f32 {
    if (log_is_special_f32(x)) { return log_special_f32(x); }
    let p = log_parts_f32(x);
    let y = log_tail_f32(p.f) + p.e * -2.12194440e-4;
    return keep_f32(p.f + y) + p.e * 0.693359375;
}

fn log2_f32(x: f32) -> f32 {
    if (log_is_special_f32(x)) { return log_special_f32(x); }
    let p = log_parts_f32(x);
    let y = log_tail_f32(p.f);
    let s = keep_f32(keep_f32(y * 0.44269504088896340735992) + keep_f32(p.f * 0.44269504088896340735992));
    return keep_f32(keep_f32(s + y) + p.f) + p.e;
}

fn log10_f32(x: f32) -> f32 {
    if (log_is_special_f32(x)) { return log_special_f32(x); }
    let p = log_parts_f32(x);
    let y = log_tail_f32(p.f);
    // The leading parts of f and of the factor have few bits: their product is exact.
    let fh = bitcast<f32>(bitcast<u32>(p.f) & 0xfffff000u);
    let fl = keep_f32(p.f - fh) + y;
    var s = keep_f32(fl * 4.34294481903e-1) + keep_f32(fh * -3.168997136526741e-5);
    s += p.e * 4.605039066518657e-6;
    return keep_f32(s + keep_f32(fh * 0.434326171875)) + p.e * 0.301025390625;
}

fn log1p_f32(x: f32) -> f32 {
    if (isnan_f32(x) || iszero_f32(x)) { return x; }
    let u = keep_f32(1.0 + x);
    if (log_is_special_f32(u)) { return log_special_f32(u); }
    // What rounding 1 + x lost, as a relative correction.
    let lost = select(keep_f32(x - keep_f32(u - 1.0)), keep_f32(1.0 - keep_f32(u - x)), abs_f32(x) > 1.0);
    let p = log_parts_f32(u);
    let y = log_tail_f32(p.f) + (p.e * -2.12194440e-4 + lost / u);
    return keep_f32(p.f + y) + p.e * 0.693359375;
}

fn logaddexp_f32(a: f32, b: f32) -> f32 {
    if (isnan_f32(a)) { return a; }
    if (isnan_f32(b)) { return b; }
    let hi = maximum_f32(a, b);
    let lo = minimum_f32(a, b);
    if (bitcast<u32>(hi) == bitcast<u32>(lo)) { return keep_f32(hi + 0.69314718056); }
    if (!isfinite_f32(hi) || !isfinite_f32(lo)) {
        // The logarithm of one is +0, also where it is made of -0.
        return select(hi, 0.0, (bitcast<u32>(hi) << 1u) == 0u);
    }
    // What rounding the difference lost is a relative error of its exponential.
    let d = keep_f32(lo - hi);
    let part = keep_f32(d - lo);
    let lost = keep_f32(lo - keep_f32(d - part)) - keep_f32(hi + part);
    let e = exp_scaled_f32(d, 0);
    return keep_f32(hi + log1p_f32(e + e * select(0.0, lost, isfinite_f32(lost))));
}

// Angle reduced to at most pi/4, and the quadrant.
struct Angle { r: f32, q: u32 }

// 32 bits of 2/pi from a word boundary on, after 32 zeros.
fn two_over_pi(i: u32) -> u32 {
    switch (i) {
        case 1u: { return 0xa2f9836eu; }
        case 2u: { return 0x4e441529u; }
        case 3u: { return 0xfc2757d1u; }
        case 4u: { return 0xf534ddc0u; }
        case 5u: { return 0xdb629599u; }
        case 6u: { return 0x3c439041u; }
        default: { return 0u; }
    }
}

fn two_over_pi_bits(at: u32) -> u32 {
    let word = at >> 5u;
    let shift = at & 31u;
    let low = select(0u, two_over_pi(word + 1u) >> (32u - max(shift, 1u)), shift != 0u);
    return (two_over_pi(word) << shift) | low;
}

// For x = |x| finite.
fn reduce_angle_f32(x: f32) -> Angle {
    if (x < 0.78539816) { return Angle(x, 0u); }
    if (x < 512.0) {
        let k = floor(x * 0.636619772 + 0.5);
        // Parts of pi/2 short enough that k times each is exact.
        var r = keep_f32(x - k * 1.57080078125);
        r = keep_f32(r - k * -4.454515874385834e-06);
        r = keep_f32(r - k * 6.076561476220377e-11);
        r = keep_f32(r - k * 5.390302953474238e-15);
        return Angle(r, u32(k));
    }
    // Payne and Hanek: the product with the bits of 2/pi that matter modulo 4,
    // 2 bits before the point and 62 after it.
    let b = bitcast<u32>(x);
    let m = ((b & 0x007fffffu) | 0x00800000u) << 8u;
    let at = (b >> 23u) - 128u;
    let w0 = two_over_pi_bits(at);
    let w1 = two_over_pi_bits(at + 32u);
    let w2 = two_over_pi_bits(at + 64u);
    let mid = m * w1 + mulhi_u32(m, w2);
    let carry = select(0u, 1u, mid < m * w1);
    let hi = m * w0 + mulhi_u32(m, w1) + carry;
    var q = hi >> 30u;
    var fh = (hi << 2u) | (mid >> 30u);
    var fl = mid << 2u;
    let negative = (fh >> 31u) != 0u;
    if (negative) {
        q += 1u;
        fh = ~fh + select(0u, 1u, fl == 0u);
        fl = ~fl + 1u;
    }
    let n = clz_u32(fh);
    let top = select(fl, (fh << min(n, 31u)) | select(0u, fl >> (32u - max(min(n, 31u), 1u)), n != 0u), n < 32u);
    let hi24 = f32(top >> 8u) * 5.9604644775390625e-08;
    let lo8 = f32(top & 255u) * 2.3283064365386963e-10;
    let tail = hi24 * -4.371138828673793e-08 + lo8 * 1.57079632679;
    let r = (hi24 * 1.57079637050628662109375 + tail) * bitcast<f32>((127u - n) << 23u);
    return Angle(select(r, -r, negative), q);
}

fn sin_poly_f32(r: f32) -> f32 {
    let z = r * r;
    return ((-1.9515295891e-4 * z + 8.3321608736e-3) * z - 1.6666654611e-1) * z * r + r;
}

fn cos_poly_f32(r: f32) -> f32 {
    let z = r * r;
    let t = ((2.443315711809948e-5 * z - 1.388731625493765e-3) * z + 4.166664568298827e-2) * z * z;
    return 1.0 - (0.5 * z - t);
}

fn sin_f32(x: f32) -> f32 {
    if (!isfinite_f32(x)) { return select_f32(isnan_f32(x), x, nan_f32()); }
    let a = reduce_angle_f32(abs_f32(x));
    let y = select(sin_poly_f32(a.r), cos_poly_f32(a.r), (a.q & 1u) != 0u);
    let flip = ((a.q & 2u) << 30u) ^ (bitcast<u32>(x) & 0x80000000u);
    return bitcast<f32>(bitcast<u32>(y) ^ flip);
}

fn cos_f32(x: f32) -> f32 {
    if (!isfinite_f32(x)) { return select_f32(isnan_f32(x), x, nan_f32()); }
    let a = reduce_angle_f32(abs_f32(x));
    let y = select(cos_poly_f32(a.r), sin_poly_f32(a.r), (a.q & 1u) != 0u);
    return bitcast<f32>(bitcast<u32>(y) ^ (((a.q + 1u) & 2u) << 30u));
}

fn tan_f32(x: f32) -> f32 {
    if (!isfinite_f32(x)) { return select_f32(isnan_f32(x), x, nan_f32()); }
    let a = reduce_angle_f32(abs_f32(x));
    let z = a.r * a.r;
    var p = 9.38540185543e-3;
    p = p * z + 3.11992232697e-3;
    p = p * z + 2.44301354525e-2;
    p = p * z + 5.34112807005e-2;
    p = p * z + 1.33387994085e-1;
    p = p * z + 3.33331568548e-1;
    let t = keep_f32(p * z * a.r) + a.r;
    let y = select_f32((a.q & 1u) != 0u, -1.0 / t, t);
    return bitcast<f32>(bitcast<u32>(y) ^ (bitcast<u32>(x) & 0x80000000u));
}

// asin(r) - r for r at most 1/2, given r and r^2.
fn asin_tail_f32(r: f32, z: f32) -> f32 {
    var p = 4.2163199048e-2;
    p = p * z + 2.4181311049e-2;
    p = p * z + 4.5470025998e-2;
    p = p * z + 7.4953002686e-2;
    p = p * z + 1.6666752422e-1;
    return p * z * r;
}

fn asin_f32(x: f32) -> f32 {
    let a = abs_f32(x);
    if (isnan_f32(x)) { return x; }
    if (a > 1.0) { return nan_f32(); }
    var y = a + asin_tail_f32(a, a * a);
    if (a > 0.5) {
        let z = 0.5 * (1.0 - a);
        let r = sqrt(z);
        let t = r + asin_tail_f32(r, z);
        y = keep_f32(1.57079637050628662 - 2.0 * t) - 4.371138828673793e-08;
    }
    return copysign_f32(y, x);
}

fn acos_f32(x: f32) -> f32 {
    let a = abs_f32(x);
    if (isnan_f32(x)) { return x; }
    if (a > 1.0) { return nan_f32(); }
    if (a > 0.5) {
        let z = 0.5 * (1.0 - a);
        let r = sqrt(z);
        let t = 2.0 * keep_f32(r + asin_tail_f32(r, z));
        return select(t, keep_f32(3.1415927410125732 - t) - 8.742277657347586e-08, signbit_f32(x));
    }
    let tail = asin_tail_f32(x, x * x);
    return 1.57079637050628662 - keep_f32(x + keep_f32(tail + 4.371138828673793e-08));
}

fn atan_f32(x: f32) -> f32 {
    if (isnan_f32(x)) { return x; }
    let a = abs_f32(x);
    var r = a;
    var base = 0.0;
    var low = 0.0;
    if (a > 2.414213562373095) {
        r = -1.0 / a;
        base = 1.57079637050628662;
        low = -4.371138828673793e-08;
        if (isinf_f32(x)) { r = 0.0; }
    } else if (a > 0.4142135623730950) {
        r = (a - 1.0) / (a + 1.0);
        base = 0.78539818525314331;
        low = -2.1855694143368964e-08;
    }
    let z = r * r;
    var p = 8.05374449538e-2;
    p = p * z - 1.38776856032e-1;
    p = p * z + 1.99777106478e-1;
    p = p * z - 3.33329491539e-1;
    return copysign_f32(base + (keep_f32(p * z * r + low) + r), x);
}

fn atan2_f32(y: f32, x: f32) -> f32 {
    if (isnan_f32(x)) { return x; }
    if (isnan_f32(y)) { return y; }
    let ax = abs_f32(x);
    let ay = abs_f32(y);
    var t = 0.0;
    if (isinf_f32(x) && isinf_f32(y)) {
        t = 0.78539818525314331;
    } else if (iszero_f32(y) || isinf_f32(x)) {
        t = 0.0;
    } else if (iszero_f32(x) || isinf_f32(y)) {
        t = 1.57079637050628662;
    } else {
        t = atan_f32(divide_f32(ay, ax));
    }
    if (signbit_f32(x)) {
        t = keep_f32(3.1415927410125732 - keep_f32(t + 8.742277657347586e-08));
    }
    return copysign_f32(t, y);
}

fn sinh_f32(x: f32) -> f32 {
    if (!isfinite_f32(x)) { return x; }
    let a = abs_f32(x);
    let z = a * a;
    var y = ((2.03721912945e-4 * z + 8.33028376239e-3) * z + 1.66667160211e-1) * z * a + a;
    if (a > 1.0) {
        let e = exp_scaled_f32(a, -1);
        y = e - select(0.25 / e, 0.0, a > 30.0);
    }
    return copysign_f32(y, x);
}

fn cosh_f32(x: f32) -> f32 {
    if (isnan_f32(x)) { return x; }
    let e = exp_scaled_f32(abs_f32(x), -1);
    return e + select(0.25 / e, 0.0, abs_f32(x) > 30.0);
}

fn tanh_f32(x: f32) -> f32 {
    if (isnan_f32(x)) { return x; }
    let a = abs_f32(x);
    var y = 1.0;
    if (a < 0.625) {
        let z = a * a;
        var p = -5.70498872745e-3;
        p = p * z + 2.06390887954e-2;
        p = p * z - 5.37397155531e-2;
        p = p * z + 1.33314422036e-1;
        p = p * z - 3.33332819422e-1;
        y = p * z * a + a;
    } else if (a < 10.0) {
        y = 1.0 - 2.0 / (exp_scaled_f32(a + a, 0) + 1.0);
    }
    return copysign_f32(y, x);
}

fn asinh_f32(x: f32) -> f32 {
    if (!isfinite_f32(x)) { return x; }
    let a = abs_f32(x);
    if (a > 16777216.0) { return copysign_f32(log_f32(a) + 0.69314718056, x); }
    let z = a * a;
    return copysign_f32(log1p_f32(a + z / (1.0 + sqrt(z + 1.0))), x);
}

fn acosh_f32(x: f32) -> f32 {
    if (isnan_f32(x)) { return x; }
    if (signbit_f32(x) || x < 1.0) { return nan_f32(); }
    if (x > 16777216.0) { return log_f32(x) + 0.69314718056; }
    let t = x - 1.0;
    return log1p_f32(t + sqrt(keep_f32(t * t) + 2.0 * t));
}

fn atanh_f32(x: f32) -> f32 {
    let a = abs_f32(x);
    if (isnan_f32(x)) { return x; }
    if (a > 1.0) { return nan_f32(); }
    if (bitcast<u32>(a) == 0x3f800000u) { return copysign_f32(inf_f32(), x); }
    let d = a + a;
    let t = select(d / (1.0 - a), d + d * a / (1.0 - a), a < 0.5);
    return copysign_f32(0.5 * log1p_f32(t), x);
}

fn hypot_f32(x: f32, y: f32) -> f32 {
    if (isinf_f32(x) || isinf_f32(y)) { return inf_f32(); }
    if (isnan_f32(x)) { return x; }
    if (isnan_f32(y)) { return y; }
    let hi = maximum_f32(abs_f32(x), abs_f32(y));
    let lo = minimum_f32(abs_f32(x), abs_f32(y));
    if (iszero_f32(lo)) { return hi; }
    let t = divide_f32(lo, hi);
    return hi * sqrt(1.0 + t * t);
}

// a * b exactly as a sum of two floats, by splitting (Dekker): no fused step needed.
fn two_product_f32(a: f32, b: f32) -> vec2<f32> {
    let p = keep_f32(a * b);
    let ah = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
    let bh = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
    let al = keep_f32(a - ah);
    let bl = keep_f32(b - bh);
    let e0 = keep_f32(keep_f32(ah * bh) - p);
    let e1 = keep_f32(e0 + keep_f32(ah * bl));
    let e2 = keep_f32(e1 + keep_f32(al * bh));
    return vec2<f32>(p, keep_f32(e2 + keep_f32(al * bl)));
}

// hi + lo for |hi| >= |lo|, as a rounded sum and its error.
fn fast_two_sum_f32(hi: f32, lo: f32) -> vec2<f32> {
    let s = keep_f32(hi + lo);
    return vec2<f32>(s, keep_f32(lo - keep_f32(s - hi)));
}

// |x|^y for finite nonzero x and finite y, through log2 in double-float.
fn pow_positive_f32(x: f32, y: f32) -> f32 {
    let p = log_parts_f32(x);
    // log(1 + f) = 2 s + 2 s^3 / 3 + ... with s = f / (2 + f) in two floats.
    let g = fast_two_sum_f32(2.0, p.f);
    let s = keep_f32(p.f / g.x);
    let back = two_product_f32(s, g.x);
    let s_low = keep_f32(keep_f32(keep_f32(p.f - back.x) - back.y) - keep_f32(s * g.y)) / g.x;
    let z = s * s;
    var t = 0.18181818;
    t = t * z + 0.22222222;
    t = t * z + 0.28571429;
    t = t * z + 0.4;
    // The cubic term's leading part is kept exact as well.
    let zz = two_product_f32(s, s);
    let c = two_product_f32(zz.x, 0.66666668653488159);
    let c_low = zz.y * 0.66666668653488159 + zz.x * -1.9868215e-08 + (c.y + z * z * t);
    let cubic = two_product_f32(c.x, s);
    let low = cubic.y + c_low * s + 2.0 * s_low + c.x * s_low * 3.0;
    let l0 = fast_two_sum_f32(2.0 * s, cubic.x);
    let l = fast_two_sum_f32(l0.x, keep_f32(l0.y + low));
    // To base 2.
    let m = two_product_f32(l.x, 1.4426950216293335);
    let m_low = m.y + (l.x * 1.925963033500011e-08 + l.y * 1.4426950216293335);
    let e0 = keep_f32(p.e + m.x);
    let e_low = select(keep_f32(m.x - keep_f32(e0 - p.e)), 0.0, p.e == 0.0);
    let h = fast_two_sum_f32(e0, keep_f32(e_low + m_low));
    // y log2(x); any y beyond 2^33 over- or underflows all the same.
    let yc = copysign_f32(min(abs_f32(y), 8589934592.0), y);
    let v = two_product_f32(yc, h.x);
    let v_low = v.y + yc * h.y;
    if (v.x > 130.0) { return inf_f32(); }
    if (v.x < -155.0) { return lit_f32(0u); }
    let k = floor(v.x + 0.5);
    let r = (keep_f32(v.x - k) + v_low) * 0.69314718056;
    return ldexp_f32(1.0 + expm1_poly_f32(r), i32(k));
}

fn pow_f32(x: f32, y: f32) -> f32 {
    let bx = bitcast<u32>(x);
    let ax = bx & 0x7fffffffu;
    if (iszero_f32(y) || bx == 0x3f800000u) { return lit_f32(0x3f800000u); }
    if (isnan_f32(x)) { return x; }
    if (isnan_f32(y)) { return y; }
    let whole = bitcast<u32>(trunc_f32(y)) == bitcast<u32>(y);
    // Above 2^24 every float is even.
    let ay = abs_f32(y);
    let odd = whole && ay < 16777216.0 && (u32(min(ay, 16777216.0)) & 1u) != 0u;
    let sign = select(0u, bx & 0x80000000u, odd);
    if (isinf_f32(y)) {
        if (ax == 0x3f800000u) { return lit_f32(0x3f800000u); }
        return lit_f32(select(0u, 0x7f800000u, (ax > 0x3f800000u) != signbit_f32(y)));
    }
    if (ax == 0u || ax == 0x7f800000u) {
        return lit_f32(select(0u, 0x7f800000u, (ax == 0u) == signbit_f32(y)) | sign);
    }
    if ((bx >> 31u) != 0u && !whole) { return nan_f32(); }
    return bitcast<f32>(bitcast<u32>(pow_positive_f32(bitcast<f32>(ax), y)) | sign);
}
