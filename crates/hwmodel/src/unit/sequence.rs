//! The sequence of segments: block by block, the keys that its queries see.

use super::fields::Fields;
use super::places::{Place, places};
use super::segments::{PageKnownFunction, Segment, Span, SpanFunction, VisibleFunction, ahead, stored_span};
use crate::function;
use crate::rtl::{Module, Tag, Wire};
use crate::wrapper::logic::{BothFunction, Low};

function! {
    /// The states of the sequence of segments.
    pub struct SequenceRulesFunction {}
    name(this) = "sequence_rules";
    doc = "0 idle; 1 walk through the queries of a block; 2 take its range; 3 wait for the number of a page; 4 compute; 5 emit.";
    inputs {
        begins: 1, state: 3, count: 3, block_ends: 1, job_ends: 1, finished: 1, paged: 1, known: 1, empty: 1, entry_valid: 1,
        ready: 1, last: 1
    }
    outputs {
        walk: 1, range: 1, take_entry: 1, multiply: 1, emits: 1, next_state: 3, next_count: 3, next_finished: 1
    }
    eval<W> {
        let is = |number: u64| state.eq(&W::constant(3, number));
        let to = |number: u64| W::constant(3, number);
        let (idle, walk, range) = (is(0), is(1).named("walking"), is(2).named("at_range"));
        let (waits, multiply, emit) = (is(3), is(4).named("multiplies"), is(5));
        let multiplied = count.eq(&W::constant(3, 4)).named("multiplied");
        let page = paged.and(&known.not()).and(&empty.not()).named("page_needed");
        let entered = waits.and(&page.not().or(&entry_valid)).named("entered");
        let sent = emit.and(&ready).named("sent");
        let done = sent.and(&last).named("block_sent");
        let walked = walk.and(&block_ends).named("walked");
        let after = done.select(&finished.select(&to(0), &to(1)), &to(3));
        let next = idle.and(&begins).select(&to(1), &state);
        let next = walked.select(&to(2), &next);
        let next = range.select(&to(3), &next);
        let next = entered.select(&to(4), &next);
        let next = multiply.and(&multiplied).select(&to(5), &next);
        let next = sent.select(&after, &next);
        let counted = count.add(&W::constant(3, 1));
        let next_finished = walk.select(&block_ends.and(&job_ends), &finished).and(&idle.not());
        [
            walk,
            range,
            entered.and(&page),
            multiply.clone(),
            emit,
            next,
            multiply.and(&multiplied.not()).repeat(3).and(&counted),
            next_finished,
        ]
    }
}

function! {
    /// The factors of a product, and the address that it is added to.
    pub struct FactorsFunction {}
    name(this) = "address_factors";
    doc = "Number of the page and place in it, each times the strides of keys and of values.";
    inputs {
        count: 3, paged: 1, entry: 32, in_page: 32, k_page: 32, k_row: 32, v_page: 32, v_row: 32
    }
    outputs { a: 32, b: 32 }
    eval<W> {
        let (of_values, of_row) = (count.bit(1), count.bit(0));
        let page = paged.repeat(32).and(&entry);
        let strides = |row: &W, page: &W| of_row.select(row, page);
        [
            of_row.select(&in_page, &page),
            of_values.select(&strides(&v_row, &v_page), &strides(&k_row, &k_page)),
        ]
    }
}

function! {
    /// Adds products to the addresses of a segment.
    pub struct SumAddressFunction { bits: u32 }
    name(this) = format!("sum_address_{}", this.bits);
    doc = "The address starts from the head's first row, and two products are added to it.";
    inputs { begins: 1, adds: 1, head: this.bits, address: this.bits, product: 64 }
    outputs { next: this.bits }
    eval<W> {
        let sum = address.add(&product.slice(0, this.bits)).named("sum");
        [begins.select(&head, &adds.select(&sum, &address))]
    }
}

function! {
    /// When products are added to addresses.
    pub struct AddTimesFunction {}
    name(this) = "add_times";
    doc = "A product is there a cycle after its factors: 1 and 2 are those of keys, 3 and 4 those of values.";
    inputs { multiply: 1, count: 3 }
    outputs { begins: 1, to_keys: 1, to_values: 1 }
    eval<W> {
        let is = |number: u64| count.eq(&W::constant(3, number)).and(&multiply);
        [is(0), is(1).or(&is(2)), is(3).or(&is(4))]
    }
}

