//! The ends of a job's operands and results in memory, one product a cycle:
//! `base + (heads - 1) head + (rows - 1) row + (pages - 1) page + bytes`.

use super::fields::{BitFunction, Fields};
use crate::rtl::{Module, Pins, Tag, VectorFunction, VectorLeaf, Wire};
use crate::word::{Word, bits_for};
use flashd_spec::config::Carried;
use flashd_spec::unit::descriptor::FIELDS;
use flashd_spec::unit::{Flag, LSE_BYTES, UnitConfig};

/// The rows of an operand or of a result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A row for each query.
    Queries,
    /// A row for each key, in pages if there are any.
    Keys {
        /// The field of the stride of pages.
        page: &'static str,
    },
    /// The block table.
    Table,
}

/// A range of memory that a job reads or writes.
#[derive(Clone, Copy)]
struct Range {
    base: &'static str,
    /// The beginning of the names of its strides.
    strides: &'static str,
    bytes: u32,
    kind: Kind,
    /// The flag without which it is not there.
    flag: Option<Flag>,
}

/// The ranges of memory that jobs of a unit read or write. Number 0 is checked first.
fn ranges(config: &UnitConfig) -> Vec<Range> {
    let of = |base, strides, bytes, kind, flag| Range { base, strides, bytes, kind, flag };
    let plain = |name, carried, kind| of(name, name, config.row_bytes(carried), kind, None);
    let mut ranges = vec![
        plain("Q", Carried::Query, Kind::Queries),
        plain("O", Carried::Result, Kind::Queries),
        plain("K", Carried::Key, Kind::Keys { page: "K_PAGE" }),
        plain("V", Carried::Value, Kind::Keys { page: "V_PAGE" }),
    ];
    if config.array.core.partial {
        let bytes = config.row_bytes(Carried::State);
        ranges.push(of("LSE", "LSE", LSE_BYTES, Kind::Queries, Some(Flag::Lse)));
        ranges.push(of("STATE_IN", "STATE", bytes, Kind::Queries, Some(Flag::StateIn)));
        ranges.push(of("STATE_OUT", "STATE", bytes, Kind::Queries, Some(Flag::StateOut)));
    }
    ranges.push(of("TABLE", "", 4, Kind::Table, Some(Flag::Paged)));
    ranges
}

/// The step at which the last sum is complete: four for each range, after four for the number of heads.
pub fn last_step(config: &UnitConfig) -> u64 {
    4 * (ranges(config).len() as u64 + 1)
}

/// Width of a step.
pub fn step_bits(config: &UnitConfig) -> u32 {
    bits_for(last_step(config) + 1)
}

/// The word of the range that a step is about; zero for others.
fn choose<W: Word>(operand: &W, words: impl Iterator<Item = (u64, W)>, width: u32) -> W {
    words.fold(W::zero(width), |chosen, (number, word)| {
        let is = operand.eq(&W::constant(operand.width(), number + 1));
        chosen.or(&is.repeat(width).and(&word))
    })
}

/// The factors of a step's product.
struct EndFactors {
    ranges: Vec<Range>,
    step: u32,
}

impl EndFactors {
    /// The ranges with heads and rows, with their numbers.
    fn rows(&self) -> impl Iterator<Item = (u64, &Range)> {
        (0..).zip(&self.ranges).filter(|(_, range)| range.kind != Kind::Table)
    }
}

