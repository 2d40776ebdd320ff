//! Lookup tables.

/// A lookup table over input transition time and output load. The table does not depend on an axis with one
/// point.
#[derive(Clone, Debug, PartialEq)]
pub struct LibertyTable {
    transition: Vec<f64>,
    load: Vec<f64>,
    /// By transition, then load.
    values: Vec<f64>,
}

impl LibertyTable {
    /// A table; `values` go by transition, then by load.
    ///
    /// # Errors
    /// A message that names the wrong numbers.
    pub fn new(transition: Vec<f64>, load: Vec<f64>, values: Vec<f64>) -> Result<Self, String> {
        for axis in [&transition, &load] {
            if axis.is_empty() || !axis.is_sorted_by(|a, b| a < b) {
                return Err(format!("the points {axis:?} of an axis do not ascend"));
            }
        }
        let points = transition.len() * load.len();
        if values.len() != points {
            return Err(format!("{} values for {points} points of the axes", values.len()));
        }
        Ok(LibertyTable { transition, load, values })
    }

    /// The same from values that go by load, then by transition.
    ///
    /// # Errors
    /// As [`LibertyTable::new`].
    pub(crate) fn with_load_first(
        transition: Vec<f64>,
        load: Vec<f64>,
        values: Vec<f64>,
    ) -> Result<Self, String> {
        let turned = LibertyTable::new(load, transition, values)?;
        let (rows, columns) = (turned.transition.len(), turned.load.len());
        let places = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
        let values = places.map(|place| turned.values[place]).collect();
        Ok(LibertyTable { transition: turned.load, load: turned.transition, values })
    }

    /// A table with one value.
    pub fn constant(value: f64) -> Self {
        LibertyTable { transition: vec![0.0], load: vec![0.0], values: vec![value] }
    }

    /// Value at a transition time (s) and a load (F): linear between points, and beyond the outermost ones
    /// the outermost segments go on, as timing tools do it.
    pub fn at(&self, transition: f64, load: f64) -> f64 {
        let (row, f) = place(&self.transition, transition);
        let (column, g) = place(&self.load, load);
        let (last_row, last_column) = (self.transition.len() - 1, self.load.len() - 1);
        let value = |row: usize, column: usize| {
            self.values[row.min(last_row) * self.load.len() + column.min(last_column)]
        };
        let along = |row| value(row, column) * (1.0 - g) + value(row, column + 1) * g;
        along(row) * (1.0 - f) + along(row + 1) * f
    }

    /// First points of the transition axis, s; the fastest edge that was characterised.
    pub(crate) fn first_transition(&self) -> f64 {
        self.transition[0]
    }
}

/// Segment of an axis that contains `x`, and the position in it.
fn place(axis: &[f64], x: f64) -> (usize, f64) {
    if axis.len() == 1 {
        return (0, 0.0);
    }
    let segment = axis.partition_point(|&point| point <= x).clamp(1, axis.len() - 1) - 1;
    (segment, (x - axis[segment]) / (axis[segment + 1] - axis[segment]))
}