function! {
    /// The address of a head's first row.
    pub struct HeadAddressFunction { bits: u32 }
    name(this) = format!("head_address_{}", this.bits);
    doc = "The base of the job, and a stride more for each head of keys.";
    inputs { begins: 1, step: 1, base: this.bits, stride: 32, head: this.bits }
    outputs { next: this.bits }
    eval<W> {
        let ahead = ahead(&head, &stride);
        [begins.select(&base, &step.select(&ahead, &head))]
    }
}

function! {
    /// The range of a block, and the next row.
    pub struct RangeRowFunction {}
    name(this) = "range_row";
    doc = "The block's first key, then the first behind each segment.";
    inputs { range: 1, sent: 1, from: 32, next_row: 32, row: 32 }
    outputs { next: 32 }
    eval<W> { [range.select(&from, &sent.select(&next_row, &row))] }
}

function! {
    /// A step of the sequence that takes place.
    pub struct TakesPlaceFunction {}
    name(this) = "takes_place";
    doc = "a and b and c.";
    inputs { a: 1, b: 1, c: 1 }
    outputs { y: 1 }
    eval<W> { [a.and(&b).and(&c)] }
}

/// Inputs of the sequence, without the job.
pub struct SequenceInputs {
    /// A job begins.
    pub begin: Wire,
    /// The number of the next page, and that it is there.
    pub entry: [Wire; 2],
    /// Keys and values take a segment, if one is emitted.
    pub ready: Wire,
    /// The product of the factors a cycle ago.
    pub product: Wire,
}

/// Outputs of the sequence.
pub struct SequenceOutputs {
    /// Keys.
    pub keys: Segment,
    /// Values of the same tokens.
    pub values: Segment,
    /// Factors of a product.
    pub factors: [Wire; 2],
    /// The number of a page is taken.
    pub take_entry: Wire,
    /// The keys of a block are known: the range is `[from, to)`.
    pub range: [Wire; 3],
}

/// The fields that it reads.
const FIELDS: [&str; 15] = [
    "GROUP", "QUERIES", "K_HEADS", "POSITION", "WINDOW", "KEYS", "PAGE", "K", "V", "K_ROW", "V_ROW",
    "K_HEAD", "V_HEAD", "K_PAGE", "V_PAGE",
];

/// The segments of all blocks of a job, `width` queries a block. With a buffer of `2^buffer` rows, a segment is all inside or all outside.
pub fn segments(
    around: &mut Module,
    name: &str,
    (width, bits, buffer): (usize, u32, Option<u32>),
    job: &Fields,
    flags: [Wire; 3],
    inputs: &SequenceInputs,
) -> SequenceOutputs {
    let suffix = buffer.map_or(String::new(), |bits| format!("_buffer_{}", 1u64 << bits));
    let tag =
        Tag::module(format!("segments_{width}_{bits}{suffix}"), "The rows of keys and values of all blocks.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let job = job.enter(m, &FIELDS);
        let [causal, windowed, paged] =
            m.input_each([("causal", flags[0]), ("windowed", flags[1]), ("paged", flags[2])]);
        let begin = m.input("begins", inputs.begin);
        let [entry, entry_valid] =
            m.input_each([("entry", inputs.entry[0]), ("entry_valid", inputs.entry[1])]);
        let [ready, product] = m.input_each([("ready", inputs.ready), ("product", inputs.product)]);

        let (state, count) = (m.state("state_q", 3), m.state("count_q", 3));
        let finished = m.state("finished_q", 1);
        let (walk, range, sent, leaves_later) = (m.later(1), m.later(1), m.later(1), m.later(1));
        let (place, from, to) = visible_range(m, width, &job, [causal, windowed], walk);
        let row = m.state("row_q", 32);
        let until = m.register_if("to_q", range, to);
        let [in_page, rows, next_row, empty, last, page_ends] =
            m.call("span", SpanFunction {}, [paged, job.get("PAGE"), row, until]);
        let span = Span { row, rows, next_row, last };
        let kept = buffer.map(|bits| stored_span(m, bits, &span, [sent, leaves_later]));
        let (Span { rows, next_row, last, .. }, cut) = match &kept {
            Some(kept) => (kept.span, kept.cut),
            None => (span, Low::default().wire(m)),
        };
        let [next] = m.call("next_row", RangeRowFunction {}, [range, sent, from, next_row, row]);
        m.next(row, next);
        let known = m.state("known_q", 1);
        let ends = [place.block_ends, place.job_ends, finished];
        let rules =
            [begin, state, count, ends[0], ends[1], ends[2], paged, known, empty, entry_valid, ready, last];
        let [walks, at_range, take_entry, multiply, emits, next_state, next_count, next_finished] =
            m.call("rules", SequenceRulesFunction {}, rules);
        m.next_all(&[state, count, finished], &[next_state, next_count, next_finished]);
        m.drive_all(&[walk, range], &[walks, at_range]);
        let [sends] = m.call("sends", BothFunction {}, [emits, ready]);
        m.drive(sent, sends);
        let of_page = [range, take_entry, sends, page_ends, cut, known];
        let [next_known] = m.call("page_known", PageKnownFunction {}, of_page);
        m.next(known, next_known);

        // The head of keys is left with the last segment of its last block.
        let head_ends = m.register_if("head_ends_q", walk, place.head_ends);
        let [leaves] = m.call("leaves", TakesPlaceFunction {}, [sends, last, head_ends]);
        m.drive(leaves_later, leaves);
        let page = m.register_if("page_q", take_entry, entry);
        let sums =
            Sums { bits, product, begin, leaves, times: [multiply, count], place: [paged, page, in_page] };
        let (factors, [keys, values]) = sums.addresses(m, &job);
        let [stored, keep, place] = [0, 1, 2].map(|i| kept.as_ref().map(|kept| kept.flags[i]));
        let segment =
            |address| Segment { valid: emits, address, rows, absent: empty, last, stored, keep, place };
        SequenceOutputs {
            keys: m.hand_out("key_", &segment(keys)),
            values: m.hand_out("value_", &segment(values)),
            factors: m.output_each([("a", factors[0]), ("b", factors[1])]),
            take_entry: m.output("take_entry", take_entry),
            range: m.output_each([("range", range), ("from", from), ("to", to)]),
        }
    })
}

