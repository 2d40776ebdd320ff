//! The model one step at a time, for callers that do not have all keys of a query at once, such as a scoreboard of a simulation.
//!
//! It has the recurrence and lanes of [`Model::run`] in the widest carriers, which are exact whatever values follow.

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

/// A call out of turn, or with operands that the core does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// A vector has the wrong length.
    #[error("{what} has {given} elements, the core takes {d}")]
    Length {
        /// The vector's name.
        what: &'static str,
        /// The length given.
        given: usize,
        /// The length that the core takes.
        d: usize,
    },
    /// A word is wider than its port.
    #[error("{what}: {word:#x} has more than {bits} bits")]
    Width {
        /// The word's name.
        what: &'static str,
        /// The word.
        word: u64,
        /// Width of the port in bits.
        bits: u32,
    },
    /// A key, partial result or result came before any query.
    #[error("there is no query: load one first")]
    NoQuery,
    /// The previous step reads its value, which has not come.
    #[error("the step before reads its value: give it first")]
    ValueDue,
    /// A value came, but the previous step reads none.
    #[error("the step before reads no value")]
    NoValueDue,
    /// A bias, and the core adds none.
    #[error("a bias: takes a core that adds one to scores")]
    NoBias,
    /// A masked key, and the core has no masks.
    #[error("a masked key: takes a core with masks")]
    NoMasks,
    /// A partial result, and the core has none, or the query has already had a step.
    #[error("a partial result: takes a core with partial results, and comes before a query's first key")]
    NoPartial,
}

/// The step of a masked key, and of an empty state.
const NOTHING: Step = Step { s: 0, x: 0, w: 0, upper: false, action: Action::Masked, l: None };

/// A core's model between two steps.
pub struct Stepper {
    model: Model,
    core: Box<dyn AnyStepper>,
    query: Option<Vec<u64>>,
    /// The last step reads its value, which has not come.
    due: bool,
    steps: u64,
}

impl Stepper {
    /// The model of a core before its first query. The configuration must be valid.
    pub fn new(config: &CoreConfig) -> Stepper {
        let model = Model::new(config).with_sums();
        let core = model.with_core(Own, Carriers::Widest);
        Stepper { model, core, query: None, due: false, steps: 0 }
    }

    /// The core's configuration.
    pub fn config(&self) -> &CoreConfig {
        self.model.config()
    }

    /// Starts a query, dropping the one before. `q` has the words of the core's port, and `v_exponent` is the exponent field to which
    /// fixed-point lanes scale values.
    ///
    /// # Errors
    /// [`StepError::Length`] or [`StepError::Width`].
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

    /// Starts the query from a partial result, before its first key. The [empty state](PartialState::no_key) is no step, because a host does not
    /// send it: the query stays empty.
    ///
    /// # Errors
    /// [`StepError::NoQuery`], [`StepError::NoPartial`], [`StepError::Length`] or [`StepError::Width`].
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
        if partial.is_no_key(self.config(), self.model.numerics()) {
            return Ok(NOTHING);
        }
        self.steps += 1;
        Ok(self.core.restore(partial))
    }

    /// The query meets a key, with the words of the core's port, which may be masked. Returns the step. If it loads or updates, it
    /// reads its value, and [`Stepper::value`] must follow.
    ///
    /// # Errors
    /// [`StepError::NoQuery`], [`StepError::ValueDue`], [`StepError::NoMasks`], [`StepError::Length`] or [`StepError::Width`].
    pub fn key(&mut self, k: &[u64], masked: bool) -> Result<Step, StepError> {
        self.biased_key(k, 0, masked)
    }

    /// [`Stepper::key`] with a bias, an encoding of [`BIAS`], which is added to the score.
    ///
    /// # Errors
    /// As [`Stepper::key`], and [`StepError::NoBias`].
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
            return Ok(NOTHING);
        }
        let [_, k, _] = rows(self.config(), self.model.numerics(), [&[], k, &[]]);
        let dot = self.model.dots_of_rows(query, &k.words)[0];
        let bias = BiasUnit::new(self.model.numerics()).of(bias);
        let special = k.first_is_special(format) || bias.special;
        let step = self.core.key(KeyScore { dot, bias: bias.score }, special, bias.saturated);
        self.due = matches!(step.action, Action::Load | Action::Update);
        Ok(step)
    }

    /// The value of the last key, with the words of the core's port.
    ///
    /// # Errors
    /// [`StepError::NoValueDue`], [`StepError::Length`] or [`StepError::Width`].
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

    /// Whether the last step reads its value, which has not come.
    pub fn value_is_due(&self) -> bool {
        self.due
    }

    /// The state as the core's registers hold it; before the first visible key the [empty state](PartialState::no_key). The scalars are zeros
    /// in cores that cannot have partial results.
    pub fn state(&self) -> PartialState {
        let nothing = || PartialState { scalars: [0; 2], o: vec![0; self.config().dv()] };
        self.core
            .state()
            .or_else(|| PartialState::no_key(self.config(), self.model.numerics()))
            .unwrap_or_else(nothing)
    }

    /// The result if the last key were the query's last.
    ///
    /// # Errors
    /// [`StepError::NoQuery`] or [`StepError::ValueDue`].
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

