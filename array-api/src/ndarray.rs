//! `ndarray` arrays in and out, without copies where layouts allow.

use crate::array::{Array, Export};
use crate::context::Context;
use crate::graph;
use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, ShapeBuilder};
use rustarr_interface::{Element, Error, ForeignMemory, Layout, Result};
use std::ptr::NonNull;

impl Array {
    /// Takes an `ndarray` over: without a copy on contexts that compute in host memory, copied to the device
    /// elsewhere.
    ///
    /// # Errors
    /// `Memory`.
    pub fn from_ndarray<T: Element>(ctx: &Context, array: ArrayD<T>) -> Result<Array> {
        ctx.check_open("from_ndarray")?;
        let shape = array.shape().to_vec();
        if !ctx.backend().caps().host_visible || !array.is_standard_layout() {
            let dense: Vec<T> = array.iter().copied().collect();
            return Array::from_slice(ctx, &dense, &shape);
        }
        let (mut data, offset) = array.into_raw_vec_and_offset();
        let len = std::mem::size_of_val(data.as_slice());
        let ptr = NonNull::new(data.as_mut_ptr().cast::<u8>()).unwrap_or(NonNull::dangling());
        let layout = Layout::new(
            &shape,
            Layout::contiguous(&shape).strides(),
            offset.unwrap_or(0),
        );
        // SAFETY: the vector is moved into the owner and reachable through nothing else.
        let memory = unsafe { ForeignMemory::taken(ptr, len, Box::new(data)) };
        // SAFETY: the layout is the array's own, over its own vector.
        unsafe { Array::from_foreign(ctx, memory, T::DTYPE, layout, true) }
    }

    /// The elements as an `ndarray` of its own.
    ///
    /// # Errors
    /// `DType` if `T` is not the storage of the array's dtype, and the failures of recorded work.
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        let values = self.to_vec::<T>()?;
        ArrayD::from_shape_vec(IxDyn(self.shape()), values)
            .map_err(|e| Error::shape("to_ndarray", e.to_string()))
    }
}

impl Export {
    /// The exported elements as an `ndarray` view, without a copy.
    ///
    /// # Errors
    /// `DType` if `T` is not the storage of the array's dtype.
    pub fn view<T: Element>(&self) -> Result<ArrayViewD<'_, T>> {
        if T::DTYPE != self.dtype() {
            let detail = format!("the array has dtype {}, not {}", self.dtype(), T::DTYPE);
            return Err(Error::dtype("view", detail));
        }
        if self.shape().contains(&0) {
            // No axis has a last element to start from.
            let nothing = ArrayViewD::from_shape(IxDyn(self.shape()), &[]);
            return nothing.map_err(|e| Error::shape("view", e.to_string()));
        }
        // `ndarray` takes steps forward only; axes that run backward are turned round after.
        let mut start = self.ptr().as_ptr().cast::<T>();
        let mut steps = Vec::with_capacity(self.shape().len());
        for (&dim, &stride) in self.shape().iter().zip(self.strides()) {
            if stride < 0 {
                // SAFETY: the array has elements, and the last one along the axis is among them.
                start = unsafe { start.offset(stride * (dim as isize - 1)) };
            }
            steps.push(stride.unsigned_abs());
        }
        let shape = IxDyn(self.shape()).strides(IxDyn(&steps));
        // SAFETY: the export keeps the memory alive and in place for as long as the view borrows it, and all
        // elements lie inside it, aligned.
        let mut view = unsafe { ArrayViewD::from_shape_ptr(shape, start) };
        for (axis, &stride) in self.strides().iter().enumerate() {
            if stride < 0 {
                view.invert_axis(Axis(axis));
            }
        }
        Ok(view)
    }
}

impl Context {
    /// An array of the given elements: `ctx.array(&[1.0, 2.0, 3.0])`.
    ///
    /// # Errors
    /// `Memory`.
    pub fn array<T: Element>(&self, values: &[T]) -> Result<Array> {
        Array::from_slice(self, values, &[values.len()])
    }

    /// An array of a shape filled with one value.
    ///
    /// # Errors
    /// `Memory`, where the work runs at once.
    pub fn full<T: Element>(&self, shape: &[usize], value: T) -> Result<Array> {
        graph::fill(self, shape, rustarr_interface::Scalar::new(value))
    }
}
