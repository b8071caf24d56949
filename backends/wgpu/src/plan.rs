//! Geometry: domains collapsed, cut into boxes that fit the device, operands
//! grouped into bindings.

use rustarr_interface::{AxisMask, Buffer, Code, DType, Layout, Operand, Program, collapse};
use smallvec::SmallVec;

use crate::signature::{Form, Port};

/// A domain in as few dimensions as can be, outer ones (those of the results)
/// first.
#[derive(Debug)]
pub(crate) struct Domain {
    pub dims: SmallVec<[usize; 6]>,
    /// How many dimensions are outer.
    pub outer: usize,
    /// Per dimension the axis that it was.
    pub origin: SmallVec<[usize; 6]>,
    /// Per operand its strides along the dimensions; outputs have the outer ones.
    pub strides: SmallVec<[SmallVec<[isize; 6]>; 6]>,
    /// Strides of the row-major position over the inner dimensions.
    pub position: SmallVec<[isize; 6]>,
}

/// Axes that a program counts along.
fn iota_axes(program: &Program) -> AxisMask {
    AxisMask::of(program.instrs().iter().filter_map(|i| match i.code {
        Code::Iota(axis) => Some(axis as usize),
        _ => None,
    }))
}

impl Domain {
    /// Collapses the outer axes, then the inner ones. `inputs` have the shape's
    /// axes, `outputs` the outer ones.
    pub fn new(
        shape: &[usize],
        axes: AxisMask,
        inputs: &[&Layout],
        outputs: &[&Layout],
        program: &Program,
    ) -> Domain {
        let all = AxisMask::all(shape.len());
        let outer_only = AxisMask(all.0 & !axes.0);
        let keep = iota_axes(program);
        // Axis numbers within each part.
        let names = |part: AxisMask| -> SmallVec<[usize; 6]> {
            (0..shape.len()).filter(|a| part.contains(*a)).collect()
        };
        let mut domain = Domain {
            dims: SmallVec::new(),
            outer: 0,
            origin: SmallVec::new(),
            strides: SmallVec::new(),
            position: SmallVec::new(),
        };
        for (part, drop, inner) in [(outer_only, axes, false), (axes, outer_only, true)] {
            let names = names(part);
            let sizes: SmallVec<[usize; 6]> = names.iter().map(|a| shape[*a]).collect();
            let mut layouts: Vec<Layout> = inputs.iter().map(|l| l.remove_axes(drop)).collect();
            if inner {
                layouts.push(Layout::contiguous(&sizes));
            } else {
                layouts.extend(outputs.iter().map(|l| (*l).clone()));
            }
            let refs: Vec<&Layout> = layouts.iter().collect();
            let keep_here = AxisMask::of((0..names.len()).filter(|i| keep.contains(names[*i])));
            // A map may go through its elements in any order.
            let reorder = !inner && axes.count() == 0 && !outputs.is_empty();
            let (dims, strides, origin) = collapse(&sizes, &refs, keep_here, reorder);
            domain.dims.extend(dims);
            domain.origin.extend(origin.iter().map(|i| names[*i]));
            if inner {
                let mut strides = strides.into_iter();
                for own in domain.strides.iter_mut().take(inputs.len()) {
                    own.extend(strides.next().unwrap_or_default());
                }
                domain.position = strides.next().unwrap_or_default().into_iter().collect();
            } else {
                domain.outer = domain.dims.len();
                domain.strides = strides
                    .into_iter()
                    .map(|s| s.into_iter().collect())
                    .collect();
            }
        }
        domain
    }

    /// A dimension of length 1 where there is none, so that a scalar and a vector
    /// share a kernel.
    pub fn pad(&mut self, inner: bool, inputs: usize) {
        let (at, missing) = if inner {
            (self.dims.len(), self.dims.len() == self.outer)
        } else {
            (0, self.outer == 0)
        };
        if !missing {
            return;
        }
        self.dims.insert(at, 1);
        self.origin.insert(at, usize::MAX);
        for strides in self
            .strides
            .iter_mut()
            .take(if inner { inputs } else { usize::MAX })
        {
            strides.insert(at, 0);
        }
        if inner {
            self.position.push(0);
        } else {
            self.outer = 1;
        }
    }

    /// The dimension that counts along an axis; none if the axis has length 1.
    pub fn dim_of(&self, axis: usize) -> Option<u8> {
        self.origin.iter().position(|o| *o == axis).map(|d| d as u8)
    }

