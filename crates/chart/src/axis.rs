//! Axes: ranges, ticks, numbers.

/// How values become distances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisScale {
    /// Equal distances are equal differences.
    #[default]
    Linear,
    /// Equal distances are equal ratios.
    Log,
}

/// An axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: AxisScale,
    /// The first value; by default slightly below the smallest point.
    pub low: Option<f64>,
    /// The last value; by default slightly above the largest point.
    pub high: Option<f64>,
    /// Ticks at the points' own values in place of round numbers.
    pub at_points: bool,
    /// Leaves outliers out of the range: values beyond Tukey's outer fences, three interquartile ranges from the quartiles.
    pub fenced: bool,
}

impl Axis {
    /// A linear axis over all points.
    pub fn linear(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), ..Axis::default() }
    }

    /// A logarithmic axis over all positive points.
    pub fn log(label: impl Into<String>) -> Axis {
        Axis { scale: AxisScale::Log, ..Axis::linear(label) }
    }

    /// The range that it takes for some values.
    pub(crate) fn span(&self, values: &[f64]) -> AxisSpan {
        let whole = AxisSpan { scale: self.scale, low: 0.0, high: 1.0 };
        let measures = values.iter().map(|value| whole.measure(*value));
        let mut values: Vec<f64> = measures.filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        // Fewer values have no outlier.
        if self.fenced && values.len() >= 8 {
            let quartile = |nth: usize| values[(values.len() - 1) * nth / 4];
            let (lower, upper) = (quartile(1), quartile(3));
            let reach = 3.0 * (upper - lower);
            values.retain(|value| (lower - reach..=upper + reach).contains(value));
        }
        let (first, last) = values.first().zip(values.last()).map_or((0.0, 1.0), |(a, b)| (*a, *b));
        // A single value needs an axis as well.
        let room = if last > first { 0.06 * (last - first) } else { (0.1 * first.abs()).max(0.2) };
        let low = self.low.map_or(first - room, |low| whole.measure(low));
        let high = self.high.map_or(last + room, |high| whole.measure(high));
        AxisSpan { low, high: high.max(low + 1e-12), ..whole }
    }
}

/// A range on an axis, in the scale's measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AxisSpan {
    scale: AxisScale,
    low: f64,
    high: f64,
}

impl AxisSpan {
    fn measure(&self, value: f64) -> f64 {
        match self.scale {
            AxisScale::Linear => value,
            AxisScale::Log if value > 0.0 => value.log10(),
            AxisScale::Log => f64::NEG_INFINITY,
        }
    }

    /// The place of a value: 0 at the low end, 1 at the high end, and not far beyond. Values without a logarithm are just below.
    pub(crate) fn fraction(&self, value: f64) -> f64 {
        match self.measure(value) {
            f64::NEG_INFINITY => -0.01,
            value => ((value - self.low) / (self.high - self.low)).clamp(-20.0, 21.0),
        }
    }

    /// Whether a value is within.
    pub(crate) fn contains(&self, value: f64) -> bool {
        (-1e-9..=1.0 + 1e-9).contains(&self.fraction(value))
    }

    /// Round numbers within, about `count` of them, ascending.
    pub(crate) fn ticks(&self, count: usize) -> Vec<f64> {
        let (mut low, mut high) = (self.low, self.high);
        if self.scale == AxisScale::Log {
            let decades = low.floor() as i32..=high.floor() as i32;
            let every = decades.clone().count().div_ceil(count + 2) as i32;
            for set in [&[1.0][..], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0]] {
                let decades = decades.clone().filter(|exponent| exponent % every == 0);
                let all = decades.flat_map(|exponent| set.iter().map(move |m| m * 10f64.powi(exponent)));
                let found: Vec<f64> = all.filter(|&tick| self.contains(tick)).collect();
                if found.len() >= 4 {
                    return found;
                }
            }
            // Less than a decade looks like a linear axis.
            (low, high) = (10f64.powf(low), 10f64.powf(high));
        }
        let least = (high - low) / count as f64;
        let power = 10f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|step| *step >= 0.999 * least);
        let step = step.unwrap_or(10.0 * power);
        ((low / step).ceil() as i64..=(high / step).floor() as i64).map(|n| n as f64 * step).collect()
    }
}

/// A number at an axis: six digits, no zeros after the last one, commas between thousands; a power of ten where it is very small or large.
pub(crate) fn number(x: f64) -> String {
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    let size = x.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        let text = format!("{x:.2e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", trimmed(digits));
    }
    let decimals = (5.0 - size.max(1e-4).log10().floor()).max(0.0) as usize;
    let mut text = trimmed(&format!("{x:.decimals$}"));
    let whole = text.find('.').unwrap_or(text.len());
    let sign = usize::from(x < 0.0);
    for place in (sign + 1..whole).rev().filter(|place| (whole - place) % 3 == 0) {
        text.insert(place, ',');
    }
    text
}
