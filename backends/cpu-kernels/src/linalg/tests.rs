//! Residuals against the definitions, with plain loops in double precision.

use super::*;
use crate::nest::tests::{Array, Rng, affordable, same_for_all_threads};
use rustarr_interface::{Complex32, Complex64, DType, Element, ErrorKind, Layout, Scalar};

type Z = Complex64;

/// A plain row-major matrix.
#[derive(Clone, Debug)]
struct Matrix {
    rows: usize,
    cols: usize,
    values: Vec<Z>,
}

impl Matrix {
    fn new(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> Z) -> Matrix {
        let values = (0..rows * cols).map(|e| f(e / cols, e % cols)).collect();
        Matrix { rows, cols, values }
    }
    fn at(&self, i: usize, j: usize) -> Z {
        self.values[i * self.cols + j]
    }
    fn adjoint(&self) -> Matrix {
        Matrix::new(self.cols, self.rows, |i, j| self.at(j, i).conj())
    }
    fn times(&self, other: &Matrix) -> Matrix {
        assert_eq!(self.cols, other.rows);
        Matrix::new(self.rows, other.cols, |i, j| {
            (0..self.cols).map(|p| self.at(i, p) * other.at(p, j)).sum()
        })
    }
    fn scaled(&self, by: &[Z]) -> Matrix {
        Matrix::new(self.rows, self.cols, |i, j| self.at(i, j) * by[j])
    }
    fn norm(&self) -> f64 {
        self.values.iter().map(|v| v.norm_sqr()).sum::<f64>().sqrt()
    }
    fn distance(&self, other: &Matrix) -> f64 {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols));
        Matrix::new(self.rows, self.cols, |i, j| self.at(i, j) - other.at(i, j)).norm()
    }
    fn identity(n: usize) -> Matrix {
        Matrix::new(n, n, |i, j| Z::new((i == j) as u8 as f64, 0.0))
    }
    /// How far the columns are from orthonormal.
    fn skew(&self) -> f64 {
        self.adjoint()
            .times(self)
            .distance(&Matrix::identity(self.cols))
    }
    fn upper(&self) -> bool {
        (0..self.rows).all(|i| (0..i.min(self.cols)).all(|j| self.at(i, j) == Z::default()))
    }
}

/// An element of one of the four dtypes, random or from a double.
trait Value: Element {
    const EPS: f64;
    fn of(z: Z) -> Self;
    fn random(rng: &mut Rng) -> Self {
        Self::of(Z::new(rng.float(), rng.float()))
    }
}
macro_rules! values {
    ($($t:ty, $eps:expr, $of:expr;)*) => { $(impl Value for $t {
        const EPS: f64 = $eps;
        fn of(z: Z) -> $t {
            ($of)(z)
        }
    })* };
}
values!(
    f32, f32::EPSILON as f64, |z: Z| z.re as f32;
    f64, f64::EPSILON, |z: Z| z.re;
    Complex32, f32::EPSILON as f64, |z: Z| Complex32::new(z.re as f32, z.im as f32);
    Complex64, f64::EPSILON, |z| z;
);

/// The matrices of a batch.
fn matrices<T: Element>(array: &Array) -> Vec<Matrix> {
    let shape = array.layout.shape();
    let (rows, cols) = (shape[shape.len() - 2], shape[shape.len() - 1]);
    let values = array.values::<T>();
    let count: usize = shape[..shape.len() - 2].iter().product();
    let wide = |z: usize, e: usize| Scalar::new(values[z * rows * cols + e]).to_complex();
    (0..count)
        .map(|z| Matrix::new(rows, cols, |i, j| wide(z, i * cols + j)))
        .collect()
}

/// The vectors of a batch of them.
fn vectors<T: Element>(array: &Array, len: usize) -> Vec<Vec<Z>> {
    let wide: Vec<Z> = array
        .values::<T>()
        .iter()
        .map(|&v| Scalar::new(v).to_complex())
        .collect();
    let count = wide.len().checked_div(len).unwrap_or(0);
    (0..count)
        .map(|i| wide[i * len..][..len].to_vec())
        .collect()
}

