//! Fusion: a pending node and all that can be inlined below it become one program.

use super::node::{Node, Recipe, Src};
use rustarr_interface::{
    Buffer, DType, Dims, Layout, Op, Operand, Program, ProgramBuilder, Result, Scalar, Slot,
};
use smallvec::SmallVec;
use std::sync::Arc;

/// One input of a plan.
pub(crate) struct Input {
    pub buffer: Buffer,
    pub dtype: DType,
    pub layout: Layout,
}

impl Input {
    pub fn operand(&self) -> Operand<'_> {
        Operand {
            buffer: &self.buffer,
            layout: &self.layout,
            dtype: self.dtype,
        }
    }
}

/// A program ready to run, and the nodes whose values it writes: the root first.
#[derive(Default)]
pub(crate) struct Plan {
    /// The shape that the program runs over.
    pub domain: Dims,
    pub program: Program,
    pub inputs: SmallVec<[Input; 4]>,
    pub params: SmallVec<[Scalar; 4]>,
    pub outs: SmallVec<[Arc<Node>; 2]>,
    /// Every inlined node, with the references to it inside the plan.
    pub inlined: SmallVec<[(Arc<Node>, usize); 8]>,
}

/// What has to happen before a program can be made.
#[expect(
    clippy::large_enum_variant,
    reason = "lives on the stack of one caller"
)]
pub(crate) enum Step {
    /// Run this node first and ask again.
    First(Arc<Node>),
    Ready(Plan),
}

struct Walk<'a> {
    domain: &'a [usize],
    native: bool,
    builder: ProgramBuilder,
    inputs: SmallVec<[Input; 4]>,
    params: SmallVec<[Scalar; 4]>,
    /// Inlined nodes in the order of their slots: operands come before their users.
    nodes: SmallVec<[(Arc<Node>, Slot, usize); 8]>,
    cut: Option<Arc<Node>>,
}

impl Walk<'_> {
    fn src(&mut self, src: &Src) -> Result<Slot> {
        match src {
            Src::Scalar(scalar) => {
                self.params.push(*scalar);
                Ok(self.builder.param(scalar.dtype()))
            }
            Src::Buf {
                buffer,
                dtype,
                layout,
            } => Ok(self.load(buffer, *dtype, layout)),
            Src::Node { node, layout } => {
                if let Some(found) = self.nodes.iter_mut().find(|(n, ..)| Arc::ptr_eq(n, node)) {
                    // A second view of an inlined node must be the same elements.
                    if is_identity(layout, self.domain) {
                        found.2 += 1;
                        return Ok(found.1);
                    }
                    self.cut = Some(node.clone());
                    return Ok(self.placeholder(node.dtype));
                }
                if let Some(value) = node.finished() {
                    return Ok(self.load(&value?, node.dtype, layout));
                }
                let fits = node.recipe.is_elementwise()
                    && node.native == self.native
                    && is_identity(layout, self.domain)
                    && node.shape.as_slice() == self.domain;
                if !fits {
                    self.cut = Some(node.clone());
                    return Ok(self.placeholder(node.dtype));
                }
                let slot = self.node(node)?;
                self.nodes.push((node.clone(), slot, 1));
                Ok(slot)
            }
        }
    }

    /// Stands in for an operand that has to be cut off; the program is thrown away.
    fn placeholder(&mut self, dtype: DType) -> Slot {
        self.builder.param(dtype)
    }

    fn load(&mut self, buffer: &Buffer, dtype: DType, layout: &Layout) -> Slot {
        let same = |i: &Input| i.buffer.same(buffer) && i.dtype == dtype && i.layout == *layout;
        if let Some(n) = self.inputs.iter().position(same) {
            return self.builder.loaded(n);
        }
        self.inputs.push(Input {
            buffer: buffer.clone(),
            dtype,
            layout: layout.clone(),
        });
        self.builder.load(dtype)
    }

    fn node(&mut self, node: &Node) -> Result<Slot> {
        let slot = node.with_srcs(|srcs| {
            let mut args: SmallVec<[Slot; 3]> = SmallVec::new();
            for src in srcs {
                args.push(self.src(src)?);
                if self.cut.is_some() {
                    return Ok(self.placeholder(node.dtype));
                }
            }
            apply_recipe(&mut self.builder, node.recipe, node.dtype, &mut args)
        });
        match slot {
            Some(slot) => slot,
            // Another thread has just finished it.
            None => {
                let value = node.finished().expect("a node is pending or finished")?;
                Ok(self.load(&value, node.dtype, &Layout::contiguous(&node.shape)))
            }
        }
    }
}

