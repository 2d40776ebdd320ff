//! A core one step at a time, for callers that do not have all keys of a query at once, such as a scoreboard beside a simulation.
//!
//! The same recurrence and lanes as [`Model::run`], in the widest carriers, which need to know nothing of values that are yet to come.

use crate::bias::BiasUnit;
use crate::carrier::Carriers;
use crate::lanes::Lanes;
use crate::model::{Model, Visit};
use crate::recurrence::{KeyScore, Recurrence};
use crate::result::{Action, PartialState, QueryResult, Step};
use crate::round::{encode, given_exponent};
use crate::rows::rows;
use flashd_spec::config::CoreConfig;
use flashd_spec::format::{Format, Formats};
use flashd_spec::numerics::BIAS;

/// What a caller did out of turn, or with operands that the core does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// A vector that is not of the core's length.
    #[error("{what} has {given} elements, the core takes {d}")]
    Length {
        /// Which vector.
        what: &'static str,
        /// Its length.
        given: usize,
        /// The core's.
        d: usize,
    },
    /// A word that is wider than its port.
    #[error("{what}: {word:#x} has more than {bits} bits")]
    Width {
        /// Which word.
        what: &'static str,
        /// The word.
        word: u64,
        /// Bits of the port.
        bits: u32,
    },
    /// A key, a value or a result before any query.
    #[error("there is no query: load one first")]
    NoQuery,
    /// The step before asked for its value.
    #[error("the step before reads its value: give it first")]
    ValueDue,
    /// A value that nobody asked for.
    #[error("the step before reads no value")]
    NoValueDue,
    /// A bias in a core without.
    #[error("a bias: takes a core that adds one to scores")]
    NoBias,
    /// A masked key in a core without masks.
    #[error("a masked key: takes a core with masks")]
    NoMasks,
    /// A partial result in a core without them, or behind a key.
    #[error("a partial result: takes a core with partial results, and comes before a query's first key")]
    NoPartial,
}

/// A core's model between two steps.
pub struct Stepper {
    model: Model,
    core: Box<dyn AnyCore>,
    query: Option<Vec<u64>>,
    /// The step before reads its value, which has not come.
    due: bool,
    steps: u64,
}

impl Stepper {
    /// The model of a core before its first query; the configuration must be valid.
    pub fn new(config: &CoreConfig) -> Stepper {
        let model = Model::new(config).with_sums();
        let core = model.with_core(Own, Carriers::Widest);
        Stepper { model, core, query: None, due: false, steps: 0 }
    }

    /// The core's configuration.
    pub fn config(&self) -> &CoreConfig {
        self.model.config()
    }

    /// Loads a query: d encodings, and the exponent field that fixed-point lanes scale values to. What was under way is dropped.
    ///
    /// # Errors
    /// A length or a word that the core does not take.
    pub fn query(&mut self, q: &[u64], v_exponent: u64) -> Result<(), StepError> {
        let Formats { q: format, .. } = self.config().formats();
        self.check("q", q, self.config().port_words().q, format)?;
        let values = self.model.numerics().formats.v;
        let bits = values.exponent_bits;
        if v_exponent >> bits != 0 {
            return Err(StepError::Width { what: "v_exponent", word: v_exponent, bits });
        }
        let [q, ..] = rows(self.config(), self.model.numerics(), [q, &[], &[]]);
        self.core.begin(given_exponent(values, v_exponent), q.first_is_special(format));
        (self.query, self.due, self.steps) = (Some(q.words.into_owned()), false, 0);
        Ok(())
    }

    /// Starts the query from a partial result, before its first key.
    ///
    /// # Errors
    /// A core without partial results, a query that has met a key, or a length or a word that the core does not take.
    pub fn restore(&mut self, partial: &PartialState) -> Result<Step, StepError> {
        self.query.as_ref().ok_or(StepError::NoQuery)?;
        let config = self.config();
        if !config.partial || self.steps > 0 {
            return Err(StepError::NoPartial);
        }
        self.length("o", &partial.o, config.dv())?;
        within("o", &partial.o, config.accumulator_bits())?;
        for (&scalar, bits) in partial.scalars.iter().zip(self.model.numerics().scalar_bits(config)) {
            within("state", &[scalar], bits)?;
        }
        self.steps += 1;
        Ok(self.core.restore(partial))
    }