impl VectorFunction for EndFactors {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let rows = self.rows().count();
        let doc = "Step 0: the number of query heads. From step 4 on, four for each range: heads, rows and pages, each less one, times their strides.";
        let inputs = vec![
            Pins::word("step", self.step),
            Pins::word("paged", 1),
            Pins::word("page", 8),
            Pins::word("k_heads", 16),
            Pins::word("group", 16),
            Pins::word("heads", 32),
            Pins::word("queries", 32),
            Pins::word("keys", 32),
            Pins::word("pages", 32),
            Pins::vector("head_stride", rows, 32),
            Pins::vector("row_stride", rows, 32),
            Pins::vector("page_stride", 2, 32),
        ];
        let outputs = vec![Pins::word("a", 32), Pins::word("b", 32)];
        (Tag::module(format!("end_factors_{rows}"), doc), inputs, outputs)
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let [step, paged, page, k_heads, group, heads, queries, keys, pages] =
            [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|i| &inputs[i][0]);
        let less = |x: &W| x.any().select(&x.sub(&W::constant(32, 1)), &W::zero(32));
        let (operand, part) = (step.drop_low(2), step.slice(0, 2));
        let one_of = |wanted: &dyn Fn(&Kind) -> bool| {
            let numbers = (0..).zip(&self.ranges).filter(|(_, range)| wanted(&range.kind));
            choose(&operand, numbers.map(|(number, _)| (number, W::constant(1, 1))), 1)
        };
        let of_keys = one_of(&|kind| matches!(kind, Kind::Keys { .. })).named("of_keys");
        let table = one_of(&|kind| *kind == Kind::Table).named("of_table");
        let page_bits = page.slice(0, 5);
        let page_rows = W::constant(32, 1).shl(&page_bits).named("page_rows");
        let key_rows = paged.select(&page_rows, keys);
        let head_number = less(&of_keys.select(&k_heads.zext(32), heads)).named("head_number");
        let row_number = less(&of_keys.select(&key_rows, queries)).named("row_number");
        let entry_number = less(keys).shr(&page_bits).named("entry_number");
        let page_number = of_keys.and(paged).repeat(32).and(&less(pages)).named("page_number");
        let row_number = table.select(&entry_number, &row_number);
        let head_number = table.not().repeat(32).and(&head_number);
        let [second, third] = [part.bit(0), part.bit(1)];
        let a = third.select(&page_number, &second.select(&row_number, &head_number));
        let stride = |words: &[W]| {
            let words = self.rows().zip(words).map(|((number, _), word)| (number, word.clone()));
            choose(&operand, words.collect::<Vec<_>>().into_iter(), 32)
        };
        let head = stride(&inputs[9]).named("head_stride_now");
        let row = table.select(&W::constant(32, 4), &stride(&inputs[10])).named("row_stride_now");
        let paged_ranges =
            (0..).zip(&self.ranges).filter(|(_, range)| matches!(range.kind, Kind::Keys { .. }));
        let page_strides = paged_ranges.zip(&inputs[11]).map(|((number, _), word)| (number, word.clone()));
        let page = choose(&operand, page_strides, 32).named("page_stride_now");
        let b = third.select(&page, &second.select(&row, &head));
        let first = step.any().not().named("first_step");
        vec![vec![first.select(&k_heads.zext(32), &a)], vec![first.select(&group.zext(32), &b)]]
    }
}

/// The end of a range, and whether one is beyond the port.
struct EndSum {
    ranges: Vec<Range>,
    step: u32,
    /// Bits of an address of the port.
    bits: u32,
}

impl VectorFunction for EndSum {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let count = self.ranges.len();
        let tag = Tag::module(
            format!("end_sum_{count}_{}", self.bits),
            "Adds a product with each step, and the base of the next range with every fourth.",
        );
        let inputs = vec![
            Pins::word("running", 1),
            Pins::word("step", self.step),
            Pins::vector("base", count, 64),
            Pins::vector("used", count, 1),
            Pins::word("product", 64),
            Pins::word("sum", 64),
            Pins::word("over", 1),
            Pins::word("heads", 32),
        ];
        let outputs =
            vec![Pins::word("next_sum", 64), Pins::word("next_over", 1), Pins::word("next_heads", 32)];
        (tag, inputs, outputs)
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let (bases, used) = (&inputs[2], &inputs[3]);
        let [running, step, product, sum, over, heads] = [0, 1, 4, 5, 6, 7].map(|i| &inputs[i][0]);
        let (operand, part) = (step.drop_low(2), step.slice(0, 2));
        let base = choose(&operand, (0..).zip(bases.iter().cloned()), 64).named("base_now");
        let sizes = self.ranges.iter().map(|range| W::constant(64, u64::from(range.bytes) - 1));
        let bytes = choose(&operand, (0..).zip(sizes), 64).named("row_bytes");
        let starts = part.any().not().named("starts");
        let addend = starts.select(&bytes, product);
        let total = starts.select(&base, sum).add(&addend).named("total");
        let carried = total.lt(&addend).named("carried");
        let beyond = match self.bits {
            64 => W::zero(1),
            bits => sum.any_above(bits),
        };
        // The sum of the range before is complete where the next one starts.
        let now = choose(&operand, (0..).zip(used.iter().cloned()), 1).named("used_now");
        let before = choose(&operand, (1..).zip(used.iter().cloned()), 1).named("used_before");
        let wrong = now.and(&carried).or(&starts.and(&before).and(&beyond)).named("wrong");
        let place = |(range, (base, used)): (&Range, (&W, &W))| {
            (range.kind == Kind::Table).then(|| used.and(&base.slice(0, 2).any()))
        };
        let places = self.ranges.iter().zip(bases.iter().zip(used)).filter_map(place);
        let table_place = places.fold(W::zero(1), |any, one| any.or(&one)).named("table_place");
        let second = step.eq(&W::constant(step.width(), 1));
        vec![
            vec![total],
            vec![running.and(&over.or(&wrong).or(&table_place))],
            vec![second.select(&product.slice(0, 32), heads)],
        ]
    }
}

