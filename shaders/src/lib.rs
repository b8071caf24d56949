//! The WGSL function library: text, its instances per dtype, and a linker.
//!
//! A dtype is held in a register type: 8- and 16-bit integers in 32-bit ones,
//! wrapped after every step; `f16` in `f32`, rounded after every step; `bool` in
//! `bool`. Functions are called `NAME_DTYPE`, with the names of the operation table:
//! `exp_f32`, `add_i8`, `select_bool`; conversions are `cast_FROM_TO`.
//!
//! [`link`] adds to a kernel the functions that it uses, and nothing else: what a
//! compiler does not see costs no time.
//!
//! # Accuracy
//!
//! Sums, products, comparisons, rounding, `floor_divide`, `remainder`, `nextafter`, all
//! integer operations and all conversions are exact, special values included, on a device
//! whose own `+ - * / sqrt` are IEEE 754's (a driver may give quotients and roots 2.5 ULP).
//! Largest errors of `f32` functions, measured over all exponents against `f64`, in ULP:
//!
//! | function | ULP | function | ULP | function | ULP |
//! |---|---|---|---|---|---|
//! | `exp` | 0.97 | `sin` | 2.4 | `sinh` | 1.6 |
//! | `expm1` | 1.6 | `cos` | 2.3 | `cosh` | 1.4 |
//! | `log` | 0.85 | `tan` | 3.4 | `tanh` | 1.4 |
//! | `log1p` | 0.85 | `asin` | 1.9 | `asinh` | 1.7 |
//! | `log2` | 1.4 | `acos` | 1.3 | `acosh` | 2.0 |
//! | `log10` | 0.9 | `atan` | 1.9 | `atanh` | 1.6 |
//! | `pow` | 1.1 | `atan2` | 2.3 | `hypot` | 2.0 |
//!
//! `logaddexp` has 4 ULP of the larger of its result and its smaller operand: next to its
//! zero they cancel. `f16` functions round the `f32` ones once. Devices that flush subnormal
//! numbers to zero do so in arithmetic; comparisons, signs, rounding and conversions work on
//! bits and see them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// The dtypes that the library computes with, under their suffixes.
pub const DTYPES: [&str; 12] = [
    "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64",
];

/// The WGSL type that holds a value of the dtype, `None` for an unknown suffix.
pub fn register(dtype: &str) -> Option<&'static str> {
    Some(match dtype {
        "bool" => "bool",
        "i8" | "i16" | "i32" => "i32",
        "u8" | "u16" | "u32" => "u32",
        "i64" => "i64",
        "u64" => "u64",
        "f16" | "f32" => "f32",
        "f64" => "f64",
        _ => return None,
    })
}

/// One module-scope item and the items that its text names.
struct Item {
    text: String,
    uses: BTreeSet<String>,
}

/// Functions of `f32` that `f16` takes over, rounding what they return.
const F16_FLOAT: [&[&str]; 2] = [
    &[
        "negative",
        "positive",
        "abs",
        "sign",
        "reciprocal",
        "sqrt",
        "exp",
        "expm1",
        "log",
        "log1p",
        "log2",
        "log10",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "ceil",
        "floor",
        "trunc",
        "round",
        "conj",
        "real",
        "imag",
    ],
    &[
        "add",
        "subtract",
        "multiply",
        "divide",
        "floor_divide",
        "remainder",
        "pow",
        "hypot",
        "logaddexp",
        "atan2",
        "copysign",
        "maximum",
        "minimum",
    ],
];
/// Functions of `f32` that answer with a `bool`.
const F16_BOOL: [&[&str]; 2] = [
    &["signbit", "isfinite", "isinf", "isnan", "nonzero"],
    &["equal", "not_equal", "less", "less_equal"],
];

fn replace(template: &str, words: &[(&str, &str)]) -> String {
    // Longest words first, so that $RW is not taken for $R.
    let mut words = words.to_vec();
    words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    words
        .iter()
        .fold(template.to_owned(), |text, (word, with)| {
            text.replace(word, with)
        })
}

fn integers() -> String {
    let mut text = String::new();
    for dtype in ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"] {
        let held = register(dtype).expect("listed above");
        let (width, wide) = (&dtype[1..], &held[1..]);
        let unsigned = format!("u{wide}");
        let words = [
            ("$T", dtype),
            ("$RW", wide),
            ("$R", held),
            ("$U", &unsigned),
            ("$W", width),
        ];
        let own = if dtype.starts_with('i') {
            include_str!("sint.wgsl")
        } else {
            include_str!("uint.wgsl")
        };
        text += &replace(include_str!("int.wgsl"), &words);
        text += &replace(own, &words);
        let spare = wide.parse::<u32>().unwrap_or(32) - width.parse::<u32>().unwrap_or(32);
        let body = if spare == 0 {
            "x".to_owned()
        } else {
            format!("(x << {spare}u) >> {spare}u")
        };
        text += &format!("fn wrap_{dtype}(x: {held}) -> {held} {{ return {body}; }}\n");
    }
    text
}