/// Runs a routine under every kind of parallelism, with outputs of the given dtypes and shapes in any layout.
fn run(
    kind: Linalg,
    inputs: &[&Array],
    outputs: &[(DType, Vec<usize>)],
    rng: &mut Rng,
) -> Vec<Array> {
    let outputs: Vec<Array> = outputs
        .iter()
        .map(|(dtype, shape)| Array::empty(*dtype, rng.layout(shape)))
        .collect();
    same_for_all_threads(|par| {
        let inputs: Vec<_> = inputs.iter().map(|a| a.operand()).collect();
        let operands: Vec<_> = outputs.iter().map(Array::operand).collect();
        linalg(par, kind, &inputs, &operands).unwrap();
        outputs.iter().flat_map(Array::bytes).collect()
    });
    outputs
}

fn shape(batch: &[usize], last: &[usize]) -> Vec<usize> {
    [batch, last].concat()
}

/// Batches and sizes: small ones with everything empty too, and a few of some size.
fn sizes(rng: &mut Rng, round: usize) -> (Vec<usize>, usize, usize) {
    match round {
        0 => (vec![], 200, 60),
        1 => (vec![], 70, 200),
        2 => (vec![3], 33, 33),
        3 => (vec![200], 3, 2),
        _ => {
            let ndim = rng.below(3);
            (rng.shape(ndim, 4), rng.below(9), rng.below(9))
        }
    }
}

const ROUNDS: usize = 30;

fn each_dtype(f: impl Fn(&mut Rng, usize, DType)) {
    for dtype in [DType::F32, DType::F64, DType::C64, DType::C128] {
        let mut rng = Rng(51);
        affordable(0..ROUNDS, 4..6).for_each(|round| f(&mut rng, round, dtype));
    }
}

/// Runs `$body` for a generic `T` of each dtype.
macro_rules! for_dtypes {
    ($rng:ident, $round:ident, $T:ident => $body:block) => {
        each_dtype(|$rng, $round, dtype| dispatch!(lapack, dtype, $T => $body, else unreachable!()))
    };
}

#[test]
fn solutions_and_inverses() {
    for_dtypes!(rng, round, T => {
        let (batch, n, k) = sizes(rng, round);
        let n = n.min(64);
        let a = rng.array(&shape(&batch, &[n, n]), T::random);
        let b = rng.array(&shape(&batch, &[n, k]), T::random);
        // Random views may repeat rows, which makes them singular.
        let regular = matrices::<T>(&a).iter().all(|m| {
            (0..n).all(|i| (0..i).all(|j| (0..n).any(|p| m.at(i, p) != m.at(j, p))))
                && (0..n).all(|i| (0..i).all(|j| (0..n).any(|p| m.at(p, i) != m.at(p, j))))
        });
        if regular {
            let x = &run(Linalg::Solve, &[&a, &b], &[(T::DTYPE, shape(&batch, &[n, k]))], rng)[0];
            let inverse = &run(Linalg::Inv, &[&a], &[(T::DTYPE, shape(&batch, &[n, n]))], rng)[0];
            for (((a, b), x), inverse) in matrices::<T>(&a).iter().zip(matrices::<T>(&b))
                .zip(matrices::<T>(x)).zip(matrices::<T>(inverse))
            {
                let bound = 4.0 * T::EPS * (1.0 + n as f64);
                assert!(a.times(&x).distance(&b) <= bound * (a.norm() * x.norm() + b.norm()));
                let error = a.times(&inverse).distance(&Matrix::identity(n));
                assert!(error <= bound * a.norm() * inverse.norm());
            }
        }
    });
}

