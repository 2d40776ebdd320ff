//! The channel of read addresses: one burst a cycle, from the readers of all kinds.

use super::bursts::{BEAT_COUNT_BITS, Burst};
use super::counters::ReadKind;
use super::ports::ID_BITS;
use crate::function;
use crate::rtl::{Module, Pins, Tag, VectorFunction, VectorLeaf, Wire};
use crate::word::Word;
use crate::wrapper::logic::{BothFunction, EitherFunction};
use crate::wrapper::packet::UpDownFunction;

/// Width of a number of bursts on their way.
const OUTSTANDING_BITS: u32 = 12;

/// Chooses the burst that goes next.
struct Choose {
    /// The identifiers of kinds, of which the last two take turns and the others come first.
    ids: Vec<u64>,
    /// Bits of an address.
    bits: u32,
}

impl VectorFunction for Choose {
    fn header(&self) -> (Tag, Vec<Pins>, Vec<Pins>) {
        let kinds = self.ids.len();
        let tag = Tag::module(
            format!("choose_burst_{}_{}", self.ids.len(), self.bits),
            "The first kind that offers a burst; keys and values, the last two, take turns.",
        );
        let inputs = vec![
            Pins::vector("valid", kinds, 1),
            Pins::vector("address", kinds, self.bits),
            Pins::vector("beats", kinds, BEAT_COUNT_BITS),
            Pins::word("blocked", 1),
            Pins::word("turn", 1),
        ];
        let outputs = vec![
            Pins::vector("grant", kinds, 1),
            Pins::word("any", 1),
            Pins::word("start", self.bits),
            Pins::word("len", 8),
            Pins::word("id", ID_BITS),
            Pins::word("next_turn", 1),
        ];
        (tag, inputs, outputs)
    }

    fn eval<W: Word>(&self, inputs: &[Vec<W>]) -> Vec<Vec<W>> {
        let [valid, address, beats] = [&inputs[0], &inputs[1], &inputs[2]];
        let (blocked, turn) = (&inputs[3][0], &inputs[4][0]);
        let (keys, values) = (self.ids.len() - 2, self.ids.len() - 1);
        let free = blocked.not().named("free");
        let mut before = W::zero(1);
        let mut grant = Vec::new();
        for of in &valid[..keys] {
            grant.push(of.and(&free).and(&before.not()));
            before = before.or(of).named("before");
        }
        let rest = free.and(&before.not()).named("rest");
        // turn: values come first.
        grant.push(rest.and(&valid[keys]).and(&valid[values].and(turn).not()));
        grant.push(rest.and(&valid[values]).and(&valid[keys].and(&turn.not()).not()));
        let any = grant.iter().skip(1).fold(grant[0].clone(), |any, one| any.or(one)).named("granted");
        let pick = |words: &[W]| {
            let width = words[0].width();
            let chosen = words.iter().zip(&grant).map(|(word, one)| one.repeat(width).and(word));
            chosen.reduce(|all, one| all.or(&one)).unwrap_or_else(|| W::zero(width))
        };
        let beats = pick(beats);
        let less = beats.sub(&W::constant(BEAT_COUNT_BITS, 1)).named("less");
        let ids: Vec<W> = self.ids.iter().map(|&id| W::constant(ID_BITS, id)).collect();
        let next_turn = any.select(&grant[keys], turn);
        vec![
            grant.clone(),
            vec![any],
            vec![pick(address)],
            vec![less.slice(0, 8)],
            vec![pick(&ids)],
            vec![next_turn],
        ]
    }
}

function! {
    /// Whether the channel holds an address.
    pub struct HeldFunction {}
    name(this) = "address_held";
    doc = "An address stays until it is taken; blocked: no other may come.";
    inputs { valid: 1, ready: 1, stop: 1, any: 1 }
    outputs { blocked: 1, next_valid: 1 }
    eval<W> {
        let kept = valid.and(&ready.not()).named("kept");
        [kept.or(&stop), kept.or(&any)]
    }
}

/// The signals of the channel.
#[derive(Clone, Copy)]
pub struct ReadAddress {
    /// An address is offered.
    pub valid: Wire,
    /// The address.
    pub address: Wire,
    /// Beats less one.
    pub len: Wire,
    /// The kind.
    pub id: Wire,
}

crate::rtl::bundle!(ReadAddress { valid, address, len, id });

/// The channel of read addresses. Returns also a grant for each kind, and whether bursts are on their way.
///
/// `ready`: the address is taken; `stop`: no more may come; `ends`: `rvalid` and `rlast`.
pub fn read_requests(
    around: &mut Module,
    name: &str,
    offers: &[(ReadKind, Burst)],
    [ready, stop]: [Wire; 2],
    returned: [Wire; 2],
) -> (ReadAddress, Vec<Wire>, Wire) {
    let (kinds, bits) = (offers.len(), offers[0].1.address.width());
    let tag = Tag::module(format!("read_requests_{kinds}_{bits}"), "The channel of read addresses.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let all = |of: fn(&Burst) -> Wire| offers.iter().map(|(_, burst)| of(burst)).collect::<Vec<Wire>>();
        let offered = m.inputs("offer", &all(|burst| burst.valid));
        let addresses = m.inputs("address", &all(|burst| burst.address));
        let beats = m.inputs("beats", &all(|burst| burst.beats));
        let [ready, stop] = m.input_each([("ready", ready), ("stop", stop)]);
        let [rvalid, rlast] = m.input_each([("rvalid", returned[0]), ("rlast", returned[1])]);

        let (valid, turn) = (m.state("valid_q", 1), m.state("turn_q", 1));
        let blocked_later = m.later(1);
        let ids = offers.iter().map(|(kind, _)| *kind as u64).collect();
        let inputs = [&offered[..], &addresses, &beats, &[blocked_later, turn]].concat();
        let mut chosen = m.leaf("choose", VectorLeaf::new(Choose { ids, bits }), &inputs);
        let grants: Vec<Wire> = chosen.drain(..kinds).collect();
        let [any, start, len, id, next_turn] = std::array::from_fn(|i| chosen[i]);
        let [blocked, next_valid] = m.call("held", HeldFunction {}, [valid, ready, stop, any]);
        m.drive(blocked_later, blocked);
        m.next_all(&[valid, turn], &[next_valid, next_turn]);
        let address = m.register_if("address_q", any, start);
        let len = m.register_if("len_q", any, len);
        let id = m.register_if("id_q", any, id);

        let [ends] = m.call("ends", BothFunction {}, [rvalid, rlast]);
        let count = m.state("outstanding_q", OUTSTANDING_BITS);
        let counted = UpDownFunction { bits: OUTSTANDING_BITS };
        let [next, some] = m.call("outstanding", counted, [count, any, ends]);
        m.next(count, next);
        let [busy] = m.call("under_way", EitherFunction {}, [some, valid]);
        let channel = m.hand_out("ar_", &ReadAddress { valid, address, len, id });
        (channel, m.outputs("grant", &grants), m.output("busy", busy))
    })
}

function! {
    /// The kind of a beat that comes.
    pub struct KindFunction { id: u64 }
    name(this) = format!("kind_{}", this.id);
    doc = "A beat, or an answer, of this identifier comes.";
    inputs { valid: 1, id: ID_BITS }
    outputs { y: 1 }
    eval<W> { [valid.and(&id.eq(&W::constant(ID_BITS, this.id)))] }
}