fn floats() -> String {
    let single = [
        ("$F", "f32"),
        ("$U", "u32"),
        ("$s", "u"),
        ("$SIGN", "0x80000000u"),
        ("$ABS", "0x7fffffffu"),
        ("$INF", "0x7f800000u"),
        ("$QNAN", "0x7fc00000u"),
        ("$ONE", "0x3f800000u"),
        ("$MANT", "23"),
        ("$BIAS", "127"),
        ("$SPARE", "8"),
        ("$EXPBITS", "8"),
        ("$INTEGRAL", "16777216.0"),
    ];
    let double = [
        ("$F", "f64"),
        ("$U", "u64"),
        ("$s", "lu"),
        ("$SIGN", "0x8000000000000000lu"),
        ("$ABS", "0x7ffffffffffffffflu"),
        ("$INF", "0x7ff0000000000000lu"),
        ("$QNAN", "0x7ff8000000000000lu"),
        ("$ONE", "0x3ff0000000000000lu"),
        ("$MANT", "52"),
        ("$BIAS", "1023"),
        ("$SPARE", "11"),
        ("$EXPBITS", "11"),
        ("$INTEGRAL", "9007199254740992.0lf"),
    ];
    let template = include_str!("float.wgsl");
    replace(template, &single) + &replace(template, &double)
}

fn halves() -> String {
    let mut text = include_str!("f16.wgsl").to_owned();
    for (arity, (floats, bools)) in F16_FLOAT.iter().zip(F16_BOOL).enumerate() {
        let (params, args) = [("a: f32", "a"), ("a: f32, b: f32", "a, b")][arity];
        for name in *floats {
            text += &format!(
                "fn {name}_f16({params}) -> f32 {{ return round_f16_bits({name}_f32({args})); }}\n"
            );
        }
        for name in bools {
            text += &format!("fn {name}_f16({params}) -> bool {{ return {name}_f32({args}); }}\n");
        }
    }
    text
}

fn logic() -> String {
    DTYPES
        .iter()
        .map(|dtype| {
            let held = register(dtype).expect("every listed dtype has a register");
            replace(include_str!("logic.wgsl"), &[("$T", dtype), ("$R", held)])
        })
        .collect()
}

/// The conversions between all pairs of dtypes, as `astype` does them.
fn casts() -> String {
    let mut text = String::new();
    for from in DTYPES {
        for to in DTYPES {
            let (held, wanted) = (
                register(from).expect("listed"),
                register(to).expect("listed"),
            );
            let (float_in, float_out) = (from.starts_with('f'), to.starts_with('f'));
            let body = match (from, to) {
                _ if from == to => "x".to_owned(),
                (_, "bool") => format!("nonzero_{from}(x)"),
                ("bool", _) => format!("select({wanted}(0), {wanted}(1), x)"),
                ("f16", "f32") => "x".to_owned(),
                ("f32", "f16") => "round_f16_bits(x)".to_owned(),
                ("f64", "f32") => "narrow_f64_f32(x)".to_owned(),
                ("f64", "f16") => "narrow_f64_f16(x)".to_owned(),
                (_, "f64") if float_in => "widen_f32_f64(x)".to_owned(),
                // No integer is near a tie of float16 and also beyond float32's 24 bits.
                (_, "f16") => format!("round_f16_bits(to_f32_{from}(x))"),
                _ if float_out => format!("to_{to}_{from}(x)"),
                _ if float_in => format!("from_{held}_{to}(x)"),
                // Some drivers compare what they know to be an extension with a constant wrongly, so what it is
                // stays hidden. The compiler extends by the target's sign; it has to be by the source's.
                (_, "i64" | "u64") if held.ends_with("32") => {
                    let extended = if held == "i32" { "i64" } else { "u64" };
                    format!("bitcast<{to}>({extended}(x)) ^ {to}(hidden_zero)")
                }
                (_, "i64" | "u64") => format!("bitcast<{to}>(x)"),
                _ => format!("wrap_{to}({wanted}(x))"),
            };
            text += &format!("fn cast_{from}_{to}(x: {held}) -> {wanted} {{ return {body}; }}\n");
        }
    }
    text
}

