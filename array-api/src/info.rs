//! What a namespace tells about itself: dtypes and their limits, defaults, capabilities.
//!
//! Source: array API standard, "Inspection" and "Data type functions".

use crate::Context;
use crate::promotion::int_range;
use rustarr_interface::{DType, DTypeSet, Error, Kinds, Result, Verb};

/// Machine limits of a floating-point dtype; of the parts, for a complex one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FloatInfo {
    /// Bits of one (real) number.
    pub bits: u32,
    /// Distance from 1 to the next larger number.
    pub eps: f64,
    /// The largest finite number.
    pub max: f64,
    /// The smallest finite number.
    pub min: f64,
    /// The smallest positive number of full precision.
    pub smallest_normal: f64,
    /// The real dtype that the limits are those of.
    pub dtype: DType,
}

/// Machine limits of an integer dtype.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntInfo {
    /// Bits of one number.
    pub bits: u32,
    /// The largest number.
    pub max: i128,
    /// The smallest number.
    pub min: i128,
    /// The dtype.
    pub dtype: DType,
}

/// Limits of a floating-point dtype.
///
/// Source: array API standard, `finfo`.
///
/// # Errors
/// `DType` for another dtype.
pub fn finfo(dtype: DType) -> Result<FloatInfo> {
    let real = dtype.real();
    let (eps, max, smallest_normal) = match real {
        DType::F16 => (2f64.powi(-10), 65504.0, 2f64.powi(-14)),
        DType::F32 => (
            f32::EPSILON as f64,
            f32::MAX as f64,
            f32::MIN_POSITIVE as f64,
        ),
        DType::F64 => (f64::EPSILON, f64::MAX, f64::MIN_POSITIVE),
        other => {
            return Err(Error::dtype(
                "finfo",
                format!("dtype {other} is not floating-point; use iinfo"),
            ));
        }
    };
    let bits = 8 * real.itemsize() as u32;
    Ok(FloatInfo {
        bits,
        eps,
        max,
        min: -max,
        smallest_normal,
        dtype: real,
    })
}

/// Limits of an integer dtype.
///
/// Source: array API standard, `iinfo`.
///
/// # Errors
/// `DType` for another dtype.
pub fn iinfo(dtype: DType) -> Result<IntInfo> {
    match int_range(dtype) {
        Some((min, max)) => Ok(IntInfo {
            bits: 8 * dtype.itemsize() as u32,
            max,
            min,
            dtype,
        }),
        None => Err(Error::dtype(
            "iinfo",
            format!("dtype {dtype} is not an integer; use finfo"),
        )),
    }
}

/// The categories that a kind of the standard names.
///
/// # Errors
/// `Value` for a word that is no kind, with those that are.
pub fn kinds(op: &'static str, kind: &str) -> Result<Kinds> {
    Ok(match kind {
        "bool" => Kinds::BOOL,
        "signed integer" => Kinds::SIGNED,
        "unsigned integer" => Kinds::UNSIGNED,
        "integral" => Kinds::INT,
        "real floating" => Kinds::FLOAT,
        "complex floating" => Kinds::COMPLEX,
        "numeric" => Kinds::NUMERIC,
        other => {
            return Err(Error::value(
                op,
                format!(
                    "{other:?} is not a kind; the kinds are 'bool', 'signed integer', 'unsigned integer', \
                     'integral', 'real floating', 'complex floating' and 'numeric'"
                ),
            ));
        }
    })
}

/// Whether a dtype is of a kind, by the kind's name.
///
/// Source: array API standard, `isdtype`.
///
/// # Errors
/// `Value` for a word that is no kind.
pub fn isdtype(dtype: DType, kind: &str) -> Result<bool> {
    Ok(dtype.is(kinds("isdtype", kind)?))
}

/// The dtypes that a context computes natively. All others are computed by the host kernels.
pub fn native_dtypes(ctx: &Context) -> DTypeSet {
    ctx.backend().caps().dtypes
}

