// What signed integers do in their own way; the names are those of int.wgsl.

fn abs_$T(a: $R) -> $R { return wrap_$T(select(a, $R(0) - a, a < $R(0))); }
fn sign_$T(a: $R) -> $R { return select(select($R(0), $R(1), a > $R(0)), $R(-1), a < $R(0)); }

// Shifted as far as the width goes, only the sign is left.
fn bitwise_right_shift_$T(a: $R, n: $R) -> $R {
    return a >> u32(min($U(n), $U($RW - 1)));
}

// Truncated division through the magnitudes: MIN / -1 wraps, x / 0 is not used.
fn quotient_$T(a: $R, b: $R) -> $R {
    let ua = $U(select(a, $R(0) - a, a < $R(0)));
    let ub = $U(select(b, $R(0) - b, b < $R(0)));
    let q = $R(ua / max(ub, $U(1)));
    return select(q, $R(0) - q, (a < $R(0)) != (b < $R(0)));
}

fn floor_divide_$T(a: $R, b: $R) -> $R {
    let q = quotient_$T(a, b);
    let down = q * b != a && (a < $R(0)) != (b < $R(0));
    return select(wrap_$T(q - select($R(0), $R(1), down)), $R(0), b == $R(0));
}

fn remainder_$T(a: $R, b: $R) -> $R {
    let m = a - quotient_$T(a, b) * b;
    let up = m != $R(0) && (m < $R(0)) != (b < $R(0));
    return select(wrap_$T(m + select($R(0), b, up)), $R(0), b == $R(0));
}

// Truncated, saturated, NaN is 0.
fn from_f32_$T(x: f32) -> $R {
    let b = bitcast<u32>(x);
    let e = i32((b & 0x7fffffffu) >> 23u) - 127;
    if (e < 0 || (b & 0x7fffffffu) > 0x7f800000u) { return $R(0); }
    let negative = (b >> 31u) != 0u;
    let largest = $R((~$U(0)) >> ($RWu - $Wu + 1u));
    if (e >= $W - 1) { return select(largest, $R(-1) - largest, negative); }
    let m = $U((b & 0x7fffffu) | 0x800000u);
    let v = $R(select(m << u32(max(e - 23, 0)), m >> u32(clamp(23 - e, 0, 24)), e < 23));
    return select(v, $R(0) - v, negative);
}

fn from_f64_$T(x: f64) -> $R {
    let b = bitcast<u64>(x);
    let e = i32((b & 0x7ffffffffffffffflu) >> 52u) - 1023;
    if (e < 0 || (b & 0x7ffffffffffffffflu) > 0x7ff0000000000000lu) { return $R(0); }
    let negative = (b >> 63u) != 0lu;
    let largest = $R((~$U(0)) >> ($RWu - $Wu + 1u));
    if (e >= $W - 1) { return select(largest, $R(-1) - largest, negative); }
    let m = (b & 0xffffffffffffflu) | 0x10000000000000lu;
    let v = $R(select(m << u32(max(e - 52, 0)), m >> u32(clamp(52 - e, 0, 53)), e < 52));
    return select(v, $R(0) - v, negative);
}

fn to_f32_$T(a: $R) -> f32 {
    let m = magnitude_$U_f32($U(select(a, $R(0) - a, a < $R(0))));
    return select(m, -m, a < $R(0));
}

fn to_f64_$T(a: $R) -> f64 {
    let m = magnitude_$U_f64($U(select(a, $R(0) - a, a < $R(0))));
    return select(m, -m, a < $R(0));
}
