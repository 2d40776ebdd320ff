//! The check of a job, before anything of it runs.
//!
//! Rules about the fields are decided at once. Then the end of each operand in memory is computed, by one product a
//! cycle: `base + (heads - 1) head + (rows - 1) row + (pages - 1) page + bytes`.

use super::fields::Fields;
use crate::function;
use crate::rtl::{Module, Tag, Wire};
use flashd_spec::config::Carried;
use flashd_spec::unit::{JobError, UnitConfig};

/// Facts of a unit that a job must respect.
#[derive(Clone, Copy)]
pub struct Limits {
    keys: u64,
    masks: bool,
    partial: bool,
    scale: Option<u32>,
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
        q_row: 32, k_row: 32, v_row: 32, o_row: 32, scale: 16
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
        let strides = strides.or(&short(&o_row, o, &queries)).named("bad_stride");
        let masked = if limits.masks { W::zero(1) } else { causal.clone() };
        let states = if limits.partial { W::zero(1) } else { flags.slice(3, 3).any() };
        let other = limits.scale.map_or(W::constant(1, 1), |own| scale.eq(&W::constant(16, own.into())).not());
        let scaled = scale.any().and(&other).named("other_scale");
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

/// The step at which the last sum is complete.
const LAST_STEP: u64 = 24;

function! {
    /// The factors of a step.
    pub struct CheckFactorsFunction {}
    name(this) = "check_factors";
    doc = "Step 0: the number of query heads. From step 4 on, for queries, results, keys, values and the block table: heads, rows\n\
           and pages, each less one, times their strides.";
    inputs {
        step: 5, paged: 1, page: 8, k_heads: 16, group: 16, heads: 32, queries: 32, keys: 32, pages: 32,
        q_head: 32, o_head: 32, k_head: 32, v_head: 32, q_row: 32, o_row: 32, k_row: 32, v_row: 32,
        k_page: 32, v_page: 32
    }
    outputs { a: 32, b: 32 }
    eval<W> {
        let less = |x: &W| x.any().select(&x.sub(&W::constant(32, 1)), &W::zero(32));
        let (operand, part) = (step.slice(2, 3), step.slice(0, 2));
        // 1 and 2 are queries and results, 3 and 4 keys and values, 5 the table.
        let is = |number: u64| operand.eq(&W::constant(3, number));
        let (results, of_key, of_value, table) = (is(2), is(3), is(4), is(5).named("of_table"));
        let of_keys = of_key.or(&of_value).named("of_keys");
        let of = |q: &W, o: &W, k: &W, v: &W| {
            of_keys.select(&of_value.select(v, k), &results.select(o, q))
        };
        let page_bits = page.slice(0, 5);
        let page_rows = W::constant(32, 1).shl(&page_bits).named("page_rows");
        let key_rows = paged.select(&page_rows, &keys);
        let head_number = less(&of_keys.select(&k_heads.zext(32), &heads)).named("head_number");
        let row_number = less(&of_keys.select(&key_rows, &queries)).named("row_number");
        let entry_number = less(&keys).shr(&page_bits).named("entry_number");
        let page_number = of_keys.and(&paged).repeat(32).and(&less(&pages)).named("page_number");
        let [second, third] = [part.bit(0), part.bit(1)];
        let first = step.any().not().named("first_step");
        let row_number = table.select(&entry_number, &row_number);
        let head_number = table.not().repeat(32).and(&head_number);
        let a = third.select(&page_number, &second.select(&row_number, &head_number));
        let head = of(&q_head, &o_head, &k_head, &v_head).named("head_stride");
        let row = table.select(&W::constant(32, 4), &of(&q_row, &o_row, &k_row, &v_row)).named("row_stride");
        let page = of_value.select(&v_page, &k_page).named("page_stride");
        let b = third.select(&page, &second.select(&row, &head));
        [first.select(&k_heads.zext(32), &a), first.select(&group.zext(32), &b)]
    }
}

function! {
    /// The end of an operand in memory, and whether it is beyond the port.
    pub struct CheckSumFunction { limits: Limits, bits: u32 }
    name(this) = format!("check_sum_{}", this.bits);
    doc = "Adds a product with each step, and the base of the next operand with every fourth.";
    inputs {
        running: 1, step: 5, paged: 1, q: 64, o: 64, k: 64, v: 64, table_base: 64, product: 64, sum: 64, over: 1, heads: 32
    }
    outputs { next_sum: 64, next_over: 1, next_heads: 32 }
    eval<W> {
        let (operand, part) = (step.slice(2, 3), step.slice(0, 2));
        let is = |number: u64| operand.eq(&W::constant(3, number));
        let [q_bytes, k_bytes, v_bytes, o_bytes] = this.limits.rows;
        let operands = [(&q, q_bytes), (&o, o_bytes), (&k, k_bytes), (&v, v_bytes), (&table_base, 4)];
        let mut base = W::zero(64);
        let mut bytes = W::zero(64);
        for (number, (of, count)) in (1..).zip(operands) {
            let chosen = is(number).repeat(64);
            base = base.or(&chosen.and(of)).named("base");
            bytes = bytes.or(&chosen.and(&W::constant(64, u64::from(count) - 1))).named("row_bytes");
        }
        let starts = part.any().not().named("starts");
        let addend = starts.select(&bytes, &product);
        let total = starts.select(&base, &sum).add(&addend).named("total");
        let carried = total.lt(&addend).named("carried");
        let beyond = match this.bits {
            64 => W::zero(1),
            bits => sum.any_above(bits),
        };
        // The sum of the operand before is complete where the next one starts. The table counts only with pages.
        let first = operand.lt(&W::constant(3, 2)).named("first_operand");
        let after_table = is(6).named("after_table");
        let ignored = is(5).or(&after_table.and(&starts)).and(&paged.not());
        let complete = starts.and(&first.not()).and(&beyond).and(&after_table.and(&paged.not()).not());
        let wrong = operand.any().and(&carried).and(&ignored.not()).or(&complete);
        let table_place = table_base.slice(0, 2).any().and(&paged).named("table_place");
        let at = |number: u64| step.eq(&W::constant(5, number));
        [
            total,
            running.and(&over.or(&wrong).or(&table_place)),
            at(1).select(&product.slice(0, 32), &heads),
        ]
    }
}

function! {
    /// The steps of the check, and its end.
    pub struct CheckStepsFunction {}
    name(this) = "check_steps";
    doc = "A step a cycle. The first rule that is broken decides; addresses are the last.";
    inputs { begins: 1, running: 1, step: 5, code: 8, over: 1 }
    outputs { done: 1, found: 8, next_running: 1, next_step: 5 }
    eval<W> {
        let at_end = step.eq(&W::constant(5, LAST_STEP + 1)).named("at_end");
        let following = step.add(&W::constant(5, 1)).named("following");
        let address = over.repeat(8).and(&W::constant(8, JobError::Address as u64));
        [
            running.and(&at_end),
            code.any().select(&code, &address),
            begins.or(&running.and(&at_end.not())),
            begins.not().and(&running).and(&at_end.not()).repeat(5).and(&following),
        ]
    }
}

/// The fields that it reads.
const FIELDS: [&str; 24] = [
    "FLAGS", "QUERIES", "KEYS", "GROUP", "K_HEADS", "WINDOW", "PAGE", "PAGES", "Q", "O", "K", "V", "TABLE",
    "Q_ROW", "Q_HEAD", "O_ROW", "O_HEAD", "K_ROW", "K_HEAD", "V_ROW", "V_HEAD", "K_PAGE", "V_PAGE", "SCALE",
];

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
        let job = fields.enter(m, &FIELDS);
        let [begin, product] = m.input_each([("begins", begin), ("product", product)]);
        let of = |name: &str| job.get(name);
        let [paged] = m.call("paged", super::fields::BitFunction { width: 16, bit: 2 }, [of("FLAGS")]);
        let (running, step) = (m.state("running_q", 1), m.state("step_q", 5));
        let (sum, over, heads) = (m.state("sum_q", 64), m.state("over_q", 1), m.state("heads_q", 32));
        let inputs = [
            "FLAGS", "QUERIES", "KEYS", "GROUP", "K_HEADS", "WINDOW", "PAGE", "PAGES", "Q_ROW", "K_ROW",
            "V_ROW", "O_ROW", "SCALE",
        ];
        let [code] = m.call("fields", FieldCheckFunction { limits }, inputs.map(of));
        let strides =
            ["Q_HEAD", "O_HEAD", "K_HEAD", "V_HEAD", "Q_ROW", "O_ROW", "K_ROW", "V_ROW", "K_PAGE"].map(of);
        let [q_head, o_head, k_head, v_head, q_row, o_row, k_row, v_row, k_page] = strides;
        let factors = [
            step,
            paged,
            of("PAGE"),
            of("K_HEADS"),
            of("GROUP"),
            heads,
            of("QUERIES"),
            of("KEYS"),
            of("PAGES"),
            q_head,
            o_head,
            k_head,
            v_head,
            q_row,
            o_row,
            k_row,
            v_row,
            k_page,
            of("V_PAGE"),
        ];
        let factors: [Wire; 2] = m.call("factors", CheckFactorsFunction {}, factors);
        let [q, o, k, v, table] = ["Q", "O", "K", "V", "TABLE"].map(of);
        let inputs = [running, step, paged, q, o, k, v, table, product, sum, over, heads];
        let sums = CheckSumFunction { limits, bits: config.address_bits };
        let [next_sum, next_over, next_heads] = m.call("sum", sums, inputs);
        m.next_all(&[sum, over, heads], &[next_sum, next_over, next_heads]);
        let [done, found, next_running, next_step] =
            m.call("steps", CheckStepsFunction {}, [begin, running, step, code, over]);
        m.next_all(&[running, step], &[next_running, next_step]);
        Checked {
            done: m.output("done", done),
            code: m.output("code", found),
            running: m.output("running", running),
            factors: m.output_each([("a", factors[0]), ("b", factors[1])]),
        }
    })
}
