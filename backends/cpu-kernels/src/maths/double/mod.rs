//! The functions of `f64`: polynomials in plain arithmetic, with double-double where that would pass 1 ULP.

pub(super) mod dd;
pub(super) mod exp;
mod huge_angle;
pub(super) mod hyperbolic;
pub(super) mod inverse_trig;
pub(super) mod log;
mod near_one;
mod pow;
pub(super) mod trig;

pub(super) use exp::{exp, exp2, expm1};
pub(super) use hyperbolic::{acosh, asinh, atanh, cosh, sinh, tanh};
pub(super) use inverse_trig::{acos, asin, atan, atan2};
pub(super) use log::{log, log1p, log2, log10, logaddexp};
pub(super) use near_one::logaddexp_near_one;
pub(super) use pow::{hypot, pow};
pub(super) use trig::{cos, cos_huge, sin, sin_huge, tan, tan_huge};
