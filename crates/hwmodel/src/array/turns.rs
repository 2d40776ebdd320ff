//! The handshakes of an array whose queries take turns, C to a core.
//!
//! Turn c of a core has the query of place `core C + c`. The turns follow each other, a cycle each, without end; a key stays on its port for C
//! cycles, from the turn 0 in which it is first offered to the last turn, in which it is taken. A query is taken in the turn of its place.
//!
//! | register | meaning |
//! | --- | --- |
//! | `phase` | one bit for each turn, one of them high: whose turn it is |
//! | `going` | the key on the port was there in turn 0 |
//! | `starts` | the next block had all its queries when this round of turns began |
//!
//! `filled`, `complete`, `running`, `active` and `sending` are those of [`control`](super::control). All but the first two change in the last
//! turn only; `sending` counts rounds of turns, in each of which C results leave.

use super::control::ControlOutputs;
use super::{BothFunction, HighFunction, LowFunction};
use crate::function;
use crate::rtl::{Module, Pins, Tag, VectorFunction, VectorLeaf, Wire};
use crate::word::Word;

function! {
    /// Ready and take of both handshakes, the end of a block and the start of the next, in turns.
    pub struct TurnHandshakeFunction {}
    name(this) = "turn_handshake";
    doc = "A query is taken in its turn, a key in the last turn if it was there in the first; a block starts in a round of turns\nwith the previous one's last key or later.";
    inputs {
        q_valid: 1, matches: 1, complete: 1, k_valid: 1, k_last: 1, first: 1, last: 1, going: 1, starts: 1,
        running: 1, sending: 1
    }
    outputs { q_ready: 1, q_take: 1, k_ready: 1, k_take: 1, k_end: 1, start: 1, next_going: 1 }
    eval<W> {
        let q_ready = complete.not().and(&matches).named("room");
        // A last key waits until the results of its block cannot collide with the results of the block before.
        let open = running.and(&k_last.and(&sending).not()).named("open");
        let offered = k_valid.and(&first.or(&going)).named("offered");
        let k_take = offered.and(&open).named("taken");
        let k_end = k_take.and(&k_last).named("ended");
        let start = starts.and(&running.not().or(&k_end));
        [q_ready.clone(), q_valid.and(&q_ready), open.and(&going).and(&last), k_take, k_end, start, offered]
    }
}

function! {
    /// Whether the next block has all its queries, and whether a block runs.
    pub struct TurnStateFunction {}
    name(this) = "turn_state";
    doc = "A block is complete with q_last or when every shadow register is filled; it runs from the round after its start to the\nround of its last key.";
    inputs { q_take: 1, q_last: 1, full: 1, complete: 1, start: 1, running: 1, k_end: 1, last: 1, starts: 1 }
    outputs { next_complete: 1, next_running: 1, next_starts: 1 }
    eval<W> {
        let completed = q_take.and(&q_last.or(&full));
        let complete = completed.or(&complete.and(&start.and(&last).not())).named("still_complete");
        [
            complete.clone(),
            last.select(&start.or(&running.and(&k_end.not())), &running),
            last.select(&complete, &starts),
        ]
    }
}

function! {
    /// The actions of a place and its shadow register in a cycle. `ahead`: the shadow register before it is filled.
    pub struct TurnSlotFunction {}
    name(this) = "turn_slot";
    doc = "Queries fill the slots in order; a query meets keys when its slot was filled at the block's start.";
    inputs { q_take: 1, ahead: 1, filled: 1, start: 1, active: 1, last: 1 }
    outputs { load: 1, next_filled: 1, next_active: 1 }
    eval<W> {
        let load = q_take.and(&ahead).and(&filled.not()).named("loads");
        let starts = start.and(&last).named("starts");
        [load.clone(), starts.not().and(&filled.or(&load)), starts.select(&filled, &active)]
    }
}

function! {
    /// Tracks for how many rounds of turns the results of a block occupy the port.
    pub struct TurnSendingFunction {}
    name(this) = "turn_sending";
    doc = "A block's end sets one bit for each round of results after the first; they move up by one a round.";
    inputs { k_end: 1, active: 1, behind: 1, sending: 1, last: 1 }
    outputs { next_sending: 1 }
    eval<W> { [last.select(&k_end.select(&active, &behind), &sending)] }
}