    /// Sizes of equal pieces along every dimension such that each piece has at most
    /// `count` elements and each operand reaches at most `reach` bytes within one.
    pub fn pieces(&self, itemsizes: &[usize], count: usize, reach: u64) -> SmallVec<[usize; 6]> {
        let mut pieces = self.dims.clone();
        loop {
            let along = |strides: &[isize], d: usize, size: usize| {
                (pieces[d] as u64 - 1) * strides[d].unsigned_abs() as u64 * size as u64
            };
            let far = self
                .strides
                .iter()
                .zip(itemsizes)
                .find_map(|(strides, &size)| {
                    let spans: SmallVec<[u64; 6]> = (0..strides.len())
                        .map(|d| along(strides, d, size))
                        .collect();
                    let total: u64 = spans.iter().sum::<u64>() + size as u64;
                    // The window starts at an aligned offset, up to ALIGNMENT earlier.
                    (total + WINDOW_SLACK > reach)
                        .then(|| (0..spans.len()).max_by_key(|d| (spans[*d], usize::MAX - d)))
                        .flatten()
                });
            let many = || {
                let total = pieces.iter().fold(1usize, |n, d| n.saturating_mul(*d));
                (total > count)
                    .then(|| pieces.iter().position(|d| *d > 1))
                    .flatten()
            };
            match far.or_else(many) {
                Some(d) if pieces[d] > 1 => pieces[d] = pieces[d].div_ceil(2),
                _ => return pieces,
            }
        }
    }

    /// The boxes that the pieces make: first coordinates and sizes, outer
    /// dimensions slowest.
    pub fn boxes(&self, pieces: &[usize]) -> Vec<Box> {
        let mut boxes = vec![Box {
            start: SmallVec::new(),
            dims: SmallVec::new(),
        }];
        for (&dim, &piece) in self.dims.iter().zip(pieces) {
            boxes = boxes
                .into_iter()
                .flat_map(|b| {
                    (0..dim).step_by(piece.max(1)).map(move |start| {
                        let mut b = b.clone();
                        b.start.push(start);
                        b.dims.push(piece.min(dim - start));
                        b
                    })
                })
                .collect();
        }
        boxes
    }
}

/// Largest distance between a window's start and the first byte that is used.
pub(crate) const WINDOW_SLACK: u64 = 512;

/// A part of a domain.
#[derive(Clone, Debug)]
pub(crate) struct Box {
    pub start: SmallVec<[usize; 6]>,
    pub dims: SmallVec<[usize; 6]>,
}

impl Box {
    /// Elements in a range of dimensions.
    pub fn size(&self, dims: std::ops::Range<usize>) -> usize {
        self.dims[dims].iter().product()
    }
}

/// One operand as a kernel sees it: the buffer, where it starts and how it steps.
#[derive(Clone, Debug)]
pub(crate) struct View<'a> {
    pub buffer: &'a Buffer,
    pub dtype: DType,
    pub form: Form,
    /// First element.
    pub offset: usize,
    pub strides: SmallVec<[isize; 6]>,
    /// Elements in a row at every position: more than one for partial results.
    pub run: usize,
    pub written: bool,
}

impl<'a> View<'a> {
    pub fn new(operand: &Operand<'a>, strides: &[isize], written: bool) -> Self {
        View {
            buffer: operand.buffer,
            dtype: operand.dtype,
            form: Form::Array,
            offset: operand.layout.offset(),
            strides: SmallVec::from_slice(strides),
            run: 1,
            written,
        }
    }

    /// Bytes per element as stored.
    pub fn itemsize(&self) -> usize {
        match self.form {
            Form::Register => self.dtype.itemsize().max(4),
            _ => self.dtype.itemsize(),
        }
    }

    /// The view of a box of the domain.
    pub fn within(&self, b: &Box) -> View<'a> {
        let moved: isize = self
            .strides
            .iter()
            .zip(&b.start)
            .map(|(s, c)| s * *c as isize)
            .sum();
        View {
            offset: (self.offset as isize + moved) as usize,
            ..self.clone()
        }
    }

    /// The bytes that the view reaches over dimensions of these sizes.
    pub fn bytes(&self, dims: &[usize]) -> (u64, u64) {
        let (mut lo, mut hi) = (self.offset as i64, self.offset as i64);
        for (stride, dim) in self.strides.iter().zip(dims) {
            let span = *stride as i64 * (*dim as i64 - 1);
            if span < 0 { lo += span } else { hi += span }
        }
        let size = self.itemsize() as u64;
        (lo as u64 * size, (hi as u64 + self.run as u64) * size)
    }

    /// Whether the elements follow each other over these dimensions.
    fn is_linear(&self, dims: &[usize]) -> bool {
        let mut step = 1;
        self.strides.iter().zip(dims).rev().all(|(&stride, &dim)| {
            let ok = dim == 1 || stride == step;
            step *= dim as isize;
            ok
        })
    }
}