/// By expansion along the first row.
fn determinant(m: &Matrix) -> Z {
    if m.rows == 0 {
        return Z::new(1.0, 0.0);
    }
    let minor = |j: usize| {
        Matrix::new(m.rows - 1, m.rows - 1, |r, c| {
            m.at(r + 1, c + (c >= j) as usize)
        })
    };
    (0..m.rows)
        .map(|j| m.at(0, j) * determinant(&minor(j)) * if j % 2 == 0 { 1.0 } else { -1.0 })
        .sum()
}

#[test]
fn determinants() {
    for_dtypes!(rng, round, T => {
        let (batch, n, _) = sizes(rng, round);
        let n = n % 7;
        let a = rng.array(&shape(&batch, &[n, n]), T::random);
        let outputs = [(T::DTYPE, batch.clone()), (T::DTYPE.real(), batch.clone())];
        let out = run(Linalg::SlogDet, &[&a], &outputs, rng);
        let signs: Vec<Z> = vectors::<T>(&out[0], 1).concat();
        let logs: Vec<Z> = dispatch!(float, T::DTYPE.real(), R => vectors::<R>(&out[1], 1), else unreachable!()).concat();
        for ((a, sign), log) in matrices::<T>(&a).iter().zip(signs).zip(logs) {
            let error = (sign * log.re.exp() - determinant(a)).norm();
            assert!(error <= 100.0 * T::EPS * (1.0 + a.norm()).powi(n as i32), "{error}");
            assert!((sign.norm() - 1.0).abs() < 4.0 * T::EPS || sign.norm() == 0.0);
        }
    });
}

#[test]
fn cholesky_factors() {
    for_dtypes!(rng, round, T => {
        let (batch, n, _) = sizes(rng, round);
        let n = n.min(64);
        let root = rng.array(&shape(&batch, &[n, n + 1]), T::random);
        for upper in [false, true] {
            let mut values = Vec::new();
            let squares: Vec<Matrix> = matrices::<T>(&root).iter().map(|r| {
                let mut square = r.times(&r.adjoint());
                (0..n).for_each(|i| square.values[i * n + i] += 0.5);
                square
            }).collect();
            for square in &squares {
                for (i, j) in (0..n * n).map(|e| (e / n, e % n)) {
                    // The other triangle is not read.
                    let read = if upper { i <= j } else { i >= j };
                    values.push(T::of(if read { square.at(i, j) } else { Z::new(f64::NAN, 7.0) }));
                }
            }
            let a = Array::new(rng.layout(&shape(&batch, &[n, n])), &values);
            let out = &run(Linalg::Cholesky { upper }, &[&a], &[(T::DTYPE, shape(&batch, &[n, n]))], rng)[0];
            for (square, factor) in squares.iter().zip(matrices::<T>(out)) {
                let u = if upper { factor } else { factor.adjoint() };
                assert!(u.upper() && (0..n).all(|i| u.at(i, i).re > 0.0 && u.at(i, i).im == 0.0));
                let error = u.adjoint().times(&u).distance(square);
                assert!(error <= 4.0 * T::EPS * (1.0 + n as f64) * square.norm());
            }
        }
    });
}

#[test]
fn qr_factors() {
    for_dtypes!(rng, round, T => {
        let (batch, m, n) = sizes(rng, round);
        let a = rng.array(&shape(&batch, &[m, n]), T::random);
        for complete in [false, true] {
            let k = if complete { m } else { m.min(n) };
            let outputs = [(T::DTYPE, shape(&batch, &[m, k])), (T::DTYPE, shape(&batch, &[k, n]))];
            let out = run(Linalg::Qr { complete }, &[&a], &outputs, rng);
            let (q, r) = (matrices::<T>(&out[0]), matrices::<T>(&out[1]));
            for ((a, q), r) in matrices::<T>(&a).iter().zip(q).zip(r) {
                assert!(r.upper());
                assert!(q.skew() <= 4.0 * T::EPS * (1.0 + m as f64));
                assert!(q.times(&r).distance(a) <= 4.0 * T::EPS * (1.0 + m as f64) * a.norm());
            }
        }
    });
}

