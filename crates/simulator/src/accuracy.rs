//! Errors of results against exact ones, measured by the head and by the channel.

use flashd_workload::Attention;
use serde::Serialize;

/// Errors of results against f64 attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Accuracy {
    /// Largest error of an output element, a fraction of the head's max|v|.
    pub max: f64,
    /// Mean error, a fraction of the head's max|v|.
    pub mean: f64,
    /// Output elements compared.
    pub elements: usize,
    /// Each channel's mean error as a fraction of its max|v|, averaged over the channels. One large channel hides errors of the
    /// others in fractions of the head's max|v|, but not here.
    pub channel_mean: f64,
    /// The same for the worst channel.
    pub channel_worst: f64,
}

/// Denominators of relative errors.
#[derive(Clone, Debug, PartialEq)]
pub struct Magnitudes {
    /// max|v| of the head; 1 where all values are 0, so that it can be divided by.
    pub head: f64,
    /// max|v| of each channel, an element of the vectors; 0 where all its values are.
    pub channels: Vec<f64>,
}

impl Magnitudes {
    /// Takes the magnitudes from a head's values.
    pub fn of(attention: &Attention) -> Magnitudes {
        Magnitudes::of_channels(attention.channel_max_abs_v())
    }

    /// Takes the magnitudes from max|v| of each channel.
    pub fn of_channels(channels: Vec<f64>) -> Magnitudes {
        let largest = channels.iter().copied().fold(0.0, f64::max);
        Magnitudes { head: if largest > 0.0 { largest } else { 1.0 }, channels }
    }

    /// The largest channel over the smallest one that is not 0: what lanes under one common exponent have to hold.
    pub fn spread(&self) -> f64 {
        let smallest = self.channels.iter().copied().filter(|&max| max > 0.0).fold(self.head, f64::min);
        self.head / smallest
    }
}

impl Accuracy {
    /// Compares results with the exact ones, element by element, one result after another.
    pub fn of(results: impl Iterator<Item = f64>, exact: &[f64], magnitudes: &Magnitudes) -> Accuracy {
        Accuracy::by_channel(results, exact, magnitudes).0
    }

    /// As [`Accuracy::of`], and each channel's mean error as a fraction of its max|v|: 0 where max|v| is 0.
    pub fn by_channel(
        results: impl Iterator<Item = f64>,
        exact: &[f64],
        magnitudes: &Magnitudes,
    ) -> (Accuracy, Vec<f64>) {
        let d = magnitudes.channels.len().max(1);
        let mut channels = vec![0.0; d];
        let mut accuracy = Accuracy::default();
        for (i, (o, exact)) in results.zip(exact).enumerate() {
            let error = (o - exact).abs();
            channels[i % d] += error;
            accuracy.max = accuracy.max.max(error / magnitudes.head);
            accuracy.mean += error / magnitudes.head;
            accuracy.elements += 1;
        }
        accuracy.mean /= accuracy.elements.max(1) as f64;
        let results = accuracy.elements as f64 / d as f64;
        // A channel without values has exact results.
        channels.resize(magnitudes.channels.len(), 0.0);
        for (error, &max) in channels.iter_mut().zip(&magnitudes.channels) {
            *error = if max > 0.0 && results > 0.0 { *error / results / max } else { 0.0 };
        }
        let with_values = magnitudes.channels.iter().filter(|&&max| max > 0.0).count();
        accuracy.channel_mean = channels.iter().sum::<f64>() / with_values.max(1) as f64;
        accuracy.channel_worst = channels.iter().copied().fold(0.0, f64::max);
        (accuracy, channels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_channels_loss_shows_in_its_own_measure() {
        let magnitudes = Magnitudes::of_channels(vec![1000.0, 1.0, 0.0]);
        assert_eq!((magnitudes.head, magnitudes.spread()), (1000.0, 1000.0));
        // Two results; the small channel comes out as 0.
        let (results, exact) =
            ([1000.0, 0.0, 0.0, -1000.0, 0.0, 0.0], [1000.0, 1.0, 0.0, -1000.0, -0.5, 0.0]);
        let accuracy = Accuracy::of(results.into_iter(), &exact, &magnitudes);
        assert_eq!((accuracy.elements, accuracy.max), (6, 1e-3));
        assert_eq!((accuracy.channel_worst, accuracy.channel_mean), (0.75, 0.375));
        let nothing = Accuracy::of([].into_iter(), &[], &Magnitudes::of_channels(vec![]));
        assert_eq!(nothing, Accuracy::default());
    }
}
