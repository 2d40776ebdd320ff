//! Reads descriptors, and the numbers of pages from block tables.
//!
//! A descriptor is one burst, handed on as words of 32 bits. Numbers of pages are read ahead, a beat for each.

use super::align::BUS_WORD;
use super::bursts::{BEAT_COUNT_BITS, Burst};
use super::fields::low_bits;
use super::fifo::queue;
use super::rows::{Fault, Returned};
use crate::function;
use crate::rtl::{Module, Pins, Tag, VectorFunction, VectorLeaf, Wire};
use crate::word::Word;
use flashd_spec::unit::CONTROL_ROOM;
use flashd_spec::unit::descriptor::{DESCRIPTOR_BYTES, FIELDS};

/// Logarithm of the beats that may be on their way or wait.
const BEATS_BITS: u32 = CONTROL_ROOM.ilog2();

/// Words of a descriptor that have fields.
pub fn descriptor_words() -> u32 {
    let end = |field: &flashd_spec::unit::descriptor::DescriptorField| field.offset + field.bits.div_ceil(8);
    FIELDS.iter().map(end).max().unwrap_or(DESCRIPTOR_BYTES).div_ceil(4)
}

function! {
    /// The numbers of pages that a block needs.
    pub struct EntriesFunction { bits: u32 }
    name(this) = format!("table_entries_{}", this.bits);
    doc = "A number for each page from the first key's to the last one's.";
    inputs { page: 8, from: 32, to: 32, table_base: this.bits }
    outputs { count: 32, first: this.bits }
    eval<W> {
        let bits = page.slice(0, 5);
        let one = W::constant(32, 1);
        let first = from.shr(&bits).named("first_page");
        let last = to.sub(&one).shr(&bits).named("last_page");
        let some = from.lt(&to);
        let count = some.repeat(32).and(&last.sub(&first).add(&one));
        let place = first.zext(34).append_zeros(2).slice(0, 34).zext(this.bits.max(34)).slice(0, this.bits);
        [count, table_base.add(&place)]
    }
}

function! {
    /// Requests of descriptors and of numbers of pages.
    pub struct FetchRulesFunction { bits: u32, beat: u32, beats: u32 }
    name(this) = format!("fetch_rules_{}_{}_{}", this.bits, 1 << this.beat, this.beats);
    doc = "A descriptor is a burst; a number of a page is a beat, if there is room for it.";
    inputs {
        fetch: 1, fetched: 1, at: this.bits, load: 1, count: 32, first: this.bits, left: 32, address: this.bits,
        used: 6, grant: 1, pop: 1
    }
    outputs {
        valid: 1, start: this.bits, amount: BEAT_COUNT_BITS, next_fetched: 1, next_left: 32, next_address: this.bits, next_used: 6
    }
    eval<W> {
        let asks = fetch.and(&fetched.not()).named("asks");
        let entries = left.any().and(&used.bit(BEATS_BITS).not()).named("entry_asked");
        let align = |x: &W| x.drop_low(this.beat).append_zeros(this.beat);
        let burst = W::constant(BEAT_COUNT_BITS, this.beats.into());
        let amount = asks.select(&burst, &W::constant(BEAT_COUNT_BITS, 1));
        let of_entry = grant.and(&asks.not()).named("entry_granted");
        let ahead = address.add(&W::constant(this.bits, 4)).named("ahead");
        let granted = grant.repeat(6).and(&amount.slice(0, 6));
        [
            asks.or(&entries),
            asks.select(&at, &align(&address)),
            amount,
            fetch.and(&fetched.or(&grant)),
            load.select(&count, &left.sub(&of_entry.zext(32))),
            load.select(&first, &of_entry.select(&ahead, &address)),
            used.add(&granted).sub(&pop.zext(6)),
        ]
    }
}

/// A word of 32 bits of a beat.
struct PickWord {
    beat: u32,
}

