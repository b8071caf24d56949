//! Errors of the maths functions in units in the last place, against arbitrary precision (`f64`) and against the
//! platform's `f64` library (`f32`).

pub mod complex;

use astro_float::{BigFloat, Consts, RoundingMode};
use rustarr_cpu_kernels::maths;
use std::f64::consts;

const BITS: usize = 192;
const RM: RoundingMode = RoundingMode::ToEven;

/// A real number to 192 bits, with the constants that its functions need.
pub struct Reference {
    consts: Consts,
}

/// The rows' functions of one or two numbers; unary ones ignore the second.
pub struct Row {
    pub name: &'static str,
    pub binary: bool,
    pub f64: fn(f64, f64) -> f64,
    pub f32: fn(f32, f32) -> f32,
    exact: fn(&mut Reference, &BigFloat, &BigFloat) -> BigFloat,
    /// The platform's function, good to well below an `f32` ULP.
    std: fn(f64, f64) -> f64,
    /// Where the function is finite and worth measuring.
    domain: fn(f64, f64) -> bool,
}

/// The largest error found, in ULP, and the arguments it belongs to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worst {
    pub ulp: f64,
    pub at: (f64, f64),
    pub points: usize,
}

impl Worst {
    fn note(&mut self, ulp: f64, at: (f64, f64)) {
        self.points += 1;
        if ulp > self.ulp || ulp.is_nan() {
            *self = Worst { ulp, at, ..*self };
        }
    }
}

macro_rules! reference_methods {
    ($($name:ident = $method:ident;)*) => {$(
        fn $name(&mut self, x: &BigFloat) -> BigFloat {
            x.$method(BITS, RM, &mut self.consts)
        }
    )*};
}

impl Reference {
    pub fn new() -> Self {
        Reference {
            consts: Consts::new().expect("the cache of constants allocates"),
        }
    }

    reference_methods! {
        exp = exp; log = ln; log2 = log2; log10 = log10;
        sin = sin; cos = cos; tan = tan; asin = asin; acos = acos; atan = atan;
        sinh = sinh; cosh = cosh; tanh = tanh; asinh = asinh; acosh = acosh; atanh = atanh;
    }

    fn pow(&mut self, x: &BigFloat, y: &BigFloat) -> BigFloat {
        let exponent = self.log(&x.abs()).mul(y, BITS, RM);
        let size = self.exp(&exponent);
        let odd = !big(0.5).mul(y, BITS, RM).fract().is_zero();
        if x.is_negative() && odd {
            size.neg()
        } else {
            size
        }
    }

    fn expm1(&mut self, x: &BigFloat) -> BigFloat {
        // e^x - 1 = 2 e^(x/2) sinh(x/2)
        let half = big(0.5).mul(x, BITS, RM);
        big(2.0)
            .mul(&self.exp(&half), BITS, RM)
            .mul(&self.sinh(&half), BITS, RM)
    }

    fn log1p(&mut self, x: &BigFloat) -> BigFloat {
        // log(1 + x) = 2 atanh(x / (2 + x)), and plainly where that is near a pole.
        let q = x.div(&big(2.0).add_full_prec(x), BITS, RM);
        if x.abs() < big(0.5) {
            big(2.0).mul(&self.atanh(&q), BITS, RM)
        } else {
            self.log(&big(1.0).add_full_prec(x))
        }
    }

    fn atan2(&mut self, y: &BigFloat, x: &BigFloat) -> BigFloat {
        let principal = self.atan(&y.div(x, BITS, RM));
        let pi = self.consts.pi(BITS, RM);
        match (x.is_negative(), y.is_negative()) {
            (false, _) => principal,
            (true, false) => principal.add(&pi, BITS, RM),
            (true, true) => principal.sub(&pi, BITS, RM),
        }
    }

    fn logaddexp(&mut self, a: &BigFloat, b: &BigFloat) -> BigFloat {
        let (large, small) = if a < b { (b, a) } else { (a, b) };
        if large.is_negative() && large.abs() < big(1.0) {
            // The form that does not cancel where the sum is close to 1, but for the digits that the terms share.
            let taken = self.expm1(large);
            let sum = self.exp(small).add(&taken, BITS, RM);
            return self.log1p(&sum);
        }
        let e = self.exp(&small.sub(large, BITS, RM));
        large.add(&self.log1p(&e), BITS, RM)
    }
}

fn big(x: f64) -> BigFloat {
    // Subnormals are converted wrongly, so they go by way of a normal number.
    if x != 0.0 && x.abs() < f64::MIN_POSITIVE {
        let mut scaled = BigFloat::from_f64(x * 2f64.powi(100), BITS);
        scaled.set_exponent(scaled.exponent().expect("a finite number") - 100);
        return scaled;
    }
    BigFloat::from_f64(x, BITS)
}