/// Emits one recorded operation on operands that may still need a cast.
pub(crate) fn apply_recipe(
    builder: &mut ProgramBuilder,
    recipe: Recipe,
    dtype: DType,
    args: &mut [Slot],
) -> Result<Slot> {
    match recipe {
        Recipe::Apply(op, compute) => {
            let first = (op == Op::Select) as usize;
            for arg in &mut args[first..] {
                *arg = builder.cast(*arg, compute);
            }
            builder.apply(op, args)
        }
        Recipe::Cast => Ok(builder.cast(args[0], dtype)),
        Recipe::Iota(axis) => Ok(builder.iota(axis, dtype)),
        Recipe::Reduce(..) => Ok(args[0]),
    }
}

/// Whether a layout over a node's dense elements is just its elements in order.
fn is_identity(layout: &Layout, domain: &[usize]) -> bool {
    layout.shape() == domain && layout.offset() == 0 && layout.is_contiguous()
}

/// Makes the program of `root`, or names a node that must run before. A reduction's program is the one in front
/// of it, over its operand's shape.
pub(crate) fn plan(root: &Arc<Node>) -> Result<Step> {
    let reduce = !root.recipe.is_elementwise();
    let domain = root.with_srcs(|srcs| match (reduce, srcs.first()) {
        (true, Some(Src::Buf { layout, .. } | Src::Node { layout, .. })) => layout.shape().into(),
        _ => root.shape.clone(),
    });
    let domain: Dims = domain.unwrap_or_else(|| root.shape.clone());
    let mut walk = Walk {
        domain: &domain,
        native: root.native,
        builder: ProgramBuilder::new(),
        inputs: SmallVec::new(),
        params: SmallVec::new(),
        nodes: SmallVec::new(),
        cut: None,
    };
    let slot = walk.node(root)?;
    if let Some(cut) = walk.cut {
        return Ok(Step::First(cut));
    }
    let Walk {
        builder,
        inputs,
        params,
        nodes,
        ..
    } = walk;
    let mut slots: SmallVec<[Slot; 4]> = SmallVec::from_slice(&[slot]);
    let mut outs: SmallVec<[Arc<Node>; 2]> = SmallVec::from_iter([root.clone()]);
    let room = root
        .ctx
        .backend()
        .caps()
        .max_operands
        .saturating_sub(inputs.len());
    for (node, slot, refs) in nodes.iter().rev() {
        // One more for our own list. Others hold the node too: keep its value rather than compute it twice. Bare
        // constants and coordinates are cheaper to make again than to load.
        let wanted = Arc::strong_count(node) > refs + 1;
        let trivial =
            node.with_srcs(|s| s.iter().all(|s| matches!(s, Src::Scalar(_)))) == Some(true);
        if wanted && !trivial {
            if reduce || outs.len() >= room {
                return Ok(Step::First(node.clone()));
            }
            slots.push(*slot);
            outs.push(node.clone());
        }
    }
    let inlined = nodes
        .into_iter()
        .map(|(node, _, refs)| (node, refs))
        .collect();
    let program = builder.finish(&slots)?;
    Ok(Step::Ready(Plan {
        domain,
        program,
        inputs,
        params,
        outs,
        inlined,
    }))
}
