//! The secular equation `1 + sum z_k^2 / (p_k - x) = 0`, whose roots lie between the poles `p` and to their right.
//!
//! Each root is kept as its distance from the nearest pole, so that its distances from all poles have full relative
//! accuracy, and `z` is then replaced by the one whose roots these are exactly: vectors made from them are orthogonal to
//! working precision (Gu and Eisenstat, SIAM J. Matrix Anal. Appl. 15, 1994, and 16, 1995).

use pulp::Arch;

/// The equation. The poles rise strictly; `z` has no zeros.
#[derive(Clone, Copy)]
pub(crate) struct Secular<'a> {
    /// The poles, or their roots, which are not negative, where `squares`.
    pub poles: &'a [f64],
    pub squares: bool,
    pub z: &'a [f64],
}

/// How many sums run side by side.
const LANES: usize = 8;

/// Steps after which the bracket is halved only.
const STEPS: usize = 24;

/// What the columns of vectors are made of, from the distances between poles and roots.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vectors {
    /// Eigenvectors, and right singular vectors: `z_k / (p_k - x)`.
    Right,
    /// Left singular vectors, of which the first pole is zero: -1, and the roots of the poles times the above.
    Left,
}

impl Secular<'_> {
    /// Fills `values` with the roots, or theirs where `squares`.
    pub fn values(self, values: &mut [f64]) {
        let mut gaps = vec![0.0; self.poles.len()];
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (i, value) in values.iter_mut().enumerate() {
                    *value = self.value(i, &mut gaps);
                }
            },
        );
    }

    /// Besides the values, fills column `i` of `gaps` with `p - x_i`, and `z` with what the roots belong to.
    pub fn solve(self, gaps: &mut [f64], values: &mut [f64], z: &mut [f64]) {
        Arch::new().dispatch(
            #[inline(always)]
            || {
                let columns = gaps.chunks_exact_mut(self.poles.len());
                for (i, (gaps, value)) in columns.zip(values).enumerate() {
                    *value = self.value(i, gaps);
                }
                self.weights(gaps, z);
            },
        );
    }

    /// Fills the columns of `vectors`, with `self.z` as [`Secular::solve`] has found it.
    pub fn vectors(self, which: Vectors, gaps: &[f64], vectors: &mut [f64]) {
        let Secular { poles, z, .. } = self;
        let n = poles.len();
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (gaps, vector) in gaps.chunks_exact(n).zip(vectors.chunks_exact_mut(n)) {
                    for ((v, gap), z) in vector.iter_mut().zip(gaps).zip(z) {
                        *v = z / gap;
                    }
                    if which == Vectors::Left {
                        vector.iter_mut().zip(poles).for_each(|(v, p)| *v *= p);
                        vector[0] = -1.0;
                    }
                    let length = length(vector);
                    vector.iter_mut().for_each(|v| *v /= length);
                }
            },
        );
    }

    /// The difference of two poles.
    #[inline(always)]
    fn gap(self, a: f64, b: f64) -> f64 {
        if self.squares {
            (a - b) * (a + b)
        } else {
            a - b
        }
    }

    #[inline(always)]
    fn gaps(self, origin: usize, gaps: &mut [f64]) {
        let origin = self.poles[origin];
        for (gap, &pole) in gaps.iter_mut().zip(self.poles) {
            *gap = self.gap(pole, origin);
        }
    }

    #[inline(always)]
    fn value(self, i: usize, gaps: &mut [f64]) -> f64 {
        let (origin, offset) = self.root(i, gaps);
        gaps.iter_mut().for_each(|gap| *gap -= offset);
        let pole = self.poles[origin];
        if self.squares {
            pole + offset / (pole + (pole * pole + offset).sqrt())
        } else {
            pole + offset
        }
    }

    /// The root to the right of pole `i`: the pole it is told from, and its distance. Leaves the poles' distances from that
    /// one in `gaps`.
    #[inline(always)]
    fn root(self, i: usize, gaps: &mut [f64]) -> (usize, f64) {
        let last = i + 1 == self.poles.len();
        self.gaps(i, gaps);
        let (mut low, mut high) = (0.0, self.z.iter().map(|z| z * z).sum::<f64>());
        if last && i == 0 {
            return (0, high);
        }
        // The sum is cut in two before this pole.
        let cut = if last { i } else { i + 1 };
        let (mut origin, mut x) = (i, high / 2.0);
        if !last {
            let middle = gaps[i + 1] / 2.0;
            let [(left, _), (right, _)] = self.sums(gaps, cut, middle);
            let others = 1.0 + left + right
                - self.z[i] * self.z[i] / (gaps[i] - middle)
                - self.z[i + 1] * self.z[i + 1] / (gaps[i + 1] - middle);
            high = middle;
            if 1.0 + left + right < 0.0 {
                (low, high) = (-middle, 0.0);
                origin = i + 1;
                self.gaps(origin, gaps);
            }
            x = interpolate(
                others,
                (gaps[i], self.z[i] * self.z[i]),
                (gaps[i + 1], self.z[i + 1] * self.z[i + 1]),
                false,
            );
        }
        let poles = (gaps[cut - 1], gaps[cut]);
        let mut before = f64::INFINITY;
        for step in 0.. {
            if !(low < x && x < high) {
                x = between(low, high);
                if !(low < x && x < high) {
                    break;
                }
            }
            let [(left, left_slope), (right, right_slope)] = self.sums(gaps, cut, x);
            let sum = 1.0 + left + right;
            if sum.abs() <= 2.0 * f64::EPSILON * (1.0 + left.abs() + right.abs()) {
                break;
            }
            if sum < 0.0 {
                low = x;
            } else {
                high = x;
            }
            // Each side of the cut as a constant and its nearest pole, with the same value and slope.
            let side = |pole: f64, value: f64, slope: f64| {
                let far = pole - x;
                (value - slope * far, slope * far * far)
            };
            let (left, left_weight) = side(poles.0, left, left_slope);
            let (right, right_weight) = side(poles.1, right, right_slope);
            let next = interpolate(
                1.0 + left + right,
                (poles.0, left_weight),
                (poles.1, right_weight),
                last,
            );
            if (next - x).abs() <= f64::EPSILON * x.abs() {
                break;
            }
            // Where the interpolation gets nowhere.
            let slow = step >= STEPS || step > 2 && sum.abs() > before / 2.0;
            before = sum.abs();
            x = if slow { f64::NAN } else { next };
        }
        // Not at a pole, where a root lies nearer than numbers can be.
        (origin, if x == 0.0 { low + high } else { x })
    }

    /// The sums over the poles before and from `cut` on, each with its slope.
    #[inline(always)]
    fn sums(self, gaps: &[f64], cut: usize, x: f64) -> [(f64, f64); 2] {
        let half = |gaps: &[f64], z: &[f64]| {
            if gaps.len() < LANES {
                let (mut sum, mut slope) = (0.0, 0.0);
                for (gap, z) in gaps.iter().zip(z) {
                    let ratio = z / (gap - x);
                    sum += z * ratio;
                    slope += ratio * ratio;
                }
                return (sum, slope);
            }
            let (mut sum, mut slope) = ([0.0; LANES], [0.0; LANES]);
            let mut add = |lane: usize, gap: f64, z: f64| {
                let ratio = z / (gap - x);
                sum[lane] += z * ratio;
                slope[lane] += ratio * ratio;
            };
            let ((gaps, gaps_rest), (z, z_rest)) =
                (gaps.as_chunks::<LANES>(), z.as_chunks::<LANES>());
            for (gaps, z) in gaps.iter().zip(z) {
                for lane in 0..LANES {
                    add(lane, gaps[lane], z[lane]);
                }
            }
            for (lane, (&gap, &z)) in gaps_rest.iter().zip(z_rest).enumerate() {
                add(lane, gap, z);
            }
            (sum.iter().sum(), slope.iter().sum())
        };
        [
            half(&gaps[..cut], &self.z[..cut]),
            half(&gaps[cut..], &self.z[cut..]),
        ]
    }

    /// The `z` of which the roots are exactly those found (Löwner).
    #[inline(always)]
    fn weights(self, gaps: &[f64], z: &mut [f64]) {
        let n = self.poles.len();
        z.fill(1.0);
        for (j, gaps) in gaps.chunks_exact(n).enumerate() {
            let ((z0, z1), (p0, p1), (g0, g1)) = (
                z.split_at_mut(j + 1),
                self.poles.split_at(j + 1),
                gaps.split_at(j + 1),
            );
            // Root `j` with pole `j` for the poles after it, and with pole `j + 1` for the others.
            for ((z, &p), &g) in z1.iter_mut().zip(p1).zip(g1) {
                *z *= g / self.gap(p, self.poles[j]);
            }
            if let Some(&next) = self.poles.get(j + 1) {
                for ((z, &p), &g) in z0.iter_mut().zip(p0).zip(g0) {
                    *z *= g / self.gap(p, next);
                }
            } else {
                z0.iter_mut().zip(g0).for_each(|(z, &g)| *z *= -g);
            }
        }
        for (z, given) in z.iter_mut().zip(self.z) {
            *z = z.sqrt().copysign(*given);
        }
    }
}

