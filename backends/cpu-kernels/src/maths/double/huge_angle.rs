//! Reduction of huge angles with the bits of 2/pi that matter (M. Payne and R. Hanek, SIGNUM Newsletter 18, 1983).

use super::dd::Dd;
use super::trig::{HALF_PI, Reduced};

/// The binary fraction of 2/pi.
const TWO_OVER_PI: [u64; 20] = [
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB,
    0xF0CFBC209AF4361D,
];

/// Reduces a finite angle of at least 2^38.
#[cold]
#[inline(never)]
pub(in crate::maths) fn reduce(x: f64) -> Reduced {
    let bits = x.abs().to_bits();
    // |x| = m 2^e with an integral m.
    let e = (bits >> 52) as i32 - 1075;
    let m = (bits & ((1 << 52) - 1)) | (1 << 52);
    // Bits of 2/pi before `start` only add multiples of 4 quadrants.
    let start = (e - 2).max(0) as usize;
    let window: [u64; 3] = std::array::from_fn(|i| word(start + 64 * i));
    // m * window mod 2^192, most significant word first: the quadrant in the top two bits, then its fraction.
    let mut product = [0u64; 3];
    let mut carry = 0u128;
    for i in (0..3).rev() {
        carry += m as u128 * window[i] as u128;
        product[i] = carry as u64;
        carry >>= 64;
    }
    // Below 2^54 the window starts above the quadrant, and the product's overflow belongs to it.
    let right = (2 - e).max(0) as u32;
    if right > 0 {
        for i in (0..3).rev() {
            let above = if i == 0 { carry as u64 } else { product[i - 1] };
            product[i] = (product[i] >> right) | (above << (64 - right));
        }
    }
    let quadrant = (product[0] >> 62) + (product[0] >> 61 & 1);
    let mut fraction = [
        product[0] << 2 | product[1] >> 62,
        product[1] << 2 | product[2] >> 62,
        product[2] << 2,
    ];
    let negative = fraction[0] >> 63 != 0;
    if negative {
        fraction = fraction.map(|w| !w); // off by 2^-192, far below what is kept
    }
    // The fraction's leading 128 bits as a double-double; it is nowhere below 2^-64.
    let left = fraction[0].leading_zeros();
    let shifted = if left == 0 {
        fraction
    } else if left < 64 {
        [
            fraction[0] << left | fraction[1] >> (64 - left),
            fraction[1] << left | fraction[2] >> (64 - left),
            fraction[2] << left,
        ]
    } else {
        [fraction[1], fraction[2], 0]
    };
    let top = (shifted[0] as u128) << 64 | shifted[1] as u128;
    let hi = top as f64;
    let lo = (top.wrapping_sub(hi as u128) as i128) as f64;
    let unit = f64::from_bits((1023 - 128 - left as u64) << 52);
    let r = Dd::new(hi * unit, lo * unit).times(Dd::new(HALF_PI[0], HALF_PI[1]));
    let r = if negative != x.is_sign_negative() {
        r.negated()
    } else {
        r
    };
    Reduced {
        quadrant: if x.is_sign_negative() {
            quadrant.wrapping_neg()
        } else {
            quadrant
        },
        r,
    }
}

/// 64 bits of 2/pi from a bit position on.
fn word(start: usize) -> u64 {
    let (i, shift) = (start / 64, start % 64);
    let low = if shift == 0 {
        0
    } else {
        TWO_OVER_PI[i + 1] >> (64 - shift)
    };
    TWO_OVER_PI[i] << shift | low
}
