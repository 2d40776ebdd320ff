//! Fronts and knees: which of many points are worth having, and where more cost stops paying.

/// Cost and error of a core; less is better for both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Area, power or any other cost.
    pub cost: f64,
    /// Error, on any scale on which less is better.
    pub error: f64,
}

impl Point {
    fn is_finite(self) -> bool {
        self.cost.is_finite() && self.error.is_finite()
    }
}

/// Indices of the points that no other point dominates, from the cheapest to the most accurate. Points that are equal
/// in both are all on the front, in the order given. A point that is not finite is never on it.
pub fn front(points: &[Point]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).filter(|&i| points[i].is_finite()).collect();
    let by = |i: &usize| (points[*i].cost, points[*i].error);
    order.sort_by(|a, b| {
        let (a, b) = (by(a), by(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    // In this order a point is dominated if at all by the last one on the front.
    let mut front: Vec<usize> = Vec::new();
    for i in order {
        let better = |&last: &usize| points[i].error < points[last].error || points[i] == points[last];
        if front.last().is_none_or(better) {
            front.push(i);
        }
    }
    front
}

/// The knee of a front (indices into `points`, as [`front`] gives them): the point furthest below the chord, which
/// joins the cheapest and the most accurate point in the plane of log cost and log error. Stretching an axis moves all
/// distances by one factor, so the choice does not depend on units. In logarithms a step is judged by the factor that
/// it costs and the factor that it gains.
///
/// A single point is its own knee. Of equally far points the cheapest is taken. A front without a point below its chord
/// has no knee. Points with a cost or an error of 0 have no logarithm and are left out.
pub fn knee(points: &[Point], front: &[usize]) -> Option<usize> {
    let log = |&i: &usize| -> Option<(usize, f64, f64)> {
        let Point { cost, error } = points[i];
        (cost > 0.0 && error > 0.0).then(|| (i, cost.ln(), error.ln()))
    };
    let logs: Vec<_> = front.iter().filter_map(log).collect();
    let (&(first, x0, y0), &(_, x1, y1)) = (logs.first()?, logs.last()?);
    let (dx, dy) = (x1 - x0, y1 - y0);
    if dx == 0.0 && dy == 0.0 {
        return Some(first);
    }
    // Cross product with the chord: its length times the distance, positive below. Rounding errors of points on
    // the chord do not count.
    let least = 1e-9 * (dx * dy).abs();
    let mut best = None;
    for &(i, x, y) in &logs {
        let distance = (x - x0) * dy - (y - y0) * dx;
        if distance > best.map_or(least, |(_, distance)| distance) {
            best = Some((i, distance));
        }
    }
    best.map(|(i, _)| i)
}

#[cfg(test)]
mod tests;
