// Integers that wrap and never trap, of every width. $T is the dtype, $R the
// register that holds it ($U its unsigned twin), $W the dtype's width in bits and
// $RW the register's.

fn add_$T(a: $R, b: $R) -> $R { return wrap_$T(a + b); }
fn subtract_$T(a: $R, b: $R) -> $R { return wrap_$T(a - b); }
fn multiply_$T(a: $R, b: $R) -> $R { return wrap_$T(a * b); }
fn negative_$T(a: $R) -> $R { return wrap_$T($R(0) - a); }
fn positive_$T(a: $R) -> $R { return a; }
fn ceil_$T(a: $R) -> $R { return a; }
fn floor_$T(a: $R) -> $R { return a; }
fn trunc_$T(a: $R) -> $R { return a; }
fn round_$T(a: $R) -> $R { return a; }
fn conj_$T(a: $R) -> $R { return a; }
fn real_$T(a: $R) -> $R { return a; }
fn imag_$T(a: $R) -> $R { return $R(0); }

fn equal_$T(a: $R, b: $R) -> bool { return a == b; }
fn not_equal_$T(a: $R, b: $R) -> bool { return a != b; }
fn less_$T(a: $R, b: $R) -> bool { return a < b; }
fn less_equal_$T(a: $R, b: $R) -> bool { return a <= b; }
fn maximum_$T(a: $R, b: $R) -> $R { return select(a, b, a < b); }
fn minimum_$T(a: $R, b: $R) -> $R { return select(a, b, b < a); }
fn select_$T(c: bool, a: $R, b: $R) -> $R { return select(b, a, c); }
fn isnan_$T(a: $R) -> bool { return false; }
fn isinf_$T(a: $R) -> bool { return false; }
fn isfinite_$T(a: $R) -> bool { return true; }
fn nonzero_$T(a: $R) -> bool { return a != $R(0); }

fn bitwise_and_$T(a: $R, b: $R) -> $R { return a & b; }
fn bitwise_or_$T(a: $R, b: $R) -> $R { return a | b; }
fn bitwise_xor_$T(a: $R, b: $R) -> $R { return a ^ b; }
fn bitwise_invert_$T(a: $R) -> $R { return wrap_$T(~a); }

// A count that is negative or not below the width shifts everything out.
fn bitwise_left_shift_$T(a: $R, n: $R) -> $R {
    let inside = $U(n) < $U($W);
    return select($R(0), wrap_$T(a << u32($U(n) & $U($RW - 1))), inside);
}

// By squaring; a negative exponent is refused before any work is done.
fn pow_$T(a: $R, b: $R) -> $R {
    var base = a;
    var left = $U(b);
    var r = $R(1);
    for (var bit = 0; bit < $RW; bit++) {
        if (left == $U(0)) { break; }
        if ((left & $U(1)) != $U(0)) { r *= base; }
        base *= base;
        left >>= 1u;
    }
    return wrap_$T(r);
}