#[test]
fn singular_value_decompositions() {
    for_dtypes!(rng, round, T => {
        let (batch, m, n) = sizes(rng, round);
        let k = m.min(n);
        let a = rng.array(&shape(&batch, &[m, n]), T::random);
        let real = T::DTYPE.real();
        let values = |array: &Array| dispatch!(float, real, R => vectors::<R>(array, k), else unreachable!());
        let plain = Linalg::Svd { vectors: false, full: false };
        let plain = values(&run(plain, &[&a], &[(real, shape(&batch, &[k]))], rng)[0]);
        for full in [false, true] {
            let (cols, rows) = if full { (m, n) } else { (k, k) };
            let outputs = [
                (T::DTYPE, shape(&batch, &[m, cols])),
                (real, shape(&batch, &[k])),
                (T::DTYPE, shape(&batch, &[rows, n])),
            ];
            let out = run(Linalg::Svd { vectors: true, full }, &[&a], &outputs, rng);
            let (u, vh) = (matrices::<T>(&out[0]), matrices::<T>(&out[2]));
            // Matrices without singular values still have bases.
            let s = if k > 0 { values(&out[1]) } else { vec![Vec::new(); u.len()] };
            for (i, a) in matrices::<T>(&a).iter().enumerate() {
                let bound = 8.0 * T::EPS * (1.0 + (m + n) as f64);
                assert!(u[i].skew() <= bound && vh[i].adjoint().skew() <= bound);
                assert!(s[i].windows(2).all(|p| p[0].re >= p[1].re) && s[i].iter().all(|s| s.re >= 0.0));
                let left = Matrix::new(m, k, |r, c| u[i].at(r, c));
                let right = Matrix::new(k, n, |r, c| vh[i].at(r, c));
                assert!(left.scaled(&s[i]).times(&right).distance(a) <= bound * a.norm());
                if k > 0 {
                    let errors = s[i].iter().zip(&plain[i]).map(|(a, b)| (a - b).norm());
                    assert!(errors.fold(0.0, f64::max) <= bound * a.norm());
                }
            }
        }
    });
}

#[test]
fn hermitian_eigenvalues() {
    for_dtypes!(rng, round, T => {
        let (batch, n, _) = sizes(rng, round);
        let a = rng.array(&shape(&batch, &[n, n]), T::random);
        let real = T::DTYPE.real();
        let values = |array: &Array| dispatch!(float, real, R => vectors::<R>(array, n), else unreachable!());
        let outputs = [(real, shape(&batch, &[n])), (T::DTYPE, shape(&batch, &[n, n]))];
        let plain = values(&run(Linalg::Eigh { vectors: false }, &[&a], &outputs[..1], rng)[0]);
        let out = run(Linalg::Eigh { vectors: true }, &[&a], &outputs, rng);
        if n > 0 {
            for (((a, w), v), plain) in matrices::<T>(&a).iter().zip(values(&out[0]))
                .zip(matrices::<T>(&out[1])).zip(plain)
            {
                // The lower triangle counts.
                let a = Matrix::new(n, n, |i, j| match i.cmp(&j) {
                    std::cmp::Ordering::Less => a.at(j, i).conj(),
                    std::cmp::Ordering::Equal => Z::new(a.at(i, i).re, 0.0),
                    std::cmp::Ordering::Greater => a.at(i, j),
                });
                let bound = 8.0 * T::EPS * (1.0 + n as f64);
                assert!(w.windows(2).all(|p| p[0].re <= p[1].re));
                assert!(v.skew() <= bound);
                assert!(a.times(&v).distance(&v.scaled(&w)) <= bound * a.norm());
                let errors = w.iter().zip(&plain).map(|(a, b)| (a - b).norm());
                assert!(errors.fold(0.0, f64::max) <= bound * a.norm());
            }
        }
    });
}

