// Zero that the compiler cannot see: the kernel sets it from its parameters.
// Everything that must not be folded goes through it.
var<private> hidden_zero: u32;

fn lit_f32(bits: u32) -> f32 {
    return bitcast<f32>(bits ^ hidden_zero);
}

fn inf_f32() -> f32 {
    return lit_f32(0x7f800000u);
}

fn nan_f32() -> f32 {
    return lit_f32(0x7fc00000u);
}

fn lit_f64(bits: u64) -> f64 {
    return bitcast<f64>(bits ^ u64(hidden_zero));
}

fn inf_f64() -> f64 {
    return lit_f64(0x7ff0000000000000lu);
}

fn nan_f64() -> f64 {
    return lit_f64(0x7ff8000000000000lu);
}

// High word of a 32 x 32 bit product, from 16-bit halves.
fn mulhi_u32(a: u32, b: u32) -> u32 {
    let al = a & 0xffffu;
    let ah = a >> 16u;
    let bl = b & 0xffffu;
    let bh = b >> 16u;
    let mid = ah * bl + ((al * bl) >> 16u);
    let low = al * bh + (mid & 0xffffu);
    return ah * bh + (mid >> 16u) + (low >> 16u);
}

// Leading zeros; not the builtin, which compilers get wrong for some widths.
fn clz_u32(x: u32) -> u32 {
    var n = 0u;
    var v = x;
    if (v <= 0x0000ffffu) { n += 16u; v <<= 16u; }
    if (v <= 0x00ffffffu) { n += 8u; v <<= 8u; }
    if (v <= 0x0fffffffu) { n += 4u; v <<= 4u; }
    if (v <= 0x3fffffffu) { n += 2u; v <<= 2u; }
    if (v <= 0x7fffffffu) { n += 1u; v <<= 1u; }
    return select(n, 32u, x == 0u);
}

fn clz_u64(x: u64) -> u32 {
    let high = u32(x >> 32u);
    return select(clz_u32(high), 32u + clz_u32(u32(x & 0xfffffffflu)), high == 0u);
}
