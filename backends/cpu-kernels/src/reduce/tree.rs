//! The order in which a reduction combines values, which fixes every bit of a floating-point result.
//!
//! It is a function of the reduced axes' lengths (in the order of the array's axes, without those of length 1) and of
//! nothing else: not of strides, of the other axes, of what is fused in front, of the instruction set, of
//! threads or tasks.
//!
//! 1. The values of one result, in row-major order over the reduced axes, are cut into *chunks* of at most [`CHUNK`]
//!    consecutive values. Let the last axes be as many as have at most [`CHUNK`] elements together, and call the axis
//!    before them the cut axis. A chunk is `step` indices of the cut axis with all of the last axes, where `step` is the
//!    smallest that needs as few chunks as the largest possible one; the axes before the cut axis each begin anew. So
//!    every chunk is a rectangle of the domain, which can be walked along any axis.
//! 2. Within a chunk of `n` values, *lane* `l` of [`LANES`] combines the values `l`, `l + LANES`, `l + 2 LANES`, ...
//!    from left to right. Then, for `h` = 16, 8, 4, 2, 1, lane `l < h` is combined with lane `l + h` on its right, if the
//!    chunk has as many values.
//! 3. The chunks' results are combined pairwise: 0 with 1, 2 with 3, and so on, the last one staying alone where the
//!    number is odd; and the results of that again, until one is left.
//!
//! The error of a sum of `n` values is at most about `CHUNK / LANES + 5 + log2(n / CHUNK)` roundings deep, like that of
//! NumPy's pairwise sum. There is no start value: a single -0 stays -0, and an infinite complex product stays
//! what it is.

use rustarr_interface::Result;

/// Most values of a chunk.
pub(crate) const CHUNK: usize = 512;
/// Lanes within a chunk.
pub(crate) const LANES: usize = 32;

/// How reduced axes are cut into chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Chunks {
    /// How many axes come before the cut axis.
    pub outer: usize,
    /// The cut axis' length, of a chunk along it, and the number of chunks; all 1 if all is one chunk.
    pub dim: usize,
    pub step: usize,
    pub pieces: usize,
    /// Values per index of the cut axis.
    pub inner: usize,
}

impl Chunks {
    /// The chunks of reduced axes of these lengths, none of which is 0 or 1.
    pub fn new(dims: &[usize]) -> Chunks {
        let (mut inner, mut first) = (1, dims.len());
        while first > 0 && inner * dims[first - 1] <= CHUNK {
            first -= 1;
            inner *= dims[first];
        }
        if first == 0 {
            return Chunks {
                outer: 0,
                dim: 1,
                step: 1,
                pieces: 1,
                inner,
            };
        }
        let dim = dims[first - 1];
        let pieces = dim.div_ceil(CHUNK / inner);
        let step = dim.div_ceil(pieces);
        Chunks {
            outer: first - 1,
            dim,
            step,
            pieces: dim.div_ceil(step),
            inner,
        }
    }

    /// Whether there is a cut axis; if not, all axes are one chunk.
    pub fn is_cut(&self) -> bool {
        self.pieces > 1
    }
}

/// The combinations of `count` results until one is left: `join(to, left, right)` combines two results into place `to`, or
/// only moves the left one. Places are reused from the front, where the last result ends. An error of `join` ends it.
pub(crate) fn pairwise(
    mut count: usize,
    mut join: impl FnMut(usize, usize, Option<usize>) -> Result<()>,
) -> Result<()> {
    while count > 1 {
        for pair in 0..count / 2 {
            join(pair, 2 * pair, Some(2 * pair + 1))?;
        }
        if count % 2 == 1 {
            join(count / 2, count - 1, None)?;
        }
        count = count.div_ceil(2);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustarr_interface::Error;

    #[test]
    fn chunks_are_rectangles_that_cover_the_axes_once() {
        for dims in [
            &[7][..],
            &[512],
            &[513],
            &[100_000],
            &[3, 500],
            &[9, 300],
            &[1000, 3, 5],
            &[2, 2000, 2],
        ] {
            let c = Chunks::new(dims);
            assert!(c.step * c.inner <= CHUNK, "{dims:?}");
            let outer: usize = dims[..c.outer].iter().product();
            assert_eq!(
                outer * c.dim * c.inner,
                dims.iter().product::<usize>(),
                "{dims:?}"
            );
            assert!(
                (c.pieces - 1) * c.step < c.dim && c.pieces * c.step >= c.dim,
                "{dims:?}"
            );
        }
        assert_eq!(Chunks::new(&[513]).step, 257);
    }

    #[test]
    fn pairs_are_neighbours() {
        let mut places: Vec<String> = ["a", "b", "c", "d", "e", "f", "g"]
            .map(String::from)
            .to_vec();
        pairwise(7, |to, left, right| {
            places[to] = match right {
                Some(right) => format!("({}{})", places[left], places[right]),
                None => places[left].clone(),
            };
            Ok(())
        })
        .unwrap();
        assert_eq!(places[0], "(((ab)(cd))((ef)g))");
        let mut joins = 0;
        let stopped = pairwise(7, |_, _, _| {
            joins += 1;
            if joins < 3 {
                Ok(())
            } else {
                Err(Error::interrupted("t", ""))
            }
        });
        assert!(stopped.is_err() && joins == 3);
    }
}
