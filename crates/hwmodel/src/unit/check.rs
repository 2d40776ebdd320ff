//! The check of a job, before anything of it runs.
//!
//! Rules about the fields are decided at once. Then the [ends](super::ends) of operands and results in memory are computed.

use super::ends::{Step, fields_of_ranges, last_step, range_ends, step_bits};
use super::fields::Fields;
use crate::function;
use crate::rtl::{Module, Tag, Wire};
use crate::word::bits_for;
use crate::wrapper::logic::Low;
use flashd_spec::config::Carried;
use flashd_spec::unit::{Flag, JobError, LSE_BYTES, UnitConfig};

/// Facts of a unit that a job must respect.
#[derive(Clone, Copy)]
pub struct Limits {
    keys: u64,
    masks: bool,
    partial: bool,
    /// The core's factor of scores, if it is a number of SCALE.
    scale: Option<u32>,
    /// Any SCALE.
    any_scale: bool,
    /// Bytes of a row of queries, keys, values and results.
    rows: [u32; 4],
}

impl Limits {
    /// The limits of a unit.
    pub fn of(config: &UnitConfig) -> Limits {
        let core = &config.array.core;
        let rows = [Carried::Query, Carried::Key, Carried::Value, Carried::Result];
        Limits {
            keys: core.max_keys as u64,
            masks: core.masks,
            partial: core.partial,
            scale: config.scale(),
            any_scale: config.has_scale(),
            rows: rows.map(|carried| config.row_bytes(carried)),
        }
    }
}

function! {
    /// The first reason to refuse a job that its fields show; 0 if there is none.
    pub struct FieldCheckFunction { limits: Limits }
    name(this) = "field_check";
    doc = "The number of the first rule that the fields break, 0 if they break none.";
    inputs {
        flags: 16, queries: 32, keys: 32, group: 16, k_heads: 16, window: 32, page: 8, pages: 32,
        q_row: 32, k_row: 32, v_row: 32, o_row: 32, short_states: 1, scale: 16
    }
    outputs { code: 8 }
    eval<W> {
        let limits = &this.limits;
        let code = |error: JobError| W::constant(8, error as u64);
        let is_zero = |x: &W| x.any().not();
        let [causal, windowed, paged] = [0, 1, 2].map(|bit| flags.bit(bit));
        let heads = is_zero(&group).or(&is_zero(&k_heads)).named("no_heads");
        let long = W::constant(32, limits.keys).lt(&keys);
        let none = if limits.masks { W::zero(1) } else { is_zero(&keys) };
        let length = long.or(&none).named("bad_length");
        let no_window = windowed.and(&causal.not().or(&is_zero(&window))).named("bad_window");
        let bad_page = paged.and(&W::constant(8, 16).lt(&page).or(&is_zero(&pages))).named("bad_page");
        let short = |row: &W, bytes: u32, tokens: &W| {
            let several = W::constant(32, 1).lt(tokens);
            several.and(&row.lt(&W::constant(32, bytes.into())))
        };
        let [q, k, v, o] = limits.rows;
        let strides = short(&q_row, q, &queries).or(&short(&k_row, k, &keys)).or(&short(&v_row, v, &keys));
        let strides = strides.or(&short(&o_row, o, &queries)).or(&short_states).named("bad_stride");
        let masked = if limits.masks { W::zero(1) } else { causal.clone() };
        let states = if limits.partial { W::zero(1) } else { flags.slice(3, 3).any() };
        let other = limits.scale.map_or(W::constant(1, 1), |own| scale.eq(&W::constant(16, own.into())).not());
        let scaled = if limits.any_scale { W::zero(1) } else { scale.any().and(&other) };
        let scaled = scaled.named("other_scale");
        let unsupported = masked.or(&states).or(&scaled).or(&flags.slice(8, 8).any()).named("not_built");
        let rules = [
            (unsupported, JobError::Unsupported),
            (strides, JobError::Stride),
            (bad_page, JobError::Page),
            (no_window, JobError::Window),
            (length, JobError::Length),
            (heads, JobError::Heads),
        ];
        [rules.iter().fold(W::zero(8), |first, (broken, error)| broken.select(&code(*error), &first))]
    }
}

