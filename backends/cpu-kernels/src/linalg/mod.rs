//! Dense linear algebra over batches of matrices.
//!
//! Each matrix of a batch is computed by one thread, small ones several at a time. Single precision is computed in double and rounded at the end.

mod batch;
#[cfg(test)]
mod tests;

use crate::par::Par;
use batch::{Batch, Group, Item, Rooms, Small, Stored};
use rustarr_cpu_linalg::small::{self, LANES, Mask, SIZE, Vector};
use rustarr_cpu_linalg::{Dense, Field, Routines, Vectors};
use rustarr_interface::{Error, Linalg, Operand, Result, dispatch};

/// Runs a routine over a batch; operands as [`Linalg`] lists them, leading axes equal.
///
/// # Errors
/// `Linalg` for a singular or not positive definite matrix, or an iteration that does not converge, as it does where a
/// matrix has infinities or NaN; with the matrix's place in the batch. `DType` for other dtypes than `float32`,
/// `float64`, `complex64` and `complex128`.
pub fn linalg(
    par: Par<'_>,
    linalg: Linalg,
    inputs: &[Operand<'_>],
    outputs: &[Operand<'_>],
) -> Result<()> {
    let dtype = inputs[0].dtype;
    dispatch!(lapack, dtype, T => typed::<T>(par, linalg, inputs, outputs), else {
        Err(Error::dtype(
            name(linalg),
            format!("{dtype} matrices are not supported; convert to a floating-point dtype"),
        ))
    })
}

fn name(linalg: Linalg) -> &'static str {
    match linalg {
        Linalg::Solve => "solve",
        Linalg::Inv => "inv",
        Linalg::SlogDet => "slogdet",
        Linalg::Cholesky { .. } => "cholesky",
        Linalg::Qr { .. } => "qr",
        Linalg::Svd { .. } => "svd",
        Linalg::Eigh { .. } => "eigh",
        Linalg::Eig { .. } => "eig",
    }
}

fn typed<T: Stored>(
    par: Par<'_>,
    linalg: Linalg,
    inputs: &[Operand<'_>],
    outputs: &[Operand<'_>],
) -> Result<()> {
    // How many of an operand's last axes are its matrix, vector or scalar.
    let ranks: &[usize] = match linalg {
        Linalg::Inv | Linalg::Cholesky { .. } => &[2, 2],
        Linalg::Solve | Linalg::Qr { .. } => &[2, 2, 2],
        Linalg::SlogDet => &[2, 0, 0],
        Linalg::Svd { vectors: true, .. } => &[2, 2, 1, 2],
        Linalg::Svd { .. } | Linalg::Eigh { vectors: false } | Linalg::Eig { vectors: false } => {
            &[2, 1]
        }
        Linalg::Eigh { .. } | Linalg::Eig { .. } => &[2, 1, 2],
    };
    let batch = Batch::new(par, name(linalg), inputs, outputs, ranks);
    let alone = |item: &Item<'_, '_>| match linalg {
        Linalg::Solve => solve::<T>(item, item.load::<T>(1)?),
        Linalg::Inv => {
            let n = item.dims(1)[0].0;
            solve::<T>(item, item.check(Dense::identity(n, n))?)
        }
        Linalg::SlogDet => slogdet::<T>(item),
        Linalg::Cholesky { upper } => cholesky::<T>(item, upper),
        Linalg::Qr { .. } => qr::<T>(item),
        Linalg::Svd { vectors, full } => svd::<T>(item, vectors, full),
        Linalg::Eigh { vectors } => eigh::<T>(item, vectors),
        Linalg::Eig { vectors } => eig::<T>(item, vectors),
    };
    let mut sizes = batch.dims(0).into_iter().chain(batch.dims(1));
    // A group takes its time however few its members are.
    if batch.count() < LANES / 2 || sizes.any(|(size, _)| size > SIZE) {
        return batch.each(alone);
    }
    match linalg {
        Linalg::Solve | Linalg::Inv => batch.each_group::<T>(solve_group::<T>, alone),
        Linalg::SlogDet => batch.each_group::<T>(slogdet_group::<T>, alone),
        Linalg::Cholesky { upper } => batch.each_group::<T>(
            |group, rooms| cholesky_group::<T>(group, rooms, upper),
            alone,
        ),
        _ => batch.each(alone),
    }
}

fn narrow<T: Stored>(elements: Small<T>) -> [T; LANES] {
    std::array::from_fn(|lane| T::narrow(elements.lane(lane)))
}

/// [`solve`] of several small matrices; the inverses where no right sides are given.
fn solve_group<T: Stored>(group: &Group<'_, '_>, [a, b]: &mut Rooms<T>) -> Result<Mask> {
    group.load::<T>(0, false, a)?;
    if group.last() == 1 {
        group.identity::<T>(b);
    } else {
        group.load::<T>(1, false, b)?;
    }
    let [(n, _), (k, _)] = group.matrix(group.last());
    let done = small::solve(n, a, k, b);
    group.store(group.last(), &done, |i, j| narrow::<T>(b[i * k + j]))?;
    Ok(done)
}

/// [`slogdet`] of several small matrices.
fn slogdet_group<T: Stored>(group: &Group<'_, '_>, [a, _]: &mut Rooms<T>) -> Result<Mask> {
    group.load::<T>(0, false, a)?;
    let (n, _) = group.matrix(0)[0];
    let (done, sign, log) = small::determinant(n, a);
    group.store(1, &done, |_, _| narrow::<T>(sign))?;
    group.store(2, &done, |_, _| log.map(T::narrow_real))?;
    Ok(done)
}

/// [`cholesky`] of several small matrices.
fn cholesky_group<T: Stored>(
    group: &Group<'_, '_>,
    [a, _]: &mut Rooms<T>,
    upper: bool,
) -> Result<Mask> {
    group.load::<T>(0, upper, a)?;
    let (n, _) = group.matrix(0)[0];
    let done = small::cholesky(n, a);
    group.store(1, &done, |i, j| {
        narrow::<T>(if upper {
            a[j * n + i].conjugate()
        } else {
            a[i * n + j]
        })
    })?;
    Ok(done)
}

/// Writes the solution of `A x = b` to the last operand.
fn solve<T: Stored>(item: &Item<'_, '_>, mut b: Dense<T::Field>) -> Result<()> {
    let lu = item.check(Routines::lu(item.load::<T>(0)?))?;
    item.check(Routines::solve(&lu, &mut b))?;
    item.store(item.last(), |i, j| T::narrow(b.at(i, j)))
}

/// A singular matrix has sign 0 and logarithm `-inf`.
fn slogdet<T: Stored>(item: &Item<'_, '_>) -> Result<()> {
    let lu = item.check(Routines::lu(item.load::<T>(0)?))?;
    let (mut sign, mut log) = (T::Field::default(), f64::NEG_INFINITY);
    if !lu.is_singular() {
        (sign, log) = (
            T::Field::ONE.scale(if lu.is_odd() { -1.0 } else { 1.0 }),
            0.0,
        );
        for pivot in lu.pivots() {
            log += pivot.magnitude().ln();
            sign *= pivot.direction();
        }
    }
    item.store(1, |_, _| T::narrow(sign))?;
    item.store(2, |_, _| T::narrow_real(log))
}

/// Reads the triangle that it returns.
fn cholesky<T: Stored>(item: &Item<'_, '_>, upper: bool) -> Result<()> {
    // The upper factor is the conjugate transpose of the lower one, and so are the triangles read.
    let mut a = item.load_from::<T>(0, upper)?;
    item.check(Routines::cholesky(&mut a))?;
    item.store(1, |i, j| {
        T::narrow(if upper {
            a.at(j, i).conjugate()
        } else {
            a.at(i, j)
        })
    })
}

fn qr<T: Stored>(item: &Item<'_, '_>) -> Result<()> {
    let mut a = item.load::<T>(0)?;
    let q = item.check(Routines::qr(&mut a, item.dims(1)[1].0))?;
    item.store(1, |i, j| T::narrow(q.at(i, j)))?;
    item.store(2, |i, j| T::narrow(a.at(i, j)))
}

fn svd<T: Stored>(item: &Item<'_, '_>, vectors: bool, full: bool) -> Result<()> {
    let wanted = match (vectors, full) {
        (false, _) => Vectors::No,
        (true, false) => Vectors::Thin,
        (true, true) => Vectors::Full,
    };
    let found = item.check(Routines::svd(item.load::<T>(0)?, wanted))?;
    let store_values = |operand| item.store(operand, |i, _| T::narrow_real(found.values[i]));
    if !vectors {
        return store_values(1);
    }
    item.store(1, |i, j| T::narrow(found.u.at(i, j)))?;
    store_values(2)?;
    item.store(3, |i, j| T::narrow(found.v.at(j, i).conjugate()))
}

fn eigh<T: Stored>(item: &Item<'_, '_>, vectors: bool) -> Result<()> {
    let (values, v) = item.check(Routines::eigh(item.load::<T>(0)?, vectors))?;
    item.store(1, |i, _| T::narrow_real(values[i]))?;
    v.map_or(Ok(()), |v| item.store(2, |i, j| T::narrow(v.at(i, j))))
}

fn eig<T: Stored>(item: &Item<'_, '_>, vectors: bool) -> Result<()> {
    let (values, v) = item.check(Routines::eig(item.load::<T>(0)?, vectors))?;
    item.store(1, |i, _| T::narrow_complex(values[i]))?;
    v.map_or(Ok(()), |v| {
        item.store(2, |i, j| T::narrow_complex(v.at(i, j)))
    })
}
