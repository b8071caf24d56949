//! Matrices that decompositions find hard, at every scale: each must hold to working precision.

use rustarr_cpu_linalg::{Dense, Field, Routines, Vectors};
use rustarr_interface::Complex64;

const SIZES: [usize; 7] = [1, 2, 3, 5, 12, 40, 67];

/// Larger than what is done by the methods for small ones, and the kinds tried of this size.
const LARGE: usize = 260;
const LARGE_KINDS: [&str; 7] = [
    "ones",
    "rank one",
    "rank one of whole numbers",
    "graded down",
    "graded by columns",
    "subnormal but one",
    "repeated",
];

/// To both ends of the range, and around the numbers whose squares leave it.
const SCALES: [f64; 10] = [
    1e-320, 1e-310, 1e-300, 1e-170, 1e-150, 1.0, 1e100, 1e150, 1e170, 1e300,
];

trait Value: Routines {
    const COMPLEX: bool;
    fn of(z: Complex64) -> Self;
}
impl Value for f64 {
    const COMPLEX: bool = false;
    fn of(z: Complex64) -> f64 {
        z.re
    }
}
impl Value for Complex64 {
    const COMPLEX: bool = true;
    fn of(z: Complex64) -> Complex64 {
        z
    }
}

/// A fixed sequence between -1 and 1 (splitmix64).
struct Random(u64);
impl Random {
    fn real(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn value<S: Value>(&mut self) -> S {
        let re = self.real();
        S::of(Complex64::new(
            re,
            if S::COMPLEX { self.real() } else { 0.0 },
        ))
    }
}

fn matrix<S: Value>(m: usize, n: usize, mut f: impl FnMut(usize, usize) -> S) -> Dense<S> {
    let mut out = Dense::zeros(m, n).unwrap();
    for i in 0..m {
        for j in 0..n {
            *out.at_mut(i, j) = f(i, j);
        }
    }
    out
}

fn reals<S: Value>(m: usize, n: usize, f: impl Fn(usize, usize) -> f64) -> Dense<S> {
    matrix(m, n, |i, j| S::from(f(i, j)))
}

fn adjoint<S: Value>(a: &Dense<S>) -> Dense<S> {
    matrix(a.cols, a.rows, |i, j| a.at(j, i).conjugate())
}

fn times<S: Value>(a: &Dense<S>, b: &Dense<S>) -> Dense<S> {
    assert_eq!(a.cols, b.rows);
    let mut out = Dense::zeros(a.rows, b.cols).unwrap();
    for j in 0..b.cols {
        let column = &mut out.values[j * a.rows..][..a.rows];
        for p in 0..a.cols {
            let factor = b.at(p, j);
            for (to, &from) in column.iter_mut().zip(&a.values[p * a.rows..]) {
                *to += from * factor;
            }
        }
    }
    out
}

fn columns_times<S: Value>(a: &Dense<S>, by: &[S]) -> Dense<S> {
    matrix(a.rows, by.len(), |i, j| a.at(i, j) * by[j])
}

fn norm<S: Value>(a: &Dense<S>) -> f64 {
    let largest = a.values.iter().fold(0.0, |m: f64, v| m.max(v.magnitude()));
    if largest == 0.0 || !largest.is_finite() {
        return a.values.iter().map(|v| v.magnitude()).sum();
    }
    let squares = a.values.iter().map(|v| (v.magnitude() / largest).powi(2));
    largest * squares.sum::<f64>().sqrt()
}

fn distance<S: Value>(a: &Dense<S>, b: &Dense<S>) -> f64 {
    assert_eq!((a.rows, a.cols), (b.rows, b.cols));
    norm(&matrix(a.rows, a.cols, |i, j| a.at(i, j) - b.at(i, j)))
}

/// How far the columns are from orthonormal.
fn skew<S: Value>(q: &Dense<S>) -> f64 {
    distance(
        &times(&adjoint(q), q),
        &Dense::identity(q.cols, q.cols).unwrap(),
    )
}

/// `Q diag(values) Q^H`, or with another `Q` on the right.
fn with_values<S: Value>(rng: &mut Random, values: &[f64], hermitian: bool) -> Dense<S> {
    let n = values.len();
    let mut unitary = || S::qr(&mut matrix(n, n, |_, _| rng.value()), n).unwrap();
    let (left, values) = (unitary(), values.iter().map(|&v| S::from(v)));
    let right = if hermitian { left.clone() } else { unitary() };
    let scaled = columns_times(&left, &values.collect::<Vec<S>>());
    let mut out = times(&scaled, &adjoint(&right));
    if hermitian {
        out = matrix(n, n, |i, j| {
            (out.at(i, j) + out.at(j, i).conjugate()).scale(0.5)
        });
    }
    out
}

/// Of largest element about one, with names.
fn hard<S: Value>(n: usize) -> Vec<(&'static str, Dense<S>)> {
    let rng = &mut Random(n as u64);
    let ramp: Vec<S> = (0..n).map(|_| rng.value()).collect();
    let (size, half) = (n as f64, n / 2);
    let of = |f: &dyn Fn(usize, usize) -> f64| reals::<S>(n, n, f);
    let beside = |i: usize, j: usize| i.abs_diff(j) == 1;
    let from = |rng: &mut Random, f: &dyn Fn(usize) -> f64, hermitian| {
        with_values::<S>(rng, &(0..n).map(f).collect::<Vec<f64>>(), hermitian)
    };
    vec![
        ("zero", of(&|_, _| 0.0)),
        ("ones", of(&|_, _| 1.0)),
        ("identity", of(&|i, j| (i == j) as u8 as f64)),
        ("projection", of(&|i, j| (i == j && 2 * i < n) as u8 as f64)),
        (
            "one element",
            of(&|i, j| (i == half && j == 0) as u8 as f64),
        ),
        (
            "one row",
            matrix(n, n, |i, j| if i == half { ramp[j] } else { S::default() }),
        ),
        (
            "one column",
            matrix(n, n, |i, j| if j == half { ramp[i] } else { S::default() }),
        ),
        (
            "rank one of whole numbers",
            of(&|i, j| (i * j) as f64 * 2f64.powi(-13)),
        ),
        (
            "rank one",
            matrix(n, n, |i, j| ramp[i] * ramp[j].conjugate()),
        ),
        (
            "rank two",
            matrix(n, n, |i, j| {
                ramp[i] * ramp[j] + ramp[n - 1 - i] * S::from(j as f64 / size)
            }),
        ),
        ("random", matrix(n, n, |_, _| rng.value())),
        (
            "triangular",
            matrix(n, n, |i, j| if i <= j { rng.value() } else { S::default() }),
        ),
        (
            "graded down",
            matrix(n, n, |i, j| {
                rng.value::<S>().scale(10f64.powi(-(((i + j) * 4) as i32)))
            }),
        ),
        (
            "graded up",
            matrix(n, n, |i, j| {
                rng.value::<S>()
                    .scale(10f64.powi(4 * (i + j + 2) as i32 - 8 * n as i32))
            }),
        ),
        (
            "graded by rows",
            matrix(n, n, |i, _| {
                rng.value::<S>().scale(10f64.powi(-(7 * i as i32)))
            }),
        ),
        (
            "graded by columns",
            matrix(n, n, |_, j| {
                rng.value::<S>().scale(10f64.powi(-(7 * j as i32)))
            }),
        ),
        (
            "graded both ways",
            matrix(n, n, |i, j| {
                rng.value::<S>()
                    .scale(2f64.powi(9 * i as i32 - 9 * j as i32 - 9 * n as i32))
            }),
        ),
        (
            "diagonal to the end",
            of(&|i, j| {
                if i == j {
                    10f64.powi(-(5 * i as i32))
                } else {
                    0.0
                }
            }),
        ),
        (
            "tiny beside",
            matrix(n, n, |i, j| {
                if i == j {
                    S::ONE
                } else {
                    rng.value::<S>().scale(1e-170)
                }
            }),
        ),
        (
            "tiny but one",
            matrix(n, n, |i, j| {
                if i + j == 0 {
                    S::ONE
                } else {
                    rng.value::<S>().scale(1e-160)
                }
            }),
        ),
        (
            "subnormal but one",
            matrix(n, n, |i, j| {
                if i + j == 0 {
                    S::ONE
                } else {
                    rng.value::<S>().scale(1e-309)
                }
            }),
        ),
        (
            "a subnormal row",
            matrix(n, n, |i, _| {
                rng.value::<S>().scale(if i == 0 { 1e-322 } else { 1.0 })
            }),
        ),
        (
            "a tiny block",
            matrix(n, n, |i, j| {
                rng.value::<S>()
                    .scale(if i < half || j < half { 1.0 } else { 1e-200 })
            }),
        ),
        (
            "a subnormal block",
            matrix(n, n, |i, j| {
                let size = if (i < half) != (j < half) {
                    0.0
                } else if i < half {
                    1.0
                } else {
                    1e-308
                };
                rng.value::<S>().scale(size)
            }),
        ),
        ("Jordan's", of(&|i, j| (i == j || i + 1 == j) as u8 as f64)),
        ("nilpotent", of(&|i, j| (i + 1 == j) as u8 as f64)),
        ("rotation", of(&|i, j| ((i + 1) % n == j) as u8 as f64)),
        (
            "second difference",
            of(&|i, j| {
                if i == j {
                    2.0
                } else if beside(i, j) {
                    -1.0
                } else {
                    0.0
                }
            }),
        ),
        (
            "skew band",
            of(&|i, j| {
                if i + 1 == j {
                    1.0
                } else if j + 1 == i {
                    1e-300
                } else {
                    0.0
                }
            }),
        ),
        ("no diagonal", of(&|i, j| beside(i, j) as u8 as f64)),
        (
            "Wilkinson's",
            of(&|i, j| {
                if i == j {
                    (size / 2.0 - i as f64).abs() / size
                } else if beside(i, j) {
                    1.0 / size
                } else {
                    0.0
                }
            }),
        ),
        (
            "glued",
            of(&|i, j| {
                // Wilkinson's of 21 rows, coupled weakly: most eigenvalues are nearly repeated.
                if i == j {
                    (10.0 - (i % 21) as f64).abs() / 10.0
                } else if beside(i, j) {
                    if i.max(j) % 21 == 0 { 1e-14 } else { 0.1 }
                } else {
                    0.0
                }
            }),
        ),
        (
            "arrow",
            of(&|i, j| {
                if i == j {
                    1.0 - i as f64 / size
                } else if i == 0 || j == 0 {
                    1e-3
                } else {
                    0.0
                }
            }),
        ),
        ("Hilbert's", of(&|i, j| 1.0 / (i + j + 1) as f64)),
        (
            "Kahan's",
            of(&|i, j| {
                let s = 0.8f64.powi(i as i32);
                if i == j {
                    s
                } else if i < j {
                    -0.6 * s
                } else {
                    0.0
                }
            }),
        ),
        ("repeated", from(rng, &|i| (1 + i % 3) as f64, true)),
        (
            "both signs",
            from(rng, &|i| if i % 2 == 0 { 1.0 } else { -1.0 }, true),
        ),
        (
            "clustered",
            from(rng, &|i| 1.0 + i as f64 * f64::EPSILON, true),
        ),
        (
            "one apart",
            from(rng, &|i| if i == 0 { 1.0 } else { f64::EPSILON }, true),
        ),
        ("geometric", from(rng, &|i| 10f64.powi(-(i as i32)), false)),
        (
            "deficient",
            from(rng, &|i| if i < half { 1.0 } else { 0.0 }, false),
        ),
        ("unitary", from(rng, &|_| 1.0, false)),
    ]
}

/// What errors may be.
struct Case<S> {
    name: String,
    /// Brought back to about one.
    a: Dense<S>,
    unit: f64,
    bound: f64,
}

impl<S: Value> Case<S> {
    fn new(name: String, given: &Dense<S>, scale: f64) -> Case<S> {
        let unit = scale.log2().floor().exp2();
        let a = back(given, unit);
        // Numbers at the end of the range are a whole multiple of the least one.
        let rounding = 5e-324 / unit.min(1.0) * given.values.len() as f64;
        let bound =
            4.0 * f64::EPSILON * (2.0 + given.rows.max(given.cols) as f64) * norm(&a) + rounding;
        Case {
            name,
            a,
            unit,
            bound,
        }
    }

