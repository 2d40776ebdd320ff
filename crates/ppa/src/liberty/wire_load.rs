//! Wire load models: the capacitance of a net's wires by the number of pins that it drives.

/// A wire load model.
#[derive(Clone, Debug, PartialEq)]
pub struct WireLoad {
    /// Name in the file.
    pub name: String,
    /// Capacitance of a unit of length, F.
    pub capacitance: f64,
    /// Length that one more pin adds beyond the last entry of `lengths`.
    pub slope: f64,
    /// Pins driven and length of the net, ascending.
    pub lengths: Vec<(f64, f64)>,
}

impl WireLoad {
    /// Capacitance of the wires of a net that drives `pins` pins, F: linear between the entries, and beyond them by
    /// the slope, as in OpenSTA. (In a hierarchy OpenSTA 2.0.17 also counts the pins of modules on the way.)
    pub fn at(&self, pins: usize) -> f64 {
        let pins = pins as f64;
        let after = self.lengths.partition_point(|(fanout, _)| *fanout <= pins);
        let length = match (after.checked_sub(1).map(|index| self.lengths[index]), self.lengths.get(after)) {
            (None, None) => 0.0,
            (None, Some((fanout, length))) => (length - (fanout - pins) * self.slope).max(0.0),
            (Some((fanout, length)), None) => length + (pins - fanout) * self.slope,
            (Some((below, short)), Some((above, long))) => {
                short + (long - short) * (pins - below) / (above - below)
            }
        };
        length * self.capacitance
    }
}
