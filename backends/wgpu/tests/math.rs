//! Every float function against values computed in float64, over wide sweeps.

mod support;

use rustarr_interface::{DType, Op};
use support::*;

/// All exponents with many mantissas, a dense range around 1, and the special numbers.
fn sweep() -> Vec<f32> {
    let mut out = SPECIAL.to_vec();
    let mut state = 0x9e37_79b9u32;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    for _ in 0..200_000 {
        out.push(f32::from_bits(next()));
    }
    for _ in 0..200_000 {
        let unit = next() as f32 / u32::MAX as f32;
        for scale in [1.0, 4.0, 30.0, 110.0] {
            out.push((2.0 * unit - 1.0) * scale);
        }
        out.push(1.0 + (unit - 0.5) * 0.01);
    }
    out
}

type Reference = fn(f64, f64) -> f64;

/// What the functions are measured against.
fn reference(op: Op) -> Option<Reference> {
    Some(match op {
        Op::Add => |a, b| a + b,
        Op::Subtract => |a, b| a - b,
        Op::Multiply => |a, b| a * b,
        Op::Divide => |a, b| a / b,
        Op::Pow => f64::powf,
        Op::Hypot => f64::hypot,
        Op::Atan2 => f64::atan2,
        Op::CopySign => f64::copysign,
        Op::LogAddExp => |a, b| {
            if a == b {
                a + 2f64.ln()
            } else {
                a.max(b) + (-(a - b).abs()).exp().ln_1p()
            }
        },
        Op::Negative => |a, _| -a,
        Op::Positive => |a, _| a,
        Op::Abs => |a, _| a.abs(),
        Op::Square => |a, _| a * a,
        Op::Reciprocal => |a, _| 1.0 / a,
        Op::Sqrt => |a, _| a.sqrt(),
        Op::Exp => |a, _| a.exp(),
        Op::Expm1 => |a, _| a.exp_m1(),
        Op::Log => |a, _| a.ln(),
        Op::Log1p => |a, _| a.ln_1p(),
        Op::Log2 => |a, _| a.log2(),
        Op::Log10 => |a, _| a.log10(),
        Op::Sin => |a, _| a.sin(),
        Op::Cos => |a, _| a.cos(),
        Op::Tan => |a, _| a.tan(),
        Op::Asin => |a, _| a.asin(),
        Op::Acos => |a, _| a.acos(),
        Op::Atan => |a, _| a.atan(),
        Op::Sinh => |a, _| a.sinh(),
        Op::Cosh => |a, _| a.cosh(),
        Op::Tanh => |a, _| a.tanh(),
        Op::Asinh => |a, _| a.asinh(),
        Op::Acosh => |a, _| a.acosh(),
        Op::Atanh => |a, _| a.atanh(),
        Op::Ceil => |a, _| a.ceil(),
        Op::Floor => |a, _| a.floor(),
        Op::Trunc => |a, _| a.trunc(),
        Op::Round => |a, _| a.round_ties_even(),
        _ => return None,
    })
}

#[test]
fn unary_functions_are_within_tolerance() {
    let Some(gpu) = gpu() else { return };
    let xs = sweep();
    let input = upload(&gpu, &[xs.len()], &xs);
    let mut failures = Vec::new();
    for row in Op::TABLE.iter().filter(|r| r.arity == 1) {
        let Some(reference) = reference(row.op) else {
            continue;
        };
        let out = run(
            &gpu,
            &single(row.op, DType::F32),
            &[xs.len()],
            &[&input],
            &[],
        );
        let got: Vec<f32> = download(&gpu, &out[0]);
        let worst = xs
            .iter()
            .zip(&got)
            .map(|(x, y)| (ulps(*y, reference(f64::from(*x), 0.0)), *x, *y))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap();
        println!(
            "{:12} {:6.2} ulp at {:e} -> {:e}",
            row.name, worst.0, worst.1, worst.2
        );
        let zeros = xs.iter().zip(&got).find(|(x, y)| {
            **y == 0.0
                && reference(f64::from(**x), 0.0) == 0.0
                && y.is_sign_negative() != reference(f64::from(**x), 0.0).is_sign_negative()
        });
        // Half a unit is the rounding of the exact value itself.
        if worst.0 > f64::from(row.ulp).max(0.5) || zeros.is_some() {
            failures.push(format!("{}: {worst:?}, sign of zero {zeros:?}", row.name));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Pairs: all specials with all specials, then random ones.
fn pairs() -> (Vec<f32>, Vec<f32>) {
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for a in SPECIAL {
        for b in SPECIAL {
            xs.push(*a);
            ys.push(*b);
        }
    }
    let all = sweep();
    for (i, x) in all.iter().enumerate() {
        xs.push(*x);
        ys.push(all[(i * 7919 + 13) % all.len()]);
    }
    (xs, ys)
}

#[test]
fn binary_functions_are_within_tolerance() {
    let Some(gpu) = gpu() else { return };
    let (xs, ys) = pairs();
    let (a, b) = (
        upload(&gpu, &[xs.len()], &xs),
        upload(&gpu, &[xs.len()], &ys),
    );
    let mut failures = Vec::new();
    for row in Op::TABLE.iter().filter(|r| r.arity == 2) {
        let Some(reference) = reference(row.op) else {
            continue;
        };
        let out = run(
            &gpu,
            &single(row.op, DType::F32),
            &[xs.len()],
            &[&a, &b],
            &[],
        );
        let got: Vec<f32> = download(&gpu, &out[0]);
        let error = |i: usize| {
            let (x, y) = (f64::from(xs[i]), f64::from(ys[i]));
            let exact = reference(x, y);
            let near = got[i];
            if row.op == Op::LogAddExp && exact.is_finite() {
                // Next to its zero the sum keeps the absolute error of its terms.
                let scale = exact.abs().max(x.abs().min(y.abs())).max(1e-30);
                return (f64::from(near) - exact).abs() / scale * 2f64.powi(23);
            }
            ulps(near, exact)
        };
        let worst = (0..xs.len())
            .map(|i| (error(i), i))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap();
        let at = (xs[worst.1], ys[worst.1], got[worst.1]);
        println!(
            "{:12} {:6.2} ulp at {:e}, {:e} -> {:e}",
            row.name, worst.0, at.0, at.1, at.2
        );
        if worst.0 > f64::from(row.ulp).max(0.5) {
            failures.push(format!("{}: {} at {at:?}", row.name, worst.0));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
