//! Rules by name.

use flashd_golden::family::{
    Budget, CappedThreshold, CoarseBudget, CoarseDecay, GrowingThreshold, HoldRule, MaximumThreshold,
    Threshold, budget_of_fraction, held_error_bound,
};
use flashd_spec::config::{
    BUDGET_FRACTIONS, CoreConfig, D_RANGE, Datapath, Design, FlashDVariant, Hold, WeightUnit,
};
use flashd_spec::format::Format;
use flashd_spec::numerics::BUDGET_RESERVE;
use std::fmt;
use std::str::FromStr;

/// Thresholds T that are compared by default.
pub const DEFAULT_THRESHOLDS: [f64; 6] = [6.0, 8.0, 9.0, 10.0, 11.0, 12.0];
/// Thresholds that a rule may have, as in the cores.
const THRESHOLDS: (f64, f64) = (1.0, 64.0);
/// Accumulator fraction bits that a budget may be made for.
const FRACTIONS: (u32, u32) = (1, 40);
/// Largest reserve of a budget.
const MOST_RESERVE: u32 = 16;
/// Register bits of a coarse budget unless given, as in cores for 65,536 keys.
const REGISTER: u32 = 16;

/// How a budget's bound of the lost mass shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decay {
    /// By `1 - w`, in real arithmetic.
    Exact,
    /// Not at all, in real arithmetic.
    None,
    /// In an integer register of this many bits.
    Coarse(CoarseDecay, u32),
}

/// A rule for leaving updates out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The paper's, on the difference of neighbouring scores.
    Static,
    /// FLASH-D's threshold T on `x = s - L`.
    Hold(f64),
    /// FA2's threshold T on `s - m`.
    Fa2(f64),
    /// T + ln n for the n-th held key.
    Growing(f64),
    /// Threshold T for a number of keys.
    Capped(f64, u64),
    /// A budget for an accumulator.
    Budget {
        /// Fraction bits of the accumulator.
        fraction: u32,
        /// A key may take one in `2^reserve` of the rest.
        reserve: u32,
        /// How it recovers.
        decay: Decay,
    },
}

/// Text that names no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}: {problem}")]
pub struct RuleError {
    text: String,
    problem: String,
}

/// The reserve of a budget unless given, as in the cores.
const RESERVE: u32 = BUDGET_RESERVE;
/// The smallest number of fraction bits whose budget adds less than 0.1 % of max|v|.
const PER_MILLE: u32 = 9;

/// Fraction bits, with max|v| in [1/2, 1), of a result in a format, of FLASH-D's float accumulator and of its fixed-point
/// accumulator; and the bits for an error below 0.1 %.
fn fractions(format: Format) -> Vec<u32> {
    let core = CoreConfig::new(Design::FlashD, D_RANGE.0, format);
    // A float in [1/2, 1) has its significand's bits; fixed-point lanes have one for the sign.
    let float = CoreConfig { datapath: FlashDVariant::Rounded.into(), ..core.clone() }
        .accumulator_format()
        .precision();
    let mut all = vec![format.precision(), PER_MILLE, float];
    all.extend(core.has_fixed_lanes().then(|| core.lane_bits().o - 1));
    all.sort_unstable();
    all.dedup();
    all
}

fn budgets(fractions: &[u32], decay: Decay) -> impl Iterator<Item = Rule> {
    fractions.iter().map(move |&fraction| Rule::Budget { fraction, reserve: RESERVE, decay })
}

/// The rules to compare on heads by default: the paper's rule, FLASH-D's and FA2's thresholds, and rules that
/// hold the more cautiously the more they have held. Budgets fit the accumulators of cores in a format.
pub fn default_rules(thresholds: &[f64], format: Format) -> Vec<Rule> {
    let coarse = |decay| Decay::Coarse(decay, REGISTER);
    let fractions = fractions(format);
    let mut rules = vec![Rule::Static];
    rules.extend(thresholds.iter().map(|&t| Rule::Hold(t)));
    rules.extend(thresholds.iter().map(|&t| Rule::Fa2(t)));
    rules.extend([6.0, 8.0, 10.0].map(Rule::Growing));
    rules.extend([(8.0, 8), (10.0, 64)].map(|(t, cap)| Rule::Capped(t, cap)));
    rules.extend(budgets(&fractions, Decay::Exact));
    rules.extend(budgets(&fractions, coarse(CoarseDecay::Shift)));
    for decay in [CoarseDecay::Jump, CoarseDecay::Never] {
        rules.extend(budgets(&fractions[..fractions.len().min(2)], coarse(decay)));
    }
    rules
}

