//! Conversions between every two dtypes, as `astype` does them: integers wrap, floats to integers truncate and saturate
//! with NaN as 0, complex to real keeps the real part, anything but zero is true.

use super::half::{narrow, narrow_f64, widen};
use super::lanes::Block;
use rustarr_interface::{Bool, Complex32, Complex64, DType, dispatch, f16};

/// Conversion of one element.
trait Cast<R> {
    fn cast(self) -> R;
}

macro_rules! cast {
    ($from:ty => $to:ty, $x:ident => $e:expr) => {
        impl Cast<$to> for $from {
            #[inline(always)]
            fn cast(self) -> $to {
                let $x = self;
                $e
            }
        }
    };
}

macro_rules! from_each {
    ($m:ident; $($from:ident),*) => { $($m!($from; i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);)* };
}
macro_rules! real_casts {
    ($from:ident; $($to:ident),*) => {
        $(cast!($from => $to, x => x as $to);)*
        cast!($from => Bool, x => Bool::from(x != 0 as $from));
        cast!($from => Complex32, x => Complex32::new(x as f32, 0.0));
        cast!($from => Complex64, x => Complex64::new(x as f64, 0.0));
        cast!(Bool => $from, x => x.get() as u8 as $from);
        cast!(Complex32 => $from, x => x.re as $from);
        cast!(Complex64 => $from, x => x.re as $from);
        cast!(f16 => $from, x => widen(x) as $from);
    };
}
from_each!(real_casts; i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

// Integers that f32 cannot hold are infinite in f16, whichever way they are rounded first.
macro_rules! to_half {
    ($($from:ident),*) => { $(cast!($from => f16, x => narrow(x as f32));)* };
}
to_half!(i8, i16, i32, i64, u8, u16, u32, u64, f32);
cast!(f64 => f16, x => narrow_f64(x));
cast!(Complex32 => f16, x => narrow(x.re));
cast!(Complex64 => f16, x => narrow_f64(x.re));
cast!(Bool => f16, x => narrow(x.get() as u8 as f32));
cast!(f16 => Bool, x => Bool::from(x.to_bits() & 0x7fff != 0));
cast!(f16 => Complex32, x => Complex32::new(widen(x), 0.0));
cast!(f16 => Complex64, x => Complex64::new(widen(x) as f64, 0.0));
cast!(f16 => f16, x => x);

cast!(Bool => Bool, x => Bool::from(x.get()));
cast!(Bool => Complex32, x => Complex32::new(x.get() as u8 as f32, 0.0));
cast!(Bool => Complex64, x => Complex64::new(x.get() as u8 as f64, 0.0));
cast!(Complex32 => Bool, x => Bool::from((x.re != 0.0) | (x.im != 0.0)));
cast!(Complex64 => Bool, x => Bool::from((x.re != 0.0) | (x.im != 0.0)));
cast!(Complex32 => Complex32, x => x);
cast!(Complex64 => Complex64, x => x);
cast!(Complex32 => Complex64, x => Complex64::new(x.re as f64, x.im as f64));
cast!(Complex64 => Complex32, x => Complex32::new(x.re as f32, x.im as f32));

/// Converts a block of `from` to `to`.
///
/// # Safety
/// The block's first argument holds elements of `from`, its result of `to`.
pub(crate) unsafe fn cast(from: DType, to: DType, block: Block) {
    fn row<A>(to: DType, block: Block)
    where
        A: Copy
            + Cast<Bool>
            + Cast<i8>
            + Cast<i16>
            + Cast<i32>
            + Cast<i64>
            + Cast<u8>
            + Cast<u16>
            + Cast<u32>
            + Cast<u64>
            + Cast<f16>
            + Cast<f32>
            + Cast<f64>
            + Cast<Complex32>
            + Cast<Complex64>,
    {
        dispatch!(all, to, R => block.map1(#[inline(always)] |x: A| <A as Cast<R>>::cast(x)))
    }
    dispatch!(all, from, A => row::<A>(to, block))
}