/// The standard's dtypes that arrays of a context may have, in its order: all, or those of a kind. `float16` is
/// none of them.
///
/// What the device lacks runs on the host kernels unless the context forbids it, and only then is left out.
/// Source: array API standard, `__array_namespace_info__().dtypes`.
///
/// # Errors
/// `Value` for a word that is no kind.
pub fn dtypes(ctx: &Context, kind: Option<&str>) -> Result<Vec<DType>> {
    let kinds = kind.map_or(Ok(Kinds::ALL), |k| kinds("dtypes", k))?;
    let native = native_dtypes(ctx);
    let all = ctx.fallback() != crate::Fallback::Error;
    Ok(DType::ALL
        .into_iter()
        .filter(|&d| d != DType::F16 && d.is(kinds) && (all || native.contains(d)))
        .collect())
}

/// The dtypes that creation functions use where none is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DefaultDTypes {
    /// Of real floating-point numbers.
    pub real_floating: DType,
    /// Of complex numbers.
    pub complex_floating: DType,
    /// Of integers.
    pub integral: DType,
    /// Of positions.
    pub indexing: DType,
}

/// The default dtypes of a context.
///
/// Source: array API standard, `__array_namespace_info__().default_dtypes`.
pub fn default_dtypes(ctx: &Context) -> DefaultDTypes {
    DefaultDTypes {
        real_floating: ctx.default_float(),
        complex_floating: ctx.default_complex(),
        integral: ctx.default_int(),
        indexing: ctx.default_int(),
    }
}

/// What the namespace can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// Masks as keys.
    pub boolean_indexing: bool,
    /// Functions whose result's shape depends on data.
    pub data_dependent_shapes: bool,
    /// Most dimensions of an array.
    pub max_dimensions: usize,
}

/// What every context's namespace can do.
///
/// Source: array API standard, `__array_namespace_info__().capabilities`.
pub fn capabilities() -> Capabilities {
    Capabilities {
        boolean_indexing: true,
        data_dependent_shapes: true,
        max_dimensions: crate::ops::args::MAX_NDIM,
    }
}

/// Whether a context's own backend runs a verb on a dtype; if not, the host kernels do.
pub fn is_native(ctx: &Context, verb: Verb, dtype: DType) -> bool {
    ctx.backend().caps().has(verb, dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_dtypes() {
        assert_eq!(iinfo(DType::U64).unwrap().max, u64::MAX as i128);
        assert_eq!(
            iinfo(DType::I8).unwrap(),
            IntInfo {
                bits: 8,
                max: 127,
                min: -128,
                dtype: DType::I8
            }
        );
        let c = finfo(DType::C64).unwrap();
        assert_eq!((c.bits, c.dtype, c.eps), (32, DType::F32, 2f64.powi(-23)));
        assert_eq!(finfo(DType::F16).unwrap().max, half::f16::MAX.to_f64());
        assert_eq!(finfo(DType::F16).unwrap().eps, half::f16::EPSILON.to_f64());
        assert_eq!(
            finfo(DType::F16).unwrap().smallest_normal,
            half::f16::MIN_POSITIVE.to_f64()
        );
        assert!(
            finfo(DType::I8).is_err() && iinfo(DType::F32).is_err() && iinfo(DType::Bool).is_err()
        );
    }

    #[test]
    fn kinds_partition_the_dtypes() {
        for d in DType::ALL {
            let is = |k| isdtype(d, k).unwrap();
            let parts = [
                "bool",
                "signed integer",
                "unsigned integer",
                "real floating",
                "complex floating",
            ];
            assert_eq!(parts.into_iter().filter(|k| is(k)).count(), 1, "{d}");
            assert_eq!(is("numeric"), d != DType::Bool);
            assert_eq!(
                is("integral"),
                is("signed integer") || is("unsigned integer")
            );
        }
        assert!(isdtype(DType::F32, "float").is_err());
    }
}
