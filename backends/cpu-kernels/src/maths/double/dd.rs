//! Double-double arithmetic: an unevaluated sum of two `f64` with about 106 bits.
//!
//! Error-free transformations of Dekker and Knuth (T. J. Dekker, Numer. Math. 18, 1971), with fused multiply-add.

/// The number `hi + lo` with `|lo|` at most half a unit in the last place of `hi`.
#[derive(Clone, Copy, Debug)]
pub(in crate::maths) struct Dd {
    pub hi: f64,
    pub lo: f64,
}

impl Dd {
    #[inline(always)]
    pub fn new(hi: f64, lo: f64) -> Self {
        Dd { hi, lo }
    }

    /// `a + b` exactly.
    #[inline(always)]
    pub fn sum(a: f64, b: f64) -> Self {
        let hi = a + b;
        let b_part = hi - a;
        let a_part = hi - b_part;
        Dd {
            hi,
            lo: (a - a_part) + (b - b_part),
        }
    }

    /// `a + b` exactly, given `|a| >= |b|` or `a == 0`.
    #[inline(always)]
    pub fn ordered_sum(a: f64, b: f64) -> Self {
        let hi = a + b;
        Dd {
            hi,
            lo: (a - hi) + b,
        }
    }

    /// `a * b` exactly, short of underflow.
    #[inline(always)]
    pub fn product(a: f64, b: f64) -> Self {
        let hi = a * b;
        Dd {
            hi,
            lo: a.mul_add(b, -hi),
        }
    }

    /// The number with `x` added to its low part.
    #[inline(always)]
    pub fn plus_low(self, x: f64) -> Self {
        Dd {
            hi: self.hi,
            lo: self.lo + x,
        }
    }

    /// The same number with the parts renormalised.
    #[inline(always)]
    pub fn renormalised(self) -> Self {
        Dd::ordered_sum(self.hi, self.lo)
    }

    /// `self + x` for `|self| >= |x|` or `self == 0`.
    #[inline(always)]
    pub fn plus_smaller(self, x: Dd) -> Self {
        let s = Dd::ordered_sum(self.hi, x.hi);
        Dd {
            hi: s.hi,
            lo: s.lo + (self.lo + x.lo),
        }
        .renormalised()
    }

    /// `self * x`.
    #[inline(always)]
    pub fn times(self, x: Dd) -> Self {
        let p = Dd::product(self.hi, x.hi);
        Dd {
            hi: p.hi,
            lo: p.lo + self.hi.mul_add(x.lo, self.lo * x.hi),
        }
        .renormalised()
    }

    /// `self / d`, with one division.
    #[inline(always)]
    pub fn over(self, d: Dd) -> Self {
        let reciprocal = 1.0 / d.hi;
        let hi = self.hi * reciprocal;
        let rest = (-hi).mul_add(d.hi, self.hi) + (-hi).mul_add(d.lo, self.lo);
        Dd {
            hi,
            lo: rest * reciprocal,
        }
    }

    /// The square root of a number that is not negative.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        let hi = self.hi.sqrt();
        let lo = ((-hi).mul_add(hi, self.hi) + self.lo) / (2.0 * hi);
        Dd {
            hi,
            lo: if hi == 0.0 { 0.0 } else { lo },
        }
    }

    /// `self * s` for a power of two.
    #[inline(always)]
    pub fn scaled(self, s: f64) -> Self {
        Dd {
            hi: self.hi * s,
            lo: self.lo * s,
        }
    }

    #[inline(always)]
    pub fn negated(self) -> Self {
        Dd {
            hi: -self.hi,
            lo: -self.lo,
        }
    }

    #[inline(always)]
    pub fn value(self) -> f64 {
        self.hi + self.lo
    }
}

/// Chooses between two numbers without a branch.
#[inline(always)]
pub(in crate::maths) fn select(condition: bool, yes: Dd, no: Dd) -> Dd {
    Dd {
        hi: if condition { yes.hi } else { no.hi },
        lo: if condition { yes.lo } else { no.lo },
    }
}
