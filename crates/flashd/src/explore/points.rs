//! The results of every core, and the choice of the best ones.

pub use crate::cli::Cost;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Encodings;
use flashd_study::TraceErrors;
use flashd_study::grid::{stem, variant};
use flashd_study::pareto::{self, front, knee};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The whole result. Errors are fractions of max|v|.
#[derive(Serialize)]
pub struct Exploration {
    /// Vector length of the measured cores.
    pub d: usize,
    /// Absent when only errors were asked for.
    pub cost: Option<Cost>,
    /// Clock to meet.
    pub clock_ns: Option<f64>,
    /// Cell library.
    pub library: Option<String>,
    /// Folder of heads.
    pub data: PathBuf,
    /// Heads in it.
    pub heads: usize,
    /// Every n-th query was used for the errors.
    pub every: usize,
    /// Number of keys of `equal_scores_error`.
    pub equal_scores: usize,
    /// Cores with a larger mean error were left out.
    pub max_error: Option<f64>,
    /// By formats and scales.
    pub formats: Vec<FormatResult>,
    /// All of them together, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_formats: Option<FormatResult>,
}

/// The cores of one combination of formats and scales, or of all.
#[derive(Serialize)]
pub struct FormatResult {
    /// Formats and scales; absent for all together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Encodings>,
    /// The core whose accuracy is to be reached.
    pub reference: String,
    /// Its errors.
    pub reference_errors: TraceErrors,
    /// Cores above the limit of the mean error.
    pub left_out: usize,
    /// The others.
    pub points: Vec<CorePoint>,
    /// One for each design.
    pub choices: Vec<BestCores>,
}

/// The best cores of a design that meet the clock.
#[derive(Serialize)]
pub struct BestCores {
    /// Design.
    pub design: Design,
    /// The knee of its front: furthest below the chord in logarithms of cost and mean error.
    pub knee: Option<String>,
    /// The cheapest with a mean error no larger than the reference's in every group.
    pub cheapest_as_accurate: Option<String>,
}

/// One core.
#[derive(Clone, Serialize)]
pub struct CorePoint {
    /// Name.
    pub core: String,
    /// Formats and scales, where cores of all formats are together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Encodings>,
    /// The name without format and vector length.
    #[serde(skip)]
    pub stem: String,
    /// The name without widths, formats, scales and vector length.
    pub variant: String,
    /// Configuration.
    pub configuration: CoreConfig,
    /// Errors on the heads.
    pub errors: TraceErrors,
    /// Largest error of an element on equal scores.
    pub equal_scores_error: f64,
    /// Whether the mean error is no larger than the reference's in every group.
    pub as_accurate_as_reference: bool,
    /// Absent when only errors were asked for.
    pub measured: Option<MeasuredCore>,
    /// On the front of its design.
    pub on_design_front: bool,
    /// On the front of both designs together.
    pub on_front: bool,
}

/// Figures of a mapped core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCore {
    /// Cell area.
    pub area_um2: f64,
    /// In areas of the smallest two-input NAND.
    pub nand2_equivalents: f64,
    /// Worst slack at the clock; negative if the mapping misses it.
    pub slack_ns: f64,
    /// Whether the mapping meets the clock.
    pub meets_clock: bool,
    /// Power at the clock, if asked for and the clock is met.
    pub power_mw: Option<f64>,
    /// The same with glitches, where they are simulated.
    pub power_with_glitches_mw: Option<f64>,
}

impl MeasuredCore {
    /// The cost, if the clock is met.
    pub fn cost(&self, cost: Cost) -> Option<f64> {
        if !self.meets_clock {
            return None;
        }
        match cost {
            Cost::Area => Some(self.area_um2),
            Cost::Power => self.power_mw,
            Cost::Glitches => self.power_with_glitches_mw,
        }
    }
}

impl Cost {
    /// Name and unit.
    pub fn label(self) -> &'static str {
        match self {
            Cost::Area => "area, um2",
            Cost::Power => "power, mW",
            Cost::Glitches => "power with glitches, mW",
        }
    }
}