/// Walks through the queries of a block while `walk` is high. Returns the place, and the keys that its queries see.
fn visible_range(
    m: &mut Module,
    width: usize,
    job: &Fields,
    [causal, windowed]: [Wire; 2],
    walk: Wire,
) -> (Place, Wire, Wire) {
    let place = places(m, "places", width, job, walk);
    let [first_walked] = m.call("first_walked", BothFunction {}, [walk, place.first]);
    let first = m.register_if("first_q", first_walked, place.token);
    let last = m.register_if("last_q", walk, place.token);
    let mut sees = |name: &str, token| {
        let inputs = [causal, windowed, job.get("POSITION"), job.get("WINDOW"), job.get("KEYS"), token];
        let range: [Wire; 2] = m.call(name, VisibleFunction {}, inputs);
        range
    };
    let ([from, _], [_, to]) = (sees("first_sees", first), sees("last_sees", last));
    (place, from, to)
}

/// The addresses of a segment, from products.
struct Sums {
    bits: u32,
    product: Wire,
    begin: Wire,
    leaves: Wire,
    /// Products are formed, and which.
    times: [Wire; 2],
    /// Pages, the number of the page, and the row in it.
    place: [Wire; 3],
}

impl Sums {
    /// Factors of the next product, and the addresses of keys and values.
    fn addresses(&self, m: &mut Module, job: &Fields) -> ([Wire; 2], [Wire; 2]) {
        let ([multiply, count], [paged, page, in_page]) = (self.times, self.place);
        let [k_page, k_row, v_page, v_row] = ["K_PAGE", "K_ROW", "V_PAGE", "V_ROW"].map(|name| job.get(name));
        let factors = [count, paged, page, in_page, k_page, k_row, v_page, v_row];
        let factors: [Wire; 2] = m.call("factors", FactorsFunction {}, factors);
        let [begins, to_keys, to_values] = m.call("times", AddTimesFunction {}, [multiply, count]);
        let bits = self.bits;
        let mut address = |of: &str, base: &str, adds| {
            let head = m.state(format!("{of}_head_q"), bits);
            let stride = job.get(&format!("{base}_HEAD"));
            let next = [self.begin, self.leaves, job.get(base), stride, head];
            let [next] = m.call(format!("{of}_next_head"), HeadAddressFunction { bits }, next);
            m.next(head, next);
            let address = m.state(format!("{of}_address_q"), bits);
            let next = [begins, adds, head, address, self.product];
            let [next] = m.call(format!("{of}_sum"), SumAddressFunction { bits }, next);
            m.next(address, next);
            address
        };
        (factors, [address("key", "K", to_keys), address("value", "V", to_values)])
    }
}
