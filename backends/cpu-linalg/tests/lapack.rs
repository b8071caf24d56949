//! The routines beside LAPACK on the system's OpenBLAS. Its threads belong to the process and not to a context, so that it
//! is here for checking and nowhere else.

use ndarray::{Array1, Array2, ScalarOperand};
use ndarray_linalg::{
    Cholesky, Determinant, Eig, Eigh, Inverse, Lapack, QRSquare, SVD, Scalar, Solve, UPLO,
};
use rustarr_cpu_linalg::{Dense, Routines, Vectors};
use rustarr_interface::Complex64;

const SIZES: [usize; 7] = [1, 2, 5, 16, 40, 129, 200];

/// The same elements for both, from a fixed sequence (splitmix64).
fn random<S: Value>(rows: usize, cols: usize, seed: u64) -> (Dense<S>, Array2<S>) {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let theirs = Array2::from_shape_simple_fn((rows, cols), || S::of(next(), next()));
    (dense(&theirs), theirs)
}

fn dense<S: Value>(a: &Array2<S>) -> Dense<S> {
    Dense {
        rows: a.nrows(),
        cols: a.ncols(),
        values: a.t().iter().copied().collect(),
    }
}

fn array<S: Value>(a: &Dense<S>) -> Array2<S> {
    Array2::from_shape_fn((a.rows, a.cols), |(i, j)| a.at(i, j))
}

trait Value: Routines + Scalar<Real = f64, Complex = Complex64> + Lapack + ScalarOperand {
    fn of(re: f64, im: f64) -> Self;
}
impl Value for f64 {
    fn of(re: f64, _: f64) -> f64 {
        re
    }
}
impl Value for Complex64 {
    fn of(re: f64, im: f64) -> Complex64 {
        Complex64::new(re, im)
    }
}

fn close<S: Value>(ours: &Array2<S>, theirs: &Array2<S>, bound: f64, what: &str) {
    assert_eq!(ours.dim(), theirs.dim());
    let apart = ours
        .iter()
        .zip(theirs)
        .map(|(a, b)| (*a - *b).abs())
        .fold(0.0, f64::max);
    assert!(apart <= bound, "{what}: {apart:e} apart");
}

fn close_reals(ours: &[f64], theirs: &[f64], bound: f64, what: &str) {
    assert_eq!(ours.len(), theirs.len());
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() <= bound, "{what}: {a:e} and {b:e}");
    }
}

fn check<S: Value>() {
    for n in SIZES {
        let size = n as f64;
        let (_, theirs) = random::<S>(n, n, n as u64);
        // Well conditioned, so that the results agree to nearly all digits.
        let theirs = theirs + Array2::<S>::eye(n) * S::of(2.0 * size, 0.0);
        let bound: f64 = 1e-14 * size * size;
        let loose: f64 = 1e-13 * size * size;
        let a = dense(&theirs);

        let lu = <S as Routines>::lu(a.clone()).unwrap();
        let mut inverse = Dense::identity(n, n).unwrap();
        <S as Routines>::solve(&lu, &mut inverse).unwrap();
        close(&array(&inverse), &theirs.inv().unwrap(), bound, "inverse");
        let (right, b) = random::<S>(n, 1, 7);
        let mut x = right;
        <S as Routines>::solve(&lu, &mut x).unwrap();
        let b: Array1<S> = b.column(0).to_owned();
        let theirs_x = theirs.solve(&b).unwrap();
        close(
            &array(&x),
            &theirs_x.insert_axis(ndarray::Axis(1)),
            bound,
            "solution",
        );
        let (_, log) = theirs.sln_det().unwrap();
        let ours: f64 = lu.pivots().map(|p| p.magnitude().ln()).sum();
        assert!((ours - log).abs() <= bound, "determinant: {ours} and {log}");

        let hermitian = &theirs + &theirs.t().mapv(|v| Scalar::conj(&v));
        let mut factor = dense(&hermitian);
        <S as Routines>::cholesky(&mut factor).unwrap();
        let theirs_factor = hermitian.cholesky(UPLO::Lower).unwrap();
        close(&array(&factor), &theirs_factor, bound, "Cholesky");
        let (values, vectors) = <S as Routines>::eigh(dense(&hermitian), true).unwrap();
        let (theirs_values, _) = hermitian.eigh(UPLO::Lower).unwrap();
        close_reals(
            &values,
            &theirs_values.to_vec(),
            bound,
            "Hermitian eigenvalues",
        );
        let v = array(&vectors.unwrap());
        let scaled = &v * &Array1::from_iter(values.iter().map(|&w| S::of(w, 0.0)));
        close(&hermitian.dot(&v), &scaled, loose, "eigenvectors");

        let mut r = a.clone();
        <S as Routines>::qr(&mut r, n).unwrap();
        let (_, theirs_r) = theirs.qr_square().unwrap();
        for i in 0..n {
            // Rows up to their directions.
            let apart = (r.at(i, i).magnitude() - theirs_r[(i, i)].abs()).abs();
            assert!(apart <= bound, "QR: {apart:e} apart");
        }

        let svd = <S as Routines>::svd(a.clone(), Vectors::Thin).unwrap();
        let (_, theirs_values, _) = theirs.svd(false, false).unwrap();
        close_reals(
            &svd.values,
            &theirs_values.to_vec(),
            bound,
            "singular values",
        );

        let (ours, _) = <S as Routines>::eig(a, true).unwrap();
        let (theirs_values, _) = theirs.eig().unwrap();
        for z in &ours {
            let nearest = theirs_values.iter().map(|w| (w - z).norm());
            let apart = nearest.fold(f64::INFINITY, f64::min);
            assert!(apart <= loose, "eigenvalue {z} is {apart:e} off");
        }
    }
}

/// OpenBLAS keeps its threads' jobs on the caller's stack, which a test's is too small for.
fn with_room(check: fn()) {
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    thread.spawn(check).unwrap().join().unwrap();
}

#[test]
fn real() {
    with_room(check::<f64>);
}

#[test]
fn complex() {
    with_room(check::<Complex64>);
}