    /// The query meets a key, d encodings, or one that it does not see: what the core does, before the value is there. A step that loads
    /// or updates reads its value, which has to follow.
    ///
    /// # Errors
    /// No query, a value that is due, a mask that the core does not have, or a length or a word that it does not take.
    pub fn key(&mut self, k: &[u64], masked: bool) -> Result<Step, StepError> {
        self.biased_key(k, 0, masked)
    }

    /// The same with what is added to its score, an encoding of [`BIAS`].
    ///
    /// # Errors
    /// As [`Stepper::key`], or a bias in a core that adds none.
    pub fn biased_key(&mut self, k: &[u64], bias: u64, masked: bool) -> Result<Step, StepError> {
        let query = self.query.as_ref().ok_or(StepError::NoQuery)?;
        if self.due {
            return Err(StepError::ValueDue);
        }
        if masked && !self.config().masks {
            return Err(StepError::NoMasks);
        }
        if bias != 0 && !self.config().bias {
            return Err(StepError::NoBias);
        }
        let Formats { k: format, .. } = self.config().formats();
        self.check("k", k, self.config().port_words().k, format)?;
        within("bias", &[bias], BIAS.width())?;
        self.steps += 1;
        if masked {
            return Ok(Step { s: 0, x: 0, w: 0, upper: false, action: Action::Masked, l: None });
        }
        let [_, k, _] = rows(self.config(), self.model.numerics(), [&[], k, &[]]);
        let dot = self.model.dots_of_rows(query, &k.words)[0];
        let bias = BiasUnit::new(self.model.numerics()).of(bias);
        let special = k.first_is_special(format) || bias.special;
        let step = self.core.key(KeyScore { dot, bias: bias.score }, special);
        self.due = matches!(step.action, Action::Load | Action::Update);
        Ok(step)
    }

    /// The value of the key before, d encodings.
    ///
    /// # Errors
    /// A step that reads none, or a length or a word that the core does not take.
    pub fn value(&mut self, v: &[u64]) -> Result<(), StepError> {
        if !self.due {
            return Err(StepError::NoValueDue);
        }
        let Formats { v: format, .. } = self.config().formats();
        self.check("v", v, self.config().port_words().v, format)?;
        let [.., v] = rows(self.config(), self.model.numerics(), [&[], &[], v]);
        let special = v.first_is_special(format);
        self.core.value(&v.words, special);
        self.due = false;
        Ok(())
    }

    /// Whether the step before reads its value, which has not come.
    pub fn value_is_due(&self) -> bool {
        self.due
    }

    /// The scalars of the state, and the d accumulators as the core holds them. Scalars are zeros of a core that cannot have partial
    /// results.
    pub fn state(&self) -> PartialState {
        self.core.state()
    }

    /// What the result would be if the key before were the query's last.
    ///
    /// # Errors
    /// No query, or a value that is due.
    pub fn result(&self) -> Result<QueryResult, StepError> {
        match (&self.query, self.due) {
            (None, _) => Err(StepError::NoQuery),
            (_, true) => Err(StepError::ValueDue),
            _ => Ok(self.core.result()),
        }
    }

    fn length(&self, what: &'static str, vector: &[u64], d: usize) -> Result<(), StepError> {
        match vector.len() == d {
            true => Ok(()),
            false => Err(StepError::Length { what, given: vector.len(), d }),
        }
    }

    fn check(&self, what: &'static str, vector: &[u64], d: usize, format: Format) -> Result<(), StepError> {
        self.length(what, vector, d)?;
        within(what, vector, format.width())
    }
}

/// That words have so many bits at most.
fn within(what: &'static str, words: &[u64], bits: u32) -> Result<(), StepError> {
    match words.iter().find(|&&word| bits < u64::BITS && word >> bits != 0) {
        Some(&word) => Err(StepError::Width { what, word, bits }),
        None => Ok(()),
    }
}