/// The number's first 53 bits or more, below 1 in size, and its binary exponent.
fn parts(x: &BigFloat) -> (f64, i32) {
    if x.is_zero() {
        return (0.0, i32::MIN / 2);
    }
    let (words, _, sign, exponent, _) = x.as_raw_parts().expect("a finite reference value");
    let top = words[words.len() - 1] as f64 / 2f64.powi(64);
    (
        if sign == astro_float::Sign::Neg {
            -top
        } else {
            top
        },
        exponent,
    )
}

/// `|y - exact|` in units in the last place of a format with `digits` bits and the least exponent `least`.
fn ulp_error(y: f64, exact: &BigFloat, digits: i32, least: i32, greatest: i32) -> f64 {
    let (_, exponent) = parts(exact);
    if y.is_nan() {
        return f64::INFINITY;
    }
    if y.is_infinite() {
        let fits = exponent <= greatest;
        return if fits || exact.is_negative() != (y < 0.0) {
            f64::INFINITY
        } else {
            0.0
        };
    }
    let (difference, scale) = parts(&big(y).sub(exact, BITS, RM));
    difference.abs() * 2f64.powi((scale - (exponent.max(least) - digits)).max(-1000))
}

fn ulp_error_f64(y: f64, exact: &BigFloat) -> f64 {
    ulp_error(y, exact, 53, -1021, 1024)
}

fn ulp_error_f32(y: f64, exact: &BigFloat) -> f64 {
    ulp_error(y, exact, 24, -125, 128)
}

/// A deterministic stream of 64-bit words (Steele, Lea and Flood's SplitMix).
pub struct Words(pub u64);

impl Words {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [-1, 1).
    fn unit(&mut self) -> f64 {
        self.next() as i64 as f64 / 2f64.powi(63)
    }

    /// A second argument to go with `x`: half of them of like size, some such that e^x + e^y is close to 1, else `y`.
    fn partner(&mut self, x: f64, y: f64) -> f64 {
        match self.next() % 8 {
            0..4 => x * (3.0 * self.unit()),
            4 if x < 0.0 => {
                (-x.exp_m1()).ln() * (1.0 + self.unit() * (-60.0 * self.unit().abs()).exp2())
            }
            _ => y,
        }
    }

    /// A number from one of several populations: every exponent, moderate sizes, near 0, near ±1, near the zeros of
    /// the trigonometric functions, small integers and halves.
    pub fn argument(&mut self) -> f64 {
        match self.next() % 8 {
            0 => loop {
                let x = f64::from_bits(self.next());
                if x.is_finite() {
                    break x;
                }
            },
            1 => self.unit() * 10.0,
            2 => self.unit() * 800.0,
            3 => (self.unit() * 30.0).exp2().copysign(self.unit()),
            4 => (1.0 + self.unit() * (-50.0 * self.unit().abs()).exp2()).copysign(self.unit()),
            5 => (self.unit() * 1000.0).round() * consts::FRAC_PI_2 * (1.0 + self.unit() * 1e-15),
            6 => (self.unit() * 200.0).round() * 0.5,
            _ => self.unit(),
        }
    }
}

/// Arguments where some implementation somewhere went wrong: near-multiples of pi/2, results next to a rounding
/// boundary, the ends of the ranges.
const HARD: [f64; 23] = [
    6.381956970095103e15,
    5.319372648326541e255,
    1e22,
    1.7976931348623157e308,
    2.2250738585072014e-308,
    5e-324,
    consts::FRAC_PI_2,
    consts::PI,
    consts::FRAC_PI_4,
    274877906943.99997,
    274877906944.0,
    709.782712893384,
    -745.1332191019411,
    -708.3964185322641,
    710.4758600739439,
    0.35255620,
    consts::SQRT_2,
    consts::FRAC_1_SQRT_2,
    0.9999999999999999,
    1.0000000000000002,
    0.41421356237309503,
    0.5000000000000001,
    22.0,
];

/// The largest error of the `f64` function over `points` arguments.
pub fn worst_f64(row: &Row, reference: &mut Reference, points: usize) -> Worst {
    let mut words = Words(row.name.bytes().map(u64::from).sum());
    let mut worst = Worst::default();
    let mut i = 0;
    while worst.points < points {
        let pick = |i: usize| {
            if i < 2 * HARD.len() {
                HARD[i / 2] * [1.0, -1.0][i % 2]
            } else {
                f64::NAN
            }
        };
        let (mut x, mut y) = (pick(i), if row.binary { words.argument() } else { 0.0 });
        i += 1;
        if x.is_nan() {
            x = words.argument();
            if row.binary {
                y = words.partner(x, y);
            }
        }
        if !(row.domain)(x, y) || x == 0.0 || y.is_infinite() {
            continue;
        }
        let exact = (row.exact)(reference, &big(x), &big(y));
        assert!(
            exact.exponent().is_some(),
            "no reference for {}({x:e}, {y:e})",
            row.name
        );
        worst.note(ulp_error_f64((row.f64)(x, y), &exact), (x, y));
    }
    worst
}