function! {
    /// Whether the next query belongs to a place, and it is the turn of this place.
    pub struct TurnMatchFunction {}
    name(this) = "turn_match";
    doc = "y = ahead and not filled and the turn of this place.";
    inputs { ahead: 1, filled: 1, turn: 1 }
    outputs { y: 1 }
    eval<W> { [ahead.and(&filled.not()).and(&turn)] }
}

/// The word of the turn: `y = or of (phase[c] and x[c])`.
pub struct TurnPick {
    /// C.
    pub turns: usize,
    /// Width of a word.
    pub width: u32,
}

impl VectorFunction for TurnPick {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let tag = Tag::module(format!("turn_pick_{}x{}", self.turns, self.width), "y = x of the turn.");
        let [phase, x] =
            [("phase", 1), ("x", self.width)].map(|(name, width)| Pins::vector(name, self.turns, width));
        (tag, vec![phase, x], vec![Pins::word("y", self.width)])
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let mut words: Vec<W> =
            inputs[0].iter().zip(&inputs[1]).map(|(turn, x)| turn.repeat(self.width).and(x)).collect();
        while words.len() > 1 {
            words = words
                .chunks(2)
                .map(|pair| match pair {
                    [a, b] => a.or(b),
                    single => single[0].clone(),
                })
                .collect();
        }
        vec![words]
    }
}

/// The words of the turn: element j of the result is the word `j C + c` in turn c.
pub fn of_turn(m: &mut Module, name: &'static str, phase: &[Wire], words: &[Wire]) -> Vec<Wire> {
    let pick = TurnPick { turns: phase.len(), width: words.first().map_or(1, |word| word.width()) };
    let inputs = words.chunks(phase.len()).map(|words| [phase, words].concat());
    m.leaf_each(name, VectorLeaf::new(pick), inputs).concat()
}

/// The turns: one bit for each, high in its turn. The first cycle after reset is turn 0.
pub fn turns(m: &mut Module, count: usize) -> Vec<Wire> {
    let later: Vec<Wire> = (0..count).map(|_| m.later(1)).collect();
    let phase: Vec<Wire> = later
        .iter()
        .enumerate()
        .map(|(turn, &before)| m.register_reset(("phase_q", turn), u64::from(turn == 0), before))
        .collect();
    (0..count).for_each(|turn| m.drive(later[turn], phase[(turn + count - 1) % count]));
    phase
}