    fn near(&self, a: &Dense<S>, b: &Dense<S>, what: &str) {
        let error = distance(a, b);
        assert!(
            error <= self.bound,
            "{}: {what} {error:e} off, {:e} allowed",
            self.name,
            self.bound
        );
    }

    fn orthonormal(&self, q: &Dense<S>, what: &str) {
        let (skew, bound) = (skew(q), 4.0 * f64::EPSILON * (2.0 + q.rows as f64));
        assert!(
            skew <= bound,
            "{}: {what} are {skew:e} from orthonormal",
            self.name
        );
    }

    fn values(&self, a: &[f64], b: &[f64], what: &str) {
        let apart = a.iter().zip(b).map(|(a, b)| (a - b).abs() / self.unit);
        assert!(
            apart.clone().all(|v| v <= self.bound),
            "{}: {what} {:e} off",
            self.name,
            apart.fold(0.0, f64::max)
        );
    }
}

fn back<S: Value>(a: &Dense<S>, unit: f64) -> Dense<S> {
    // In two steps, one over the unit being out of range.
    let root = 2f64.powi(unit.log2() as i32 / 2);
    matrix(a.rows, a.cols, |i, j| {
        a.at(i, j).scale(1.0 / root).scale(root / unit)
    })
}

fn check_svd<S: Value>(a: &Dense<S>, case: &Case<S>) {
    let k = a.rows.min(a.cols);
    for vectors in [Vectors::Thin, Vectors::Full] {
        let svd = S::svd(a.clone(), vectors).unwrap_or_else(|e| panic!("{}: SVD {e:?}", case.name));
        assert!(
            svd.values.windows(2).all(|p| p[0] >= p[1]) && svd.values.iter().all(|&s| s >= 0.0),
            "{}",
            case.name
        );
        case.orthonormal(&svd.u, "left vectors");
        case.orthonormal(&svd.v, "right vectors");
        let s: Vec<S> = svd.values.iter().map(|&s| S::from(s / case.unit)).collect();
        let right = matrix(a.cols, k, |i, j| svd.v.at(i, j));
        case.near(
            &times(&columns_times(&svd.u, &s), &adjoint(&right)),
            &case.a,
            "SVD",
        );
        let plain = S::svd(a.clone(), Vectors::No)
            .unwrap_or_else(|e| panic!("{}: values {e:?}", case.name));
        case.values(&plain.values, &svd.values, "singular values");
    }
}

fn check_qr<S: Value>(a: &Dense<S>, case: &Case<S>) {
    for columns in [a.rows.min(a.cols), a.rows] {
        let mut r = a.clone();
        let q = S::qr(&mut r, columns).unwrap();
        case.orthonormal(&q, "Q's columns");
        let r = matrix(columns, a.cols, |i, j| r.at(i, j));
        assert!(
            (0..a.cols).all(|j| (j + 1..columns).all(|i| r.at(i, j) == S::default())),
            "{}",
            case.name
        );
        case.near(&times(&q, &back(&r, case.unit)), &case.a, "QR");
    }
}

fn check_eigh<S: Value>(a: &Dense<S>, name: &str, scale: f64) {
    let h = matrix(a.rows, a.rows, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Less => a.at(j, i).conjugate(),
        std::cmp::Ordering::Equal => S::from(Field::real(a.at(i, i))),
        std::cmp::Ordering::Greater => a.at(i, j),
    });
    let case = Case::new(name.to_owned(), &h, scale);
    let (w, v) = S::eigh(a.clone(), true).unwrap_or_else(|e| panic!("{name}: eigh {e:?}"));
    let v = v.unwrap();
    assert!(w.windows(2).all(|p| p[0] <= p[1]), "{name}");
    case.orthonormal(&v, "eigenvectors");
    let scaled = columns_times(
        &v,
        &w.iter()
            .map(|&w| S::from(w / case.unit))
            .collect::<Vec<S>>(),
    );
    case.near(&times(&case.a, &v), &scaled, "eigh");
    let (plain, _) = S::eigh(a.clone(), false).unwrap_or_else(|e| panic!("{name}: eigvalsh {e:?}"));
    case.values(&plain, &w, "Hermitian eigenvalues");
}

