//! Prints the largest errors found of every maths function as a markdown table.

#[path = "../tests/reference/mod.rs"]
mod reference;

use reference::{Reference, complex, rows, worst_f32, worst_f64};

fn main() {
    let points = std::env::args()
        .nth(1)
        .map_or(20_000, |n| n.parse().expect("a number of points"));
    let mut exact = Reference::new();
    println!("| function | f64, ULP | at | f32, ULP | at |\n|---|---|---|---|---|");
    for row in rows() {
        let (double, single) = (
            worst_f64(&row, &mut exact, points),
            worst_f32(&row, 50 * points),
        );
        let at = |(x, y): (f64, f64)| {
            if row.binary {
                format!("{x:e}, {y:e}")
            } else {
                format!("{x:e}")
            }
        };
        println!(
            "| `{}` | {:.3} | {} | {:.3} | {} |",
            row.name,
            double.ulp,
            at(double.at),
            single.ulp,
            at(single.at)
        );
    }
    println!("\n| complex function | f64, ULP of a part | bound | at | f32, ULP | at |");
    println!("|---|---|---|---|---|---|");
    for row in complex::rows() {
        let (double, single) = complex::worst(&row, &mut exact, points / 10);
        let at = |(x, y): (f64, f64)| format!("{x:e}, {y:e}");
        println!(
            "| `{}` | {:.3} | {} | {} | {:.3} | {} |",
            row.name,
            double.ulp,
            row.limit,
            at(double.at),
            single.ulp,
            at(single.at)
        );
    }
}