/// The root of `c + s / (a - x) + t / (b - x)` between `a` and `b`, or to the right of both. One of them is zero.
#[inline(always)]
fn interpolate(c: f64, (a, s): (f64, f64), (b, t): (f64, f64), beyond: bool) -> f64 {
    // c x^2 - linear x + constant = 0
    let (linear, constant) = (c * (a + b) + s + t, c * a * b + s * b + t * a);
    let root = (linear * linear - 4.0 * c * constant).max(0.0).sqrt();
    let root = if beyond { -root } else { root };
    // Of the two forms of the root, the one without cancellation.
    if (linear > 0.0) != beyond {
        2.0 * constant / (linear + root)
    } else {
        (linear - root) / (2.0 * c)
    }
}

/// The Euclidean norm of a vector whose squares are in range, summed in lanes.
#[inline(always)]
fn length(v: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (chunks, rest) = v.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += chunk[lane] * chunk[lane];
        }
    }
    rest.iter()
        .zip(&mut sums)
        .for_each(|(v, sum)| *sum += v * v);
    sums.iter().sum::<f64>().sqrt()
}

/// A point inside a bracket of one sign, nearer to zero where the ends differ in size.
#[inline(always)]
fn between(low: f64, high: f64) -> f64 {
    let (near, far) = if low.abs() < high.abs() {
        (low, high)
    } else {
        (high, low)
    };
    if near == 0.0 {
        far / 16.0
    } else if far.abs() > 4.0 * near.abs() {
        (near.abs().sqrt() * far.abs().sqrt()).copysign(far)
    } else {
        low + (high - low) / 2.0
    }
}
