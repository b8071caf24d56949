//! Discrete Fourier transforms, over one verb for one axis.

use super::args::{self, Axes, single};
use super::elementwise as ew;
use super::elementwise::where_;
use super::manipulation::{join, roll};
use crate::promotion::Weak;
use crate::{Array, Context, graph};
use rustarr_interface::{DType, Dims, Error, Fft, FftKind, FftNorm, Kinds, Result, Verb};

/// Which direction of a transform pair is scaled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Norm {
    /// The inverse by `1/n`.
    #[default]
    Backward,
    /// Both by `1/sqrt(n)`.
    Ortho,
    /// The forward transform by `1/n`.
    Forward,
}

impl Norm {
    fn of(self, inverse: bool) -> FftNorm {
        match (self, inverse) {
            (Norm::Ortho, _) => FftNorm::BySqrtN,
            (Norm::Backward, true) | (Norm::Forward, false) => FftNorm::ByN,
            _ => FftNorm::None,
        }
    }

    fn swapped(self) -> Norm {
        match self {
            Norm::Backward => Norm::Forward,
            Norm::Ortho => Norm::Ortho,
            Norm::Forward => Norm::Backward,
        }
    }
}

/// `x` in the floating dtype it is transformed in: integers in the default one, `float16` in `float32`.
fn inexact(x: &Array) -> Result<Array> {
    x.astype(match x.dtype() {
        DType::F16 => DType::F32,
        d if d.is(Kinds::INEXACT) => d,
        _ => x.context().default_float(),
    })
}

fn complex(x: &Array) -> Result<Array> {
    let x = inexact(x)?;
    x.astype(x.dtype().complex().unwrap_or(DType::C128))
}

/// Cut, or padded with zeros, to `n` elements along an axis.
fn resized(op: &'static str, x: &Array, axis: usize, n: usize) -> Result<Array> {
    let len = x.shape()[axis];
    if len >= n {
        return Ok(x.view(x.layout().slice(axis, 0, 1, n)));
    }
    let mut shape = Dims::from_slice(x.shape());
    shape[axis] = n - len;
    let padding = graph::fill(x.context(), &shape, args::zero(x.dtype()))?;
    join(op, &[x.clone(), padding], axis, x.dtype())
}

/// One transform of length `n` along one axis.
fn transform(
    op: &'static str,
    kind: FftKind,
    x: &Array,
    n: usize,
    axis: usize,
    norm: Norm,
) -> Result<Array> {
    if n == 0 {
        return Err(Error::value(
            op,
            format!(
                "a transform of length 0 along axis {axis} of {:?}",
                x.shape()
            ),
        ));
    }
    let half = n / 2 + 1;
    let (input, length, output) = match kind {
        FftKind::RealForward => (inexact(x)?, n, half),
        FftKind::RealInverse => (complex(x)?, half, n),
        FftKind::Forward | FftKind::Inverse => (complex(x)?, n, n),
    };
    if kind == FftKind::RealForward && input.dtype().is(Kinds::COMPLEX) {
        return Err(Error::dtype(
            op,
            format!("the input must be real, not {}", x.dtype()),
        ));
    }
    let dtype = match kind {
        FftKind::RealInverse => input.dtype().real(),
        _ => input.dtype().complex().unwrap_or(DType::C128),
    };
    let input = resized(op, &input, axis, length)?;
    let mut shape = Dims::from_slice(x.shape());
    shape[axis] = output;
    let inverse = matches!(kind, FftKind::Inverse | FftKind::RealInverse);
    let fft = Fft {
        kind,
        axis,
        norm: norm.of(inverse),
    };
    let outputs = [(dtype, shape)];
    let run = graph::verb(
        x.context(),
        op,
        Verb::Fft,
        &[&input],
        &outputs,
        |b, i, o| b.fft(fft, i[0], o[0]),
    )?;
    Ok(single(run))
}

/// The length of a transform: what is asked for, or what the axis has.
fn length(op: &'static str, n: Option<i64>, default: usize) -> Result<usize> {
    match n {
        None => Ok(default),
        Some(n) if n > 0 => Ok(n as usize),
        Some(n) => Err(Error::value(
            op,
            format!("the length {n} of a transform must be positive"),
        )),
    }
}

/// The length of the real signal whose half spectrum has `m` elements.
fn real_length(m: usize) -> usize {
    2 * m.saturating_sub(1)
}

