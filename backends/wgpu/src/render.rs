//! A signature becomes WGSL.

use std::fmt::Write;

use rustarr_interface::{Code, DType, Instr, Kinds, Op, Reduce};

use crate::signature::{Drawn, Form, GROUP, Port, RUN, Signature, THREADS, Task, Words, header};

/// The dtype's suffix in the shader library; `None` if the library lacks it.
pub(crate) fn suffix(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "bool",
        DType::I8 => "i8",
        DType::I16 => "i16",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::U8 => "u8",
        DType::U16 => "u16",
        DType::U32 => "u32",
        DType::U64 => "u64",
        DType::F16 => "f16",
        DType::F32 => "f32",
        DType::F64 => "f64",
        DType::C64 | DType::C128 => return None,
    })
}

fn known(dtype: DType) -> &'static str {
    suffix(dtype).expect("caps() promises only dtypes of the shader library")
}

fn register(dtype: DType) -> &'static str {
    rustarr_shaders::register(known(dtype)).expect("every suffix has a register type")
}

/// Whether the library has the operation for the dtype.
pub(crate) fn has_op(op: Op, dtype: DType) -> bool {
    let (Some(t), Some(_)) = (suffix(dtype), op.result(dtype)) else {
        return false;
    };
    let text = op.info().wgsl.replace("{t}", t);
    text.split_once('(')
        .is_none_or(|(name, _)| rustarr_shaders::has(name))
}

/// The complete shader of a signature.
pub(crate) fn render(signature: &Signature) -> String {
    let kernel = Kernel {
        sig: signature,
        words: signature.words(),
    };
    let text = match signature.task {
        Task::Map => kernel.map(),
        Task::Draw(drawn) => kernel.draw(drawn),
        Task::Fold {
            reduce,
            group,
            again,
            done,
        } => kernel.fold(reduce, group, again, done),
    };
    rustarr_shaders::link(&text)
}

/// A word of the uniform block.
fn word(n: usize) -> String {
    format!("P[{}u].{}", n / 4, ["x", "y", "z", "w"][n % 4])
}

struct Kernel<'a> {
    sig: &'a Signature,
    words: Words,
}