#[test]
fn general_eigenvalues() {
    for_dtypes!(rng, round, T => {
        let (batch, n, _) = sizes(rng, round);
        let a = rng.array(&shape(&batch, &[n, n]), T::random);
        let complex = T::DTYPE.complex().unwrap();
        let outputs = [(complex, shape(&batch, &[n])), (complex, shape(&batch, &[n, n]))];
        let plain = run(Linalg::Eig { vectors: false }, &[&a], &outputs[..1], rng);
        let out = run(Linalg::Eig { vectors: true }, &[&a], &outputs, rng);
        if n > 0 {
            dispatch!(complex, complex, C => {
                let (w, v) = (vectors::<C>(&out[0], n), matrices::<C>(&out[1]));
                let plain = vectors::<C>(&plain[0], n);
                for (i, a) in matrices::<T>(&a).iter().enumerate() {
                    let bound = 16.0 * T::EPS * (1.0 + n as f64) * a.norm();
                    assert!(a.times(&v[i]).distance(&v[i].scaled(&w[i])) <= bound);
                    for j in 0..n {
                        let length: f64 = (0..n).map(|p| v[i].at(p, j).norm_sqr()).sum();
                        assert!((length - 1.0).abs() <= 8.0 * T::EPS);
                    }
                    // The sums of eigenvalues are the trace, with and without vectors.
                    let trace: Z = (0..n).map(|j| a.at(j, j)).sum();
                    for w in [&w[i], &plain[i]] {
                        assert!((w.iter().sum::<Z>() - trace).norm() <= 4.0 * bound);
                    }
                }
            }, else unreachable!());
        }
    });
}

fn fails(kind: Linalg, a: &[f64], n: usize, outputs: &[&[usize]]) -> String {
    let count = a.len() / (n * n);
    let shape = if count == 1 {
        vec![n, n]
    } else {
        vec![count, n, n]
    };
    let a = Array::dense(&shape, a);
    let dtype = if let Linalg::Eig { .. } = kind {
        DType::C128
    } else {
        DType::F64
    };
    let outputs: Vec<Array> = outputs
        .iter()
        .map(|last| {
            Array::empty(
                dtype,
                Layout::contiguous(&[&shape[..shape.len() - 2], last].concat()),
            )
        })
        .collect();
    let inputs = if kind == Linalg::Solve {
        vec![a.operand(); 2]
    } else {
        vec![a.operand()]
    };
    let text = same_for_all_threads(|par| {
        let operands: Vec<_> = outputs.iter().map(Array::operand).collect();
        let error = linalg(par, kind, &inputs, &operands).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Linalg);
        error.to_string().into_bytes()
    });
    String::from_utf8(text).unwrap()
}

#[test]
fn failures_name_the_matrix() {
    let square: &[usize] = &[2, 2];
    let singular = [1.0, 2.0, 2.0, 4.0];
    assert_eq!(
        fails(Linalg::Solve, &singular, 2, &[square]),
        "solve: the matrix is singular"
    );
    assert_eq!(
        fails(Linalg::Inv, &[0.0; 4], 2, &[square]),
        "inv: the matrix is singular"
    );
    let batch = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(
        fails(Linalg::Inv, &batch, 2, &[square]),
        "inv: matrix [1] of the batch is singular"
    );
    let text = "cholesky: the matrix is not positive definite";
    for bad in [-1.0, 0.0, f64::NAN] {
        let kind = Linalg::Cholesky { upper: false };
        assert_eq!(fails(kind, &[1.0, 0.0, 0.0, bad], 2, &[square]), text);
    }
    for bad in [f64::NAN, f64::INFINITY] {
        let a = [1.0, 2.0, bad, 4.0];
        let (svd, svd_vectors) = (
            Linalg::Svd {
                vectors: false,
                full: false,
            },
            Linalg::Svd {
                vectors: true,
                full: true,
            },
        );
        assert!(fails(svd, &a, 2, &[&[2]]).starts_with("svd: the matrix has infinities or NaN"));
        assert!(fails(svd_vectors, &a, 2, &[square, &[2], square]).contains("infinities or NaN"));
        for vectors in [false, true] {
            let outputs = &[&[2], square][..1 + vectors as usize];
            assert!(fails(Linalg::Eigh { vectors }, &a, 2, outputs).contains("infinities or NaN"));
            assert!(fails(Linalg::Eig { vectors }, &a, 2, outputs).contains("infinities or NaN"));
        }
    }
    let int = Array::dense(&[1, 1], &[1i64]);
    let error = linalg(Par::Seq, Linalg::Inv, &[int.operand()], &[int.operand()]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DType);
}

