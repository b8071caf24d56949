// Booleans: sums are `or`, products are `and`.

fn add_bool(a: bool, b: bool) -> bool { return a || b; }
fn multiply_bool(a: bool, b: bool) -> bool { return a && b; }
fn abs_bool(a: bool) -> bool { return a; }
fn equal_bool(a: bool, b: bool) -> bool { return a == b; }
fn not_equal_bool(a: bool, b: bool) -> bool { return a != b; }
fn less_bool(a: bool, b: bool) -> bool { return !a && b; }
fn less_equal_bool(a: bool, b: bool) -> bool { return !a || b; }
fn maximum_bool(a: bool, b: bool) -> bool { return a || b; }
fn minimum_bool(a: bool, b: bool) -> bool { return a && b; }
fn bitwise_and_bool(a: bool, b: bool) -> bool { return a && b; }
fn bitwise_or_bool(a: bool, b: bool) -> bool { return a || b; }
fn bitwise_xor_bool(a: bool, b: bool) -> bool { return a != b; }
fn bitwise_invert_bool(a: bool) -> bool { return !a; }
fn select_bool(c: bool, a: bool, b: bool) -> bool { return select(b, a, c); }
fn isnan_bool(a: bool) -> bool { return false; }
fn isinf_bool(a: bool) -> bool { return false; }
fn isfinite_bool(a: bool) -> bool { return true; }
fn nonzero_bool(a: bool) -> bool { return a; }