/// A core of any kind in the middle of a query.
trait AnyCore: Send {
    fn begin(&mut self, v_exponent: u64, special: bool);
    fn restore(&mut self, partial: &PartialState) -> Step;
    fn key(&mut self, key: KeyScore, special: bool) -> Step;
    fn value(&mut self, v: &[u64], special: bool);
    fn state(&self) -> PartialState;
    fn result(&self) -> QueryResult;
}

/// Makes a core that owns its parts.
struct Own;

impl Visit for Own {
    type Output = Box<dyn AnyCore>;

    fn visit<R, L>(self, model: &Model, recurrence: &R, lanes: &L, _: Carriers) -> Self::Output
    where
        R: Recurrence<Op = L::Op, Ending = L::Ending>,
        L: Lanes,
    {
        let config = model.config();
        Box::new(Core {
            format: config.formats().o,
            partial: config.partial,
            recurrence: recurrence.clone(),
            lanes: lanes.clone(),
            state: None,
            o: vec![L::Output::default(); config.dv()],
            op: None,
            v_exponent: 0,
            special: false,
            result: QueryResult { empty: true, ..QueryResult::default() },
        })
    }
}

struct Core<R: Recurrence, L: Lanes> {
    format: Format,
    partial: bool,
    recurrence: R,
    lanes: L,
    state: Option<R::State>,
    o: Vec<L::Output>,
    /// What the lanes do with the value that is due.
    op: Option<L::Op>,
    v_exponent: u64,
    /// The query has an Inf or a NaN.
    special: bool,
    /// Flags so far.
    result: QueryResult,
}

impl<R, L> AnyCore for Core<R, L>
where
    R: Recurrence<Op = L::Op, Ending = L::Ending>,
    L: Lanes,
{
    fn begin(&mut self, v_exponent: u64, special: bool) {
        (self.state, self.op, self.v_exponent, self.special) = (None, None, v_exponent, special);
        self.o.fill(L::Output::default());
        self.result = QueryResult { empty: true, ..QueryResult::default() };
    }

    fn restore(&mut self, partial: &PartialState) -> Step {
        self.state = self.recurrence.restore(partial.scalars);
        self.o = partial.o.iter().map(|&bits| self.lanes.accumulator(bits)).collect();
        self.result.empty = false;
        self.result.invalid |= self.special;
        Step { s: 0, x: 0, w: 0, upper: false, action: Action::Restore, l: None }
    }

    fn key(&mut self, key: KeyScore, special: bool) -> Step {
        let (state, d) = self.recurrence.step(self.state, key);
        self.state = Some(state);
        self.op = d.op;
        self.result.empty = false;
        self.result.invalid |= self.special || special;
        self.result.overflow |= d.overflow;
        Step { s: d.s, x: d.x, w: d.w, upper: d.upper, action: d.action, l: self.recurrence.sum(state) }
    }

    fn value(&mut self, v: &[u64], special: bool) {
        let Some(op) = self.op.take() else { return };
        let (lanes, exponent) = (&self.lanes, self.v_exponent);
        let mut over = false;
        let operand = |&bits: &u64| {
            let (operand, beyond) = lanes.value(bits, exponent);
            over |= beyond;
            operand
        };
        let v: Vec<L::Value> = v.iter().map(operand).collect();
        self.result.overflow |= over;
        self.result.invalid |= special;
        self.result.saturated += self.lanes.step(op, &mut self.o, &v);
    }

    fn state(&self) -> PartialState {
        let o = self.o.iter().map(|&o| self.lanes.bits(o)).collect();
        PartialState { scalars: self.state.map_or([0; 2], |state| self.recurrence.save(state)), o }
    }

    fn result(&self) -> QueryResult {
        let mut result = self.result.clone();
        if result.empty {
            result.o = vec![0; self.o.len()];
            return result;
        }
        result.state = (self.partial && self.state.is_some()).then(|| self.state());
        let ending = self.recurrence.ending(self.state);
        for &o in &self.o {
            let (rounded, over) = self.lanes.result(ending, o, self.v_exponent);
            result.saturated += u64::from(over);
            result.o.push(encode(self.format, rounded));
        }
        result
    }
}
