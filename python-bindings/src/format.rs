//! Arrays as text. Of a large array only the edges are read.

use crate::errors::run;
use pyo3::prelude::*;
use rustarr::interface::{Kinds, Layout};
use rustarr::{Array, DType, Scalar};
use std::fmt::Write;

/// More elements than this are shown by their edges.
const THRESHOLD: usize = 1000;
/// Elements shown at each end of an axis.
const EDGE: usize = 3;
/// Columns of text.
const WIDTH: usize = 75;

/// `Array([[1, 2]], dtype=int64)`.
pub fn repr(array: &Array) -> PyResult<String> {
    let prefix = "Array(";
    let body = body(array, prefix.len())?;
    let last = body.rsplit('\n').next().map_or(0, str::len);
    let tail = match array.size() {
        0 => format!("shape={}, dtype={})", tuple(array.shape()), array.dtype()),
        _ => format!("dtype={})", array.dtype()),
    };
    let indent = if body.contains('\n') { 0 } else { prefix.len() };
    let separator = if indent + last + 2 + tail.len() > WIDTH + 5 {
        format!(",\n{:1$}", "", prefix.len())
    } else {
        ", ".to_owned()
    };
    Ok(format!("{prefix}{body}{separator}{tail}"))
}

/// The elements alone; the bare number of a 0-d array.
pub fn text(array: &Array) -> PyResult<String> {
    body(array, 0)
}

/// A Python tuple of numbers.
fn tuple(sizes: &[usize]) -> String {
    let list: Vec<_> = sizes.iter().map(usize::to_string).collect();
    match list.as_slice() {
        [one] => format!("({one},)"),
        several => format!("({})", several.join(", ")),
    }
}

fn body(array: &Array, indent: usize) -> PyResult<String> {
    if array.size() == 0 {
        return Ok("[]".to_owned());
    }
    let edges = array.size() > THRESHOLD;
    let mut words = Vec::new();
    collect(array, edges, &mut words)?;
    let width = words.iter().map(String::len).max().unwrap_or(0);
    let mut out = String::new();
    let mut words = words.iter();
    write_level(&mut out, array.shape(), edges, width, indent, &mut words);
    Ok(out)
}

fn is_cut(len: usize, edges: bool) -> bool {
    edges && len > 2 * EDGE
}

/// The shown elements in row-major order. Parts are cut out as views, so that the rest is never read.
fn collect(array: &Array, edges: bool, words: &mut Vec<String>) -> PyResult<()> {
    fn parts(layout: &Layout, axis: usize, edges: bool, out: &mut Vec<Layout>) {
        let Some(&len) = layout.shape().get(axis) else {
            return out.push(layout.clone());
        };
        if is_cut(len, edges) {
            parts(&layout.slice(axis, 0, 1, EDGE), axis + 1, edges, out);
            parts(
                &layout.slice(axis, len - EDGE, 1, EDGE),
                axis + 1,
                edges,
                out,
            );
        } else {
            parts(layout, axis + 1, edges, out);
        }
    }
    // Row-major order over the cut array needs one read per kept corner, put back together by index.
    let mut layouts = Vec::new();
    parts(array.layout(), 0, edges, &mut layouts);
    let item = array.dtype().itemsize();
    let read = layouts
        .into_iter()
        .map(|layout| {
            let view = array.view(layout);
            Ok((view.shape().to_vec(), run(|| view.to_bytes())?))
        })
        .collect::<PyResult<Vec<_>>>()?;
    let kept: Vec<usize> = array
        .shape()
        .iter()
        .map(|&len| if is_cut(len, edges) { 2 * EDGE } else { len })
        .collect();
    for index in 0..kept.iter().product::<usize>() {
        let (mut rest, mut part, mut weight) = (index, 0, 1);
        let (mut position, mut step) = (0, 1);
        for axis in (0..kept.len()).rev() {
            let mut at = rest % kept[axis];
            rest /= kept[axis];
            let cut = is_cut(array.shape()[axis], edges);
            let len = if cut { EDGE } else { kept[axis] };
            if cut {
                part += weight * (at / EDGE);
                weight *= 2;
                at %= EDGE;
            }
            position += at * step;
            step *= len;
        }
        let bytes = &read[part].1[position * item..(position + 1) * item];
        words.push(word(&Scalar::from_bytes(array.dtype(), bytes)));
    }
    Ok(())
}

fn write_level<'a>(
    out: &mut String,
    shape: &[usize],
    edges: bool,
    width: usize,
    indent: usize,
    words: &mut impl Iterator<Item = &'a String>,
) {
    let Some((&len, inner)) = shape.split_first() else {
        out.push_str(words.next().map_or("", String::as_str));
        return;
    };
    out.push('[');
    let start = indent + 1;
    let mut column = start;
    let shown: Vec<Option<usize>> = if is_cut(len, edges) {
        (0..EDGE)
            .map(Some)
            .chain([None])
            .chain((0..EDGE).map(Some))
            .collect()
    } else {
        (0..len).map(Some).collect()
    };
    for (i, item) in shown.iter().enumerate() {
        if i > 0 {
            out.push(',');
            let next = if item.is_some() { width } else { 3 };
            if !inner.is_empty() {
                out.push_str(&"\n".repeat(inner.len()));
                let _ = write!(out, "{:start$}", "");
            } else if column + next + 2 > WIDTH {
                let _ = write!(out, "\n{:start$}", "");
                column = start;
            } else {
                out.push(' ');
                column += 2;
            }
        }
        match item {
            None => {
                out.push_str("...");
                column += 3;
            }
            Some(_) if inner.is_empty() => {
                let _ = write!(out, "{:>width$}", words.next().map_or("", String::as_str));
                column += width;
            }
            Some(_) => write_level(out, inner, edges, width, start, words),
        }
    }
    out.push(']');
}

/// One element as Python writes it.
fn word(value: &Scalar) -> String {
    match value.dtype() {
        DType::Bool => if value.to_i128() != 0 {
            "True"
        } else {
            "False"
        }
        .to_owned(),
        DType::F16 | DType::F32 | DType::F64 => float(value, value.to_f64()),
        dtype if dtype.is(Kinds::COMPLEX) => {
            let z = value.to_complex();
            let narrow = Scalar::from_f64(dtype.real(), 0.0);
            let sign = if z.im.is_sign_negative() && !z.im.is_nan() {
                ""
            } else {
                "+"
            };
            format!("{}{sign}{}j", float(&narrow, z.re), float(&narrow, z.im))
        }
        _ => value.to_i128().to_string(),
    }
}

/// The shortest digits that give the number back in the precision of `like`.
fn float(like: &Scalar, value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let text = match like.dtype() {
        DType::F64 => format!("{value:?}"),
        DType::F16 => {
            // The fewest digits that round to the same half.
            let same = |text: &String| {
                text.parse::<f64>().is_ok_and(|v| {
                    Scalar::from_f64(DType::F16, v) == Scalar::from_f64(DType::F16, value)
                })
            };
            let short = (1..6).map(|digits| format!("{value:.digits$}")).find(same);
            short.unwrap_or_else(|| format!("{:?}", value as f32))
        }
        _ => format!("{:?}", value as f32),
    };
    // Python writes 1e+20 and 1e-07.
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => {
            let (sign, number) = match exponent.strip_prefix('-') {
                Some(number) => ('-', number),
                None => ('+', exponent),
            };
            format!(
                "{}e{sign}{number:0>2}",
                digits.strip_suffix(".0").unwrap_or(digits)
            )
        }
    }
}
