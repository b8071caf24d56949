//! `log(e^x + e^y)` where the sum is close to 1, in fixed point of as many bits as cancel.

use super::dd::Dd;
use super::exp::scale;
use super::log::log_dd;
use std::f64::consts::LOG2_E;

/// The words of the widest [`Fraction`]. No two `f64` cancel to less than about 2^-120 of themselves.
const WIDEST: usize = 4;

/// `1/n!` for `n` from 2, up to where the power series of `e^-1` ends in the widest fraction.
const FACTORIALS: [[u64; WIDEST]; 56] = {
    let mut table = [[0; WIDEST]; 56];
    table[0][0] = 1 << 63;
    let mut i = 1;
    while i < table.len() {
        table[i] = divided(table[i - 1], i as u64 + 2);
        i += 1;
    }
    table
};

/// `log 2 = 2 atanh(1/3)`.
const LN2: [u64; WIDEST] = {
    let mut sum = [0; WIDEST];
    // 2 / 3^(2 n + 1), of which 2 / 3 is the first.
    let mut power = divided([u64::MAX; WIDEST], 3);
    power = added(power, power);
    let mut n = 0;
    while n < 82 {
        sum = added(sum, divided(power, 2 * n + 1));
        power = divided(power, 9);
        n += 1;
    }
    sum
};

/// A quotient of a table, rounded down.
const fn divided(mut x: [u64; WIDEST], by: u64) -> [u64; WIDEST] {
    let (mut i, mut rest) = (0, 0);
    while i < WIDEST {
        let part = ((rest as u128) << 64) | x[i] as u128;
        x[i] = (part / by as u128) as u64;
        rest = (part % by as u128) as u64;
        i += 1;
    }
    x
}

/// A sum of tables, below 1.
const fn added(mut x: [u64; WIDEST], y: [u64; WIDEST]) -> [u64; WIDEST] {
    let (mut i, mut carry) = (WIDEST, 0);
    while i > 0 {
        i -= 1;
        let part = x[i] as u128 + y[i] as u128 + carry;
        x[i] = part as u64;
        carry = part >> 64;
    }
    x
}

/// A number in [0, 1) of `64 N` bits, the most significant word first. What is computed is rounded down.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Fraction<const N: usize>([u64; N]);

impl<const N: usize> Fraction<N> {
    fn of_table(x: &[u64; WIDEST]) -> Self {
        Fraction(std::array::from_fn(|i| x[i]))
    }

    /// `word 2^-64`.
    fn of_word(word: u64) -> Self {
        Fraction(std::array::from_fn(|i| if i == 0 { word } else { 0 }))
    }

    /// `1 - self`, less one unit in the last place.
    fn complement(self) -> Self {
        Fraction(self.0.map(|word| !word))
    }

    /// `self - x`, and 1 more if that is negative.
    fn minus(self, x: Self) -> Self {
        let (mut out, mut borrow) = (self, false);
        for (out, x) in out.0.iter_mut().zip(x.0).rev() {
            let (a, first) = out.overflowing_sub(x);
            let (a, second) = a.overflowing_sub(borrow as u64);
            (*out, borrow) = (a, first | second);
        }
        out
    }

    fn times(self, x: Self) -> Self {
        let mut full = [0; 2 * WIDEST];
        for (i, &a) in self.0.iter().enumerate().rev() {
            let mut carry = 0;
            for (j, &b) in x.0.iter().enumerate().rev() {
                let part = a as u128 * b as u128 + full[i + j + 1] as u128 + carry;
                full[i + j + 1] = part as u64;
                carry = part >> 64;
            }
            full[i] = carry as u64;
        }
        Fraction(std::array::from_fn(|i| full[i]))
    }

    /// The fractional part of `self k`.
    fn times_integer(self, k: u64) -> Self {
        let (mut out, mut carry) = (self, 0);
        for word in out.0.iter_mut().rev() {
            let part = *word as u128 * k as u128 + carry;
            *word = part as u64;
            carry = part >> 64;
        }
        out
    }

    /// `self 2^-n`.
    fn right(self, n: u64) -> Self {
        let (words, bits) = ((n / 64) as usize, n % 64);
        let word = |i: usize| if i < words { 0 } else { self.0[i - words] };
        Fraction(std::array::from_fn(|i| {
            let above = if i == 0 || bits == 0 {
                0
            } else {
                word(i - 1) << (64 - bits)
            };
            above | (word(i) >> bits)
        }))
    }