/// The control for blocks of 1 to `queries` queries that take turns. Its inputs and outputs are those of
/// [`array_control`](super::control::array_control), but that `load`, `take_query` and `key` have a bit for each core, which is that of its
/// turn; also returns whether a key is taken, from its turn 0 on.
pub fn turn_control(
    around: &mut Module,
    queries: usize,
    phase: &[Wire],
    q: [Wire; 2],
    k: [Wire; 2],
) -> (ControlOutputs, Wire) {
    let turns = phase.len();
    let tag = Tag::module(
        format!("turn_control_{queries}_{turns}"),
        format!("Handshakes of blocks of up to {queries} queries, {turns} of which take turns in a core."),
    );
    around.part("control", tag, |m| {
        m.clock();
        m.reset();
        let phase = m.inputs("phase", phase);
        let [q_valid, q_last] = m.input_each([("q_valid", q[0]), ("q_last", q[1])]);
        let [k_valid, k_last] = m.input_each([("k_valid", k[0]), ("k_last", k[1])]);
        let (first, last) = (phase[0], phase[turns - 1]);
        let flags = |m: &mut Module, name: &str, count| -> Vec<Wire> {
            (0..count).map(|i| m.state((name, i), 1)).collect()
        };
        let filled = flags(m, "filled_q", queries);
        let active = flags(m, "active_q", queries);
        let sending = flags(m, "sending_q", queries / turns - 1);
        let [complete, running, going, starts] =
            ["complete_q", "running_q", "going_q", "starts_q"].map(|name| m.state(name, 1));
        let [low] = m.call("low", LowFunction {}, []);
        // No slot comes before the first, so it is free for any query.
        let [high] = m.call("high", HighFunction {}, []);
        let matches: Vec<Wire> = (0..queries)
            .map(|b| {
                let ahead = if b == 0 { high } else { filled[b - 1] };
                m.call(("match", b), TurnMatchFunction {}, [ahead, filled[b], phase[b % turns]])[0]
            })
            .collect();
        let matches = super::flag_tree::flag_tree(m, "matches", &matches);
        let still_sending = sending.first().copied().unwrap_or(low);
        let handshake =
            [q_valid, matches, complete, k_valid, k_last, first, last, going, starts, running, still_sending];
        let [q_ready, q_take, k_ready, k_take, k_end, start, next_going] =
            m.call("handshake", TurnHandshakeFunction {}, handshake);
        let mut load = Vec::new();
        for b in 0..queries {
            let ahead = if b == 0 { high } else { filled[b - 1] };
            let [loads, next_filled, next_active] =
                m.call(("slot", b), TurnSlotFunction {}, [q_take, ahead, filled[b], start, active[b], last]);
            load.push(loads);
            m.next_all(&[filled[b], active[b]], &[next_filled, next_active]);
        }
        let state = [q_take, q_last, load[queries - 1], complete, start, running, k_end, last, starts];
        let next = m.call("state", TurnStateFunction {}, state);
        m.next_all(&[complete, running, starts], &next);
        m.next(going, next_going);
        for (i, &flag) in sending.iter().enumerate() {
            let behind = sending.get(i + 1).copied().unwrap_or(low);
            let inputs = [k_end, active[(i + 1) * turns], behind, flag, last];
            let [next] = m.call(("next_sending", i), TurnSendingFunction {}, inputs);
            m.next(flag, next);
        }
        // In the turn of a place, its core acts for it.
        let load = of_turn(m, "loads", &phase, &load);
        let takes = of_turn(m, "takes", &phase, &filled);
        let meets = of_turn(m, "meets", &phase, &active);
        let both = |m: &mut Module, name: &'static str, all: Wire, each: &[Wire]| -> Vec<Wire> {
            m.call_each(name, BothFunction {}, each.iter().map(|&one| [all, one]))
        };
        let take_query = both(m, "take", start, &takes);
        let key = both(m, "key", k_take, &meets);
        let control = ControlOutputs {
            q_ready: m.output("q_ready", q_ready),
            k_ready: m.output("k_ready", k_ready),
            load: m.outputs("load", &load),
            take_query: m.outputs("take_query", &take_query),
            key: m.outputs("key", &key),
        };
        (control, m.output("k_take", k_take))
    })
}

function! {
    /// A flag of any turn of a round, collected from turn 0 to the last turn.
    pub struct AnyTurnFunction {}
    name(this) = "any_turn";
    doc = "next = flag, or that of an earlier turn of this round; y = next, in the last turn.";
    inputs { first: 1, last: 1, flag: 1, before: 1 }
    outputs { next: 1, y: 1 }
    eval<W> {
        let any = flag.or(&before.and(&first.not())).named("any");
        [any.clone(), any.and(&last)]
    }
}

/// Whether a flag is high in some turn of a round; in the last turn.
pub fn any_turn(m: &mut Module, name: &str, phase: &[Wire], flag: Wire) -> Wire {
    let before = m.state(format!("{name}_q"), 1);
    let inputs = [phase[0], phase[phase.len() - 1], flag, before];
    let [next, any] = m.call(name, AnyTurnFunction {}, inputs);
    m.next(before, next);
    any
}

function! {
    /// Whether another result of a block follows the one on the port.
    pub struct MoreTurnsFunction {}
    name(this) = "more_turns";
    doc = "A result that follows is of the same block unless this turn is the last one and the block's results ended in turn 0.";
    inputs { valid: 1, follows: 1, last: 1, ended: 1 }
    outputs { more: 1 }
    eval<W> { [valid.and(&follows).and(&last.and(&ended).not())] }
}
