// Functions with one text for every float type. $F float, $U its bits, $s the
// suffix of a $U literal, then masks: $SIGN, $ABS, $INF, $ONE, and $MANT mantissa bits,
// $BIAS exponent bias.

// A value the compiler must take as it is: stops x - x, x * 0 and (a + b) - a
// from being folded and a * b + c from being contracted.
fn keep_$F(x: $F) -> $F {
    return bitcast<$F>(bitcast<$U>(x) ^ $U(hidden_zero));
}

// Arithmetic that rounds where it stands. Of x - x and x / x one side is hidden too.
fn add_$F(a: $F, b: $F) -> $F {
    return keep_$F(a + b);
}

fn subtract_$F(a: $F, b: $F) -> $F {
    return keep_$F(a - keep_$F(b));
}

fn multiply_$F(a: $F, b: $F) -> $F {
    return keep_$F(a * b);
}

fn reciprocal_$F(a: $F) -> $F {
    return divide_$F($F(1.0), a);
}

fn sqrt_$F(x: $F) -> $F {
    let b = bitcast<$U>(x);
    if ((b & $ABS) == 0$s || b == $INF || isnan_$F(x)) { return x; }
    if ((b & $SIGN) != 0$s) { return bitcast<$F>($QNAN ^ $U(hidden_zero)); }
    return keep_$F(sqrt(x));
}

fn select_$F(c: bool, x: $F, y: $F) -> $F {
    return bitcast<$F>(select(bitcast<$U>(y), bitcast<$U>(x), c));
}

fn positive_$F(x: $F) -> $F {
    return x;
}

fn conj_$F(x: $F) -> $F {
    return x;
}

fn real_$F(x: $F) -> $F {
    return x;
}

fn imag_$F(x: $F) -> $F {
    return bitcast<$F>($U(0));
}

fn nonzero_$F(x: $F) -> bool {
    return (bitcast<$U>(x) & $ABS) != 0$s;
}

fn from_bool_$F(x: bool) -> $F {
    return select($F(0.0), $F(1.0), x);
}

fn isnan_$F(x: $F) -> bool {
    return (bitcast<$U>(x) & $ABS) > $INF;
}

fn isinf_$F(x: $F) -> bool {
    return (bitcast<$U>(x) & $ABS) == $INF;
}

fn isfinite_$F(x: $F) -> bool {
    return (bitcast<$U>(x) & $ABS) < $INF;
}

fn signbit_$F(x: $F) -> bool {
    return (bitcast<$U>(x) & $SIGN) != 0$s;
}

fn iszero_$F(x: $F) -> bool {
    return (bitcast<$U>(x) & $ABS) == 0$s;
}

fn abs_$F(x: $F) -> $F {
    return bitcast<$F>(bitcast<$U>(x) & $ABS);
}

fn negative_$F(x: $F) -> $F {
    return bitcast<$F>(bitcast<$U>(x) ^ $SIGN);
}

fn copysign_$F(x: $F, y: $F) -> $F {
    return bitcast<$F>((bitcast<$U>(x) & $ABS) | (bitcast<$U>(y) & $SIGN));
}

// A key whose unsigned order is the numbers' order, with -0 and +0 equal.
fn key_$F(x: $F) -> $U {
    let b = bitcast<$U>(x);
    let k = select(b | $SIGN, ~b, (b & $SIGN) != 0$s);
    return select(k, $SIGN, (b & $ABS) == 0$s);
}

// Comparisons on keys: right for NaN, infinities and subnormals on compilers
// that assume there are none.
fn less_$F(a: $F, b: $F) -> bool {
    return key_$F(a) < key_$F(b) && !isnan_$F(a) && !isnan_$F(b);
}

fn less_equal_$F(a: $F, b: $F) -> bool {
    return key_$F(a) <= key_$F(b) && !isnan_$F(a) && !isnan_$F(b);
}

fn equal_$F(a: $F, b: $F) -> bool {
    return key_$F(a) == key_$F(b) && !isnan_$F(a) && !isnan_$F(b);
}

fn not_equal_$F(a: $F, b: $F) -> bool {
    return !equal_$F(a, b);
}

// NaN wins; of equal zeros the first is kept.
fn minimum_$F(a: $F, b: $F) -> $F {
    let keep = isnan_$F(a) || key_$F(a) <= key_$F(b);
    return select(b, a, keep && (isnan_$F(a) || !isnan_$F(b)));
}

fn maximum_$F(a: $F, b: $F) -> $F {
    let keep = isnan_$F(a) || key_$F(a) >= key_$F(b);
    return select(b, a, keep && (isnan_$F(a) || !isnan_$F(b)));
}

// NaN stays NaN, both zeros give +0.
fn sign_$F(x: $F) -> $F {
    let b = bitcast<$U>(x);
    if ((b & $ABS) > $INF) { return x; }
    return bitcast<$F>(select((b & $SIGN) | $ONE, 0$s, (b & $ABS) == 0$s));
}

fn nextafter_$F(x: $F, y: $F) -> $F {
    let bx = bitcast<$U>(x);
    let down = key_$F(y) < key_$F(x);
    let negative = (bx & $SIGN) != 0$s;
    // Away from zero is one more in the bits of the magnitude.
    var r = select(bx + 1$s, bx - 1$s, down != negative);
    if ((bx & $ABS) == 0$s) {
        r = select(1$s, $SIGN | 1$s, down);
    }
    if (key_$F(x) == key_$F(y)) {
        r = bitcast<$U>(y);
    }
    if (isnan_$F(x)) { r = bx; }
    if (isnan_$F(y)) { r = bitcast<$U>(y); }
    return bitcast<$F>(r);
}

