//! Tiles: small rectangles of a domain, and moving them between strided and dense memory.

use rustarr_interface::{Complex64, DType, dispatch};

/// A rectangle of `rows` x `cols` elements; dense tiles are row-major.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tile {
    pub rows: usize,
    pub cols: usize,
}

/// The steps of a strided tile in elements, from row to row and from column to column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Steps {
    pub row: isize,
    pub col: isize,
}

impl Tile {
    /// How many elements.
    #[inline]
    pub fn len(self) -> usize {
        self.rows * self.cols
    }

    /// The steps of the dense tile.
    #[inline]
    pub fn dense(self) -> Steps {
        Steps {
            row: self.cols as isize,
            col: 1,
        }
    }

    /// Whether a tile with these steps is dense.
    #[inline]
    pub fn is_dense(self, steps: Steps) -> bool {
        (self.cols == 1 || steps.col == 1) && (self.rows == 1 || steps.row == self.cols as isize)
    }
}

/// Copies a tile of `itemsize`-byte elements.
///
/// # Safety
/// `from` and `to` point at the tile's first element, aligned to it, and the steps stay within
/// memory that may be read and written; the two do not overlap, nor do two elements of `to`.
pub(crate) unsafe fn copy(
    itemsize: usize,
    tile: Tile,
    from: *const u8,
    from_steps: Steps,
    to: *mut u8,
    to_steps: Steps,
) {
    // SAFETY: passed on.
    unsafe {
        match itemsize {
            1 => copy_sized::<u8>(tile, from, from_steps, to, to_steps),
            2 => copy_sized::<u16>(tile, from, from_steps, to, to_steps),
            4 => copy_sized::<u32>(tile, from, from_steps, to, to_steps),
            8 => copy_sized::<u64>(tile, from, from_steps, to, to_steps),
            _ => copy_sized::<Complex64>(tile, from, from_steps, to, to_steps),
        }
    }
}

/// [`copy`] by type.
///
/// # Safety
/// As for [`copy`].
unsafe fn copy_sized<T: Copy>(
    tile: Tile,
    from: *const u8,
    mut a: Steps,
    to: *mut u8,
    mut b: Steps,
) {
    let (mut rows, mut cols) = (tile.rows, tile.cols);
    let (from, to) = (from.cast::<T>(), to.cast::<T>());
    if tile.is_dense(a) && tile.is_dense(b) {
        // SAFETY: both are dense, valid and apart.
        unsafe { std::ptr::copy_nonoverlapping(from, to, rows * cols) };
        return;
    }
    // Columns are the inner loop: make them the axis along which the reader, else the writer, is dense.
    let swap = if a.row == 1 || a.col == 1 {
        a.col != 1
    } else {
        b.col != 1 && b.row == 1
    };
    if cols == 1 || (swap && rows > 1) {
        (rows, cols) = (cols, rows);
        a = Steps {
            row: a.col,
            col: a.row,
        };
        b = Steps {
            row: b.col,
            col: b.row,
        };
    }
    for r in 0..rows as isize {
        // SAFETY: the rows of both tiles are within them.
        let (from, to) = unsafe { (from.offset(r * a.row), to.offset(r * b.row)) };
        // SAFETY: so are the columns; dense rows are valid as slices and apart.
        unsafe {
            match (a.col, b.col) {
                (1, 1) => std::ptr::copy_nonoverlapping(from, to, cols),
                (0, 1) => std::slice::from_raw_parts_mut(to, cols).fill(*from),
                (1, step) => {
                    for c in 0..cols as isize {
                        *to.offset(c * step) = *from.offset(c);
                    }
                }
                (step, 1) => {
                    for c in 0..cols as isize {
                        *to.offset(c) = *from.offset(c * step);
                    }
                }
                (a, b) => {
                    for c in 0..cols as isize {
                        *to.offset(c * b) = *from.offset(c * a);
                    }
                }
            }
        }
    }
}

/// Writes the dense tile of coordinates `start + r * steps.row + c * steps.col`.
///
/// # Safety
/// `to` has room for the tile's elements of `dtype`, aligned, and nobody else uses them.
pub(crate) unsafe fn iota(dtype: DType, tile: Tile, start: isize, steps: Steps, to: *mut u8) {
    /// # Safety
    /// As for [`iota`], with elements of `T`.
    unsafe fn write<T: Copy>(
        tile: Tile,
        start: isize,
        steps: Steps,
        to: *mut u8,
        f: impl Fn(i64) -> T,
    ) {
        // SAFETY: the caller gives room for the tile.
        let out = unsafe { std::slice::from_raw_parts_mut(to.cast::<T>(), tile.len()) };
        let (row, col) = (steps.row as i64, steps.col as i64);
        for (r, out) in out.chunks_exact_mut(tile.cols).enumerate() {
            let start = start as i64 + r as i64 * row;
            for (c, out) in out.iter_mut().enumerate() {
                *out = f(start + c as i64 * col);
            }
        }
    }
    // SAFETY: passed on.
    unsafe {
        match dtype {
            DType::F64 => write(tile, start, steps, to, |i| i as f64),
            int => {
                dispatch!(int, int, T => write(tile, start, steps, to, |i| i as T), else unreachable!("iota of {int}"))
            }
        }
    }
}