/// Checks that words have at most `bits` bits.
fn within(what: &'static str, words: &[u64], bits: u32) -> Result<(), StepError> {
    match words.iter().find(|&&word| bits < u64::BITS && word >> bits != 0) {
        Some(&word) => Err(StepError::Width { what, word, bits }),
        None => Ok(()),
    }
}

/// A core of any kind, with a query in progress.
trait AnyStepper: Send {
    fn begin(&mut self, v_exponent: u64, special: bool);
    fn restore(&mut self, partial: &PartialState) -> Step;
    fn key(&mut self, key: KeyScore, special: bool, saturated: bool) -> Step;
    fn value(&mut self, v: &[u64], special: bool);
    /// None without a key.
    fn state(&self) -> Option<PartialState>;
    fn result(&self) -> QueryResult;
}

/// A visitor that makes a [`TypedStepper`] with its own recurrence and lanes.
struct Own;

impl Visit for Own {
    type Output = Box<dyn AnyStepper>;

    fn visit<R, L>(self, model: &Model, recurrence: &R, lanes: &L, _: Carriers) -> Self::Output
    where
        R: Recurrence<Op = L::Op, Ending = L::Ending>,
        L: Lanes,
    {
        let config = model.config();
        Box::new(TypedStepper {
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

struct TypedStepper<R: Recurrence, L: Lanes> {
    format: Format,
    partial: bool,
    recurrence: R,
    lanes: L,
    state: Option<R::State>,
    o: Vec<L::Output>,
    /// The lanes' operation for the value that is due.
    op: Option<L::Op>,
    v_exponent: u64,
    /// The query has an Inf or a NaN.
    special: bool,
    /// Flags so far.
    result: QueryResult,
}

impl<R, L> AnyStepper for TypedStepper<R, L>
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

    fn key(&mut self, key: KeyScore, special: bool, saturated: bool) -> Step {
        let (state, d) = self.recurrence.step(self.state, key);
        self.state = Some(state);
        self.op = d.op;
        self.result.empty = false;
        self.result.invalid |= self.special || special;
        self.result.score_saturated |= saturated || self.recurrence.saturates(key);
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

    fn state(&self) -> Option<PartialState> {
        let o = self.o.iter().map(|&o| self.lanes.bits(o)).collect();
        Some(PartialState { scalars: self.recurrence.save(self.state?), o })
    }

    fn result(&self) -> QueryResult {
        let mut result = self.result.clone();
        if result.empty {
            result.o = vec![0; self.o.len()];
            return result;
        }
        result.state = if self.partial { self.state() } else { None };
        let ending = self.recurrence.ending(self.state);
        for &o in &self.o {
            let (rounded, over) = self.lanes.result(ending, o, self.v_exponent);
            result.saturated += u64::from(over);
            result.o.push(encode(self.format, rounded));
        }
        result
    }
}