impl VectorFunction for PickWord {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let words = (8usize << self.beat) / BUS_WORD as usize;
        let tag = Tag::module(format!("pick_word_{words}x64"), "A word of 32 bits of a beat.");
        let inputs = vec![Pins::vector("x", words, BUS_WORD), Pins::word("lane", self.beat - 2)];
        (tag, inputs, vec![Pins::word("y", 32)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let lane = &inputs[1][0];
        let mut words: Vec<W> =
            inputs[0].iter().flat_map(|word| [word.slice(0, 32), word.slice(32, 32)]).collect();
        for bit in 0..lane.width() {
            words = words.chunks(2).map(|pair| lane.bit(bit).select(&pair[1], &pair[0])).collect();
        }
        vec![words]
    }
}

function! {
    /// The use of the words that have come.
    pub struct WordRulesFunction { beat: u32, words: u32 }
    name(this) = format!("word_rules_{}_{}", 1 << this.beat, this.words);
    doc = "The words of a descriptor are handed on, one a cycle; a number of a page waits until it is taken.";
    inputs { fetch: 1, filled: 1, word: 6, entry: 32, pages: 32, take: 1 }
    outputs { load: 1, loaded: 1, entry_valid: 1, beyond: 1, pop: 1, next_word: 6 }
    eval<W> {
        let lanes = this.beat - 2;
        let load = fetch.and(&filled).named("loads");
        let last = word.eq(&W::constant(6, u64::from(this.words) - 1)).named("last_word");
        let beat_ends = match lanes {
            0 => W::constant(1, 1),
            lanes => word.slice(0, lanes.min(6)).all(),
        };
        let following = word.add(&W::constant(6, 1)).named("following");
        let below = entry.lt(&pages).named("in_memory");
        let is_entry = fetch.not().and(&filled).named("is_entry");
        [
            load.clone(),
            load.and(&last),
            is_entry.and(&below),
            is_entry.and(&below.not()),
            load.and(&beat_ends.or(&last)).or(&take),
            load.select(&last.not().repeat(6).and(&following), &word),
        ]
    }
}

/// Inputs of [`control_reader`].
pub struct ControlInputs {
    /// A descriptor is to be read, until it is loaded; its address.
    pub fetch: [Wire; 2],
    /// The keys of a block are known: `[range, from, to]`.
    pub range: [Wire; 3],
    /// Keys and values are in pages.
    pub paged: Wire,
    /// A number of a page is taken.
    pub take: Wire,
    /// The burst is taken.
    pub grant: Wire,
}

/// Outputs of [`control_reader`].
pub struct ControlReader {
    /// The burst that is offered.
    pub burst: Burst,
    /// A word of a descriptor: `[load, place, data]`.
    pub load: [Wire; 3],
    /// The descriptor's last word.
    pub loaded: Wire,
    /// A number of a page, and that there is one.
    pub entry: [Wire; 2],
    /// A beat came with an error, for the descriptor or the page number at this address.
    pub fault: Fault,
    /// A number is beyond the pages of the job.
    pub beyond: Wire,
    /// A beat comes.
    pub beat: Wire,
    /// Four bytes of it are used.
    pub used: Wire,
}

function! {
    /// The address of the number of a page that waits.
    pub struct EntryPlaceFunction { bits: u32 }
    name(this) = format!("entry_place_{}", this.bits);
    doc = "Four bytes further with each number.";
    inputs { load: 1, take: 1, first: this.bits, place: this.bits }
    outputs { next: this.bits }
    eval<W> {
        let ahead = place.add(&W::constant(this.bits, 4)).named("ahead");
        [load.select(&first, &take.select(&ahead, &place))]
    }
}

/// Reads descriptors and numbers of pages, of a port with beats of `2^beat` bytes.
pub fn control_reader(
    around: &mut Module,
    name: &str,
    beat: u32,
    [page, pages, table]: [Wire; 3],
    inputs: &ControlInputs,
    returned: &Returned,
) -> ControlReader {
    let bits = table.width();
    let tag =
        Tag::module(format!("control_reader_{}_{bits}", 1 << beat), "Reads descriptors and block tables.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let [page, pages, table] = m.input_each([("page", page), ("pages", pages), ("table_base", table)]);
        let [fetch, at] = m.input_each([("fetch", inputs.fetch[0]), ("at", inputs.fetch[1])]);
        let [range, from, to] =
            m.input_each([("range", inputs.range[0]), ("from", inputs.range[1]), ("to", inputs.range[2])]);
        let [paged, take, grant] =
            m.input_each([("paged", inputs.paged), ("take", inputs.take), ("grant", inputs.grant)]);
        let [push, resp] = m.input_each([("beat", returned.push), ("resp", returned.resp)]);
        let data = m.inputs("data", returned.data);

        let [count, first] = m.call("entries", EntriesFunction { bits }, [page, from, to, table]);
        let [load_range] = m.call("load_range", crate::wrapper::logic::BothFunction {}, [range, paged]);
        let fetched = m.state("fetched_q", 1);
        let (left, address, used) = (m.state("left_q", 32), m.state("address_q", bits), m.state("used_q", 6));
        let pop_later = m.later(1);
        let words = descriptor_words();
        let beats = (4 * words).div_ceil(1 << beat);
        let rules = [fetch, fetched, at, load_range, count, first, left, address, used, grant, pop_later];
        let [valid, start, amount, next_fetched, next_left, next_address, next_used] =
            m.call("requests", FetchRulesFunction { bits, beat, beats }, rules);
        m.next_all(&[fetched, left, address, used], &[next_fetched, next_left, next_address, next_used]);

        let waiting = queue(m, "beats", BEATS_BITS, push, &[&data, &[resp]], pop_later);
        let word = m.state("word_q", 6);
        let place = m.state("place_q", bits);
        let [next] = m.call("next_place", EntryPlaceFunction { bits }, [load_range, take, first, place]);
        m.next(place, next);
        let lane_bits = beat - 2;
        let of_word = low_bits(m, "word_lane", word, lane_bits.min(6));
        let [place_lane] = m.call("place_lane", LaneFunction { bits, beat }, [place]);
        let select = crate::array::results::SelectFunction { width: lane_bits };
        let [lane] = m.call("lane", select, [fetch, of_word, place_lane]);
        let picked =
            m.leaf("pick", VectorLeaf::new(PickWord { beat }), &[&waiting.words[0][..], &[lane]].concat())[0];
        let [load, loaded, entry_valid, beyond, pop, next_word] = m.call(
            "words",
            WordRulesFunction { beat, words },
            [fetch, waiting.valid, word, picked, pages, take],
        );
        m.drive(pop_later, pop);
        m.next(word, next_word);
        let [used] = m.call("used", crate::wrapper::logic::EitherFunction {}, [load, take]);
        let resp = waiting.words[1][0];
        let [fault] = m.call("fault", super::rows::FaultFunction {}, [pop, resp]);
        let [at] =
            m.call("fault_at", crate::array::results::SelectFunction { width: bits }, [fetch, at, place]);
        ControlReader {
            burst: m.hand_out("burst_", &Burst { valid, address: start, beats: amount }),
            load: m.output_each([("load", load), ("load_word", word), ("load_data", picked)]),
            loaded: m.output("loaded", loaded),
            entry: m.output_each([("entry", picked), ("entry_valid", entry_valid)]),
            fault: m.hand_out("error_", &Fault { fault, resp, at }),
            beyond: m.output("beyond", beyond),
            beat: returned.push,
            used: m.output("used", used),
        }
    })
}

function! {
    /// The word of 32 bits of a beat that an address is in.
    pub struct LaneFunction { bits: u32, beat: u32 }
    name(this) = format!("lane_{}_{}", this.bits, 1 << this.beat);
    doc = "The place of a word in its beat.";
    inputs { address: this.bits }
    outputs { lane: this.beat - 2 }
    eval<W> { [address.slice(2, this.beat - 2)] }
}