/// The largest error of the `f32` function over a strided sweep of all bit patterns.
pub fn worst_f32(row: &Row, points: usize) -> Worst {
    let stride = ((1u64 << 32) / points as u64) | 1;
    let mut words = Words(7);
    let mut worst = Worst::default();
    for bits in (0..1u64 << 32).step_by(stride as usize) {
        let x = f32::from_bits(bits as u32);
        let mut y = if row.binary {
            words.argument() as f32
        } else {
            0.0
        };
        if row.binary {
            y = words.partner(x as f64, y as f64) as f32;
        }
        let (wide_x, wide_y) = (x as f64, y as f64);
        if !x.is_finite() || !y.is_finite() || x == 0.0 || !(row.domain)(wide_x, wide_y) {
            continue;
        }
        let exact = (row.std)(wide_x, wide_y);
        let ours = (row.f32)(x, y);
        let unit = 2f64.powi(((exact.abs().to_bits() >> 52) as i32 - 1023).clamp(-126, 127) - 23);
        let ulp = if (exact as f32).is_infinite() {
            if ours == exact as f32 || ours.abs() == f32::MAX {
                0.0
            } else {
                f64::INFINITY
            }
        } else if ours.is_infinite() {
            (f32::MAX as f64 + unit - exact.abs()).abs() / unit
        } else {
            (ours as f64 - exact).abs() / unit
        };
        worst.note(
            if ulp.is_nan() { f64::INFINITY } else { ulp },
            (wide_x, wide_y),
        );
    }
    worst
}

macro_rules! row {
    (1 $name:ident, $exact:expr, $std:expr, $domain:expr) => {
        Row {
            name: stringify!($name),
            binary: false,
            f64: |x, _| maths::$name(x),
            f32: |x, _| maths::$name(x),
            exact: |r, x, _| {
                let f: fn(&mut Reference, &BigFloat) -> BigFloat = $exact;
                f(r, x)
            },
            std: |x, _| {
                let f: fn(f64) -> f64 = $std;
                f(x)
            },
            domain: |x, _| {
                let f: fn(f64) -> bool = $domain;
                f(x)
            },
        }
    };
    (2 $name:ident, $exact:expr, $std:expr, $domain:expr) => {
        Row {
            name: stringify!($name),
            binary: true,
            f64: maths::$name,
            f32: maths::$name,
            exact: $exact,
            std: $std,
            domain: $domain,
        }
    };
}

/// Every function with an error to measure.
pub fn rows() -> Vec<Row> {
    vec![
        row!(1 exp, Reference::exp, f64::exp, |x| x.abs() < 800.0),
        row!(1 exp2, |r, x| r.pow(&big(2.0), x), f64::exp2, |x| x.abs() < 1100.0),
        row!(1 expm1, Reference::expm1, f64::exp_m1, |x| x.abs() < 800.0),
        row!(1 log, Reference::log, f64::ln, |x| x > 0.0),
        row!(1 log1p, Reference::log1p, f64::ln_1p, |x| x > -1.0),
        row!(1 log2, Reference::log2, f64::log2, |x| x > 0.0),
        row!(1 log10, Reference::log10, f64::log10, |x| x > 0.0),
        row!(1 sin, Reference::sin, f64::sin, |_| true),
        row!(1 cos, Reference::cos, f64::cos, |_| true),
        row!(1 tan, Reference::tan, f64::tan, |_| true),
        row!(1 asin, Reference::asin, f64::asin, |x| x.abs() <= 1.0),
        row!(1 acos, Reference::acos, f64::acos, |x| x.abs() <= 1.0),
        row!(1 atan, Reference::atan, f64::atan, |_| true),
        row!(1 sinh, Reference::sinh, f64::sinh, |x| x.abs() < 800.0),
        row!(1 cosh, Reference::cosh, f64::cosh, |x| x.abs() < 800.0),
        row!(1 tanh, Reference::tanh, f64::tanh, |x| x.abs() < 800.0),
        row!(1 asinh, Reference::asinh, f64::asinh, |_| true),
        row!(1 acosh, Reference::acosh, f64::acosh, |x| x >= 1.0),
        row!(1 atanh, Reference::atanh, f64::atanh, |x| x.abs() < 1.0),
        row!(2 atan2, Reference::atan2, f64::atan2, |y, x| x != 0.0 && (y / x).is_normal()),
        row!(2 pow, Reference::pow, f64::powf, |x, y| {
            (x > 0.0 || y == y.trunc()) && (y * x.abs().log2()).abs() < 1080.0
        }),
        row!(2 hypot, |_, x, y| x.mul(x, BITS, RM).add(&y.mul(y, BITS, RM), BITS, RM).sqrt(BITS, RM), f64::hypot, |_, _| true),
        row!(2 logaddexp, Reference::logaddexp,
            maths::logaddexp,
            |x, y| (x - y).abs() < 1e4),
    ]
}