impl CorePoint {
    /// A core with its errors on heads, and nothing else known.
    pub fn new(config: &CoreConfig, errors: TraceErrors) -> CorePoint {
        CorePoint {
            core: config.name(),
            format: None,
            stem: stem(config),
            variant: variant(config),
            configuration: config.clone(),
            errors,
            equal_scores_error: 0.0,
            as_accurate_as_reference: false,
            measured: None,
            on_design_front: false,
            on_front: false,
        }
    }

    /// Its design.
    pub fn design(&self) -> Design {
        self.configuration.design()
    }

    /// Its cost, if it meets the clock.
    pub fn cost(&self, cost: Cost) -> Option<f64> {
        self.measured.as_ref()?.cost(cost)
    }
}

impl FormatResult {
    /// Cores of several formats together, against the reference of one of them; none for a single format.
    pub fn together(formats: &[FormatResult], reference: usize) -> Option<FormatResult> {
        let FormatResult { reference, reference_errors, .. } =
            formats.get(reference).filter(|_| formats.len() > 1)?;
        let points = formats.iter().flat_map(|result| {
            result.points.iter().map(|point| CorePoint {
                format: result.format,
                as_accurate_as_reference: point.errors.within(reference_errors),
                ..point.clone()
            })
        });
        Some(FormatResult {
            format: None,
            reference: reference.clone(),
            reference_errors: reference_errors.clone(),
            left_out: formats.iter().map(|result| result.left_out).sum(),
            points: points.collect(),
            choices: Vec::new(),
        })
    }

    /// The title of its cores: their format.
    pub fn title(&self) -> String {
        self.format.map_or_else(|| "all formats".into(), |format| format.to_string())
    }

    /// The choice of a design.
    pub fn choice(&self, design: Design) -> Option<&BestCores> {
        self.choices.iter().find(|choice| choice.design == design)
    }

    fn choose(&mut self, cost: Cost) {
        // A core that does not meet the clock has no cost here, and a point without one is on no front.
        let of = |design: Option<Design>| -> Vec<pareto::Point> {
            let cost = |p: &CorePoint| match design.is_none_or(|design| design == p.design()) {
                true => p.cost(cost).unwrap_or(f64::INFINITY),
                false => f64::INFINITY,
            };
            self.points.iter().map(|p| pareto::Point { cost: cost(p), error: p.errors.mean }).collect()
        };
        let both = front(&of(None));
        let mut choices = Vec::new();
        let mut own = Vec::new();
        for design in Design::ALL {
            let candidates = of(Some(design));
            let front = front(&candidates);
            let accurate = (0..candidates.len())
                .filter(|&i| candidates[i].cost.is_finite() && self.points[i].as_accurate_as_reference);
            let cheapest = accurate.min_by(|&a, &b| {
                let (a, b) = (candidates[a], candidates[b]);
                a.cost.total_cmp(&b.cost).then(a.error.total_cmp(&b.error))
            });
            let name = |i: usize| self.points[i].core.clone();
            choices.push(BestCores {
                design,
                knee: knee(&candidates, &front).map(name),
                cheapest_as_accurate: cheapest.map(name),
            });
            own.extend(front);
        }
        own.into_iter().for_each(|i| self.points[i].on_design_front = true);
        both.into_iter().for_each(|i| self.points[i].on_front = true);
        self.choices = choices;
    }
}

impl Exploration {
    /// Marks the fronts, names the knees, and sorts the points: by cost, with cores that miss the clock last;
    /// by mean error where there is no cost.
    pub fn with_choices(mut self) -> Exploration {
        for result in self.formats.iter_mut().chain(&mut self.all_formats) {
            if let Some(cost) = self.cost {
                result.choose(cost);
            }
            let key = |p: &CorePoint| match (self.cost, &p.measured) {
                (Some(cost), Some(m)) => (!m.meets_clock, p.cost(cost).unwrap_or(-m.slack_ns)),
                _ => (false, p.errors.mean),
            };
            result.points.sort_by(|a, b| {
                let ((a_late, a_key), (b_late, b_key)) = (key(a), key(b));
                a_late.cmp(&b_late).then(a_key.total_cmp(&b_key))
            });
        }
        self
    }
}

#[cfg(test)]
pub mod tests;