/// The rules to compare on constructed streams by default.
pub fn default_worst_rules(thresholds: &[f64]) -> Vec<Rule> {
    let mut rules = vec![Rule::Static];
    rules.extend(thresholds.iter().map(|&t| Rule::Hold(t)));
    rules.extend([Rule::Growing(8.0), Rule::Capped(10.0, 64)]);
    for decay in [
        Decay::Exact,
        Decay::Coarse(CoarseDecay::Shift, REGISTER),
        Decay::Coarse(CoarseDecay::Never, REGISTER),
    ] {
        rules.extend(budgets(&[PER_MILLE], decay));
    }
    rules
}

impl Rule {
    /// The rules that belong to one curve.
    pub fn family(&self) -> &'static str {
        match self {
            Rule::Static => "static",
            Rule::Hold(_) => "hold",
            Rule::Fa2(_) => "fa2",
            Rule::Growing(_) => "growing",
            Rule::Capped(..) => "capped",
            Rule::Budget { decay: Decay::Exact, .. } => "budget-exact",
            Rule::Budget { decay: Decay::None, .. } => "budget-none",
            Rule::Budget { decay: Decay::Coarse(decay, _), .. } => match decay {
                CoarseDecay::Shift => "budget-shift",
                CoarseDecay::Jump => "budget-jump",
                CoarseDecay::Never => "budget-never",
            },
        }
    }

    /// The rule's state for one query; none for the static rule, which is no rule on x.
    pub(crate) fn hold_rule(&self) -> Option<Box<dyn HoldRule>> {
        Some(match *self {
            Rule::Static => return None,
            Rule::Hold(threshold) => Box::new(Threshold { threshold }),
            Rule::Fa2(threshold) => Box::new(MaximumThreshold::new(threshold)),
            Rule::Growing(threshold) => Box::new(GrowingThreshold::new(threshold)),
            Rule::Capped(threshold, cap) => Box::new(CappedThreshold::new(threshold, cap)),
            Rule::Budget { fraction, reserve, decay } => match decay {
                Decay::Exact => Box::new(Budget::new(budget_of_fraction(fraction), reserve, true)),
                Decay::None => Box::new(Budget::new(budget_of_fraction(fraction), reserve, false)),
                Decay::Coarse(decay, register) => {
                    Box::new(CoarseBudget::new(fraction, reserve, register, decay))
                }
            },
        })
    }

    /// The largest error that the rule can add to a query with `held` held keys, as a fraction of max|v|; none
    /// where there is no bound but 2.
    pub fn bound(&self, held: u64) -> Option<f64> {
        self.hold_rule().map(|rule| held_error_bound(rule.lost_mass(held)))
    }

    /// Whether the bound is the same however many keys a query has.
    pub(crate) fn is_bounded(&self) -> bool {
        matches!(self, Rule::Capped(..) | Rule::Budget { .. })
    }

    /// The core that has the rule, and the same core without it.
    pub fn cores(&self, d: usize, format: Format) -> Option<[CoreConfig; 2]> {
        let lse = Datapath::with_weight(WeightUnit::Lse, format);
        let (datapath, hold) = match *self {
            Rule::Static => (FlashDVariant::Paper.into(), Hold::Static),
            Rule::Hold(t) => (lse, Hold::Below(t)),
            Rule::Fa2(t) => (Datapath::shipped(Design::Fa2, format), Hold::Below(t)),
            Rule::Budget {
                fraction,
                reserve: RESERVE,
                decay: Decay::Coarse(CoarseDecay::Shift, REGISTER),
            } if (BUDGET_FRACTIONS.0..=BUDGET_FRACTIONS.1).contains(&fraction) => {
                (lse, Hold::Budget(fraction))
            }
            _ => return None,
        };
        let core = CoreConfig::with_datapath(datapath, d, format);
        Some([hold, Hold::None].map(|hold| CoreConfig { hold: Some(hold), ..core.clone() }))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.family())?;
        match self {
            Rule::Static => Ok(()),
            Rule::Hold(t) | Rule::Fa2(t) | Rule::Growing(t) => write!(f, ":{t}"),
            Rule::Capped(t, cap) => write!(f, ":{t}:{cap}"),
            Rule::Budget { fraction, reserve, decay } => {
                write!(f, ":{fraction}:{reserve}")?;
                match decay {
                    Decay::Coarse(_, register) if *register != REGISTER => write!(f, ":{register}"),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    /// `static`, `hold:T`, `fa2:T`, `growing:T`, `capped:T:KEYS`, `budget-exact:F[:C]`, `budget-none:F[:C]`,
    /// `budget-shift:F[:C[:R]]`, `budget-jump:F[:C[:R]]`, `budget-never:F[:C[:R]]`.
    fn from_str(text: &str) -> Result<Rule, RuleError> {
        let error = |problem: String| RuleError { text: text.to_string(), problem };
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let given: Vec<&str> = parts.collect();
        let threshold = || -> Result<f64, RuleError> {
            let (lo, hi) = THRESHOLDS;
            let t = given.first().and_then(|t| t.parse::<f64>().ok());
            t.filter(|t| (lo..=hi).contains(t))
                .ok_or_else(|| error(format!("a threshold, {lo} to {hi}, is needed")))
        };
        let whole =
            |i: usize, what: &str, default: Option<u64>, (lo, hi): (u64, u64)| -> Result<u64, RuleError> {
                let n = match given.get(i) {
                    Some(text) => text.parse().ok(),
                    None => default,
                };
                n.filter(|n| (lo..=hi).contains(n))
                    .ok_or_else(|| error(format!("{what}, {lo} to {hi}, is needed")))
            };
        let at_most = |n: usize| match given.len() > n {
            true => Err(error(format!("{name} takes {n} numbers at most"))),
            false => Ok(()),
        };
        let budget = |decay: &dyn Fn(u32) -> Decay, numbers: usize| -> Result<Rule, RuleError> {
            at_most(numbers)?;
            let range = (FRACTIONS.0.into(), FRACTIONS.1.into());
            let fraction = whole(0, "a number of accumulator fraction bits", None, range)? as u32;
            let reserve = whole(1, "a reserve", Some(RESERVE.into()), (0, MOST_RESERVE.into()))? as u32;
            let widest = CoarseBudget::WIDEST;
            let register = whole(2, "a register width", Some(REGISTER.into()), (1, widest.into()))? as u32;
            Ok(Rule::Budget { fraction, reserve, decay: decay(register) })
        };
        let coarse = |decay| budget(&|register| Decay::Coarse(decay, register), 3);
        match name {
            "static" => at_most(0).map(|()| Rule::Static),
            "hold" => at_most(1).and_then(|()| threshold()).map(Rule::Hold),
            "fa2" => at_most(1).and_then(|()| threshold()).map(Rule::Fa2),
            "growing" => at_most(1).and_then(|()| threshold()).map(Rule::Growing),
            "capped" => {
                at_most(2)?;
                Ok(Rule::Capped(threshold()?, whole(1, "a number of keys", None, (0, u32::MAX.into()))?))
            }
            "budget-exact" => budget(&|_| Decay::Exact, 2),
            "budget-none" => budget(&|_| Decay::None, 2),
            "budget-shift" => coarse(CoarseDecay::Shift),
            "budget-jump" => coarse(CoarseDecay::Jump),
            "budget-never" => coarse(CoarseDecay::Never),
            _ => Err(error(
                "is no rule; static, hold:T, fa2:T, growing:T, capped:T:KEYS, or budget-exact, -none, -shift, -jump \
                 or -never with :F[:C[:R]] is needed"
                    .into(),
            )),
        }
    }
}