fn check_eig<S: Value>(a: &Dense<S>, name: &str, scale: f64) {
    let wide = matrix(a.rows, a.cols, |i, j| a.at(i, j).into());
    let case = Case::new(name.to_owned(), &wide, scale);
    let (w, v) = S::eig(a.clone(), true).unwrap_or_else(|e| panic!("{name}: eig {e:?}"));
    let v = v.unwrap();
    for column in v.values.chunks_exact(a.rows) {
        let length = column.iter().map(|z| z.norm_sqr()).sum::<f64>().sqrt();
        assert!(
            (length - 1.0).abs() <= f64::EPSILON * (8.0 + a.rows as f64 / 4.0),
            "{name}: a vector of length {length}"
        );
    }
    let scaled = columns_times(
        &v,
        &w.iter().map(|w| w / case.unit).collect::<Vec<Complex64>>(),
    );
    case.near(&times(&case.a, &v), &scaled, "eig");
    let (plain, _) = S::eig(a.clone(), false).unwrap_or_else(|e| panic!("{name}: eigvals {e:?}"));
    let trace = |w: &[Complex64]| w.iter().map(|w| w / case.unit).sum::<Complex64>();
    let exact: Complex64 = (0..a.rows).map(|i| case.a.at(i, i)).sum();
    for w in [&w, &plain] {
        assert!(
            (trace(w) - exact).norm() <= (a.rows as f64).sqrt() * case.bound,
            "{name}: trace {} for {exact}",
            trace(w)
        );
    }
}

