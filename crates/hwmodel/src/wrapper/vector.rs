//! From beats to vectors: the register from which a vector goes to all cores, filled beat by beat.

use super::beat::{BeatSelect, ElementJoin, Shape};
use super::later::{hold, reserve};
use super::logic::{EitherFunction, HighFunction, Low};
use super::packet::*;
use super::ports::{Last, Sink, SinkInputs};
use crate::rtl::{Module, Tag, VectorLeaf, Wire};
use crate::word::index_bits;

/// What the register of a stream gets. A stream with `tlast` has packets, one with `tuser` a flag for each vector.
pub struct VectorInputs<'a> {
    /// Beats.
    pub stream: &'a SinkInputs,
    /// A packet may begin; without packets, a beat may come.
    pub permit: Wire,
    /// Of packets that may have too many vectors: the vector is the last that its packet may have.
    pub stop: Option<Wire>,
    /// The vector is taken.
    pub take: Wire,
}

/// What the register of a stream hands out.
pub struct VectorOutputs {
    /// A beat is taken if offered.
    pub tready: Wire,
    /// A vector waits.
    pub full: Wire,
    /// Its flag.
    pub flag: Option<Wire>,
    /// The vector, d words.
    pub y: Vec<Wire>,
    packet: Option<PacketOutputs>,
}

/// What is known of packets.
pub struct PacketOutputs {
    /// One begins.
    pub opens: Wire,
    /// The vector that waits is its packet's last.
    pub last: Wire,
    /// With several beats a vector: the packet ends inside a vector.
    pub partial: Option<Wire>,
    limits: Option<LimitOutputs>,
}

/// What is known of packets that may have too many vectors.
pub struct LimitOutputs {
    /// A vector becomes complete.
    pub vector: Wire,
    /// It is its packet's last, or the last that the packet may have.
    pub ends: Wire,
    /// The packet is too long.
    pub too_long: Wire,
}

impl VectorOutputs {
    /// Of a stream that has packets.
    ///
    /// # Panics
    /// If it has none.
    pub fn packet(&self) -> &PacketOutputs {
        self.packet.as_ref().unwrap_or_else(|| unreachable!("a stream without packets"))
    }
}

impl PacketOutputs {
    /// Of packets that may have too many vectors.
    ///
    /// # Panics
    /// If they may not.
    pub fn limits(&self) -> &LimitOutputs {
        self.limits.as_ref().unwrap_or_else(|| unreachable!("packets of any length"))
    }
}

/// A stream's beats, and the vector that they make.
pub fn vector_input(around: &mut Module, name: &str, shape: Shape, inputs: &VectorInputs) -> VectorOutputs {
    let beats = shape.beats;
    let stream = inputs.stream;
    let (packets, limited) = (stream.tlast.is_some(), inputs.stop.is_some());
    let mut module = format!("vector_input_{}", shape.ident());
    let suffixes = [(packets, "_packets"), (limited, "_limited"), (stream.tuser.is_some(), "_flag")];
    suffixes.iter().filter(|(is, _)| *is).for_each(|(_, suffix)| module += suffix);
    let tag = Tag::module(module, "Beats of a stream, and the register of the vector that they make.");
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let Sink { stream: SinkInputs { tvalid, tdata, tlast, tuser }, tready, tready_out } =
            stream.enter(m, "", Last::Optional);
        let permit = m.input("permit", inputs.permit);
        let stop = m.optional_input("stop", inputs.stop);
        let take = m.input("take", inputs.take);

        reserve(m, &["word_q", "full_q", "last_q", "flag_q", "beat_q", "begun_q", "cut_q", "dropping_q"]);
        reserve(m, &["low", "high"]);
        let (full, fill) = (m.later(1), m.later(1));
        let [room] = m.call("vector_room", RoomFunction {}, [full, take]);
        let (count, final_beat) = count_beats(m, beats, fill);
        let beat = Beat { tvalid, permit, room, final_beat };
        let (rules, packet) = match tlast {
            Some(tlast) => {
                let (rules, packet) = packet_rules(m, &beat, tlast, stop, beats > 1);
                (rules, Some(packet))
            }
            None => (plain_rules(m, &beat), None),
        };
        m.drive(tready, rules.tready);
        m.drive(fill, rules.fill);

        // The data.
        let cut = packet.as_ref().and_then(|packet| packet.cut);
        let data = padded(m, "padded", cut, &tdata);
        let flag = padded(m, "padded_flag", cut, tuser.as_slice());
        let enables = match count {
            Some(count) => m.leaf(("select", 0), VectorLeaf::new(BeatSelect { beats }), &[fill, count]),
            None => vec![fill],
        };
        let mut stored = Vec::new();
        for &enable in &enables {
            for &word in &data {
                stored.push(m.register_if(("word_q", stored.len()), enable, word));
            }
        }
        let elements = joined(m, shape, stored);
        let last = packet.as_ref().map(|packet| m.register_if(("last_q", 0), rules.vector, packet.last));
        let flag = m.registers_if("flag_q", rules.vector, &flag).pop();
        let [next_full] = m.call("next_full", FullFunction {}, [rules.vector, full, take]);
        hold(m, "full_q", full, next_full);

        let packet = packet.as_ref();
        let limits = packet.and_then(|packet| packet.limits.as_ref());
        let opens = m.optional_output("opens", packet.map(|packet| packet.opens));
        let vector = m.optional_output("vector", limits.map(|_| rules.vector));
        let ends = m.optional_output("ends", limits.map(|limits| limits.ends));
        let full = m.output("full", full);
        let last = m.optional_output("last", last);
        let flag = m.optional_output("flag", flag);
        let y = m.outputs("y", &elements);
        let too_long = m.optional_output("too_long", limits.map(|limits| limits.too_long));
        let partial = m.optional_output("partial", packet.and_then(|packet| packet.partial));
        let limits = vector.zip(ends).zip(too_long);
        let limits = limits.map(|((vector, ends), too_long)| LimitOutputs { vector, ends, too_long });
        let packet = opens.zip(last).map(|(opens, last)| PacketOutputs { opens, last, partial, limits });
        VectorOutputs { tready: tready_out, full, flag, y, packet }
    })
}