/// A window of a buffer that one binding shows.
#[derive(Clone, Debug)]
pub(crate) struct Window<'a> {
    pub buffer: &'a Buffer,
    pub start: u64,
    pub end: u64,
    pub written: bool,
}

/// Groups the views of one dispatch into bindings: a buffer that is written is
/// bound once, with everything else that is read from it.
pub(crate) fn bind<'a>(
    views: &mut [View<'a>],
    dims: &[usize],
    reach: u64,
    align: u64,
) -> (SmallVec<[Port; 6]>, SmallVec<[Window<'a>; 6]>) {
    let mut windows: SmallVec<[Window<'a>; 6]> = SmallVec::new();
    let mut ports: SmallVec<[Port; 6]> = views
        .iter()
        .map(|v| Port {
            dtype: v.dtype,
            form: v.form,
            binding: 0,
        })
        .collect();
    // Written buffers first, so that what is read from them joins them.
    let mut order: SmallVec<[usize; 6]> = (0..views.len()).collect();
    order.sort_by_key(|n| !views[*n].written);
    for n in order {
        let view = &views[n];
        let (lo, hi) = view.bytes(dims);
        let start = lo / align * align;
        let fits = |w: &Window<'_>| {
            w.buffer.same(view.buffer)
                && (w.written || hi.max(w.end) - start.min(w.start) + WINDOW_SLACK <= reach)
        };
        let binding = match windows.iter().position(fits) {
            Some(at) => {
                let w = &mut windows[at];
                (w.start, w.end) = (w.start.min(start), w.end.max(hi));
                at
            }
            None => {
                windows.push(Window {
                    buffer: view.buffer,
                    start,
                    end: hi,
                    written: view.written,
                });
                windows.len() - 1
            }
        };
        ports[n].binding = binding as u8;
    }
    // Bindings are numbered as the operands come, whatever order made them.
    let mut numbers: SmallVec<[u8; 6]> = SmallVec::new();
    for port in &mut ports {
        let new = numbers
            .iter()
            .position(|b| *b == port.binding)
            .unwrap_or_else(|| {
                numbers.push(port.binding);
                numbers.len() - 1
            });
        port.binding = new as u8;
    }
    let windows: SmallVec<[Window<'a>; 6]> = numbers
        .iter()
        .map(|b| windows[*b as usize].clone())
        .collect();
    for (view, port) in views.iter_mut().zip(&ports) {
        view.offset -= windows[port.binding as usize].start as usize / view.itemsize();
    }
    (ports, windows)
}

/// Lets outputs of narrow elements be written a word at a time, where every word
/// belongs to one thread.
pub(crate) fn pack(views: &mut [View<'_>], inputs: usize, dims: &[usize]) {
    let lanes = |v: &View<'_>| 4 / v.itemsize().min(4);
    let most = views[inputs..].iter().map(lanes).max().unwrap_or(1);
    for n in inputs..views.len() {
        let view = &views[n];
        let alone = (inputs..views.len()).all(|m| m == n || !views[m].buffer.same(view.buffer));
        if lanes(view) > 1 && alone && view.offset.is_multiple_of(most) && view.is_linear(dims) {
            views[n].form = Form::Packed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_fit_whatever_the_strides() {
        let program = Program::copy(DType::F32, DType::F32);
        let a = Layout::contiguous(&[1000, 3000]);
        let t = Layout::contiguous(&[3000, 1000]).permute(&[1, 0]);
        let d = Domain::new(a.shape(), AxisMask::default(), &[&t], &[&a], &program);
        for (count, reach) in [(1usize << 30, 1u64 << 20), (5000, 1 << 40), (1, 1024)] {
            let pieces = d.pieces(&[4, 4], count, reach);
            let boxes = d.boxes(&pieces);
            let total: usize = boxes.iter().map(|b| b.size(0..b.dims.len())).sum();
            assert_eq!(total, 3_000_000);
            for b in &boxes {
                assert!(b.size(0..b.dims.len()) <= count);
                for strides in &d.strides {
                    let span: u64 = strides
                        .iter()
                        .zip(&b.dims)
                        .map(|(s, n)| s.unsigned_abs() as u64 * (*n as u64 - 1) * 4)
                        .sum();
                    assert!(span + 4 <= reach);
                }
            }
        }
    }
}