macro_rules! one_axis {
    ($(#[$doc:meta])* $name:ident, $kind:ident, |$m:ident| $default:expr) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// `Value` for a length that is not positive; `Axis` for a bad axis; `DType` for a complex input of a transform
        /// of real numbers.
        pub fn $name(x: &Array, n: Option<i64>, axis: i64, norm: Norm) -> Result<Array> {
            const OP: &str = stringify!($name);
            let axis = args::axis(OP, axis, x.ndim())?;
            let $m = x.shape()[axis];
            transform(OP, FftKind::$kind, x, length(OP, n, $default)?, axis, norm)
        }
    };
}

one_axis!(
    /// The discrete Fourier transform along an axis, cut or padded with zeros to length `n`.
    ///
    /// Source: array API standard, `fft.fft`.
    fft, Forward, |m| m);
one_axis!(
    /// The inverse of [`fft`].
    ///
    /// Source: array API standard, `fft.ifft`.
    ifft, Inverse, |m| m);
one_axis!(
    /// The non-negative half of the transform of real numbers: `n / 2 + 1` elements.
    ///
    /// Source: array API standard, `fft.rfft`.
    rfft, RealForward, |m| m);
one_axis!(
    /// The real signal of length `n` (by default `2 * (m - 1)`) whose half spectrum is `x`.
    ///
    /// Source: array API standard, `fft.irfft`.
    irfft, RealInverse, |m| real_length(m));

/// The real spectrum of length `n` (by default `2 * (m - 1)`) of a signal with Hermitian symmetry, of which `x` is
/// the non-negative half.
///
/// Source: array API standard, `fft.hfft`.
///
/// # Errors
/// `Value` for a length that is not positive; `Axis` for a bad axis.
pub fn hfft(x: &Array, n: Option<i64>, axis: i64, norm: Norm) -> Result<Array> {
    irfft(&ew::conj(&complex(x)?)?, n, axis, norm.swapped()).map_err(|e| e.in_op("hfft"))
}

/// The inverse of [`hfft`]: the non-negative half of a signal from its real spectrum.
///
/// Source: array API standard, `fft.ihfft`.
///
/// # Errors
/// `Value` for a length that is not positive; `Axis` for a bad axis; `DType` for a complex spectrum.
pub fn ihfft(x: &Array, n: Option<i64>, axis: i64, norm: Norm) -> Result<Array> {
    ew::conj(&rfft(x, n, axis, norm.swapped()).map_err(|e| e.in_op("ihfft"))?)
}

/// The axes of a transform and its length along each: by default all axes, or the last ones for which there are
/// lengths.
fn plan(
    op: &'static str,
    x: &Array,
    s: Option<&[i64]>,
    axes: Option<&[i64]>,
    last: fn(usize) -> usize,
) -> Result<(Axes, Dims)> {
    let fail = |n: usize| {
        Error::value(
            op,
            format!("{n} lengths do not fit the axes of shape {:?}", x.shape()),
        )
    };
    let axes = match (s, axes) {
        (_, Some(axes)) => args::axes(op, axes, x.ndim())?,
        (Some(s), None) => {
            (x.ndim().checked_sub(s.len()).ok_or_else(|| fail(s.len()))?..x.ndim()).collect()
        }
        (None, None) => (0..x.ndim()).collect(),
    };
    if let Some(s) = s
        && s.len() != axes.len()
    {
        return Err(fail(s.len()));
    }
    let count = axes.len();
    let lengths = axes
        .iter()
        .enumerate()
        .map(|(i, &axis)| {
            let m = x.shape()[axis];
            // -1 stands for the axis's own length.
            let asked = s.map(|s| s[i]).filter(|&n| n != -1);
            length(op, asked, if i + 1 == count { last(m) } else { m })
        })
        .collect::<Result<Dims>>()?;
    if count == 0 {
        return Err(Error::axis(op, "a transform needs at least one axis"));
    }
    Ok((axes, lengths))
}

fn complex_axes(
    op: &'static str,
    kind: FftKind,
    x: &Array,
    axes: &[usize],
    lengths: &[usize],
    norm: Norm,
) -> Result<Array> {
    axes.iter()
        .zip(lengths)
        .rev()
        .try_fold(x.clone(), |x, (&axis, &n)| {
            transform(op, kind, &x, n, axis, norm)
        })
}

/// The transform over several axes, with lengths `s`; all axes where none are named.
///
/// Source: array API standard, `fft.fftn`.
///
/// # Errors
/// `Value` for lengths that are not positive or do not fit the axes; `Axis` for a bad axis.
pub fn fftn(x: &Array, s: Option<&[i64]>, axes: Option<&[i64]>, norm: Norm) -> Result<Array> {
    let (axes, lengths) = plan("fftn", x, s, axes, |m| m)?;
    complex_axes("fftn", FftKind::Forward, x, &axes, &lengths, norm)
}

/// The inverse of [`fftn`].
///
/// Source: array API standard, `fft.ifftn`.
///
/// # Errors
/// As [`fftn`].
pub fn ifftn(x: &Array, s: Option<&[i64]>, axes: Option<&[i64]>, norm: Norm) -> Result<Array> {
    let (axes, lengths) = plan("ifftn", x, s, axes, |m| m)?;
    complex_axes("ifftn", FftKind::Inverse, x, &axes, &lengths, norm)
}

/// The transform of real numbers over several axes: half of the spectrum along the last one.
///
/// Source: array API standard, `fft.rfftn`.
///
/// # Errors
/// As [`fftn`]; `DType` for a complex input.
pub fn rfftn(x: &Array, s: Option<&[i64]>, axes: Option<&[i64]>, norm: Norm) -> Result<Array> {
    const OP: &str = "rfftn";
    let (axes, lengths) = plan(OP, x, s, axes, |m| m)?;
    let last = axes.len() - 1;
    let half = transform(OP, FftKind::RealForward, x, lengths[last], axes[last], norm)?;
    complex_axes(
        OP,
        FftKind::Forward,
        &half,
        &axes[..last],
        &lengths[..last],
        norm,
    )
}

/// The inverse of [`rfftn`].
///
/// Source: array API standard, `fft.irfftn`.
///
/// # Errors
/// As [`fftn`].
pub fn irfftn(x: &Array, s: Option<&[i64]>, axes: Option<&[i64]>, norm: Norm) -> Result<Array> {
    const OP: &str = "irfftn";
    let (axes, lengths) = plan(OP, x, s, axes, real_length)?;
    let last = axes.len() - 1;
    // The half axis is cut first: the others then have less to do.
    let x = resized(
        OP,
        x,
        axes[last],
        (lengths[last] / 2 + 1).min(x.shape()[axes[last]]),
    )?;
    let whole = complex_axes(
        OP,
        FftKind::Inverse,
        &x,
        &axes[..last],
        &lengths[..last],
        norm,
    )?;
    transform(
        OP,
        FftKind::RealInverse,
        &whole,
        lengths[last],
        axes[last],
        norm,
    )
}

fn frequencies(
    op: &'static str,
    ctx: &Context,
    n: i64,
    d: f64,
    dtype: Option<DType>,
    half: bool,
) -> Result<Array> {
    let n = length(op, Some(n), 0)?;
    let dtype = dtype.unwrap_or(ctx.default_float());
    if !dtype.is(Kinds::FLOAT) {
        return Err(Error::dtype(
            op,
            format!("frequencies are real floating-point, not {dtype}"),
        ));
    }
    let len = if half { n / 2 + 1 } else { n };
    args::check_shape(op, &[len], dtype)?;
    let place = graph::iota(ctx, &[len], 0, args::coordinate_dtype(n))?;
    let signed = if half {
        place
    } else {
        // The second half of a whole spectrum stands for the negative frequencies.
        let negative = ew::greater_equal(&place, Weak::Int((n as i128 + 1) / 2))?;
        where_(
            &negative,
            &ew::subtract(&place, Weak::Int(n as i128))?,
            &place,
        )?
    };
    let wide = args::wide_float(ctx, dtype);
    ew::divide(&signed.astype(wide)?, n as f64 * d)?.astype(dtype)
}

/// The frequencies of the elements of a transform of length `n` with sample spacing `d`.
///
/// Source: array API standard, `fft.fftfreq`.
///
/// # Errors
/// `Value` for a length that is not positive; `DType` for a dtype that is not a float.
pub fn fftfreq(ctx: &Context, n: i64, d: f64, dtype: Option<DType>) -> Result<Array> {
    frequencies("fftfreq", ctx, n, d, dtype, false)
}

/// The frequencies of the elements of a half spectrum of `n` real numbers with sample spacing `d`.
///
/// Source: array API standard, `fft.rfftfreq`.
///
/// # Errors
/// As [`fftfreq`].
pub fn rfftfreq(ctx: &Context, n: i64, d: f64, dtype: Option<DType>) -> Result<Array> {
    frequencies("rfftfreq", ctx, n, d, dtype, true)
}

fn shifted(
    op: &'static str,
    x: &Array,
    axes: Option<&[i64]>,
    by: impl Fn(usize) -> i64,
) -> Result<Array> {
    let at = match axes {
        Some(axes) => args::axes(op, axes, x.ndim())?,
        None => (0..x.ndim()).collect(),
    };
    let shifts: Vec<i64> = at.iter().map(|&a| by(x.shape()[a])).collect();
    let axes: Vec<i64> = at.iter().map(|&a| a as i64).collect();
    roll(x, &shifts, Some(&axes))
}

/// The zero frequency moved to the middle along axes, or all.
///
/// Source: array API standard, `fft.fftshift`.
///
/// # Errors
/// `Axis` for a bad axis.
pub fn fftshift(x: &Array, axes: Option<&[i64]>) -> Result<Array> {
    shifted("fftshift", x, axes, |n| (n / 2) as i64)
}

/// The inverse of [`fftshift`].
///
/// Source: array API standard, `fft.ifftshift`.
///
/// # Errors
/// `Axis` for a bad axis.
pub fn ifftshift(x: &Array, axes: Option<&[i64]>) -> Result<Array> {
    shifted("ifftshift", x, axes, |n| -((n / 2) as i64))
}