fn each<S: Value>(check: impl Fn(&Dense<S>, &str, f64)) {
    let check = |what: &str, unscaled: &Dense<S>, scale: f64| {
        let a = matrix(unscaled.rows, unscaled.cols, |i, j| {
            unscaled.at(i, j).scale(scale)
        });
        check(&a, &format!("{what} {} {scale:e}", a.rows), scale);
    };
    for n in SIZES {
        // What depends on the scale does so at any size.
        let scales = match n {
            0..=12 => &SCALES[..],
            13..=40 => &[1e-310, 1.0],
            _ => &[1.0],
        };
        for (what, unscaled) in hard::<S>(n) {
            for &scale in scales {
                check(what, &unscaled, scale);
            }
        }
    }
    for (what, unscaled) in hard::<S>(LARGE) {
        if LARGE_KINDS.contains(&what) {
            check(what, &unscaled, 1.0);
        }
    }
}

fn svd_and_qr<S: Value>() {
    each::<S>(|a, name, scale| {
        let n = a.rows;
        check_svd(a, &Case::new(name.to_owned(), a, scale));
        check_qr(a, &Case::new(name.to_owned(), a, scale));
        if n > 40 || scale != 1.0 && scale != 1e-310 {
            return;
        }
        // Tall and wide ones repeat it, or have a part of it.
        for (rows, cols) in [
            (2 * n + 1, n),
            (n, 2 * n + 1),
            (n + 1, n),
            (n, n.div_ceil(2)),
            (n.div_ceil(2), n),
        ] {
            let part = matrix(rows, cols, |i, j| a.at(i % n, j % n));
            let case = Case::new(format!("{name} as {rows} x {cols}"), &part, scale);
            check_svd(&part, &case);
            check_qr(&part, &case);
        }
    });
}

#[test]
fn real_singular_values_and_qr() {
    svd_and_qr::<f64>();
}

#[test]
fn complex_singular_values_and_qr() {
    svd_and_qr::<Complex64>();
}

#[test]
fn hermitian_eigenvalues() {
    each::<f64>(check_eigh);
    each::<Complex64>(check_eigh);
}

#[test]
fn real_eigenvalues() {
    each::<f64>(check_eig);
}

#[test]
fn complex_eigenvalues() {
    each::<Complex64>(check_eig);
}
