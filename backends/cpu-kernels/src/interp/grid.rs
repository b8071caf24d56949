//! Cutting a domain into tiles.

use super::machine::{BLOCK, Walk};
use super::tile::Tile;
use smallvec::SmallVec;

/// A domain cut into tiles of two axes.
pub(crate) struct Grid {
    /// Per axis, its length, the length of a tile along it, and how many tiles that makes.
    axes: SmallVec<[(usize, usize, usize); 4]>,
    pub row: Option<usize>,
    pub col: usize,
}

impl Grid {
    /// Chooses tiles of at most [`BLOCK`] elements: long pieces of rows where rows are long, several rows where they are
    /// short, and squares where an operand lies across, so that each cache line is used while it is near.
    pub fn of_map(dims: &[usize], walks: &[Walk]) -> Grid {
        const SQUARE: usize = 32;
        let col = dims.len() - 1;
        let across = walks.iter().find_map(|w| {
            let strided = w.strides[col].unsigned_abs() > 1;
            (0..col).find(|&a| strided && w.strides[a].unsigned_abs() == 1 && dims[a] > 1)
        });
        let (row, tile) = match across {
            _ if col == 0 => (
                None,
                Tile {
                    rows: 1,
                    cols: BLOCK,
                },
            ),
            Some(axis) if dims[col] > SQUARE => (
                Some(axis),
                Tile {
                    rows: SQUARE,
                    cols: SQUARE,
                },
            ),
            _ if dims[col] >= BLOCK / 4 => (
                None,
                Tile {
                    rows: 1,
                    cols: BLOCK,
                },
            ),
            _ => {
                let near = dims[col] * dims[col - 1] >= BLOCK / 16;
                let longest = || (0..col).max_by_key(|&a| dims[a]).unwrap_or(0);
                let axis = if near { col - 1 } else { longest() };
                (
                    Some(axis),
                    Tile {
                        rows: BLOCK / dims[col],
                        cols: dims[col],
                    },
                )
            }
        };
        Grid::cut(dims, row, col, tile)
    }

    /// Cuts a domain into tiles of at most `most`, and as equal as can be.
    pub fn cut(dims: &[usize], row: Option<usize>, col: usize, most: Tile) -> Grid {
        let cut = |axis: usize| {
            let most = if axis == col {
                most.cols
            } else if Some(axis) == row {
                most.rows
            } else {
                1
            };
            let count = dims[axis].div_ceil(most);
            (dims[axis], dims[axis].div_ceil(count), count)
        };
        Grid {
            axes: (0..dims.len()).map(cut).collect(),
            row,
            col,
        }
    }

    /// How many tiles.
    pub fn tiles(&self) -> usize {
        self.axes.iter().map(|a| a.2).product()
    }

    /// Most elements of a tile.
    pub fn room(&self) -> usize {
        self.axes[self.col].1 * self.row.map_or(1, |row| self.axes[row].1)
    }

    /// The `n`th tile, and where each walk has its first element.
    pub fn tile(&self, mut n: usize, walks: &[Walk], at: &mut [isize]) -> Tile {
        let mut tile = Tile { rows: 1, cols: 1 };
        for (at, walk) in at.iter_mut().zip(walks) {
            *at = walk.origin;
        }
        for (axis, &(dim, step, count)) in self.axes.iter().enumerate().rev() {
            let start = if count == 1 { 0 } else { n % count * step };
            n /= count.max(1);
            let len = step.min(dim - start);
            if axis == self.col {
                tile.cols = len;
            } else if Some(axis) == self.row {
                tile.rows = len;
            }
            for (at, walk) in at.iter_mut().zip(walks) {
                *at += start as isize * walk.strides[axis];
            }
        }
        tile
    }
}
