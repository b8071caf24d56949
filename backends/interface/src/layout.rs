//! Signed-stride layouts: all view algebra of the project, written once.
//!
//! Strides and offsets count elements. A layout never knows its dtype or its buffer.

use crate::error::{Error, Result};
use crate::spec::AxisMask;
use smallvec::SmallVec;

/// Sizes of dimensions.
pub type Dims = SmallVec<[usize; 4]>;
/// Steps per dimension, in elements; may be negative or zero.
pub type Strides = SmallVec<[isize; 4]>;

/// Which elements of a buffer an array is: a shape, a step per dimension and the first element.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    shape: Dims,
    strides: Strides,
    offset: usize,
}

impl Clone for Layout {
    /// Copies the words at once, which a `SmallVec`'s own clone does one by one.
    #[inline]
    fn clone(&self) -> Layout {
        Layout {
            shape: Dims::from_slice(&self.shape),
            strides: Strides::from_slice(&self.strides),
            offset: self.offset,
        }
    }
}

impl Layout {
    /// The dense row-major layout of a shape, from element 0.
    pub fn contiguous(shape: &[usize]) -> Layout {
        let mut strides: Strides = SmallVec::from_elem(0, shape.len());
        let mut step = 1usize;
        for (stride, &dim) in strides.iter_mut().zip(shape).rev() {
            *stride = step as isize;
            step = step.saturating_mul(dim.max(1));
        }
        Layout {
            shape: Dims::from_slice(shape),
            strides,
            offset: 0,
        }
    }

    /// A layout of given parts.
    ///
    /// # Panics
    /// If shape and strides differ in length.
    pub fn new(shape: &[usize], strides: &[isize], offset: usize) -> Layout {
        assert_eq!(shape.len(), strides.len(), "one stride per dimension");
        Layout {
            shape: shape.into(),
            strides: strides.into(),
            offset,
        }
    }

    /// Sizes of the dimensions.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Steps of the dimensions, in elements.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The first element's position in the buffer.
    #[inline]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Number of dimensions.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements; saturates, which no real array reaches.
    #[inline]
    pub fn size(&self) -> usize {
        self.shape.iter().fold(1usize, |n, &d| n.saturating_mul(d))
    }