impl Kernel<'_> {
    /// Declarations and the entry point's head. `index` numbers threads or groups.
    fn open(&self, threads: u32, index: &str) -> String {
        let mut out = format!(
            "@group(0) @binding(0) var<uniform> P: array<vec4<u32>, {}>;\n",
            self.words.len.div_ceil(4)
        );
        for (n, writable) in self.sig.writable.iter().enumerate() {
            let access = if *writable { "read_write" } else { "read" };
            let element = if self.atomic(n) { "atomic<u32>" } else { "u32" };
            let _ = writeln!(
                out,
                "@group(0) @binding({}) var<storage, {access}> B{n}: array<{element}>;",
                n + 1
            );
        }
        let _ = write!(
            out,
            "@compute @workgroup_size({threads})\n\
             fn main(@builtin(global_invocation_id) id: vec3<u32>,\n\
             @builtin(workgroup_id) group: vec3<u32>,\n\
             @builtin(local_invocation_index) local: u32) {{\n\
             hidden_zero = {};\n\
             let t = {index}.y * {} + {index}.x;\n",
            word(header::ZERO),
            word(header::ROW)
        );
        out
    }

    /// Whether elements smaller than a word are written one at a time.
    fn atomic(&self, binding: usize) -> bool {
        self.sig.outputs().iter().any(|p| {
            p.binding as usize == binding && p.form == Form::Array && p.dtype.itemsize() < 4
        })
    }

    fn word_at(&self, port: Port, index: &str) -> String {
        let b = port.binding;
        if self.atomic(b as usize) {
            format!("atomicLoad(&B{b}[{index}])")
        } else {
            format!("B{b}[{index}]")
        }
    }

    /// Coordinates `cD` of the linear index `i` over the dimensions `from..to`.
    fn coordinates(&self, out: &mut String, i: &str, from: usize, to: usize) {
        match to - from {
            0 => {}
            1 => {
                let _ = writeln!(out, "let c{from} = {i};");
            }
            _ => {
                let _ = writeln!(out, "var rest{from} = {i};");
                for d in (from + 1..to).rev() {
                    let dim = word(self.words.dims + d);
                    let _ = writeln!(
                        out,
                        "let c{d} = rest{from} % {dim};\nrest{from} = rest{from} / {dim};"
                    );
                }
                let _ = writeln!(out, "let c{from} = rest{from};");
            }
        }
    }

    /// The part of a port's index that the dimensions `from..to` make.
    fn index(&self, port: usize, from: usize, to: usize) -> String {
        let at = self.words.ports[port];
        let mut sum = if from == 0 {
            word(at)
        } else {
            format!("k{port}")
        };
        for d in from..to {
            let _ = write!(sum, " + c{d} * {}", word(at + 1 + d));
        }
        sum
    }

    fn load(&self, port: Port, i: &str) -> String {
        let wide = |low: &str, high: &str| {
            format!(
                "(u64({}) | (u64({}) << 32u))",
                self.word_at(port, low),
                self.word_at(port, high)
            )
        };
        if port.dtype.itemsize() == 8 {
            let raw = wide(&format!("2u * {i}"), &format!("2u * {i} + 1u"));
            return match port.dtype {
                DType::U64 => raw,
                other => format!("bitcast<{}>({raw})", register(other)),
            };
        }
        if port.form == Form::Register || port.dtype.itemsize() == 4 {
            let raw = self.word_at(port, i);
            return match register(port.dtype) {
                "u32" => raw,
                "bool" => format!("({raw} != 0u)"),
                other => format!("bitcast<{other}>({raw})"),
            };
        }
        let bits = 8 * port.dtype.itemsize();
        let per = 32 / bits;
        let shift = format!("(({i} & {}u) * {bits}u)", per - 1);
        let raw = self.word_at(port, &format!("{i} / {per}u"));
        let mask = (1u64 << bits) - 1;
        let part = format!("(({raw} >> {shift}) & {mask}u)");
        match port.dtype {
            DType::Bool => format!("({part} != 0u)"),
            DType::F16 => format!("from_bits_f16({part})"),
            DType::I8 | DType::I16 => format!("wrap_{}(bitcast<i32>({part}))", known(port.dtype)),
            _ => part,
        }
    }

    /// The bits of a value no wider than a word, in the low end of a `u32`.
    fn bits(port: Port, value: &str) -> String {
        match (port.dtype, port.form) {
            (DType::Bool, _) => format!("select(0u, 1u, {value})"),
            (DType::F16, Form::Array | Form::Packed) => format!("bits_f16({value})"),
            (dtype, _) if register(dtype) == "u32" => value.to_owned(),
            _ => format!("bitcast<u32>({value})"),
        }
    }

    fn store(&self, out: &mut String, port: Port, i: &str, value: &str) {
        let b = port.binding;
        let put = |out: &mut String, index: &str, value: &str| {
            let _ = if self.atomic(b as usize) {
                writeln!(out, "atomicStore(&B{b}[{index}], {value});")
            } else {
                writeln!(out, "B{b}[{index}] = {value};")
            };
        };
        match port.dtype.itemsize() {
            8 => {
                let raw = match port.dtype {
                    DType::U64 => value.to_owned(),
                    _ => format!("bitcast<u64>({value})"),
                };
                let _ = writeln!(out, "{{ let wide = {raw};");
                put(out, &format!("2u * {i}"), "u32(wide & 0xfffffffflu)");
                put(out, &format!("2u * {i} + 1u"), "u32(wide >> 32u)");
                out.push_str("}\n");
            }
            size if size == 4 || port.form == Form::Register => {
                put(out, i, &Self::bits(port, value));
            }
            // Neighbours in a word belong to other threads: clear, then set, each
            // in one step.
            size => {
                let (per, bits) = (4 / size, 8 * size);
                let mask = (1u64 << bits) - 1;
                let _ = writeln!(
                    out,
                    "{{ let shift = ({i} & {}u) * {bits}u;\n\
                     atomicAnd(&B{b}[{i} / {per}u], ~({mask}u << shift));\n\
                     atomicOr(&B{b}[{i} / {per}u], ({} & {mask}u) << shift); }}",
                    per - 1,
                    Self::bits(port, value)
                );
            }
        }
    }

    /// The program's instructions as `let sN = ..`; port `n` is read at `iN`.
    fn body(&self, out: &mut String) {
        let mut iotas = 0;
        for (slot, instr) in self.sig.program.instrs().iter().enumerate() {
            let value = self.value(instr, &mut iotas);
            let _ = writeln!(out, "let s{slot} = {value};");
        }
    }

    fn value(&self, instr: &Instr, iotas: &mut usize) -> String {
        match instr.code {
            Code::Load(n) => {
                let n = n as usize;
                let port = Port {
                    dtype: instr.dtype,
                    ..self.sig.ports[n]
                };
                self.load(port, &format!("i{n}"))
            }
            Code::Param(n) => self.param(self.words.params[n as usize], instr.dtype),
            Code::Iota(_) => {
                *iotas += 1;
                self.iota(self.sig.counted[*iotas - 1], instr.dtype)
            }
            Code::Cast => {
                let from = self.sig.program.instrs()[instr.args[0] as usize].dtype;
                format!(
                    "cast_{}_{}(s{})",
                    known(from),
                    known(instr.dtype),
                    instr.args[0]
                )
            }
            Code::Apply(op) => {
                let operand = instr.args[if op == Op::Select { 1 } else { 0 }];
                let dtype = self.sig.program.instrs()[operand as usize].dtype;
                let mut text = op.info().wgsl.replace("{t}", known(dtype));
                for (name, arg) in ["{a}", "{b}", "{c}"].iter().zip(instr.args) {
                    text = text.replace(name, &format!("s{arg}"));
                }
                text
            }
        }
    }

    fn param(&self, at: usize, dtype: DType) -> String {
        if dtype.itemsize() == 8 {
            let raw = format!("(u64({}) | (u64({}) << 32u))", word(at), word(at + 1));
            return if dtype == DType::U64 {
                raw
            } else {
                format!("bitcast<{}>({raw})", register(dtype))
            };
        }
        match register(dtype) {
            "u32" => word(at),
            "bool" => format!("({} != 0u)", word(at)),
            other => format!("bitcast<{other}>({})", word(at)),
        }
    }

    fn iota(&self, dim: Option<u8>, dtype: DType) -> String {
        let wide = matches!(dtype, DType::I64 | DType::U64 | DType::F64);
        let count = match dim {
            None if wide => "0lu".to_owned(),
            None => word(header::ZERO),
            Some(d) => {
                let base = self.words.bases + 2 * d as usize;
                if wide {
                    format!(
                        "(u64(c{d}) + (u64({}) | (u64({}) << 32u)))",
                        word(base),
                        word(base + 1)
                    )
                } else {
                    format!("(c{d} + {})", word(base))
                }
            }
        };
        match dtype {
            DType::U64 => count,
            DType::I64 => format!("bitcast<i64>({count})"),
            DType::F64 => format!("magnitude_u64_f64({count})"),
            _ if register(dtype) == "i32" => {
                format!("wrap_{}(bitcast<i32>({count}))", known(dtype))
            }
            _ => format!("wrap_{}({count})", known(dtype)),
        }
    }

    fn map(&self) -> String {
        let sig = self.sig;
        let lanes = sig.lanes();
        let rank = sig.rank();
        let mut out = self.open(THREADS, "id");
        let packed: Vec<(usize, Port)> = sig
            .outputs()
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, p)| p.form == Form::Packed)
            .collect();
        if lanes == 1 {
            let _ = writeln!(
                out,
                "if (t >= {}) {{ return; }}\nlet i = t;",
                word(header::COUNT)
            );
        } else {
            let _ = writeln!(
                out,
                "let first = t * {lanes}u;\nif (first >= {n}) {{ return; }}\n\
                 let live = min({n} - first, {lanes}u);",
                n = word(header::COUNT)
            );
            for (k, _) in &packed {
                let _ = writeln!(out, "var packed{k}: array<u32, {lanes}>;");
            }
            let _ = writeln!(
                out,
                "for (var lane = 0u; lane < live; lane++) {{\nlet i = first + lane;"
            );
        }
        self.coordinates(&mut out, "i", 0, rank);
        for n in 0..sig.ports.len() {
            let _ = writeln!(out, "let i{n} = {};", self.index(n, 0, rank));
        }
        self.body(&mut out);
        for (k, port) in sig.outputs().iter().enumerate() {
            let value = format!("s{}", sig.program.outs()[k]);
            if port.form == Form::Packed {
                let _ = writeln!(out, "packed{k}[lane] = {};", Self::bits(*port, &value));
            } else {
                let i = format!("i{}", sig.program.inputs() + k);
                self.store(&mut out, *port, &i, &value);
            }
        }
        if lanes > 1 {
            out.push_str("}\n");
        }
        for (k, port) in packed {
            self.store_packed(&mut out, k, port, lanes);
        }
        out.push_str("}\n");
        out
    }

    /// Writes a thread's lanes as whole words; the last word keeps what lies past
    /// the end.
    fn store_packed(&self, out: &mut String, k: usize, port: Port, lanes: usize) {
        let at = self.words.ports[self.sig.program.inputs() + k];
        let bits = 8 * port.dtype.itemsize();
        let per = 32 / bits;
        let mask = (1u64 << bits) - 1;
        let b = port.binding;
        let _ = writeln!(
            out,
            "for (var w = 0u; w * {per}u < live; w++) {{\n\
             var value = 0u; var mask = 0u;\n\
             for (var j = 0u; j < {per}u; j++) {{\n\
             let lane = w * {per}u + j;\n\
             if (lane < live) {{\n\
             value |= (packed{k}[min(lane, {last}u)] & {mask}u) << (j * {bits}u);\n\
             mask |= {mask}u << (j * {bits}u);\n}}\n}}\n\
             let at = ({off} + first) / {per}u + w;\n\
             if (mask != 0xffffffffu) {{ value |= B{b}[at] & ~mask; }}\n\
             B{b}[at] = value;\n}}",
            last = lanes - 1,
            off = word(at)
        );
    }

    /// Random numbers: a thread makes the elements of one block of the generator.
    fn draw(&self, drawn: Drawn) -> String {
        let port = self.sig.outputs()[0];
        let pair = |n: usize| {
            let at = self.words.seeds + 2 * n;
            format!("vec2<u32>({}, {})", word(at), word(at + 1))
        };
        let lanes = drawn.lanes(port.dtype);
        let mut out = self.open(THREADS, "id");
        let _ = writeln!(
            out,
            "let first = t * {lanes}u;\nif (first >= {}) {{ return; }}\n\
             let b = philox(add_wide({}, vec2<u32>(t, 0u)), {});",
            word(header::COUNT),
            pair(0),
            pair(1)
        );
        drawn.values(port.dtype, &pair(2), &pair(3), &mut out);
        for lane in 0..lanes {
            let _ = writeln!(out, "if (first + {lane}u < {}) {{", word(header::COUNT));
            let at = format!("({} + first + {lane}u)", word(self.words.ports[0]));
            self.store(&mut out, port, &at, &format!("v{lane}"));
            out.push_str("}\n");
        }
        out.push_str("}\n");
        out
    }

    fn fold(&self, reduce: Reduce, group: bool, again: bool, done: bool) -> String {
        let sig = self.sig;
        let value = sig.program.outs()[0];
        let dtype = sig.program.out_dtype(0);
        let combine = Combine::of(reduce, dtype);
        let outer = sig.outer as usize;
        let locates = sig.locates();
        let (threads, step) = if group { (GROUP, GROUP) } else { (THREADS, 1) };
        let mut out = String::new();
        if group {
            let _ = writeln!(
                out,
                "var<workgroup> shared_value: array<{}, {GROUP}>;",
                combine.held
            );
            if locates {
                let _ = writeln!(out, "var<workgroup> shared_at: array<u32, {GROUP}>;");
            }
        }
        out += &combine.helper(reduce, dtype);
        out += &self.open(threads, if group { "group" } else { "id" });
        // Every thread of a group reaches every barrier: a group past the end
        // works on nothing.
        let _ = writeln!(
            out,
            "let results = {} * {pieces};\n\
             let live = t < results;\n\
             let mine = min(t, results - 1u);\n\
             let k = mine / {pieces};\n\
             let piece = mine % {pieces};\n\
             let begin = piece * {len};\n\
             let end = select(0u, min(begin + {len}, {depth}), live);\n\
             var total = {identity};",
            word(header::COUNT),
            pieces = word(header::PIECES),
            len = word(header::PIECE),
            depth = word(header::DEPTH),
            identity = combine.identity
        );
        if locates {
            out.push_str("var total_at = 0xffffffffu;\n");
        }
        self.coordinates(&mut out, "k", 0, outer);
        for n in 0..sig.program.inputs() {
            let _ = writeln!(out, "let k{n} = {};", self.index(n, 0, outer));
        }
        let start = if group { "begin + local" } else { "begin" };
        let _ = writeln!(
            out,
            "for (var head = {start}; head < end; head += {}u) {{\n\
             var sum = {};",
            step * RUN,
            combine.identity
        );
        if locates {
            out.push_str("var sum_at = 0xffffffffu;\n");
        }
        let _ = writeln!(
            out,
            "let stop = min(head + {}u, end);\n\
             for (var r = head; r < stop; r += {step}u) {{",
            step * RUN
        );
        self.coordinates(&mut out, "r", outer, sig.rank());
        for n in 0..sig.program.inputs() {
            let _ = writeln!(out, "let i{n} = {};", self.index(n, outer, sig.rank()));
        }
        self.body(&mut out);
        let _ = writeln!(out, "let v = s{value};");
        if locates {
            let at = if again {
                self.word_at(sig.ports[1], "i1")
            } else {
                self.position()
            };
            let _ = writeln!(
                out,
                "let v_at = {at};\n\
                 if (better(v, v_at, sum, sum_at)) {{ sum = v; sum_at = v_at; }}\n}}\n\
                 if (better(sum, sum_at, total, total_at)) {{ total = sum; total_at = sum_at; }}\n}}"
            );
        } else {
            let _ = writeln!(
                out,
                "sum = {};\n}}\ntotal = {};\n}}",
                combine.both("sum", "v"),
                combine.both("total", "sum")
            );
        }
        if group {
            self.tree(&mut out, &combine, locates);
        }
        let guard = if group { "live && local == 0u" } else { "live" };
        let _ = writeln!(out, "if ({guard}) {{");
        self.results(&mut out, &combine, locates, done);
        out.push_str("}\n}\n");
        out
    }

    /// The position of the element at hand in the whole reduced range.
    fn position(&self) -> String {
        let outer = self.sig.outer as usize;
        let mut sum = word(self.words.position);
        for d in 0..self.sig.inner as usize {
            let _ = write!(
                sum,
                " + c{} * {}",
                outer + d,
                word(self.words.position + 1 + d)
            );
        }
        sum
    }

    /// Combines the totals of a group, in an order fixed by thread numbers.
    fn tree(&self, out: &mut String, combine: &Combine, locates: bool) {
        let other = "shared_value[local + half]";
        let step = if locates {
            format!(
                "if (better({other}, shared_at[local + half], total, total_at)) {{\n\
                 total = {other}; total_at = shared_at[local + half]; }}\n\
                 shared_at[local] = total_at;"
            )
        } else {
            format!("total = {};", combine.both("total", other))
        };
        let first = if locates {
            "shared_at[local] = total_at;\n"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "shared_value[local] = total;\n{first}workgroupBarrier();\n\
             for (var half = {}u; half > 0u; half >>= 1u) {{\n\
             if (local < half) {{\n{step}\nshared_value[local] = total;\n}}\n\
             workgroupBarrier();\n}}",
            GROUP / 2
        );
    }

    fn results(&self, out: &mut String, combine: &Combine, locates: bool, done: bool) {
        let outputs = self.sig.outputs();
        let inputs = self.sig.program.inputs();
        // Partial results lie in a row per result, one column per piece.
        let index = self.index(inputs, 0, self.sig.outer as usize);
        if !done {
            let _ = writeln!(out, "let o = {index} + piece;");
            self.store(out, outputs[0], "o", "total");
            if locates {
                self.store(out, outputs[1], "o", "total_at");
            }
            return;
        }
        let _ = writeln!(out, "let o = {index};");
        if locates {
            // Positions are int64 for the user; they fit in the low word.
            let b = outputs[0].binding;
            let _ = writeln!(out, "B{b}[2u * o] = total_at;\nB{b}[2u * o + 1u] = 0u;");
        } else {
            self.store(out, outputs[0], "o", &combine.leave("total"));
        }
    }
}