/// Splits WGSL text into its module-scope items. Items start in the first column
/// and the lines that go on with one do not.
fn items(text: &str, into: &mut BTreeMap<String, Item>) {
    let mut current: Option<(String, String)> = None;
    let mut close = |current: Option<(String, String)>| {
        if let Some((name, text)) = current {
            into.insert(
                name,
                Item {
                    text,
                    uses: BTreeSet::new(),
                },
            );
        }
    };
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default().trim_end();
        let opener = ["fn ", "struct ", "var<private> ", "const "]
            .iter()
            .find_map(|word| code.strip_prefix(word));
        if let Some(rest) = opener {
            close(current.take());
            let name = words(rest).next().unwrap_or_default();
            current = Some((name.to_owned(), String::new()));
        }
        if let Some((_, text)) = &mut current
            && !code.is_empty()
        {
            text.push_str(code);
            text.push('\n');
        }
    }
    close(current);
}

/// The identifiers in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|w| !w.is_empty())
}

fn library() -> &'static BTreeMap<String, Item> {
    static LIBRARY: OnceLock<BTreeMap<String, Item>> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut found = BTreeMap::new();
        for text in [
            include_str!("core.wgsl").to_owned(),
            include_str!("convert.wgsl").to_owned(),
            include_str!("bool.wgsl").to_owned(),
            include_str!("math32.wgsl").to_owned(),
            include_str!("random.wgsl").to_owned(),
            integers(),
            floats(),
            halves(),
            logic(),
            casts(),
        ] {
            items(&text, &mut found);
        }
        let names: BTreeSet<String> = found.keys().cloned().collect();
        for (name, item) in &mut found {
            item.uses = words(&item.text)
                .filter(|w| *w != name && names.contains(*w))
                .map(str::to_owned)
                .collect();
        }
        found
    })
}

/// Whether the library has an item of this name.
pub fn has(name: &str) -> bool {
    library().contains_key(name)
}

/// The kernel's text with every library item that it uses, directly or not, in front
/// of it.
pub fn link(kernel: &str) -> String {
    let library = library();
    let mut wanted: Vec<&str> = words(kernel).filter(|w| library.contains_key(*w)).collect();
    let mut taken = BTreeSet::new();
    let mut out = String::new();
    while let Some(name) = wanted.pop() {
        if taken.insert(name) {
            let item = &library[name];
            out.push_str(&item.text);
            wanted.extend(item.uses.iter().map(String::as_str));
        }
    }
    out.push_str(kernel);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_word_is_replaced() {
        for (name, item) in library() {
            assert!(
                !item.text.contains('$') && !name.contains('$'),
                "{name}: {}",
                item.text
            );
        }
    }

    #[test]
    fn linking_takes_what_is_used_and_only_that() {
        let text = link("fn main() { let y = exp_f32(1.0); }");
        assert!(text.contains("fn exp_f32(") && text.contains("fn expm1_poly_f32("));
        assert!(text.contains("var<private> hidden_zero"));
        assert!(!text.contains("f64") && !text.contains("fn log_f32("));
    }

    /// Compilers may assume that no value is NaN or infinite, so the library must not
    /// compare a value with itself, spell infinity, or order floats by the builtins that
    /// drop NaN.
    #[test]
    fn the_text_keeps_to_the_rules_for_nan() {
        for (name, item) in library() {
            for line in item.text.lines() {
                for op in [" != ", " == "] {
                    for (at, _) in line.match_indices(op) {
                        let left = line[..at].rsplit([' ', '(', '!']).next();
                        let right = line[at + op.len()..].split([' ', ')', ';', ',']).next();
                        assert!(
                            left != right,
                            "{name} compares {left:?} with itself: {line}"
                        );
                    }
                }
                assert!(
                    !line.contains("/ 0.0") && !line.contains("e39"),
                    "{name}: {line}"
                );
                for builtin in ["sign(", "clamp(f", "exp(", "log(", "tanh(", "pow("] {
                    let called = line.match_indices(builtin).any(|(at, _)| {
                        !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                    });
                    assert!(!called, "{name} calls the builtin {builtin}: {line}");
                }
            }
        }
    }

    #[test]
    fn every_operation_has_its_function_for_every_dtype() {
        use rustarr_interface::{DType, Kinds, Op};
        for row in Op::TABLE {
            for dtype in DType::ALL {
                if !dtype.is(row.kinds) || dtype.is(Kinds::COMPLEX) {
                    continue;
                }
                let name = row.wgsl.replace("{t}", suffix(dtype));
                let Some((name, _)) = name.split_once('(') else {
                    continue;
                };
                // Elementary functions of float64 are left to the host.
                assert!(has(name) || dtype == DType::F64, "no {name}");
            }
        }
    }

    fn suffix(dtype: rustarr_interface::DType) -> &'static str {
        use rustarr_interface::DType::*;
        match dtype {
            Bool => "bool",
            I8 => "i8",
            I16 => "i16",
            I32 => "i32",
            I64 => "i64",
            U8 => "u8",
            U16 => "u16",
            U32 => "u32",
            U64 => "u64",
            F16 => "f16",
            F32 => "f32",
            F64 => "f64",
            C64 => "c64",
            C128 => "c128",
        }
    }
}
