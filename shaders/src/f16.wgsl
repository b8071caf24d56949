// What float16 cannot borrow from float32: the step to the next of its own numbers.

fn nextafter_f16(x: f32, y: f32) -> f32 {
    if (isnan_f32(x)) { return x; }
    if (isnan_f32(y)) { return y; }
    if (key_f32(x) == key_f32(y)) { return y; }
    let h = bits_f16(x);
    let down = key_f32(y) < key_f32(x);
    if ((h & 0x7fffu) == 0u) { return from_bits_f16(select(1u, 0x8001u, down)); }
    return from_bits_f16(select(h + 1u, h - 1u, down != ((h & 0x8000u) != 0u)));
}

fn select_f16(c: bool, a: f32, b: f32) -> f32 { return select_f32(c, a, b); }
