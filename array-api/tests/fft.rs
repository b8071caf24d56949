//! Transforms against the sum that defines them.

mod common;

use common::*;
use rustarr::interface::Complex64;
use rustarr::ops::fft::{self, Norm};
use rustarr::{Array, DType, Defer, ErrorKind, ops};
use std::f64::consts::PI;

fn dft(x: &[Complex64], sign: f64) -> Vec<Complex64> {
    let n = x.len();
    let term = |k: usize, j: usize| {
        x[j] * Complex64::from_polar(1.0, sign * 2.0 * PI * ((j * k) % n) as f64 / n as f64)
    };
    (0..n).map(|k| (0..n).map(|j| term(k, j)).sum()).collect()
}

#[track_caller]
fn near(got: &Array, want: &[Complex64]) {
    let got = complexes(got);
    assert_eq!(got.len(), want.len());
    let scale = want.iter().map(|z| z.norm()).fold(1.0, f64::max);
    assert!(
        got.iter()
            .zip(want)
            .all(|(g, w)| (g - w).norm() <= 1e-12 * scale),
        "{got:?} is not {want:?}"
    );
}

fn signal(n: usize, seed: u64) -> Vec<Complex64> {
    let mut dice = Dice(seed);
    (0..n)
        .map(|_| Complex64::new(dice.float(), dice.float()))
        .collect()
}

#[test]
fn one_axis() {
    for ctx in contexts() {
        for n in [1usize, 2, 3, 8, 12, 31] {
            let z = signal(n, n as u64);
            let x = array(&ctx, &z, &[n]);
            let spectrum = dft(&z, -1.0);
            near(&fft::fft(&x, None, -1, Norm::Backward).unwrap(), &spectrum);
            let scaled = |s: f64| spectrum.iter().map(|v| v * s).collect::<Vec<_>>();
            near(
                &fft::fft(&x, None, 0, Norm::Forward).unwrap(),
                &scaled(1.0 / n as f64),
            );
            near(
                &fft::fft(&x, None, 0, Norm::Ortho).unwrap(),
                &scaled(1.0 / (n as f64).sqrt()),
            );
            for norm in [Norm::Backward, Norm::Ortho, Norm::Forward] {
                let back = fft::ifft(&fft::fft(&x, None, 0, norm).unwrap(), None, 0, norm).unwrap();
                near(&back, &z);
            }
            let real = ops::real(&x).unwrap();
            let re: Vec<Complex64> = z.iter().map(|v| v.re.into()).collect();
            let half = fft::rfft(&real, None, 0, Norm::Backward).unwrap();
            near(&half, &dft(&re, -1.0)[..n / 2 + 1]);
            let back = fft::irfft(&half, Some(n as i64), 0, Norm::Backward).unwrap();
            assert_eq!(back.dtype(), DType::F64);
            near(&back, &re);
            // A real signal of any length is the spectrum of a Hermitian one.
            let hermitian = fft::ihfft(&real, None, 0, Norm::Backward).unwrap();
            near(
                &fft::hfft(&hermitian, Some(n as i64), 0, Norm::Backward).unwrap(),
                &re,
            );
            let conj: Vec<Complex64> = dft(&re, -1.0)[..n / 2 + 1]
                .iter()
                .map(|v| v.conj() / n as f64)
                .collect();
            near(&hermitian, &conj);
        }
    }
}

