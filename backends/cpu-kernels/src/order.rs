//! The order of sorting and searching: NumPy's, with NaN last.

use rustarr_interface::{Bool, Complex32, Complex64, f16};

/// An element's place in the order as an unsigned number: equal exactly where elements tie,
/// so `-0.0` with `0.0` and every NaN with every other.
pub(crate) trait Ordered: Copy + Send + Sync {
    /// The unsigned number.
    type Key: Digits;
    /// The key in rising order, or with `flip = Key::MAX` in falling order, where NaN still
    /// comes last.
    fn key(self, flip: Self::Key) -> Self::Key;
}

/// Keys that can be taken apart into bytes.
pub(crate) trait Digits: Copy + Ord + Send + Sync {
    /// Rising order.
    const ZERO: Self;
    /// Falling order.
    const MAX: Self;
    /// How many bytes a key has.
    const BYTES: usize = size_of::<Self>();
    /// Byte `n`, the lowest first.
    fn digit(self, n: usize) -> usize;
}

macro_rules! digits {
    ($($t:ty),*) => { $(impl Digits for $t {
        const ZERO: Self = 0;
        const MAX: Self = <$t>::MAX;
        #[inline(always)]
        fn digit(self, n: usize) -> usize {
            (self >> (8 * n)) as usize & 0xFF
        }
    })* };
}
digits!(u8, u16, u32, u64);

impl<K: Digits> Digits for (u8, K, K) {
    const ZERO: Self = (0, K::ZERO, K::ZERO);
    const MAX: Self = (u8::MAX, K::MAX, K::MAX);
    const BYTES: usize = 1 + 2 * K::BYTES;
    #[inline(always)]
    fn digit(self, n: usize) -> usize {
        if n < K::BYTES {
            self.2.digit(n)
        } else if n < 2 * K::BYTES {
            self.1.digit(n - K::BYTES)
        } else {
            self.0 as usize
        }
    }
}

macro_rules! ordered {
    (int: $($t:ty => $key:ty),*) => { $(impl Ordered for $t {
        type Key = $key;
        #[inline(always)]
        fn key(self, flip: $key) -> $key {
            // Moves the smallest value to zero.
            (self as $key ^ <$t>::MIN as $key) ^ flip
        }
    })* };
    (float: $($t:ty => $key:ty),*) => { $(impl Ordered for $t {
        type Key = $key;
        #[inline(always)]
        fn key(self, flip: $key) -> $key {
            const SIGN: $key = !(<$key>::MAX >> 1);
            let bits = self.to_bits();
            let key = if bits == SIGN {
                SIGN
            } else if bits & SIGN == 0 {
                bits | SIGN
            } else {
                !bits
            };
            if self.is_nan() { <$key>::MAX } else { key ^ flip }
        }
    })* };
    (complex: $($t:ty => $key:ty),*) => { $(impl Ordered for $t {
        type Key = (u8, $key, $key);
        #[inline(always)]
        fn key(self, flip: Self::Key) -> Self::Key {
            // Numbers without NaN, then those whose imaginary part is NaN, then the others.
            let class = if self.re.is_nan() { 2 } else { self.im.is_nan() as u8 };
            (class, self.re.key(flip.1), self.im.key(flip.2))
        }
    })* };
}
ordered!(int: i8 => u8, i16 => u16, i32 => u32, i64 => u64, u8 => u8, u16 => u16, u32 => u32, u64 => u64);
ordered!(float: f16 => u16, f32 => u32, f64 => u64);
ordered!(complex: Complex32 => u32, Complex64 => u64);

impl Ordered for Bool {
    type Key = u8;
    #[inline(always)]
    fn key(self, flip: u8) -> u8 {
        self.get() as u8 ^ flip
    }
}