/// What the rules know of a beat.
struct Beat {
    /// It is offered.
    tvalid: Wire,
    /// A packet may begin; without packets, it may come.
    permit: Wire,
    /// There is room for its vector.
    room: Wire,
    /// It is its vector's last.
    final_beat: Wire,
}

/// What the rules say of a beat.
struct Rules {
    /// It is taken if offered.
    tready: Wire,
    /// It is stored.
    fill: Wire,
    /// It completes a vector.
    vector: Wire,
}

/// What they say of its packet.
struct Packet {
    /// One begins.
    opens: Wire,
    /// The vector is its last, or the last that it may have.
    last: Wire,
    /// Of several beats a vector: zeros stand for beats.
    cut: Option<Wire>,
    /// Of several beats a vector: it ends inside a vector.
    partial: Option<Wire>,
    /// Of limited packets.
    limits: Option<Limits>,
}

/// What they say of a limited packet.
struct Limits {
    /// The vector is its last, or the last that it may have.
    ends: Wire,
    /// It is too long.
    too_long: Wire,
}

/// Of several beats a vector, which one comes; and whether it is the vector's last.
fn count_beats(m: &mut Module, beats: usize, fill: Wire) -> (Option<Wire>, Wire) {
    if beats == 1 {
        // Every beat is a vector's last.
        return (None, m.call(("high", 0), HighFunction {}, [])[0]);
    }
    let bits = index_bits(beats);
    let beat = m.later(bits);
    let next_beat = NextBeatFunction { beats: beats as u32, bits };
    let [final_beat, next] = m.call(("next_beat", 0), next_beat, [fill, beat]);
    hold(m, ("beat_q", 0), beat, next);
    (Some(beat), final_beat)
}

/// Rules without packets.
fn plain_rules(m: &mut Module, beat: &Beat) -> Rules {
    let Beat { tvalid, permit, room, final_beat } = *beat;
    let [tready, fill, vector] =
        m.call(("plain", 0), VectorRulesFunction {}, [tvalid, permit, room, final_beat]);
    Rules { tready, fill, vector }
}

/// Rules of packets: with `stop`, of limited ones; `several`: of several beats a vector.
fn packet_rules(
    m: &mut Module,
    beat: &Beat,
    tlast: Wire,
    stop: Option<Wire>,
    several: bool,
) -> (Rules, Packet) {
    let Beat { tvalid, permit, room, final_beat } = *beat;
    let mut low = Low::default();
    let begun = m.later(1);
    let cut = if several { m.later(1) } else { low.wire(m) };
    let dropping = if stop.is_some() { m.later(1) } else { low.wire(m) };
    let [tready, fill, vector, last, opens, next_begun] = m.call(
        ("packet", 0),
        PacketRulesFunction {},
        [tvalid, tlast, permit, room, final_beat, begun, cut, dropping],
    );
    hold(m, ("begun_q", 0), begun, next_begun);
    let partial = several.then(|| {
        let inputs = [tvalid, tready, tlast, final_beat, dropping, cut, vector];
        let [partial, next_cut] = m.call(("cuts", 0), CutRulesFunction {}, inputs);
        hold(m, ("cut_q", 0), cut, next_cut);
        partial
    });
    let limits = stop.map(|stop| {
        let inputs = [tvalid, tready, tlast, vector, last, stop, dropping];
        let [too_long, next_dropping] = m.call(("drops", 0), DropRulesFunction {}, inputs);
        hold(m, ("dropping_q", 0), dropping, next_dropping);
        // The last for one reason or the other.
        let [ends] = m.call(("ending", 0), EitherFunction {}, [last, stop]);
        Limits { ends, too_long }
    });
    let last = limits.as_ref().map_or(last, |limits| limits.ends);
    let packet = Packet { opens, last, cut: several.then_some(cut), partial, limits };
    (Rules { tready, fill, vector }, packet)
}

/// Zeros where the packet was cut short.
fn padded(m: &mut Module, name: &str, cut: Option<Wire>, x: &[Wire]) -> Vec<Wire> {
    let Some(cut) = cut else { return x.to_vec() };
    let mut word =
        |(i, &x): (usize, &Wire)| m.call((name, i), PaddedFunction { width: x.width() }, [cut, x])[0];
    x.iter().enumerate().map(&mut word).collect()
}

/// The elements that words make.
fn joined(m: &mut Module, shape: Shape, words: Vec<Wire>) -> Vec<Wire> {
    let (parts, width) = (shape.parts, shape.word_bits());
    if parts == 1 {
        return words;
    }
    let mut elements = Vec::new();
    for (e, words) in words.chunks(parts).enumerate() {
        elements.extend(m.leaf(("join", e), VectorLeaf::new(ElementJoin { parts, width }), words));
    }
    elements
}