#[test]
fn special_values_pass_through() {
    // Where the others are finite, NaN reaches what depends on it and does not stop the factorisation.
    for n in [2, 5, 40] {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut rng = Rng(n as u64);
            let mut a: Vec<f64> = (0..n * n).map(|_| rng.float()).collect();
            a[n] = bad;
            let a = Array::dense(&[n, n], &a);
            let square = (DType::F64, vec![n, n]);
            let x = run(
                Linalg::Solve,
                &[&a, &a],
                std::slice::from_ref(&square),
                &mut rng,
            );
            assert!(x[0].values::<f64>().iter().any(|v| v.is_nan()));
            let det = run(
                Linalg::SlogDet,
                &[&a],
                &[(DType::F64, vec![]), (DType::F64, vec![])],
                &mut rng,
            );
            assert!(!det[1].values::<f64>()[0].is_finite());
            run(
                Linalg::Qr { complete: true },
                &[&a],
                &[square.clone(), square],
                &mut rng,
            );
        }
    }
    let zero = Array::dense(&[2, 2], &[0.0f64; 4]);
    let out = run(
        Linalg::SlogDet,
        &[&zero],
        &[(DType::F64, vec![]), (DType::F64, vec![])],
        &mut Rng(1),
    );
    assert_eq!(out[0].values::<f64>(), [0.0]);
    assert_eq!(out[1].values::<f64>(), [f64::NEG_INFINITY]);
}

#[test]
fn numbers_at_the_ends_of_the_range() {
    let rng = &mut Rng(1);
    for size in [1e-310, 1e-300, 1e300f64] {
        let a = Array::dense(&[2, 2], &[size, 0.5 * size, -0.5 * size, 2.0 * size]);
        let x = &run(Linalg::Solve, &[&a, &a], &[(DType::F64, vec![2, 2])], rng)[0];
        for (x, wanted) in x.values::<f64>().into_iter().zip([1.0, 0.0, 0.0, 1.0]) {
            assert!((x - wanted).abs() < 1e-12, "{size} {x}");
        }
        let scalar = (DType::F64, vec![]);
        let det = run(Linalg::SlogDet, &[&a], &[scalar.clone(), scalar], rng);
        assert_eq!(det[0].values::<f64>(), [1.0]);
        let wanted = 2.0 * size.ln() + 2.25f64.ln();
        assert!((det[1].values::<f64>()[0] - wanted).abs() < 1e-11);
    }
}

/// Matrices that iterations find hard: of low rank, graded, defective, huge and tiny.
fn hard(n: usize) -> Vec<Vec<f64>> {
    let mut rng = Rng(61);
    let mut of = |f: &mut dyn FnMut(&mut Rng, usize, usize) -> f64| -> Vec<f64> {
        (0..n * n).map(|e| f(&mut rng, e / n, e % n)).collect()
    };
    vec![
        of(&mut |_, _, _| 1.0),
        of(&mut |_, i, j| ((i + 1) * (j + 1)) as f64 + (i as f64) * 1e-14 * j as f64),
        of(&mut |r, i, j| r.float() * 10f64.powi(-(((i + j) % 30) as i32))),
        of(&mut |_, i, j| (i == j || i + 1 == j) as u8 as f64),
        of(&mut |_, i, j| ((i + 1) % n == j) as u8 as f64),
        of(&mut |r, i, j| if i <= j { r.float() } else { 0.0 }),
        of(&mut |r, _, _| r.float() * 1e300),
        of(&mut |r, _, _| r.float() * 1e-300),
        of(&mut |r, _, _| r.float() * 1e-310),
        of(&mut |_, i, j| 1.0 / (i + j + 1) as f64),
        vec![0.0; n * n],
    ]
}

