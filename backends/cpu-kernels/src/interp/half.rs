//! `float16` as vectorisable bit arithmetic; it is computed in `float32` and rounded after every instruction.

use rustarr_interface::f16;

/// The exact value.
#[inline(always)]
pub(crate) fn widen(x: f16) -> f32 {
    let bits = x.to_bits() as u32;
    let sign = (bits & 0x8000) << 16;
    // The exponent is moved by multiplying with 2^112, which also makes subnormals normal.
    let size = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits((254 - 15) << 23);
    let size = size.to_bits();
    // Infinity and NaN have become numbers from 2^16 up.
    let size = if size >= 0x4780_0000 {
        size | 0x7f80_0000
    } else {
        size
    };
    f32::from_bits(size | sign)
}

/// The nearest value, ties to even.
#[inline(always)]
pub(crate) fn narrow(x: f32) -> f16 {
    let bits = x.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let size = bits & 0x7fff_ffff;
    // A normal result: round off 13 bits; the carry may run into the exponent, up to infinity.
    let odd = (size >> 13) & 1;
    let normal = size
        .wrapping_add(0xfff + odd)
        .wrapping_sub((127 - 15) << 23)
        >> 13;
    // A subnormal one: adding 1/2 leaves units of 2^-24 in the low bits, rounded by the addition.
    let tiny = (f32::from_bits(size) + 0.5)
        .to_bits()
        .wrapping_sub(0x3f00_0000);
    let value = if size < 0x3880_0000 { tiny } else { normal };
    let value = if size >= 0x4780_0000 { 0x7c00 } else { value };
    let value = if size > 0x7f80_0000 { 0x7e00 } else { value };
    f16::from_bits((value | sign) as u16)
}

/// The nearest value of a `f64`, rounded once: the step through `f32` rounds to odd, which keeps the last step exact.
#[inline(always)]
pub(crate) fn narrow_f64(x: f64) -> f16 {
    let y = x as f32;
    let back = y as f64;
    let bits = y.to_bits();
    let below = bits.wrapping_sub((back.abs() > x.abs()) as u32);
    let odd = below | (back != x) as u32;
    narrow(f32::from_bits(if x.is_nan() { bits } else { odd }))
}

/// The next value after `x` in the direction of `to`, in steps of `float16`.
#[inline(always)]
pub(crate) fn next_after(x: f16, to: f16) -> f16 {
    let (a, b) = (widen(x), widen(to));
    let bits = x.to_bits();
    let outwards = (b > a) == (a > 0.0);
    let stepped = if outwards {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    };
    let next = if a == 0.0 {
        (to.to_bits() & 0x8000) | 1
    } else {
        stepped
    };
    let next = if a == b { to.to_bits() } else { next };
    f16::from_bits(if a.is_nan() | b.is_nan() {
        0x7e00
    } else {
        next
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_goes_there_and_back() {
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            let wide = widen(x);
            assert!(
                wide == x.to_f32() || (wide.is_nan() && x.is_nan()),
                "{bits:x}"
            );
            let back = narrow(wide);
            assert!(
                back.to_bits() == bits || (x.is_nan() && back.is_nan()),
                "{bits:x}"
            );
        }
    }

    #[test]
    fn rounding_is_to_nearest_even_and_done_once() {
        for bits in 0..0x7c00u16 {
            let (low, high) = (
                f16::from_bits(bits).to_f64(),
                f16::from_bits(bits + 1).to_f64(),
            );
            let high = if bits == 0x7bff { 65536.0 } else { high };
            let middle = (low + high) / 2.0;
            let even = f16::from_bits(bits + (bits & 1));
            for sign in [1.0, -1.0] {
                let signed = |h: f16| if sign < 0.0 { -h } else { h };
                assert_eq!(narrow_f64(sign * middle), signed(even), "{middle}");
                assert_eq!(narrow((sign * middle) as f32), signed(even), "{middle}");
                let above = f64::from_bits(middle.to_bits() + 1);
                assert_eq!(narrow_f64(sign * above), signed(f16::from_bits(bits + 1)));
                let below = f64::from_bits(middle.to_bits() - 1);
                assert_eq!(narrow_f64(sign * below), signed(f16::from_bits(bits)));
            }
        }
        assert_eq!(narrow_f64(1e300), f16::INFINITY);
        assert_eq!(narrow_f64(f64::NEG_INFINITY), f16::NEG_INFINITY);
        assert!(narrow_f64(f64::NAN).is_nan() && narrow(f32::NAN).is_nan());
    }
}