/// How values of one dtype are combined.
struct Combine {
    /// Register type of the totals.
    held: &'static str,
    /// Value that changes nothing.
    identity: String,
    /// Function of two totals.
    function: String,
    /// Whether float16 values are combined in float32 and rounded once at the end.
    half: bool,
}

impl Combine {
    fn of(reduce: Reduce, dtype: DType) -> Combine {
        let half = dtype == DType::F16;
        // Sums of float16 are kept in float32, as NumPy keeps them.
        let t = if half { "f32" } else { known(dtype) };
        let held = register(dtype);
        let float = dtype.is(Kinds::FLOAT);
        let name = match reduce {
            Reduce::Sum => "add",
            Reduce::Prod => "multiply",
            Reduce::Min | Reduce::ArgMin => "minimum",
            Reduce::Max | Reduce::ArgMax => "maximum",
            Reduce::Any => "bitwise_or",
            Reduce::All => "bitwise_and",
        };
        let infinity = |negative: bool| match (t, negative) {
            ("f64", false) => "lit_f64(0x7ff0000000000000lu)".to_owned(),
            ("f64", true) => "lit_f64(0xfff0000000000000lu)".to_owned(),
            (_, false) => "lit_f32(0x7f800000u)".to_owned(),
            (_, true) => "lit_f32(0xff800000u)".to_owned(),
        };
        let bits = 8 * dtype.itemsize() as u32;
        let signed = dtype.is(Kinds::SIGNED);
        // The largest integer: all ones, or all but the sign.
        let largest = |held: &str| match held {
            "i32" => format!("i32({}u)", u32::MAX >> (33 - bits)),
            "u32" => format!("{}u", u32::MAX >> (32 - bits)),
            "i64" => "i64(0x7ffffffffffffffflu)".to_owned(),
            _ => "0xfffffffffffffffflu".to_owned(),
        };
        let identity = match reduce {
            Reduce::Any => "false".to_owned(),
            Reduce::All => "true".to_owned(),
            Reduce::Sum | Reduce::Max | Reduce::ArgMax if held == "bool" => "false".to_owned(),
            Reduce::Prod | Reduce::Min | Reduce::ArgMin if held == "bool" => "true".to_owned(),
            // The sum of nothing but -0 is -0.
            Reduce::Sum if t == "f64" => "lit_f64(0x8000000000000000lu)".to_owned(),
            Reduce::Sum if float => "lit_f32(0x80000000u)".to_owned(),
            Reduce::Sum => format!("{held}(0)"),
            Reduce::Prod => format!("{held}(1)"),
            Reduce::Min | Reduce::ArgMin if float => infinity(false),
            Reduce::Max | Reduce::ArgMax if float => infinity(true),
            Reduce::Min | Reduce::ArgMin => largest(held),
            Reduce::Max | Reduce::ArgMax if signed => format!("{held}(-1) - {}", largest(held)),
            Reduce::Max | Reduce::ArgMax => format!("{held}(0)"),
        };
        Combine {
            held,
            identity,
            function: format!("{name}_{t}"),
            half,
        }
    }

    fn both(&self, a: &str, b: &str) -> String {
        format!("{}({a}, {b})", self.function)
    }

    /// A total as a value of the result.
    fn leave(&self, total: &str) -> String {
        if self.half {
            format!("round_f16_bits({total})")
        } else {
            total.to_owned()
        }
    }

    /// `better(a, at, b, bt)`: whether a at `at` goes before b at `bt`: the first
    /// NaN, else the first extreme. The position of nothing is the last of all.
    fn helper(&self, reduce: Reduce, dtype: DType) -> String {
        let t = known(dtype);
        let less = match reduce {
            Reduce::ArgMin => format!("less_{t}(a, b)"),
            Reduce::ArgMax => format!("less_{t}(b, a)"),
            _ => return String::new(),
        };
        format!(
            "fn better(a: {h}, at: u32, b: {h}, bt: u32) -> bool {{\n\
             if (bt == 0xffffffffu || at == 0xffffffffu) {{ return at != 0xffffffffu; }}\n\
             let na = isnan_{t}(a);\n\
             let nb = isnan_{t}(b);\n\
             if (na || nb) {{ return na && (!nb || at < bt); }}\n\
             return {less} || (equal_{t}(a, b) && at < bt);\n}}\n",
            h = self.held
        )
    }
}
