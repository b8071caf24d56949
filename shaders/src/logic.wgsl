// Truth of any dtype: nonzero, NaN included.

fn logical_and_$T(a: $R, b: $R) -> bool { return nonzero_$T(a) && nonzero_$T(b); }
fn logical_or_$T(a: $R, b: $R) -> bool { return nonzero_$T(a) || nonzero_$T(b); }
fn logical_xor_$T(a: $R, b: $R) -> bool { return nonzero_$T(a) != nonzero_$T(b); }
fn logical_not_$T(a: $R) -> bool { return !nonzero_$T(a); }
