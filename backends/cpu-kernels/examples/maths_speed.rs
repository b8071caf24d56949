//! Speed of the maths functions against the standard library's on one core, as a markdown table.
//!
//! Ours run in loops that are compiled for the instruction set found at run time, as the interpreter runs them.

use rustarr_cpu_kernels::maths::{self, Real};
use std::hint::black_box;
use std::time::Instant;

const N: usize = 8192;

/// A loop over a block, to be dispatched. Its `call` must be inlined into the dispatcher's function, which owns the
/// instruction set: a plain closure goes through a shim that is not.
struct Loop<'a, T, F> {
    x: &'a [T],
    y: &'a mut [T],
    f: F,
}

impl<T: Real, F: Fn(T) -> T> pulp::NullaryFnOnce for Loop<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (y, &x) in self.y.iter_mut().zip(self.x) {
            *y = (self.f)(x);
        }
    }
}

/// The best time of several, in nanoseconds per element.
fn best(mut run: impl FnMut()) -> f64 {
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..8).for_each(|_| run());
        start.elapsed().as_secs_f64() / 8.0
    };
    (0..9).map(|_| time(&mut run)).fold(f64::INFINITY, f64::min) * 1e9 / N as f64
}

fn race<T: Real>(
    name: &str,
    low: f64,
    high: f64,
    ours: impl Fn(T) -> T + Copy,
    std: impl Fn(T) -> T + Copy,
) {
    let x: Vec<T> = (0..N)
        .map(|i| T::narrow(low + (high - low) * ((i * 5861) % N) as f64 / N as f64))
        .collect();
    let mut y = vec![T::zero(); N];
    let arch = pulp::Arch::new();
    let a = best(|| {
        arch.dispatch(Loop {
            x: black_box(&x),
            y: &mut y,
            f: ours,
        });
        black_box(&y);
    });
    let b = best(|| {
        for (y, &x) in y.iter_mut().zip(black_box(&x)) {
            *y = std(x);
        }
        black_box(&y);
    });
    println!(
        "| `{name}` | {} | {a:.2} | {b:.2} | {:.1} |",
        std::any::type_name::<T>(),
        b / a
    );
}

macro_rules! races {
    ($t:ident, $x:ident: $($name:ident, $low:literal..$high:literal, $ours:expr, $std:expr;)*) => {$(
        race::<$t>(stringify!($name), $low, $high, #[inline(always)] |$x| $ours, |$x: $t| $std);
    )*};
}

macro_rules! all {
    ($t:ident) => {
        races! { $t, x:
            exp, -10.0..10.0, maths::exp(x), x.exp();
            exp2, -10.0..10.0, maths::exp2(x), x.exp2();
            expm1, -2.0..2.0, maths::expm1(x), x.exp_m1();
            log, 0.01..100.0, maths::log(x), x.ln();
            log1p, 0.0..10.0, maths::log1p(x), x.ln_1p();
            log2, 0.01..100.0, maths::log2(x), x.log2();
            log10, 0.01..100.0, maths::log10(x), x.log10();
            sin, -10.0..10.0, maths::near::sin(x), x.sin();
            cos, -10.0..10.0, maths::near::cos(x), x.cos();
            tan, -10.0..10.0, maths::near::tan(x), x.tan();
            asin, -1.0..1.0, maths::asin(x), x.asin();
            acos, -1.0..1.0, maths::acos(x), x.acos();
            atan, -10.0..10.0, maths::atan(x), x.atan();
            sinh, -10.0..10.0, maths::sinh(x), x.sinh();
            cosh, -10.0..10.0, maths::cosh(x), x.cosh();
            tanh, -2.0..2.0, maths::tanh(x), x.tanh();
            asinh, -10.0..10.0, maths::asinh(x), x.asinh();
            acosh, 1.0..20.0, maths::acosh(x), x.acosh();
            atanh, -0.95..0.95, maths::atanh(x), x.atanh();
            atan2, -10.0..10.0, maths::atan2(x, 1.5), x.atan2(1.5);
            pow, 0.1..20.0, maths::pow(x, 2.7), x.powf(2.7);
            hypot, 0.0..20.0, maths::hypot(x, 2.7), x.hypot(2.7);
            remainder, -10.0..10.0, maths::near::remainder(x, 2.7), x.rem_euclid(2.7);
            floor_divide, -10.0..10.0, maths::near::floor_divide(x, 2.7), x.div_euclid(2.7);
            nextafter, -10.0..10.0, maths::nextafter(x, 2.7), x.next_up();
            floor, -10.0..10.0, maths::floor(x), x.floor();
            round, -10.0..10.0, maths::round(x), x.round_ties_even();
        }
    };
}

fn main() {
    println!("| function | type | ours, ns | std, ns | ratio |\n|---|---|---|---|---|");
    all!(f64);
    all!(f32);
}
