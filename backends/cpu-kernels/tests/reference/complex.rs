//! Complex functions in arbitrary precision, from their definitions, with bits to spare for every cancellation.

use super::{Reference, Words, Worst, ulp_error_f32, ulp_error_f64};
use astro_float::{BigFloat, RoundingMode};
use num_complex::Complex;
use rustarr_cpu_kernels::maths::complex;

const BITS: usize = 512;
const RM: RoundingMode = RoundingMode::None;

/// `re + i im`.
#[derive(Clone)]
pub struct Z(BigFloat, BigFloat);

fn big(x: f64) -> BigFloat {
    BigFloat::from_f64(x, BITS)
}

fn real(x: f64) -> Z {
    Z(big(x), big(0.0))
}

impl Z {
    fn add(&self, w: &Z) -> Z {
        Z(self.0.add(&w.0, BITS, RM), self.1.add(&w.1, BITS, RM))
    }

    fn sub(&self, w: &Z) -> Z {
        Z(self.0.sub(&w.0, BITS, RM), self.1.sub(&w.1, BITS, RM))
    }

    fn mul(&self, w: &Z) -> Z {
        let re = self
            .0
            .mul(&w.0, BITS, RM)
            .sub(&self.1.mul(&w.1, BITS, RM), BITS, RM);
        Z(
            re,
            self.0
                .mul(&w.1, BITS, RM)
                .add(&self.1.mul(&w.0, BITS, RM), BITS, RM),
        )
    }

    fn times(&self, x: f64) -> Z {
        self.mul(&real(x))
    }

    /// `i z`.
    fn turned(&self) -> Z {
        Z(self.1.neg(), self.0.clone())
    }

    /// `-i z`.
    fn turned_back(&self) -> Z {
        Z(self.1.clone(), self.0.neg())
    }

    fn norm(&self) -> BigFloat {
        self.0
            .mul(&self.0, BITS, RM)
            .add(&self.1.mul(&self.1, BITS, RM), BITS, RM)
    }

    fn div(&self, w: &Z) -> Z {
        let n = w.norm();
        let z = self.mul(&Z(w.0.clone(), w.1.neg()));
        Z(z.0.div(&n, BITS, RM), z.1.div(&n, BITS, RM))
    }

    fn sqrt(&self) -> Z {
        let size = self.norm().sqrt(BITS, RM);
        let half = |x: BigFloat| x.mul(&big(0.5), BITS, RM);
        let s = half(size.add(&self.0.abs(), BITS, RM)).sqrt(BITS, RM);
        let t = half(self.1.abs()).div(&s, BITS, RM);
        let (re, im) = if self.0.is_negative() { (t, s) } else { (s, t) };
        Z(re, if self.1.is_negative() { im.neg() } else { im })
    }
}

impl Reference {
    fn exp_z(&mut self, z: &Z) -> Z {
        let c = &mut self.consts;
        let size = z.0.exp(BITS, RM, c);
        Z(
            size.mul(&z.1.cos(BITS, RM, c), BITS, RM),
            size.mul(&z.1.sin(BITS, RM, c), BITS, RM),
        )
    }

    fn log_z(&mut self, z: &Z) -> Z {
        let c = &mut self.consts;
        let size = z.norm().ln(BITS, RM, c).mul(&big(0.5), BITS, RM);
        let angle = z.1.div(&z.0, BITS, RM).atan(BITS, RM, c);
        let pi = c.pi(BITS, RM);
        let angle = match (z.0.is_negative(), z.1.is_negative()) {
            (false, _) => angle,
            (true, false) => angle.add(&pi, BITS, RM),
            (true, true) => angle.sub(&pi, BITS, RM),
        };
        Z(size, angle)
    }

    /// `log(z) / log(base)`.
    fn log_to(&mut self, z: &Z, base: f64) -> Z {
        let base = self.log_z(&real(base));
        self.log_z(z).div(&base)
    }

    /// `(e^z + sign e^-z) / 2`.
    fn half_sum(&mut self, z: &Z, sign: f64) -> Z {
        let e = self.exp_z(z);
        e.add(&real(sign).div(&e)).times(0.5)
    }

    fn tanh_z(&mut self, z: &Z) -> Z {
        self.half_sum(z, -1.0).div(&self.half_sum(z, 1.0))
    }

    /// `log(z + sqrt(z^2 + 1))`.
    fn asinh_z(&mut self, z: &Z) -> Z {
        self.log_z(&z.add(&z.mul(z).add(&real(1.0)).sqrt()))
    }

