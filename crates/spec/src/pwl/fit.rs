//! Fitting of a table: chord slopes (the minimax slope of a convex or concave piece), rounded to the hardware's width, then the constant that balances the
//! largest positive and negative error of the integer evaluation, truncation included.

use super::{Function, Table};

/// Cells per unit of x in the paper's sigmoid: breakpoints fall on multiples of 1, 1/2 or 1/4.
fn paper_cells_per_unit(segments: u32) -> u32 {
    (segments / 8).max(1)
}

/// Offsets at which a piece of `bits` bits is examined: all, or 1,025 evenly spread ones.
pub(super) fn samples(bits: u32) -> impl Iterator<Item = u64> {
    let last = (1u64 << bits) - 1;
    let steps = last.min(1024);
    (0..=steps).map(move |i| last * i / steps.max(1))
}

pub(super) fn fit(function: Function, segments: u32, value_fraction: u32) -> Table {
    let (cells, cells_log2) = match function {
        Function::PaperSigmoid => {
            let per_unit = paper_cells_per_unit(segments);
            (17 * per_unit, per_unit.ilog2())
        }
        _ => (segments, segments.ilog2()),
    };
    let offset_bits = value_fraction - cells_log2;
    let octaves = function.octaves(segments);
    let mut table = Table {
        function,
        segments,
        octaves,
        cells,
        offset_bits,
        value_fraction,
        // The slope's rounding error, times the largest offset, stays below half a unit of the value.
        slope_fraction: offset_bits,
        c0: Vec::new(),
        c1: Vec::new(),
    };
    if function == Function::PaperSigmoid {
        fit_paper_sigmoid(&mut table);
    } else {
        for octave in 0..octaves {
            for cell in 0..cells {
                fit_cell(&mut table, octave, cell);
            }
        }
    }
    table
}

/// The exact function in units of the result, at offset `dx` of `cell`. The last octave's entries also serve all later octaves: they are fitted to the mean of
/// that octave and the limit.
fn exact(t: &Table, octave: u32, cell: u32, dx: f64) -> f64 {
    let unit = (t.value_fraction as f64).exp2();
    let z = (((cell as u64) << t.offset_bits) as f64 + dx) / unit;
    let own = t.function.exact(octave, z);
    if t.octaves > 1 && octave == t.octaves - 1 {
        (own + t.function.exact(64, z)) / 2.0 * unit
    } else {
        own * unit
    }
}

/// Values that must be exact: exp(0) = 1, 1/1 = 1, sigmoid(0) = 1/2, ln 1 = 0.
fn pinned(t: &Table, octave: u32, cell: u32) -> Option<u64> {
    let one = 1u64 << t.value_fraction;
    match (t.function, octave, cell) {
        (Function::Exp | Function::Reciprocal, 0, 0) => Some(one),
        (Function::Sigmoid, 0, 0) => Some(one / 2),
        // log2(1 + 1) = 1: two equal scores double the sum exactly.
        (Function::Log2p1, 0, 0) => Some(one),
        (Function::Ln, 0, 0) => Some(0),
        _ => None,
    }
}

/// The exact function at the examined offsets of a cell.
fn exact_samples(t: &Table, octave: u32, cell: u32) -> Vec<(u64, f64)> {
    samples(t.offset_bits).map(|dx| (dx, exact(t, octave, cell, dx as f64))).collect()
}

/// `exact - y` of the integer evaluation with `c0 = 0`, `slope = c1`.
fn missing(t: &Table, (dx, exact): (u64, f64), c1: u64) -> f64 {
    let step = ((c1 * dx) >> t.slope_fraction) as f64;
    let y = if t.function.decreasing() { -step } else { step };
    exact - y
}

/// Its smallest and its largest value.
fn error_range(t: &Table, samples: &[(u64, f64)], c1: u64) -> (f64, f64) {
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    for &sample in samples {
        let missing = missing(t, sample, c1);
        range = (range.0.min(missing), range.1.max(missing));
    }
    range
}

/// The largest error with these coefficients if it is below a limit. From the far end, where a wrong slope exceeds the limit at once.
fn largest_error(t: &Table, samples: &[(u64, f64)], (c0, c1): (u64, u64), limit: f64) -> Option<f64> {
    let mut largest = f64::NEG_INFINITY;
    for &sample in samples.iter().rev() {
        largest = largest.max((missing(t, sample, c1) - c0 as f64).abs());
        if largest >= limit {
            return None;
        }
    }
    Some(largest)
}