#[test]
fn hard_matrices() {
    for n in [1, 2, 3, 12, 80, 150] {
        for (case, values) in hard(n).into_iter().enumerate() {
            let rng = &mut Rng(71);
            let array = Array::dense(&[n, n], &values);
            // Plain loops overflow where the routines do not.
            let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            let unit = if largest > 0.0 {
                largest.log2().floor().exp2()
            } else {
                1.0
            };
            let shrink = |m: &Matrix| Matrix::new(m.rows, m.cols, |i, j| m.at(i, j) / unit);
            let a = shrink(&matrices::<f64>(&array)[0]);
            // Subnormal numbers have few digits.
            let eps = if largest < 1e-305 {
                1e-10
            } else {
                f64::EPSILON
            };
            let bound = 8.0 * eps * (1.0 + n as f64);
            let square = (DType::F64, vec![n, n]);

            let qr = run(
                Linalg::Qr { complete: false },
                &[&array],
                &[square.clone(), square.clone()],
                rng,
            );
            let (q, r) = (
                &matrices::<f64>(&qr[0])[0],
                shrink(&matrices::<f64>(&qr[1])[0]),
            );
            assert!(r.upper() && q.skew() <= bound, "{case} {n}");
            assert!(q.times(&r).distance(&a) <= bound * a.norm(), "{case} {n}");

            let line = (DType::F64, vec![n]);
            let outputs = [square.clone(), line.clone(), square.clone()];
            let svd = run(
                Linalg::Svd {
                    vectors: true,
                    full: false,
                },
                &[&array],
                &outputs,
                rng,
            );
            let (u, vh) = (&matrices::<f64>(&svd[0])[0], &matrices::<f64>(&svd[2])[0]);
            let s: Vec<Z> = vectors::<f64>(&svd[1], n)[0]
                .iter()
                .map(|s| s / unit)
                .collect();
            assert!(u.skew() <= bound && vh.skew() <= bound, "{case} {n}");
            assert!(
                u.scaled(&s).times(vh).distance(&a) <= bound * a.norm(),
                "{case} {n}"
            );

            let eigh = run(
                Linalg::Eigh { vectors: true },
                &[&array],
                &[line, square],
                rng,
            );
            let (w, v) = (
                &vectors::<f64>(&eigh[0], n)[0],
                &matrices::<f64>(&eigh[1])[0],
            );
            let w: Vec<Z> = w.iter().map(|w| w / unit).collect();
            let h = Matrix::new(n, n, |i, j| a.at(i.max(j), i.min(j)));
            assert!(v.skew() <= bound, "{case} {n}");
            assert!(
                h.times(v).distance(&v.scaled(&w)) <= bound * h.norm(),
                "{case} {n}"
            );

            let outputs = [(DType::C128, vec![n]), (DType::C128, vec![n, n])];
            let eig = run(Linalg::Eig { vectors: true }, &[&array], &outputs, rng);
            let (w, v) = (&vectors::<Z>(&eig[0], n)[0], &matrices::<Z>(&eig[1])[0]);
            let w: Vec<Z> = w.iter().map(|w| w / unit).collect();
            assert!(
                a.times(v).distance(&v.scaled(&w)) <= 2.0 * bound * a.norm(),
                "{case} {n}"
            );
        }
    }
}