    /// `log((1 + z) / (1 - z)) / 2`.
    fn atanh_z(&mut self, z: &Z) -> Z {
        self.log_z(&real(1.0).add(z).div(&real(1.0).sub(z)))
            .times(0.5)
    }

    /// `log(z + sqrt(z + 1) sqrt(z - 1))`.
    fn acosh_z(&mut self, z: &Z) -> Z {
        self.log_z(&z.add(&z.add(&real(1.0)).sqrt().mul(&z.sub(&real(1.0)).sqrt())))
    }
}

/// A complex function of one argument and the most its parts may be wrong by.
pub struct Row {
    pub name: &'static str,
    pub limit: f64,
    f64: fn(Complex<f64>) -> Complex<f64>,
    f32: fn(Complex<f32>) -> Complex<f32>,
    exact: fn(&mut Reference, &Z) -> Z,
}

/// The largest errors of either part, of the `f64` and the `f32` function.
pub fn worst(row: &Row, reference: &mut Reference, points: usize) -> (Worst, Worst) {
    let mut words = Words(row.name.bytes().map(u64::from).sum());
    let (mut double, mut single) = (Worst::default(), Worst::default());
    while double.points < points {
        // Numbers that f32 has too, of sizes that no part of a definition overflows at.
        let mut part = || words.argument() as f32 as f64;
        let (x, y) = (part(), part());
        let fits = |x: f64| (1e-12..80.0).contains(&x.abs());
        if !fits(x) || !fits(y) {
            continue;
        }
        let exact = (row.exact)(reference, &Z(big(x), big(y)));
        let ours = (row.f64)(Complex::new(x, y));
        let narrow = (row.f32)(Complex::new(x as f32, y as f32));
        let worse = |re: f64, im: f64| if re >= im || re.is_nan() { re } else { im };
        double.note(
            worse(
                ulp_error_f64(ours.re, &exact.0),
                ulp_error_f64(ours.im, &exact.1),
            ),
            (x, y),
        );
        let (re, im) = (
            ulp_error_f32(narrow.re as f64, &exact.0),
            ulp_error_f32(narrow.im as f64, &exact.1),
        );
        single.note(worse(re, im), (x, y));
    }
    (double, single)
}

macro_rules! row {
    ($name:ident, $limit:literal, $exact:expr) => {
        Row {
            name: stringify!($name),
            limit: $limit,
            f64: complex::$name,
            f32: complex::$name,
            exact: $exact,
        }
    };
}

/// Every complex function with an error to measure.
pub fn rows() -> Vec<Row> {
    vec![
        row!(exp, 1.0, Reference::exp_z),
        // e^x cos y cancels against 1, which costs bits.
        row!(expm1, 64.0, |r, z| r.exp_z(z).sub(&real(1.0))),
        row!(log, 1.0, Reference::log_z),
        row!(log1p, 2.0, |r, z| r.log_z(&z.add(&real(1.0)))),
        row!(log2, 2.0, |r, z| r.log_to(z, 2.0)),
        row!(log10, 2.0, |r, z| r.log_to(z, 10.0)),
        row!(sin, 2.0, |r, z| r.half_sum(&z.turned(), -1.0).turned_back()),
        row!(cos, 2.0, |r, z| r.half_sum(&z.turned(), 1.0)),
        row!(tan, 5.0, |r, z| r.tanh_z(&z.turned()).turned_back()),
        row!(sinh, 2.0, |r, z| r.half_sum(z, -1.0)),
        row!(cosh, 2.0, |r, z| r.half_sum(z, 1.0)),
        row!(tanh, 5.0, Reference::tanh_z),
        row!(asin, 4.0, |r, z| r.asinh_z(&z.turned()).turned_back()),
        row!(acos, 4.0, |r, z| {
            let w = r.acosh_z(z);
            // acos z = -i acosh z above the axis and i acosh z below.
            if z.1.is_negative() {
                w.turned()
            } else {
                w.turned_back()
            }
        }),
        row!(atan, 3.0, |r, z| r.atanh_z(&z.turned()).turned_back()),
        row!(asinh, 4.0, Reference::asinh_z),
        row!(acosh, 4.0, Reference::acosh_z),
        row!(atanh, 3.0, Reference::atanh_z),
        row!(sqrt, 2.0, |_, z| z.sqrt()),
        row!(reciprocal, 1.0, |_, z| real(1.0).div(z)),
        row!(sign, 2.0, |_, z| z
            .div(&Z(z.norm().sqrt(BITS, RM), big(0.0)))),
    ]
}
