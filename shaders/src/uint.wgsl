// What unsigned integers do in their own way; the names are those of int.wgsl.

fn abs_$T(a: $R) -> $R { return a; }
fn sign_$T(a: $R) -> $R { return select($R(0), $R(1), a != $R(0)); }

fn bitwise_right_shift_$T(a: $R, n: $R) -> $R {
    return select($R(0), a >> u32(n & $R($RW - 1)), n < $R($W));
}

fn floor_divide_$T(a: $R, b: $R) -> $R {
    return select(a / max(b, $R(1)), $R(0), b == $R(0));
}

fn remainder_$T(a: $R, b: $R) -> $R {
    return select(a % max(b, $R(1)), $R(0), b == $R(0));
}

// Truncated, saturated, NaN is 0.
fn from_f32_$T(x: f32) -> $R {
    let b = bitcast<u32>(x);
    let e = i32((b & 0x7fffffffu) >> 23u) - 127;
    if (e < 0 || (b & 0x7fffffffu) > 0x7f800000u || (b >> 31u) != 0u) { return $R(0); }
    if (e >= $W) { return ~$R(0) >> ($RWu - $Wu); }
    let m = $R((b & 0x7fffffu) | 0x800000u);
    return select(m << u32(max(e - 23, 0)), m >> u32(clamp(23 - e, 0, 24)), e < 23);
}

fn from_f64_$T(x: f64) -> $R {
    let b = bitcast<u64>(x);
    let e = i32((b & 0x7ffffffffffffffflu) >> 52u) - 1023;
    if (e < 0 || (b & 0x7ffffffffffffffflu) > 0x7ff0000000000000lu || (b >> 63u) != 0lu) { return $R(0); }
    if (e >= $W) { return ~$R(0) >> ($RWu - $Wu); }
    let m = (b & 0xffffffffffffflu) | 0x10000000000000lu;
    return $R(select(m << u32(max(e - 52, 0)), m >> u32(clamp(52 - e, 0, 53)), e < 52));
}

fn to_f32_$T(a: $R) -> f32 { return magnitude_$R_f32(a); }
fn to_f64_$T(a: $R) -> f64 { return magnitude_$R_f64(a); }