#[test]
fn lengths_dtypes_and_axes() {
    for ctx in contexts() {
        let z = signal(5, 9);
        let x = array(&ctx, &z, &[5]);
        let mut padded = z.clone();
        padded.extend([Complex64::ZERO; 3]);
        near(
            &fft::fft(&x, Some(8), 0, Norm::Backward).unwrap(),
            &dft(&padded, -1.0),
        );
        near(
            &fft::fft(&x, Some(3), 0, Norm::Backward).unwrap(),
            &dft(&z[..3], -1.0),
        );
        assert_eq!(
            fft::irfft(&x, None, 0, Norm::Backward).unwrap().shape(),
            [8]
        );
        assert_eq!(
            fft::irfft(&x, Some(3), 0, Norm::Backward).unwrap().shape(),
            [3]
        );
        assert_eq!(
            fft::irfft(&x, Some(20), 0, Norm::Backward).unwrap().shape(),
            [20]
        );
        let types = [
            (DType::F16, DType::C64),
            (DType::F32, DType::C64),
            (DType::I32, DType::C128),
            (DType::C64, DType::C64),
        ];
        for (from, to) in types {
            let x = ops::ones(&ctx, &[4], Some(from)).unwrap();
            assert_eq!(fft::fft(&x, None, 0, Norm::Backward).unwrap().dtype(), to);
        }
        let m = array(&ctx, &signal(12, 3), &[3, 4]);
        let columns = fft::fft(&m, None, 0, Norm::Backward).unwrap();
        let rows = fft::fft(&ops::transpose(&m), None, 1, Norm::Backward).unwrap();
        near(&columns, &complexes(&ops::transpose(&rows)));

        let both = fft::fftn(&m, None, None, Norm::Backward).unwrap();
        near(
            &both,
            &complexes(&fft::fft(&columns, None, 1, Norm::Backward).unwrap()),
        );
        near(
            &fft::ifftn(&both, None, None, Norm::Backward).unwrap(),
            &complexes(&m),
        );
        assert_eq!(
            fft::fftn(&m, Some(&[6]), None, Norm::Backward)
                .unwrap()
                .shape(),
            [3, 6]
        );
        assert_eq!(
            fft::fftn(&m, Some(&[5, -1]), Some(&[0, 1]), Norm::Backward)
                .unwrap()
                .shape(),
            [5, 4]
        );
        for shape in [[3usize, 4], [4, 3]] {
            let r = ops::real(&ops::reshape(&m, &shape.map(|n| n as i64), None).unwrap()).unwrap();
            let half = fft::rfftn(&r, None, None, Norm::Ortho).unwrap();
            assert_eq!(half.shape(), [shape[0], shape[1] / 2 + 1]);
            let sizes = shape.map(|n| n as i64);
            let back = fft::irfftn(&half, Some(&sizes), None, Norm::Ortho).unwrap();
            near(&back, &complexes(&r));
        }
    }
}

#[test]
fn bad_transforms() {
    let ctx = context(Defer::Auto);
    let x = ops::ones(&ctx, &[4], None).unwrap();
    let z = ops::ones(&ctx, &[4], Some(DType::C64)).unwrap();
    assert_eq!(
        kind(fft::fft(&x, Some(0), 0, Norm::Backward)),
        ErrorKind::Value
    );
    assert_eq!(
        kind(fft::fft(
            &ops::zeros(&ctx, &[0], None).unwrap(),
            None,
            0,
            Norm::Backward
        )),
        ErrorKind::Value
    );
    assert_eq!(
        kind(fft::irfft(
            &ops::ones(&ctx, &[1], None).unwrap(),
            None,
            0,
            Norm::Backward
        )),
        ErrorKind::Value
    );
    assert_eq!(kind(fft::fft(&x, None, 1, Norm::Backward)), ErrorKind::Axis);
    assert_eq!(
        kind(fft::rfft(&z, None, 0, Norm::Backward)),
        ErrorKind::DType
    );
    assert_eq!(
        kind(fft::ihfft(&z, None, 0, Norm::Backward)),
        ErrorKind::DType
    );
    assert_eq!(
        kind(fft::fftn(&x, Some(&[1, 2]), None, Norm::Backward)),
        ErrorKind::Value
    );
    assert_eq!(
        kind(fft::fftn(&x, Some(&[1, 2]), Some(&[0]), Norm::Backward)),
        ErrorKind::Value
    );
    assert_eq!(kind(fft::fftfreq(&ctx, 0, 1.0, None)), ErrorKind::Value);
    assert_eq!(
        kind(fft::fftfreq(&ctx, 3, 1.0, Some(DType::I32))),
        ErrorKind::DType
    );
}

#[test]
fn frequencies_and_shifts() {
    for ctx in contexts() {
        let freq = |n| floats(&fft::fftfreq(&ctx, n, 0.5, None).unwrap());
        close(&freq(4), &[0.0, 0.5, -1.0, -0.5], 0.0);
        close(&freq(5), &[0.0, 0.4, 0.8, -0.8, -0.4], 1e-15);
        let half = |n| floats(&fft::rfftfreq(&ctx, n, 1.0, None).unwrap());
        close(&half(1), &[0.0], 0.0);
        close(&half(2), &[0.0, 0.5], 0.0);
        close(&half(5), &[0.0, 0.2, 0.4], 1e-15);
        assert_eq!(
            fft::rfftfreq(&ctx, 5, 1.0, Some(DType::F32))
                .unwrap()
                .dtype(),
            DType::F32
        );
        let x = range(&ctx, &[5]);
        let shifted = fft::fftshift(&x, None).unwrap();
        assert_eq!(ints(&shifted), [3, 4, 0, 1, 2]);
        assert_eq!(ints(&fft::ifftshift(&shifted, None).unwrap()), ints(&x));
        let m = range(&ctx, &[2, 3]);
        assert_eq!(
            ints(&fft::fftshift(&m, Some(&[1])).unwrap()),
            [2, 0, 1, 5, 3, 4]
        );
        assert_eq!(ints(&fft::fftshift(&m, None).unwrap()), [5, 3, 4, 2, 0, 1]);
    }
}