    /// `(1 - e^-w) / w` for `w = self` below 0.8: `1 - w (1/2! - w (1/3! - ...))`.
    fn decay(self) -> Self {
        let mut sum = Fraction([0; N]);
        // As many terms as the width can tell from zero.
        for term in FACTORIALS[..if N < WIDEST { 33 } else { 56 }].iter().rev() {
            sum = Fraction::of_table(term).minus(self.times(sum));
        }
        self.times(sum).complement()
    }

    /// `e^-w` for `w = self` below 0.8.
    fn exp_minus(self) -> Self {
        self.times(self.decay()).complement()
    }

    fn leading_zeros(self) -> u32 {
        let zeros = self.0.iter().take_while(|&&word| word == 0).count();
        64 * zeros as u32 + self.0.get(zeros).map_or(0, |word| word.leading_zeros())
    }

    /// The 64 bits from bit `n` on, counted from the most significant.
    fn word_at(self, n: u32) -> u64 {
        let (words, bits) = ((n / 64) as usize, n % 64);
        let word = |i: usize| self.0.get(i).copied().unwrap_or(0);
        let below = if bits == 0 {
            0
        } else {
            word(words + 1) >> (64 - bits)
        };
        (word(words) << bits) | below
    }
}

/// `(m, e)` with `x = m 2^(e - 64)` and the top bit of `m` set, for a positive finite `x`.
fn decoded(x: f64) -> (u64, i64) {
    let (exponent, fraction) = (x.to_bits() >> 52, x.to_bits() & ((1 << 52) - 1));
    let mantissa = if exponent == 0 {
        fraction
    } else {
        fraction | 1 << 52
    };
    let zeros = mantissa.leading_zeros();
    (
        mantissa << zeros,
        exponent.max(1) as i64 - 1011 - zeros as i64,
    )
}

/// `log(e^x + e^y)` for negative finite `x` and `y` of which the larger one is at least 8 times the result's size.
#[cold]
#[inline(never)]
pub fn logaddexp_near_one(x: f64, y: f64) -> f64 {
    let (large, small) = (x.max(y), x.min(y));
    let (negative, size, shift) = sum_less_one::<2>(large, small);
    // Of 128 bits, the last few are not right.
    if size.leading_zeros() <= 60 {
        return log1p_of(negative, size, shift);
    }
    let (negative, size, shift) = sum_less_one::<WIDEST>(large, small);
    log1p_of(negative, size, shift)
}

/// `(e^large + e^small - 1) 2^shift`: whether it is negative, its size, and the shift, which brings the terms to the
/// size of fractions.
fn sum_less_one<const N: usize>(large: f64, small: f64) -> (bool, Fraction<N>, i64) {
    let (mantissa, exponent) = decoded(-large);
    // One bit below what would fit, since the other term may be larger than this one.
    let shift = -exponent - 1;
    let w = Fraction::of_word(mantissa).right(-exponent as u64);
    let taken = Fraction::of_word(mantissa >> 1).times(w.decay());

    // -small = k log 2 + rest, where k may be 1 less than it could be.
    let k = (-small * (LOG2_E * (1.0 - 8.0 * f64::EPSILON))) as u64;
    let part = -small - (-small).floor();
    let part = if part == 0.0 {
        Fraction([0; N])
    } else {
        let (mantissa, exponent) = decoded(part);
        Fraction::of_word(mantissa).right(-exponent as u64)
    };
    let rest = part.minus(Fraction::of_table(&LN2).times_integer(k));
    let given = rest.exp_minus().right((k as i64 - shift) as u64);

    let negative = given < taken;
    let size = if negative {
        taken.minus(given)
    } else {
        given.minus(taken)
    };
    (negative, size, shift)
}

/// `log(1 + x)` for `x = size 2^-shift` with its sign.
fn log1p_of<const N: usize>(negative: bool, size: Fraction<N>, shift: i64) -> f64 {
    let zeros = size.leading_zeros();
    let (head, tail) = (size.word_at(zeros), size.word_at(zeros + 64));
    let rounded = head as f64;
    let rest = (head as i128 - rounded as i128) as f64 + tail as f64 * 2f64.powi(-64);
    let sign = if negative { -1.0 } else { 1.0 };
    let unit = -(64 + zeros as i64 + shift) as f64;
    let (x, rest) = (sign * scale(rounded, unit), sign * scale(rest, unit));
    if x.abs() < 1e-20 {
        return x;
    }
    let sum = Dd::sum(1.0, x);
    log_dd(Dd::new(sum.hi, sum.lo + rest), 0.0).value()
}