    /// Whether the elements follow each other in row-major order without gaps, from any offset.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        let mut step = 1isize;
        for (&dim, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if dim == 0 {
                return true;
            }
            if dim != 1 {
                if stride != step {
                    return false;
                }
                step *= dim as isize;
            }
        }
        true
    }

    /// Whether every one of the `len` first elements of the buffer is addressed exactly once, in
    /// any order of axes: writing through such a layout replaces the whole buffer.
    pub fn is_dense(&self, len: usize) -> bool {
        self.size() == len
            && !self.may_self_overlap()
            && self.extent().is_none_or(|(lo, hi)| lo == 0 && hi == len)
    }

    /// The half-open range of elements between the lowest and the highest address, or `None` when there
    /// are no elements.
    pub fn extent(&self) -> Option<(usize, usize)> {
        if self.shape.contains(&0) {
            return None;
        }
        let (mut lo, mut hi) = (self.offset as isize, self.offset as isize);
        for (&dim, &stride) in self.shape.iter().zip(&self.strides) {
            let span = (dim as isize - 1) * stride;
            if span < 0 { lo += span } else { hi += span }
        }
        Some((lo as usize, hi as usize + 1))
    }

    /// Whether two different indices may address one element. Exact for layouts made by slicing and
    /// transposing, true when in doubt.
    pub fn may_self_overlap(&self) -> bool {
        let mut dims: SmallVec<[(usize, usize); 6]> = self
            .shape
            .iter()
            .zip(&self.strides)
            .filter(|(d, _)| **d > 1)
            .map(|(&d, &s)| (s.unsigned_abs(), d))
            .collect();
        if self.shape.contains(&0) {
            return false;
        }
        dims.sort_unstable();
        let mut reach = 0;
        for (stride, dim) in dims {
            if stride <= reach {
                return true;
            }
            reach += stride * (dim - 1);
        }
        false
    }

    /// Whether the two layouts, over one buffer, may share an element. Extents and a common-divisor test
    /// decide; true when in doubt.
    pub fn may_overlap(&self, other: &Layout) -> bool {
        let (Some((a_lo, a_hi)), Some((b_lo, b_hi))) = (self.extent(), other.extent()) else {
            return false;
        };
        if a_hi <= b_lo || b_hi <= a_lo {
            return false;
        }
        let steps = |l: &Layout| {
            l.shape
                .iter()
                .zip(&l.strides)
                .filter(|(d, _)| **d > 1)
                .fold(0, |g, (_, s)| gcd(g, s.unsigned_abs()))
        };
        let step = gcd(steps(self), steps(other));
        let distance = self.offset.abs_diff(other.offset);
        if step == 0 {
            distance == 0
        } else {
            distance.is_multiple_of(step)
        }
    }

    /// This layout seen through a larger shape: repeated along new and length-1 axes.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Layout> {
        let fail = || {
            Error::shape(
                "broadcast_to",
                format!("cannot broadcast shape {:?} to {:?}", self.shape(), shape),
            )
        };
        let lead = shape.len().checked_sub(self.ndim()).ok_or_else(fail)?;
        let mut strides: Strides = SmallVec::from_elem(0, shape.len());
        for (i, (&dim, &stride)) in self.shape.iter().zip(&self.strides).enumerate() {
            if dim == shape[lead + i] {
                strides[lead + i] = stride;
            } else if dim != 1 {
                return Err(fail());
            }
        }
        Ok(Layout {
            shape: shape.into(),
            strides,
            offset: self.offset,
        })
    }

    /// The axes in another order; `axes` is a permutation of `0..ndim`.
    pub fn permute(&self, axes: &[usize]) -> Layout {
        Layout {
            shape: axes.iter().map(|&a| self.shape[a]).collect(),
            strides: axes.iter().map(|&a| self.strides[a]).collect(),
            offset: self.offset,
        }
    }

    /// `len` elements along `axis`, from element `start` in steps of `step`. The elements named must
    /// exist, unless `len` is 0.
    pub fn slice(&self, axis: usize, start: usize, step: isize, len: usize) -> Layout {
        let mut out = self.clone();
        if len > 0 {
            out.offset = (out.offset as isize + start as isize * self.strides[axis]) as usize;
        }
        out.shape[axis] = len;
        out.strides[axis] = self.strides[axis].wrapping_mul(step);
        out
    }

    /// Element `index` along `axis`; the axis disappears.
    pub fn select(&self, axis: usize, index: usize) -> Layout {
        let mut out = self.slice(axis, index, 1, 1);
        out.shape.remove(axis);
        out.strides.remove(axis);
        out
    }

    /// The order along `axis` reversed.
    pub fn flip(&self, axis: usize) -> Layout {
        let dim = self.shape[axis];
        self.slice(axis, dim.saturating_sub(1), -1, dim)
    }

    /// A new axis of length 1 before `axis`.
    pub fn insert_axis(&self, axis: usize) -> Layout {
        let mut out = self.clone();
        out.shape.insert(axis, 1);
        out.strides.insert(axis, 0);
        out
    }

    /// The axes of the mask dropped; they have length 1 (or the caller wants their first element).
    pub fn remove_axes(&self, axes: AxisMask) -> Layout {
        let keep = || (0..self.ndim()).filter(|&a| !axes.contains(a));
        Layout {
            shape: keep().map(|a| self.shape[a]).collect(),
            strides: keep().map(|a| self.strides[a]).collect(),
            offset: self.offset,
        }
    }

    /// Diagonal `k` of the axes `a` and `b`: both disappear and the diagonal is the last axis.
    pub fn diagonal(&self, k: isize, a: usize, b: usize) -> Layout {
        let (rows, cols) = (self.shape[a] as isize, self.shape[b] as isize);
        let (r0, c0) = ((-k).max(0), k.max(0));
        let len = (rows - r0).min(cols - c0).max(0);
        let mut out = self.remove_axes(AxisMask::of([a, b]));
        if len > 0 {
            out.offset =
                (self.offset as isize + r0 * self.strides[a] + c0 * self.strides[b]) as usize;
        }
        out.shape.push(len as usize);
        out.strides.push(self.strides[a] + self.strides[b]);
        out
    }

    /// The same elements in row-major order under another shape of equal size, as a view, or `None` where
    /// that takes a copy.
    pub fn reshape(&self, shape: &[usize]) -> Option<Layout> {
        debug_assert_eq!(self.size(), Layout::contiguous(shape).size());
        if self.size() == 0 {
            return Some(Layout {
                offset: self.offset,
                ..Layout::contiguous(shape)
            });
        }
        // Old axes without the ones, then matched group by group with the new axes.
        let old: SmallVec<[(usize, isize); 4]> = self
            .shape
            .iter()
            .zip(&self.strides)
            .filter(|(d, _)| **d != 1)
            .map(|(&d, &s)| (d, s))
            .collect();
        let mut strides: Strides = SmallVec::from_elem(0, shape.len());
        let (mut i, mut j) = (0, 0);
        while i < old.len() {
            while shape[j] == 1 {
                j += 1;
            }
            let (i0, j0) = (i, j);
            let (mut from, mut to) = (old[i].0, shape[j]);
            while from != to {
                if from < to {
                    i += 1;
                    from *= old[i].0;
                } else {
                    j += 1;
                    to *= shape[j];
                }
            }
            for pair in old[i0..=i].windows(2) {
                if pair[0].1 != pair[1].1 * pair[1].0 as isize {
                    return None;
                }
            }
            let mut step = old[i].1;
            for axis in (j0..=j).rev() {
                strides[axis] = step;
                step *= shape[axis] as isize;
            }
            i += 1;
            j += 1;
        }
        Some(Layout {
            shape: shape.into(),
            strides,
            offset: self.offset,
        })
    }

    /// The position in the buffer of the element at a row-major index.
    pub fn position(&self, mut index: usize) -> usize {
        let mut at = self.offset as isize;
        for (&dim, &stride) in self.shape.iter().zip(&self.strides).rev() {
            at += (index % dim) as isize * stride;
            index /= dim;
        }
        at as usize
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The common shape of several shapes.
///
/// # Errors
/// `Shape`, with all the shapes, if they do not broadcast.
pub fn broadcast_shapes(op: &'static str, shapes: &[&[usize]]) -> Result<Dims> {
    let ndim = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut out: Dims = SmallVec::from_elem(1, ndim);
    for shape in shapes {
        for (o, &d) in out[ndim - shape.len()..].iter_mut().zip(*shape) {
            if *o == 1 {
                *o = d;
            } else if d != 1 && d != *o {
                let all: Vec<String> = shapes.iter().map(|s| format!("{s:?}")).collect();
                return Err(Error::shape(
                    op,
                    format!("shapes {} do not broadcast", all.join(", ")),
                ));
            }
        }
    }
    Ok(out)
}

/// A domain and its operands' strides in as few axes as can be: length-1 axes are dropped, adjacent axes that
/// every operand walks as one are merged. `keep` lists axes that a program's `iota` needs, which stay on their own.
/// With `reorder`, axes are first sorted by falling stride of the *last* operand (the output), which is allowed
/// where the order of evaluation cannot matter.
///
/// Returns the shape, one stride list per operand, and for every axis the original one (the last of a merged group).
pub fn collapse(
    shape: &[usize],
    operands: &[&Layout],
    keep: AxisMask,
    reorder: bool,
) -> (Dims, SmallVec<[Strides; 4]>, SmallVec<[usize; 4]>) {
    let mut axes: SmallVec<[usize; 4]> = (0..shape.len()).filter(|&a| shape[a] != 1).collect();
    if reorder && let Some(out) = operands.last() {
        axes.sort_by_key(|&a| std::cmp::Reverse(out.strides[a].unsigned_abs()));
    }
    let mut dims = Dims::new();
    let mut strides: SmallVec<[Strides; 4]> = operands.iter().map(|_| Strides::new()).collect();
    let mut origin: SmallVec<[usize; 4]> = SmallVec::new();
    for &axis in &axes {
        let dim = shape[axis];
        let merges = origin
            .last()
            .is_some_and(|&last| !keep.contains(last) && !keep.contains(axis))
            && operands
                .iter()
                .zip(&strides)
                .all(|(l, s)| s.last() == l.strides[axis].checked_mul(dim as isize).as_ref());
        if merges {
            *dims.last_mut().expect("merged into an axis") *= dim;
            *origin.last_mut().expect("merged into an axis") = axis;
            for (l, s) in operands.iter().zip(&mut strides) {
                *s.last_mut().expect("merged into an axis") = l.strides[axis];
            }
        } else {
            dims.push(dim);
            origin.push(axis);
            for (l, s) in operands.iter().zip(&mut strides) {
                s.push(l.strides[axis]);
            }
        }
    }
    (dims, strides, origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(l: &Layout) -> Vec<usize> {
        (0..l.size()).map(|i| l.position(i)).collect()
    }

    #[test]
    fn views_address_the_right_elements() {
        let a = Layout::contiguous(&[2, 3, 4]);
        assert!(a.is_contiguous() && a.is_dense(24));
        assert_eq!(positions(&a), (0..24).collect::<Vec<_>>());
        assert_eq!(positions(&a.select(1, 2)), [8, 9, 10, 11, 20, 21, 22, 23]);
        assert_eq!(
            positions(&a.slice(2, 3, -2, 2).select(0, 1)),
            [15, 13, 19, 17, 23, 21]
        );
        let t = a.permute(&[2, 0, 1]);
        assert_eq!(t.shape(), [4, 2, 3]);
        assert_eq!(&positions(&t)[..4], [0, 4, 8, 12]);
        assert!(t.is_dense(24) && !t.is_contiguous());
        assert_eq!(a.flip(0).extent(), Some((0, 24)));
        assert_eq!(
            positions(&Layout::contiguous(&[3, 4]).diagonal(1, 0, 1)),
            [1, 6, 11]
        );
        assert_eq!(
            positions(&Layout::contiguous(&[3, 4]).diagonal(-1, 0, 1)),
            [4, 9]
        );
        assert_eq!(a.slice(0, 0, 1, 0).extent(), None);
    }

    #[test]
    fn reshape_is_a_view_where_it_can_be() {
        let a = Layout::contiguous(&[2, 3, 4]);
        assert_eq!(a.reshape(&[6, 4]).unwrap(), Layout::contiguous(&[6, 4]));
        assert_eq!(a.reshape(&[1, 24, 1]).unwrap().shape(), [1, 24, 1]);
        assert!(a.permute(&[0, 2, 1]).reshape(&[24]).is_none());
        let t = a.permute(&[1, 2, 0]).reshape(&[12, 2]).unwrap();
        assert_eq!(&positions(&t)[..4], [0, 12, 1, 13]);
        assert_eq!(
            positions(&a.select(2, 1).reshape(&[3, 2]).unwrap()),
            [1, 5, 9, 13, 17, 21]
        );
        let scalar = Layout::contiguous(&[]);
        assert_eq!(scalar.reshape(&[1, 1]).unwrap().shape(), [1, 1]);
        assert_eq!(
            Layout::contiguous(&[0, 3])
                .reshape(&[3, 0, 2])
                .unwrap()
                .shape(),
            [3, 0, 2]
        );
        let b = Layout::contiguous(&[1]).broadcast_to(&[6]).unwrap();
        assert_eq!(positions(&b.reshape(&[2, 3]).unwrap()), [0; 6]);
    }

    #[test]
    fn overlap_is_decided_on_elements() {
        let a = Layout::contiguous(&[10]);
        let (even, odd) = (a.slice(0, 0, 2, 5), a.slice(0, 1, 2, 5));
        assert!(!even.may_overlap(&odd));
        assert!(even.may_overlap(&a) && even.may_overlap(&even));
        assert!(!a.slice(0, 0, 1, 5).may_overlap(&a.slice(0, 5, 1, 5)));
        assert!(a.select(0, 3).may_overlap(&a.select(0, 3)));
        assert!(!a.select(0, 3).may_overlap(&a.select(0, 4)));
        assert!(a.broadcast_to(&[2, 10]).unwrap().may_self_overlap());
        assert!(!Layout::contiguous(&[3, 4]).flip(1).may_self_overlap());
        assert!(!even.is_dense(10));
    }

    #[test]
    fn broadcasting_follows_the_rules() {
        assert_eq!(
            broadcast_shapes("add", &[&[3, 1], &[4]])
                .unwrap()
                .as_slice(),
            [3, 4]
        );
        assert_eq!(
            broadcast_shapes("add", &[&[0], &[1]]).unwrap().as_slice(),
            [0]
        );
        assert!(broadcast_shapes("add", &[&[3], &[4]]).is_err());
        let b = Layout::contiguous(&[3, 1])
            .broadcast_to(&[2, 3, 4])
            .unwrap();
        assert_eq!(b.strides(), [0, 1, 0]);
        assert!(Layout::contiguous(&[3]).broadcast_to(&[4]).is_err());
    }

    #[test]
    fn collapsing_keeps_the_walk() {
        let a = Layout::contiguous(&[2, 3, 4]);
        let (dims, strides, _) = collapse(a.shape(), &[&a, &a], AxisMask::default(), false);
        assert_eq!(
            (dims.as_slice(), strides[0].as_slice()),
            (&[24][..], &[1][..])
        );
        let b = Layout::contiguous(&[3, 1])
            .broadcast_to(&[2, 3, 4])
            .unwrap();
        let (dims, strides, axes) = collapse(a.shape(), &[&b, &a], AxisMask::default(), false);
        assert_eq!(
            (dims.as_slice(), axes.as_slice()),
            (&[2, 3, 4][..], &[0, 1, 2][..])
        );
        assert_eq!(strides[0].as_slice(), [0, 1, 0]);
        let t = a.permute(&[2, 1, 0]);
        let (dims, _, _) = collapse(t.shape(), &[&t, &t], AxisMask::default(), true);
        assert_eq!(dims.as_slice(), [24]);
        let (dims, _, axes) = collapse(a.shape(), &[&a], AxisMask::of([1]), false);
        assert_eq!(
            (dims.as_slice(), axes.as_slice()),
            (&[2, 3, 4][..], &[0, 1, 2][..])
        );
        let (dims, _, _) = collapse(
            &[1, 1],
            &[&Layout::contiguous(&[1, 1])],
            AxisMask::default(),
            false,
        );
        assert!(dims.is_empty());
    }
}
