// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011): four words from a counter and a key.
fn philox(counter: vec2<u32>, key: vec2<u32>) -> vec4<u32> {
    var c = vec4<u32>(counter, 0u, 0u);
    var k = key;
    for (var round = 0; round < 10; round++) {
        let high0 = mulhi_u32(0xD2511F53u, c.x);
        let high1 = mulhi_u32(0xCD9E8D57u, c.z);
        c = vec4<u32>(high1 ^ c.y ^ k.x, 0xCD9E8D57u * c.z, high0 ^ c.w ^ k.y, 0xD2511F53u * c.x);
        k += vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}

// Sum of two numbers of two words, low word first.
fn add_wide(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

// High half of the product of two numbers of two words.
fn mulhi_wide(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let mid = add_wide(vec2<u32>(a.y * b.x, mulhi_u32(a.y, b.x)), vec2<u32>(mulhi_u32(a.x, b.x), 0u));
    let low = add_wide(vec2<u32>(a.x * b.y, mulhi_u32(a.x, b.y)), vec2<u32>(mid.x, 0u));
    let high = add_wide(vec2<u32>(a.y * b.y, mulhi_u32(a.y, b.y)), vec2<u32>(mid.y, 0u));
    return add_wide(high, vec2<u32>(low.y, 0u));
}

// low + floor(x * range / 2^64); a range of 0 stands for 2^64.
fn random_between(x: vec2<u32>, low: vec2<u32>, range: vec2<u32>) -> vec2<u32> {
    let scaled = select(mulhi_wide(x, range), x, (range.x | range.y) == 0u);
    return add_wide(low, scaled);
}

// In [0, 1), from the top 24 bits.
fn random_unit_f32(word: u32) -> f32 {
    return f32(word >> 8u) * 5.9604644775390625e-08;
}

// Box and Muller's pair from two words.
fn random_normal_f32(words: vec2<u32>) -> vec2<f32> {
    let radius = sqrt(-2.0 * log_f32(1.0 - random_unit_f32(words.x)));
    let angle = 6.2831855 * random_unit_f32(words.y);
    return vec2<f32>(radius * cos_f32(angle), radius * sin_f32(angle));
}
