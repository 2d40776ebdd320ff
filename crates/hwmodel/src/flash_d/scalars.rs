//! The scalars of FLASH-D's log-sum-exp weight unit, and their copies in a group of lanes.

use crate::attention::group::{CoreScalars, copy_flags, copy_while};
use crate::rtl::{Bundle, Module, Role, Row, Stage, Wire, bundle};

/// The scalars for the lanes. `R` are the flags of a pipeline stage for the value; `T` is the threshold of fixed-point lanes, else `()`.
#[derive(Clone, Copy)]
pub struct WeightScalars<R, T> {
    /// With a pipeline stage for the value, a cycle before the others: the step reads its value.
    pub reads: Option<R>,
    /// The step updates o: it is not held.
    pub update: Wire,
    /// The factor, and how to apply it.
    pub words: WeightWords<T>,
}

bundle!(WeightScalars<R, T> { reads, update, words });

/// The factor of the lanes, and how to apply it.
#[derive(Clone, Copy)]
pub struct WeightWords<T> {
    /// The smaller one of the weight and one minus the weight.
    pub w: Wire,
    /// `w` is one minus the weight.
    pub upper: Wire,
    /// The step is a first key.
    pub load: Wire,
    /// The threshold by which lanes round their differences.
    pub threshold: T,
}

bundle!(WeightWords<T> { w, upper, load, threshold });

/// The flags of the value stage of ranged lanes.
#[derive(Clone, Copy)]
pub struct FirstRead {
    /// The step reads its value.
    pub reads: Wire,
    /// The step is a first key.
    pub loads: Wire,
}

bundle!(FirstRead { reads, loads });

impl<R: Copy, T: Bundle> WeightScalars<R, T> {
    /// Registers the scalars but for `reads`, and the flag that a query ends.
    pub(super) fn copy_words(&self, m: &mut Module, finish: Option<Wire>) -> (Self, Option<Wire>) {
        let (update, finish) = copy_flags(m, self.update, finish);
        (WeightScalars { reads: self.reads, update, words: copy_while(m, self.update, &self.words) }, finish)
    }

    /// Rows for the copies; `reads` is the flag of the value stage.
    pub(super) fn show_words(&self, m: &mut Module, reads: Option<Wire>, core: CoreScalars) {
        if let Some(reads) = reads {
            m.stage(Stage::Score(3));
            m.show_as(Row::Late, reads, "v was read");
            core.show_exponent(m, Row::Late);
        }
        m.stage(Stage::Score(4));
        m.show_role(Role::Update, self.update, "update (not held)");
        m.show(self.words.load, "first key: o = 0");
        m.show(self.words.upper, "w > 1/2: factor is 1 - w");
        m.show(self.words.w, "factor: w or 1 - w");
        let _ = self.words.threshold.map(&mut |threshold| {
            m.show_as(Row::Late, threshold, "dither of v - o: low bits of x");
            threshold
        });
        if reads.is_none() {
            core.show_exponent(m, Row::Late);
        }
    }
}
