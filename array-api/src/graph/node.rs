//! A recorded operation and, later, its value.

use super::policy;
use crate::context::{Context, lock};
use rustarr_interface::{AxisMask, Buffer, DType, Dims, Error, Layout, Op, Reduce, Result, Scalar};
use smallvec::SmallVec;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

/// An operand of a recorded operation.
#[derive(Clone)]
pub(crate) enum Src {
    /// A run-time scalar.
    Scalar(Scalar),
    /// Memory seen through a layout.
    Buf {
        buffer: Buffer,
        dtype: DType,
        layout: Layout,
    },
    /// The value of another node seen through a layout over its dense elements.
    Node { node: Arc<Node>, layout: Layout },
}

impl Src {
    /// Puts the memory of a node that has run in its place.
    fn settle(&mut self) {
        if let Src::Node { node, layout } = self
            && let Some(Ok(buffer)) = node.finished()
        {
            *self = Src::Buf {
                buffer,
                dtype: node.dtype,
                layout: std::mem::replace(layout, Layout::contiguous(&[])),
            };
        }
    }
}

/// What is computed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Recipe {
    /// An operation of the table, in a dtype to which the operands are cast.
    Apply(Op, DType),
    /// The operand as the node's dtype; of equal dtype a copy.
    Cast,
    /// The coordinate along an axis.
    Iota(usize),
    /// The operand reduced over axes of its own shape.
    Reduce(Reduce, AxisMask),
}

impl Recipe {
    /// Whether the node can become part of a program over its own shape.
    pub fn is_elementwise(self) -> bool {
        !matches!(self, Recipe::Reduce(..))
    }
}

pub(crate) type Srcs = SmallVec<[Src; 3]>;

#[expect(
    clippy::large_enum_variant,
    reason = "a pending node is the common one"
)]
enum State {
    /// Not run; the operands are alive.
    Pending(Srcs),
    /// Dense row-major memory; the operands are gone.
    Done(Buffer),
    Failed(Error),
}

/// A recorded operation. Its shape, dtype and legality were settled when it was recorded.
pub(crate) struct Node {
    pub ctx: Context,
    pub name: &'static str,
    pub recipe: Recipe,
    pub dtype: DType,
    pub shape: Dims,
    /// Whether the context's own backend computes it; others run on the host kernels, apart.
    pub native: bool,
    /// Upper bound of the instructions of a program that inlines everything pending below.
    pub weight: usize,
    /// Upper bound of such a program's inputs.
    pub operands: usize,
    /// Bytes of the operands' memory, for the bound on what recorded work keeps alive.
    retains: usize,
    state: Mutex<State>,
}

impl Node {
    pub fn new(
        ctx: &Context,
        name: &'static str,
        recipe: Recipe,
        dtype: DType,
        shape: Dims,
        native: bool,
        srcs: Srcs,
    ) -> Arc<Node> {
        // The instruction itself, and for every operand a load, a parameter or a subprogram, and a cast.
        let (mut weight, mut operands, mut retains) = (1, 0, 0);
        for src in &srcs {
            weight += 1;
            match src {
                Src::Scalar(_) => {}
                Src::Buf { buffer, .. } => {
                    weight += 1;
                    operands += 1;
                    retains += buffer.len();
                }
                Src::Node { node, .. } => {
                    weight += node.weight;
                    operands += node.operands.max(1);
                }
            }
        }
        ctx.0.retained.fetch_add(retains, Relaxed);
        Arc::new(Node {
            ctx: ctx.clone(),
            name,
            recipe,
            dtype,
            shape,
            native,
            weight,
            operands,
            retains,
            state: Mutex::new(State::Pending(srcs)),
        })
    }

    /// The value or the error, once there is one.
    pub fn finished(&self) -> Option<Result<Buffer>> {
        match &*lock(&self.state) {
            State::Pending(_) => None,
            State::Done(buffer) => Some(Ok(buffer.clone())),
            State::Failed(error) => Some(Err(error.clone())),
        }
    }

    /// Whether the work is still to be done.
    pub fn is_pending(&self) -> bool {
        matches!(&*lock(&self.state), State::Pending(_))
    }

    /// Looks at the operands while the node is pending. Graphs have no cycles, so that nested looks
    /// from a node to its operands cannot block each other.
    ///
    /// An operand that has run is memory from then on: whoever counts the handles of that memory, to write in
    /// place, then finds none behind a finished node.
    pub fn with_srcs<R>(&self, look: impl FnOnce(&[Src]) -> R) -> Option<R> {
        match &mut *lock(&self.state) {
            State::Pending(srcs) => {
                srcs.iter_mut().for_each(Src::settle);
                Some(look(srcs))
            }
            _ => None,
        }
    }

    /// Stores the value and lets go of the operands.
    pub fn finish(&self, value: Result<Buffer>) {
        let next = match value {
            Ok(buffer) => State::Done(buffer),
            Err(error) => State::Failed(error),
        };
        let mut state = lock(&self.state);
        if let State::Pending(_) = &*state {
            let old = std::mem::replace(&mut *state, next);
            drop(state);
            self.ctx.0.retained.fetch_sub(self.retains, Relaxed);
            drop(old);
        }
    }

    /// Whether recording one more operation on this node would pass the limits of a program.
    pub fn is_heavy(&self, weight: usize, operands: usize) -> bool {
        let caps = self.ctx.backend().caps();
        weight > policy::MAX_INSTRS.min(caps.max_instrs) || operands + 1 > caps.max_operands
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Depth is bounded by the weight limit, so dropping operands recursively is safe.
        if let State::Pending(_) = self.state.get_mut().unwrap_or_else(|p| p.into_inner()) {
            self.ctx.0.retained.fetch_sub(self.retains, Relaxed);
        }
    }
}
