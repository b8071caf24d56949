//! Random numbers against the generator's definition.

mod support;

use rustarr_interface::{Backend, DType, Element, Random, Verb};
use support::*;

/// Word `i` of the stream.
fn word(key: u64, counter: u64, i: usize) -> u32 {
    let at = counter.wrapping_add(i as u64 / 4);
    let mut c = [at as u32, (at >> 32) as u32, 0, 0];
    let mut k = [key as u32, (key >> 32) as u32];
    for _ in 0..10 {
        let a = 0xD251_1F53u64 * u64::from(c[0]);
        let b = 0xCD9E_8D57u64 * u64::from(c[2]);
        c = [
            (b >> 32) as u32 ^ c[1] ^ k[0],
            b as u32,
            (a >> 32) as u32 ^ c[3] ^ k[1],
            a as u32,
        ];
        k = [
            k[0].wrapping_add(0x9E37_79B9),
            k[1].wrapping_add(0xBB67_AE85),
        ];
    }
    c[i % 4]
}

fn wide(key: u64, counter: u64, i: usize) -> u64 {
    u64::from(word(key, counter, 2 * i)) | u64::from(word(key, counter, 2 * i + 1)) << 32
}

fn draw<T: Element>(random: Random, key: u64, counter: u64, n: usize) -> Vec<T> {
    let gpu = gpu().expect("asked for by the caller");
    let out = blank(&gpu, &[n], T::DTYPE);
    gpu.random(random, key, counter, out.operand()).unwrap();
    download(&gpu, &out)
}

const STREAMS: [(u64, u64); 4] = [
    (0, 0),
    (1, 5),
    (0x1234_5678_9abc_def0, u64::MAX - 3),
    (u64::MAX, (1 << 32) - 2),
];

#[test]
fn bits_and_uniforms_are_the_stream_s() {
    if gpu().is_none() {
        return;
    }
    // The generator's published first answer.
    assert_eq!(
        draw::<u32>(Random::Bits, 0, 0, 4),
        [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
    );
    for (key, counter) in STREAMS {
        for n in [0, 1, 2, 3, 4, 5, 63, 257, 1000] {
            let want: Vec<u32> = (0..n).map(|i| word(key, counter, i)).collect();
            assert_eq!(draw::<u32>(Random::Bits, key, counter, n), want);
            let want: Vec<u64> = (0..n).map(|i| wide(key, counter, i)).collect();
            assert_eq!(draw::<u64>(Random::Bits, key, counter, n), want);
            let want: Vec<f32> = (0..n)
                .map(|i| (word(key, counter, i) >> 8) as f32 / 16777216.0)
                .collect();
            assert_eq!(draw::<f32>(Random::Uniform, key, counter, n), want);
        }
    }
    // Over several dispatches, and over the rows of a two-dimensional one.
    let n = 9_000_001;
    let got = draw::<u32>(Random::Bits, 7, 9, n);
    assert!(
        (0..n).step_by(10_007).all(|i| got[i] == word(7, 9, i)) && got[n - 1] == word(7, 9, n - 1)
    );
}

fn integers<T: Element>(low: i128, range: u128, to: impl Fn(u64) -> T) {
    for (key, counter) in STREAMS {
        let got = draw::<T>(Random::Integers { low, range }, key, counter, 501);
        let want: Vec<T> = (0..501)
            .map(|i| {
                let x = u128::from(wide(key, counter, i));
                let scaled = if range == 1 << 64 {
                    x as u64
                } else {
                    ((x * range) >> 64) as u64
                };
                to((low as u64).wrapping_add(scaled))
            })
            .collect();
        assert_eq!(got, want, "{low} {range}");
    }
}

#[test]
fn integers_of_every_dtype_and_range() {
    if gpu().is_none() {
        return;
    }
    integers(-128, 256, |x| x as i8);
    integers(3, 7, |x| x as u8);
    integers(-1000, 2001, |x| x as i16);
    integers(0, 65536, |x| x as u16);
    integers(i128::from(i32::MIN), 1 << 32, |x| x as i32);
    integers(5, 1, |x| x as u32);
    integers(i128::from(i64::MIN), 1 << 64, |x| x as i64);
    integers(-5, (1 << 63) + 12345, |x| x as i64);
    integers(0, 1 << 64, |x| x);
}

#[test]
fn normals_are_box_and_muller_s() {
    let Some(gpu) = gpu() else { return };
    let n = 100_000;
    let got = draw::<f32>(Random::Normal, 11, 13, n);
    for (j, pair) in got.chunks_exact(2).enumerate() {
        let unit = |i| f64::from((word(11, 13, i) >> 8) as f32 / 16777216.0);
        let radius = (-2.0 * (1.0 - unit(2 * j)).ln()).sqrt();
        let angle = std::f64::consts::TAU * unit(2 * j + 1);
        for (got, want) in pair
            .iter()
            .zip([radius * angle.cos(), radius * angle.sin()])
        {
            assert!((f64::from(*got) - want).abs() < 2e-6, "{got}, not {want}");
        }
    }
    // What is not promised is refused.
    assert!(!gpu.caps().has(Verb::Random, DType::F64));
    let out = blank(&gpu, &[4], DType::F64);
    assert!(gpu.random(Random::Normal, 1, 1, out.operand()).is_err());
}