fn fit_cell(t: &mut Table, octave: u32, cell: u32) {
    let width = (1u64 << t.offset_bits) as f64;
    let chord = (exact(t, octave, cell, width) - exact(t, octave, cell, 0.0)).abs() / width;
    let c1 = (chord * (t.slope_fraction as f64).exp2()).round() as u64;
    let samples = exact_samples(t, octave, cell);
    let (c0, c1) = match pinned(t, octave, cell) {
        // With a fixed first value, take the slope with the least maximum error.
        Some(c0) => {
            let mut best = (f64::INFINITY, c1);
            for c1 in (c1 - c1 / 6..=c1 + c1 / 6).step_by((c1 as usize / 512).max(1)) {
                if let Some(error) = largest_error(t, &samples, (c0, c1), best.0) {
                    best = (error, c1);
                }
            }
            (c0, best.1)
        }
        None => {
            let (lo, hi) = error_range(t, &samples, c1);
            (
                ((lo + hi) / 2.0).round().clamp(0.0, t.function.largest() * (t.value_fraction as f64).exp2())
                    as u64,
                c1,
            )
        }
    };
    t.c0.push(c0);
    t.c1.push(c1);
}

/// Chooses the breakpoints on the cell grid that minimise the largest error of `segments` pieces (dynamic
/// programming over the last breakpoint), then gives each cell its piece's slope and its own constant.
fn fit_paper_sigmoid(t: &mut Table) {
    let cells = t.cells as usize;
    let width = (1u64 << t.offset_bits) as f64;
    // Sixteen points of each cell, and the end.
    let points: Vec<f64> = (0..=cells * 16).map(|i| exact(t, 0, 0, i as f64 / 16.0 * width)).collect();
    let at = |cell: usize| points[cell * 16];
    let piece_error = |a: usize, b: usize| {
        let slope = (at(b) - at(a)) / (b - a) as f64;
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        for (i, point) in points[a * 16..=b * 16].iter().enumerate() {
            let missing = point - slope * (i as f64 / 16.0);
            range = (range.0.min(missing), range.1.max(missing));
        }
        (range.1 - range.0) / 2.0
    };
    // Costs of the pieces from each cell to each later one.
    let piece_errors: Vec<Vec<f64>> =
        (0..cells).map(|a| (a + 1..=cells).map(|b| piece_error(a, b)).collect()).collect();
    let segments = (t.segments as usize).min(cells);
    let mut best = vec![vec![(f64::INFINITY, 0usize); cells + 1]; segments + 1];
    best[0][0] = (0.0, 0);
    for s in 1..=segments {
        for end in s..=cells {
            for start in s - 1..end {
                let worst = best[s - 1][start].0.max(piece_errors[start][end - start - 1]);
                if worst < best[s][end].0 {
                    best[s][end] = (worst, start);
                }
            }
        }
    }
    let mut bounds = vec![cells];
    for s in (1..=segments).rev() {
        bounds.push(best[s][bounds[bounds.len() - 1]].1);
    }
    bounds.reverse();
    let one = (1u64 << t.value_fraction) as f64;
    let mut entries = Vec::new();
    for piece in bounds.windows(2) {
        let (a, b) = (piece[0], piece[1]);
        let slope = (at(b) - at(a)) / ((b - a) as f64 * width);
        let c1 = (slope * (t.slope_fraction as f64).exp2()).round() as u64;
        let true_slope = c1 as f64 / (t.slope_fraction as f64).exp2();
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        for cell in a..b {
            let (lo, hi) = error_range(t, &exact_samples(t, 0, cell as u32), c1);
            let base = true_slope * width * (cell - a) as f64;
            range = (range.0.min(lo - base), range.1.max(hi - base));
        }
        for cell in a..b {
            let base = true_slope * width * (cell - a) as f64;
            let c0 = ((range.0 + range.1) / 2.0 + base).round();
            entries.push((c0.clamp(1.0, one - (true_slope * width).ceil()) as u64, c1));
        }
    }
    (t.c0, t.c1) = entries.into_iter().unzip();
}