// Rounding to integers on the bits; the sign of zero is kept.
fn trunc_$F(x: $F) -> $F {
    let b = bitcast<$U>(x);
    let e = i32((b & $ABS) >> $MANTu) - $BIAS;
    if (e < 0) { return bitcast<$F>(b & $SIGN); }
    if (e >= $MANT) { return x; }
    return bitcast<$F>(b & ~((1$s << u32($MANT - e)) - 1$s));
}

fn floor_$F(x: $F) -> $F {
    let t = trunc_$F(x);
    let down = signbit_$F(x) && bitcast<$U>(t) != bitcast<$U>(x) && isfinite_$F(x);
    return select(t, t - $F(1.0), down);
}

fn ceil_$F(x: $F) -> $F {
    let t = trunc_$F(x);
    let up = !signbit_$F(x) && bitcast<$U>(t) != bitcast<$U>(x) && isfinite_$F(x);
    return select(t, t + $F(1.0), up);
}

// To nearest, halves to even.
fn round_$F(x: $F) -> $F {
    let t = trunc_$F(x);
    let d = abs_$F(x - t);
    let half = $F(0.5);
    let odd = abs_$F(t) - $F(2.0) * trunc_$F(abs_$F(t) * half) != $F(0.0);
    let away = d > half || (d == half && odd);
    let r = select(t, t + copysign_$F($F(1.0), x), away && isfinite_$F(x));
    return copysign_$F(select(r, x, !isfinite_$F(x)), x);
}

// x times a power of two in range of a normal number.
fn scale_$F(x: $F, n: i32) -> $F {
    return x * bitcast<$F>($U(n + $BIAS) << $MANTu);
}

// Truncated division: the exact remainder, and the quotient's magnitude as an integer
// that wraps.
struct Division_$F { quotient: $U, remainder: $F }

// Long division of the mantissas, as many bits at a time as a word has to spare.
fn truncated_$F(a: $F, b: $F) -> Division_$F {
    let ba = bitcast<$U>(a) & $ABS;
    let bb = bitcast<$U>(b) & $ABS;
    if (ba >= $INF || bb > $INF || bb == 0$s) {
        let bits = select(select($QNAN, bb, bb > $INF), ba, ba > $INF);
        return Division_$F(0$s, bitcast<$F>(bits ^ $U(hidden_zero)));
    }
    if (ba < bb) { return Division_$F(0$s, a); }
    let implicit = 1$s << $MANTu;
    let fa = ba >> $MANTu;
    let fb = bb >> $MANTu;
    let ea = i32(max(fa, 1$s));
    let eb = i32(max(fb, 1$s));
    let ma = (ba & (implicit - 1$s)) | select(0$s, implicit, fa > 0$s);
    let mb = (bb & (implicit - 1$s)) | select(0$s, implicit, fb > 0$s);
    var q = ma / mb;
    var r = ma % mb;
    var left = ea - eb;
    while (left > 0) {
        let step = min(left, $SPARE);
        let part = r << u32(step);
        q = (q << u32(step)) + part / mb;
        r = part % mb;
        left -= step;
    }
    // Back to a float with exponent eb, normalised as far as that allows.
    let shift = min(i32(clz_$U(r)) - $EXPBITS, eb - 1);
    let m = r << u32(max(shift, 0));
    let normal = (m & (implicit - 1$s)) | ($U(eb - shift) << $MANTu);
    let bits = select(m, normal, m >= implicit);
    let sign = bitcast<$U>(a) & $SIGN;
    return Division_$F(q, bitcast<$F>(select(bits, 0$s, r == 0$s) | sign));
}

// Floored division: its remainder is exact, and so is the quotient where integers
// have successors; beyond, it is rounded from the remainder.
fn remainder_$F(a: $F, b: $F) -> $F {
    let m = truncated_$F(a, b).remainder;
    if (isnan_$F(m)) { return m; }
    if (iszero_$F(m)) { return copysign_$F(m, b); }
    return select(m, keep_$F(m + b), signbit_$F(m) != signbit_$F(b));
}

fn floor_divide_$F(a: $F, b: $F) -> $F {
    let ratio = divide_$F(a, b);
    if (iszero_$F(b)) { return ratio; }
    let d = truncated_$F(a, b);
    let m = d.remainder;
    if (isnan_$F(m)) { return m; }
    var q = copysign_$F($F(d.quotient), ratio);
    if (abs_$F(ratio) >= $INTEGRAL) { q = round_$F(divide_$F(keep_$F(a - m), b)); }
    if (!iszero_$F(m) && signbit_$F(m) != signbit_$F(b)) { q = keep_$F(q - $F(1.0)); }
    return select(q, copysign_$F(q, ratio), iszero_$F(q));
}

// Division with its special values spelt out.
fn divide_$F(a: $F, b: $F) -> $F {
    let sign = (bitcast<$U>(a) ^ bitcast<$U>(b)) & $SIGN;
    let ba = bitcast<$U>(a) & $ABS;
    let bb = bitcast<$U>(b) & $ABS;
    if (ba > $INF) { return a; }
    if (bb > $INF) { return b; }
    if (bb == 0$s) {
        return bitcast<$F>((select($INF, $QNAN, ba == 0$s) | sign) ^ $U(hidden_zero));
    }
    if (bb == $INF && ba == $INF) { return bitcast<$F>($QNAN ^ $U(hidden_zero)); }
    return keep_$F(a / keep_$F(b));
}
