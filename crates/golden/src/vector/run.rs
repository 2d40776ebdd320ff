//! The model for whole workloads: surveys the operands and chooses a core.

use super::blend::Blending;
use super::operands::{Extent, Survey};
use super::ranging::Ranging;
use super::scale::ScalingCore;
use super::summing::Summing;
use super::task::{RunTask, SMALL, VectorRun, both};
use super::watch::Monitor;
use super::{Path, by_query};
use crate::carrier::Carriers;
use crate::head::{Head, PreparedHead};
use crate::model::Model;
use crate::operand::OperandVectors;
use crate::rows::tail_words;
use flashd_spec::config::CoreConfig;
use flashd_spec::isa::Isa;
use flashd_spec::numerics::Numerics;

/// The bit-exact model of one core for whole workloads: the results of [`Model`] without its steps, and counts.
#[derive(Clone, Debug)]
pub struct VectorModel {
    model: Model,
    isa: Isa,
    one_by_one: bool,
}

impl VectorModel {
    /// The model of a core on this machine; the configuration must be valid.
    pub fn new(config: &CoreConfig) -> Self {
        VectorModel { model: Model::new(config), isa: Isa::best(), one_by_one: false }
    }

    /// This model with other vector instructions.
    #[must_use]
    pub fn with_isa(self, isa: Isa) -> Self {
        VectorModel { isa, ..self }
    }

    /// This model computed by [`Path::ByQuery`], for comparison.
    #[must_use]
    pub fn by_query(self) -> Self {
        VectorModel { one_by_one: true, ..self }
    }

    /// The core's configuration.
    pub fn config(&self) -> &CoreConfig {
        self.model.config()
    }

    /// The widths and constants that follow from the configuration.
    pub fn numerics(&self) -> &Numerics {
        self.model.numerics()
    }

    /// The vector instructions in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// How the core is computed. A run still goes query by query if its operands are so large or small that f32 does
    /// not hold them.
    pub fn path(&self) -> Path {
        let model = &self.model;
        let side_by_side = Blending::new(model).is_some()
            || Ranging::new(model).is_some()
            || Summing::new(model).is_some()
            || ScalingCore::<true>::new(model, Extent::default(), &[]).is_some()
            || ScalingCore::<false>::new(model, Extent::default(), &[]).is_some();
        match side_by_side && !self.one_by_one {
            true => Path::SideBySide,
            false => Path::ByQuery,
        }
    }

    /// Runs queries against keys and values, on the threads of the current rayon pool.
    ///
    /// # Panics
    /// As [`Model::run`], and if steps are to be kept.
    pub fn run(&self, head: Head) -> VectorRun {
        self.run_monitored(head, Monitor::default())
    }

    /// [`VectorModel::run`] that passes steps and progress to a monitor. Unused parts of the monitor cost nothing.
    ///
    /// # Panics
    /// As [`VectorModel::run`].
    pub fn run_monitored(&self, head: Head, monitor: Monitor) -> VectorRun {
        assert!(!head.record, "a monitor sees the steps, and none is kept");
        let (numerics, config) = (self.model.numerics(), self.model.config());
        head.prepared(config, numerics, |prepared| self.run_prepared(prepared, monitor))
    }

    fn run_prepared(&self, PreparedHead { head, special }: PreparedHead, monitor: Monitor) -> VectorRun {
        let (numerics, config) = (self.model.numerics(), self.model.config());
        let Head { q, k, v, restored, .. } = head;
        let (tail, partial, formats) = (tail_words(numerics), config.partial, numerics.formats);
        let (dk, dv) = (config.d + tail, config.dv());
        let small = q.len() + k.len() + v.len() <= SMALL;
        let [q_special, k_special, v_special] = special;
        let survey = |format, tail, d, bits, special| Survey::of(self.isa, format, tail, d, bits, special);
        let q_operand = OperandVectors::Words(q);
        let (q_survey, (k_survey, v_survey)) = both(
            small,
            || survey(formats.q, tail, dk, q_operand, q_special),
            || {
                both(
                    small,
                    || survey(formats.k, tail, dk, k, k_special),
                    || survey(formats.v, 0, dv, v, v_special),
                )
            },
        );
        let surveys = [q_survey, k_survey, v_survey];
        let values = surveys[2].extent;
        let task = RunTask { isa: self.isa, numerics, dk, dv, partial, head, monitor, surveys };
        if !self.one_by_one {
            if let Some(core) = Blending::new(&self.model) {
                return task.run(&core);
            }
            if let Some(core) = Ranging::new(&self.model) {
                return task.run(&core);
            }
            if let Some(core) = Summing::new(&self.model) {
                return task.run(&core);
            }
            if let Some(core) = ScalingCore::<true>::new(&self.model, values, restored) {
                return task.run(&core);
            }
            if let Some(core) = ScalingCore::<false>::new(&self.model, values, restored) {
                return task.run(&core);
            }
        }
        self.model.with_core(by_query::ByQuery(task), Carriers::Fastest)
    }
}
