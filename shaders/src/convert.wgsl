// Conversions between register types. Integers to floats, to nearest even, on the
// bits: what a driver's own conversion does with a tie is not defined.

fn magnitude_u32_f32(x: u32) -> f32 {
    let shift = clz_u32(x);
    let top = x << min(shift, 31u);
    // The leading one falls on the exponent's last bit, and a carry out of the
    // mantissa runs into the exponent, which is then right.
    var r = (top >> 8u) + ((157u - shift) << 23u);
    let rest = top & 0xffu;
    r += select(0u, 1u, rest > 0x80u || (rest == 0x80u && (r & 1u) != 0u));
    return bitcast<f32>(select(r, 0u, x == 0u));
}

fn magnitude_u64_f32(x: u64) -> f32 {
    let shift = clz_u64(x);
    let top = x << min(shift, 63u);
    var r = u32(top >> 40u) + ((189u - shift) << 23u);
    let rest = u32((top >> 8u) & 0xfffffffflu) | select(0u, 1u, (top & 0xfflu) != 0lu);
    r += select(0u, 1u, rest > 0x80000000u || (rest == 0x80000000u && (r & 1u) != 0u));
    return bitcast<f32>(select(r, 0u, x == 0lu));
}

fn magnitude_u32_f64(x: u32) -> f64 {
    return magnitude_u64_f64(u64(x));
}

fn magnitude_u64_f64(x: u64) -> f64 {
    let shift = clz_u64(x);
    let top = x << min(shift, 63u);
    var r = (top >> 11u) + (u64(1085u - shift) << 52u);
    let rest = u32(top & 0x7fflu);
    r += select(0lu, 1lu, rest > 0x400u || (rest == 0x400u && (r & 1lu) != 0lu));
    return bitcast<f64>(select(r, 0lu, x == 0lu));
}

fn widen_f32_f64(x: f32) -> f64 {
    let b = bitcast<u32>(x);
    let sign = u64(b >> 31u) << 63u;
    let m = b & 0x7fffffu;
    let e = (b >> 23u) & 0xffu;
    var r = (u64(e + 896u) << 52u) | (u64(m) << 29u);
    if (e == 0u) {
        // A subnormal is a normal number of the wider format.
        let shift = clz_u32(m) - 8u;
        r = (u64(897u - shift) << 52u) | (u64((m << (shift & 31u)) & 0x7fffffu) << 29u);
        r = select(r, 0lu, m == 0u);
    }
    if (e == 255u) { r = 0x7ff0000000000000lu | (u64(m) << 29u); }
    return bitcast<f64>(r | sign);
}

// The float with the given sign, exponent (of the leading one) and significand
// (leading one at bit 31, the last bit sticky): $M mantissa bits, $B bias.
fn round_to_f32(sign: u32, e: i32, top: u32) -> f32 {
    return bitcast<f32>(sign | round_bits(e, top, 23u, 127));
}

// Rounds to nearest even at the mantissa's end, gradually below the normal range,
// to infinity above it.
fn round_bits(e: i32, top: u32, mant: u32, bias: i32) -> u32 {
    let biased = e + bias;
    if (biased >= 2 * bias + 1) { return u32(2 * bias + 1) << mant; }
    let extra = u32(clamp(1 - biased, 0, 31));
    let drop = 31u - mant + extra;
    if (drop > 32u) { return 0u; }
    let kept = select(top >> min(drop, 31u), 0u, drop >= 32u);
    let half = 1u << (drop - 1u);
    let rest = select(top & ((half << 1u) - 1u), top, drop >= 32u);
    let base = kept + select(u32(max(biased - 1, 0)) << mant, 0u, extra > 0u);
    return base + select(0u, 1u, rest > half || (rest == half && (kept & 1u) != 0u));
}

fn narrow_f64_f32(x: f64) -> f32 {
    let b = bitcast<u64>(x);
    let sign = u32(b >> 63u) << 31u;
    let e = i32((b >> 52u) & 0x7fflu);
    let m = b & 0xffffffffffffflu;
    if (e == 2047) { return bitcast<f32>(sign | 0x7f800000u | select(0u, 0x400000u, m != 0lu)); }
    // Subnormals lie far below the narrower range.
    if (e == 0) { return bitcast<f32>(sign); }
    let top = 0x80000000u | u32(m >> 21u) | select(0u, 1u, (m & 0x1ffffflu) != 0lu);
    return round_to_f32(sign, e - 1023, top);
}

// float16 lives in f32 registers and is rounded to its 11 bits after every step.
fn bits_f16(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    let sign = (b >> 16u) & 0x8000u;
    let e = i32((b >> 23u) & 0xffu);
    let m = b & 0x7fffffu;
    if (e == 255) { return sign | 0x7c00u | select(0u, 0x200u | (m >> 13u), m != 0u); }
    if (e == 0) { return sign; }
    return sign | round_bits(e - 127, 0x80000000u | (m << 8u), 10u, 15);
}

fn from_bits_f16(h: u32) -> f32 {
    let sign = (h & 0x8000u) << 16u;
    let e = (h >> 10u) & 0x1fu;
    let m = h & 0x3ffu;
    if (e == 31u) { return bitcast<f32>(sign | 0x7f800000u | (m << 13u)); }
    if (e != 0u) { return bitcast<f32>(sign | ((e + 112u) << 23u) | (m << 13u)); }
    let shift = clz_u32(m) - 21u;
    let r = ((113u - shift) << 23u) | (((m << (shift & 31u)) & 0x3ffu) << 13u);
    return bitcast<f32>(sign | select(r, 0u, m == 0u));
}

fn round_f16_bits(x: f32) -> f32 {
    return from_bits_f16(bits_f16(x));
}

// Rounding twice would go wrong at ties: the first step keeps a sticky bit.
fn narrow_f64_f16(x: f64) -> f32 {
    let b = bitcast<u64>(x);
    let sign = u32(b >> 63u) << 15u;
    let e = i32((b >> 52u) & 0x7fflu);
    let m = b & 0xffffffffffffflu;
    if (e == 2047) { return from_bits_f16(sign | 0x7c00u | select(0u, 0x200u, m != 0lu)); }
    if (e == 0) { return from_bits_f16(sign); }
    let top = 0x80000000u | u32(m >> 21u) | select(0u, 1u, (m & 0x1ffffflu) != 0lu);
    return from_bits_f16(sign | round_bits(e - 1023, top, 10u, 15));
}