function! {
    /// Whether rows of log-sum-exps or states overlap.
    pub struct StateStridesFunction { state: u32 }
    name(this) = format!("state_strides_{}", this.state);
    doc = "A stride of log-sum-exps or states that the job has is shorter than a row.";
    inputs { flags: 16, queries: 32, lse_row: 32, state_row: 32 }
    outputs { short: 1 }
    eval<W> {
        let several = W::constant(32, 1).lt(&queries).named("several");
        let short = |row: &W, bytes: u32| several.and(&row.lt(&W::constant(32, bytes.into())));
        let lses = flags.bit(Flag::Lse as u32).and(&short(&lse_row, LSE_BYTES));
        let states = flags.bit(Flag::StateIn as u32).or(&flags.bit(Flag::StateOut as u32));
        [lses.or(&states.and(&short(&state_row, this.state)))]
    }
}

function! {
    /// The steps of the check, and its end.
    pub struct CheckStepsFunction { last: u64 }
    name(this) = format!("check_steps_{}", this.last);
    doc = "A step a cycle. The first rule that is broken decides; addresses are the last.";
    inputs { begins: 1, running: 1, step: bits_for(this.last + 1), code: 8, over: 1 }
    outputs { done: 1, found: 8, next_running: 1, next_step: bits_for(this.last + 1) }
    eval<W> {
        let bits = step.width();
        let at_end = step.eq(&W::constant(bits, this.last + 1)).named("at_end");
        let following = step.add(&W::constant(bits, 1)).named("following");
        let address = over.repeat(8).and(&W::constant(8, JobError::Address as u64));
        [
            running.and(&at_end),
            code.any().select(&code, &address),
            begins.or(&running.and(&at_end.not())),
            begins.not().and(&running).and(&at_end.not()).repeat(bits).and(&following),
        ]
    }
}

/// The fields of the rules; [`fields_of_ranges`] has the others.
const FIELDS: [&str; 9] =
    ["FLAGS", "QUERIES", "KEYS", "GROUP", "K_HEADS", "WINDOW", "PAGE", "PAGES", "SCALE"];

/// Outputs of the check.
pub struct Checked {
    /// The check ends.
    pub done: Wire,
    /// Its result: a [`JobError`], or 0.
    pub code: Wire,
    /// The check runs: the factors are its.
    pub running: Wire,
    /// Factors of a product.
    pub factors: [Wire; 2],
}

/// Checks the job of `fields`, whose addresses have 64 bits. `begin`: a check begins; `product`: the product of the last cycle's factors.
pub fn job_check(
    around: &mut Module,
    name: &str,
    config: &UnitConfig,
    fields: &Fields,
    begin: Wire,
    product: Wire,
) -> Checked {
    let limits = Limits::of(config);
    around.part(name, Tag::module("job_check", "Checks a job before it runs."), |m| {
        m.clock();
        m.reset();
        let ranges = fields_of_ranges(config);
        let job = fields.enter(m, &[&FIELDS[..], &ranges].concat());
        let [begin, product] = m.input_each([("begins", begin), ("product", product)]);
        let of = |name: &str| job.get(name);
        let (running, step) = (m.state("running_q", 1), m.state("step_q", step_bits(config)));
        let short = match config.array.core.partial {
            true => {
                let strides = StateStridesFunction { state: config.row_bytes(Carried::State) };
                m.call("state_strides", strides, ["FLAGS", "QUERIES", "LSE_ROW", "STATE_ROW"].map(of))[0]
            }
            false => Low::default().wire(m),
        };
        let [flags, queries, keys, group, k_heads, window, page, pages, scale] = FIELDS.map(of);
        let [q_row, k_row, v_row, o_row] = ["Q_ROW", "K_ROW", "V_ROW", "O_ROW"].map(of);
        let inputs = [
            flags, queries, keys, group, k_heads, window, page, pages, q_row, k_row, v_row, o_row, short,
            scale,
        ];
        let [code] = m.call("fields", FieldCheckFunction { limits }, inputs);
        let (factors, over) = range_ends(m, config, &job, &Step { running, step, product });
        let steps = CheckStepsFunction { last: last_step(config) };
        let [done, found, next_running, next_step] =
            m.call("steps", steps, [begin, running, step, code, over]);
        m.next_all(&[running, step], &[next_running, next_step]);
        Checked {
            done: m.output("done", done),
            code: m.output("code", found),
            running: m.output("running", running),
            factors: m.output_each([("a", factors[0]), ("b", factors[1])]),
        }
    })
}
