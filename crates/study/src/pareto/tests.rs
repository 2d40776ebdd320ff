use super::*;

/// No worse in both, and better in one.
fn dominates(a: Point, b: Point) -> bool {
    a.cost <= b.cost && a.error <= b.error && a != b
}

fn points(of: &[(f64, f64)]) -> Vec<Point> {
    of.iter().map(|&(cost, error)| Point { cost, error }).collect()
}

#[test]
fn dominated_points_are_not_on_the_front() {
    // In order: on it; dominated in both; on it; equal cost, larger error; equal error, larger cost; on it.
    let p = points(&[(3.0, 1.0), (3.5, 2.5), (1.0, 4.0), (1.0, 5.0), (4.0, 1.0), (2.0, 2.0)]);
    assert_eq!(front(&p), [2, 5, 0]);
}

#[test]
fn equal_points_are_on_the_front_together() {
    let p = points(&[(2.0, 2.0), (1.0, 3.0), (2.0, 2.0), (2.0, 2.5), (1.0, 3.0)]);
    assert_eq!(front(&p), [1, 4, 0, 2]);
}

#[test]
fn the_front_has_all_undominated_points() {
    // A small grid of all costs and errors, in an order without meaning: many ties of every kind.
    let p: Vec<Point> = (0..60u32)
        .map(|i| i * 37 % 61)
        .map(|i| Point { cost: f64::from(i % 7), error: f64::from(i / 7 % 5 + 3 * (i % 7 % 2)) })
        .collect();
    let mut expected: Vec<usize> =
        (0..p.len()).filter(|&i| !p.iter().any(|&other| dominates(other, p[i]))).collect();
    let mut found = front(&p);
    assert!(found.len() >= 2 && found.len() < p.len());
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn points_that_are_not_finite_are_left_out() {
    let p = points(&[(f64::NAN, 0.0), (1.0, 1.0), (0.5, f64::INFINITY), (f64::NEG_INFINITY, 0.0)]);
    assert_eq!(front(&p), [1]);
    assert_eq!(front(&p[..1]), [0; 0]);
    assert_eq!(front(&[]), [0; 0]);
}

#[test]
fn the_knee_is_furthest_below_the_chord() {
    // The chord from (1, 16) to (16, 1) has cost * error = 16; the products are 16, 12, 6, 8, 16.
    let p = points(&[(1.0, 16.0), (1.5, 8.0), (2.0, 3.0), (4.0, 2.0), (16.0, 1.0)]);
    let front = front(&p);
    assert_eq!(front, [0, 1, 2, 3, 4]);
    assert_eq!(knee(&p, &front), Some(2));
    // Units do not matter.
    let scaled: Vec<Point> =
        p.iter().map(|p| Point { cost: 1000.0 * p.cost, error: 1e-5 * p.error }).collect();
    assert_eq!(knee(&scaled, &front), Some(2));
    // Neither does the shape of the axes: a power is a stretch in logarithms.
    let bent: Vec<Point> = p.iter().map(|p| Point { cost: p.cost.powi(3), error: p.error.sqrt() }).collect();
    assert_eq!(knee(&bent, &front), Some(2));
}

#[test]
fn the_cheapest_of_equal_knees() {
    let p = points(&[(1.0, 16.0), (2.0, 4.0), (4.0, 2.0), (16.0, 1.0)]);
    assert_eq!(knee(&p, &front(&p)), Some(1));
}

#[test]
fn fronts_without_a_bend() {
    let single = points(&[(5.0, 3.0)]);
    assert_eq!(knee(&single, &front(&single)), Some(0));
    let equal = points(&[(5.0, 3.0), (5.0, 3.0)]);
    assert_eq!(knee(&equal, &front(&equal)), Some(0));
    assert_eq!(knee(&[], &[]), None);
    // Two points are their own chord; three are on one; the middle one is above it.
    for none in [
        points(&[(1.0, 2.0), (2.0, 1.0)]),
        points(&[(1.0, 100.0), (7.0, 100.0 / 7.0), (49.0, 100.0 / 49.0)]),
        points(&[(1.0, 4.0), (3.0, 3.0), (4.0, 1.0)]),
    ] {
        let front = front(&none);
        assert_eq!(front.len(), none.len());
        assert_eq!(knee(&none, &front), None);
    }
}

#[test]
fn an_error_of_zero_has_no_logarithm() {
    let p = points(&[(1.0, 16.0), (2.0, 3.0), (16.0, 1.0), (20.0, 0.0)]);
    let front = front(&p);
    assert_eq!(front, [0, 1, 2, 3]);
    assert_eq!(knee(&p, &front), Some(1));
}