/// Where the check of the ranges is.
pub struct Step {
    /// The check runs.
    pub running: Wire,
    /// Its step.
    pub step: Wire,
    /// The product of the last cycle's factors.
    pub product: Wire,
}

/// The fields that say where a job's operands and results are.
pub fn fields_of_ranges(config: &UnitConfig) -> Vec<&'static str> {
    let of = |range: &Range, name: &str| {
        let strides = [("ROW", range.strides), ("HEAD", range.strides)];
        let is_stride = strides.iter().any(|(what, of)| !of.is_empty() && *name == format!("{of}_{what}"));
        range.base == name || is_stride || matches!(range.kind, Kind::Keys { page } if page == name)
    };
    let ranges = ranges(config);
    let names = FIELDS.iter().map(|field| field.name);
    names.filter(|name| ranges.iter().any(|range| of(range, name))).collect()
}

/// The ends of a job's ranges. Returns the factors of the next product, and whether an address is beyond the port's.
pub fn range_ends(m: &mut Module, config: &UnitConfig, job: &Fields, at: &Step) -> ([Wire; 2], Wire) {
    let (ranges, step) = (ranges(config), step_bits(config));
    let (sum, over, heads) = (m.state("sum_q", 64), m.state("over_q", 1), m.state("heads_q", 32));
    let flag = |m: &mut Module, flag: Flag| {
        let name = format!("has_{flag:?}").to_lowercase();
        m.call(name, BitFunction { width: 16, bit: flag as u32 }, [job.get("FLAGS")])[0]
    };
    let paged = flag(m, Flag::Paged);
    let always = m.call("always", crate::wrapper::logic::HighFunction {}, [])[0];
    let used: Vec<Wire> = (ranges.iter())
        .map(|range| match range.flag {
            None => always,
            Some(Flag::Paged) => paged,
            Some(of) => flag(m, of),
        })
        .collect();
    let of_rows = EndFactors { ranges: ranges.clone(), step };
    let stride = |what: &str| {
        of_rows.rows().map(|(_, range)| job.get(&format!("{}_{what}", range.strides))).collect::<Vec<Wire>>()
    };
    let pages = ranges.iter().filter_map(|range| match range.kind {
        Kind::Keys { page } => Some(job.get(page)),
        _ => None,
    });
    let mut inputs = vec![at.step, paged];
    inputs.extend(["PAGE", "K_HEADS", "GROUP"].map(|name| job.get(name)));
    inputs.push(heads);
    inputs.extend(["QUERIES", "KEYS", "PAGES"].map(|name| job.get(name)));
    inputs.extend(stride("HEAD").into_iter().chain(stride("ROW")).chain(pages));
    let factors = m.leaf("factors", VectorLeaf::new(of_rows), &inputs);

    let bases: Vec<Wire> = ranges.iter().map(|range| job.get(range.base)).collect();
    let sums = EndSum { ranges, step, bits: config.address_bits };
    let inputs = [&[at.running, at.step][..], &bases, &used, &[at.product, sum, over, heads]].concat();
    let next = m.leaf("sum", VectorLeaf::new(sums), &inputs);
    m.next_all(&[sum, over, heads], &[next[0], next[1], next[2]]);
    ([factors[0], factors[1]], over)
}
