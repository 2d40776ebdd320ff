//! Assembles vectors from beats, in the register that feeds all cores.

use super::beat::{BeatSelect, Shape};
use super::logic::{EitherFunction, HighFunction, Low};
use super::packet::*;
use super::ports::SinkInputs;
use crate::rtl::{Module, Tag, VectorLeaf, Wire};
use crate::word::index_bits;

/// Outputs of [`vector_input`].
pub struct VectorOutputs {
    /// `tready`: a beat is taken if offered.
    pub tready: Wire,
    /// A complete vector waits in the register.
    pub full: Wire,
    /// Its flag (`tuser` of its last beat).
    pub flag: Option<Wire>,
    /// The elements of the vector.
    pub y: Vec<Wire>,
    packet: Option<PacketOutputs>,
}

/// Outputs about packets.
pub struct PacketOutputs {
    /// A packet begins.
    pub opens: Wire,
    /// The waiting vector ends its packet, or is the last that the packet may have. Inside [`packet_rules`] this is about the vector
    /// that becomes complete in this cycle.
    pub last: Wire,
    /// Several beats a vector: the packet ends inside a vector.
    pub partial: Option<Wire>,
    /// Several beats a vector: zeros replace the missing beats.
    cut: Option<Wire>,
    limits: Option<LimitOutputs>,
}

/// Outputs about packets of limited length.
pub struct LimitOutputs {
    /// A vector becomes complete.
    pub vector: Wire,
    /// It ends its packet, or is the last that the packet may have.
    pub ends: Wire,
    /// The packet has more vectors than it may.
    pub too_long: Wire,
}

impl VectorOutputs {
    /// Outputs about packets, of a stream that has them.
    ///
    /// # Panics
    /// If the stream has no packets.
    pub fn packet(&self) -> &PacketOutputs {
        self.packet.as_ref().unwrap_or_else(|| unreachable!("a stream without packets"))
    }

    /// Outputs about the length of packets, of a stream that limits it.
    ///
    /// # Panics
    /// If the stream has no packets or does not limit them.
    pub fn limits(&self) -> &LimitOutputs {
        self.packet().limits.as_ref().unwrap_or_else(|| unreachable!("packets of any length"))
    }
}

/// Assembles the vectors of a stream. A stream with `tlast` has packets; one with `tuser` has a flag for each vector.
///
/// `permit`: a packet may begin (without packets: a beat may come). `stop`, for packets of limited length: the vector is the last that
/// its packet may have. `take`: the waiting vector is taken.
pub fn vector_input(
    around: &mut Module,
    name: &str,
    shape: &Shape,
    stream: &SinkInputs,
    permit: Wire,
    stop: Option<Wire>,
    take: Wire,
) -> VectorOutputs {
    let beats = shape.beats;
    let (packets, limited) = (stream.tlast.is_some(), stop.is_some());
    let mut module = format!("vector_input_{}", shape.ident());
    let suffixes = [(packets, "_packets"), (limited, "_limited"), (stream.tuser.is_some(), "_flag")];
    suffixes.iter().filter(|(is, _)| *is).for_each(|(_, suffix)| module += suffix);
    let tag = Tag::module(module, "Beats of a stream, and the register of the vector that they make.");
    // The only beat of a vector that is no whole number of bytes has bits that nothing reads. Of several beats, all words of the first
    // are stored.
    let tag = if shape.words > shape.vector_words() { tag.open() } else { tag };
    around.part(name, tag, |m| {
        m.clock();
        m.reset();
        let SinkInputs { tvalid, tdata, tlast, tuser } = stream.enter(m, "");
        let permit = m.input("permit", permit);
        let stop = m.optional_input("stop", stop);
        let take = m.input("take", take);

        let (full, fill) = (m.state("full_q", 1), m.later(1));
        let [room] = m.call("vector_room", RoomFunction {}, [full, take]);
        let (count, final_beat) = count_beats(m, beats, fill);
        let beat = [tvalid, permit, room, final_beat];
        let ([tready, fill_now, vector], packet) = match tlast {
            Some(tlast) => {
                let (rules, packet) = packet_rules(m, beat, tlast, stop, beats > 1);
                (rules, Some(packet))
            }
            None => (m.call("plain", VectorRulesFunction {}, beat), None),
        };
        m.drive(fill, fill_now);

        // The data.
        let cut = packet.as_ref().and_then(|packet| packet.cut);
        let data = padded(m, "padded", cut, &tdata);
        let flag = padded(m, "padded_flag", cut, tuser.as_slice());
        let enables = match count {
            Some(count) => m.leaf("select", VectorLeaf::new(BeatSelect { beats }), &[fill, count]),
            None => vec![fill],
        };
        let mut stored = Vec::new();
        for &enable in &enables {
            for &word in data.iter().take(shape.vector_words() - stored.len()) {
                stored.push(m.register_if(("word_q", stored.len()), enable, word));
            }
        }
        let elements = joined(m, shape, stored);
        let last = packet.as_ref().map(|packet| m.register_if("last_q", vector, packet.last));
        let flag = m.registers_if("flag_q", vector, &flag).pop();
        let [next_full] = m.call("next_full", FullFunction {}, [vector, full, take]);
        m.next(full, next_full);

        let one = |m: &mut Module, name: &str, wire: Wire| m.output(name, wire);
        let packet = packet.zip(last).map(|(packet, last)| PacketOutputs {
            opens: one(m, "opens", packet.opens),
            last: one(m, "last", last),
            partial: packet.partial.map(|partial| one(m, "partial", partial)),
            cut: None,
            limits: packet.limits.map(|limits| LimitOutputs {
                vector: one(m, "vector", limits.vector),
                ends: one(m, "ends", limits.ends),
                too_long: one(m, "too_long", limits.too_long),
            }),
        });
        VectorOutputs {
            tready: m.output("tready", tready),
            full: m.output("full", full),
            flag: m.optional_output("flag", flag),
            y: by_width(shape, &elements).flat_map(|(name, y)| m.outputs(&port_of("y", name), y)).collect(),
            packet,
        }
    })
}

/// The elements of a vector grouped by width, with the number of the group: a vector port has one width.
pub(super) fn by_width<'a>(shape: &'a Shape, x: &'a [Wire]) -> impl Iterator<Item = (usize, &'a [Wire])> {
    shape.runs().iter().enumerate().scan(x, |rest, (place, run)| {
        let (x, behind) = rest.split_at(run.count);
        *rest = behind;
        Some((place, x))
    })
}

/// The port's name for the elements of a group: `name`, `name_1`, `name_2` and so on.
pub(super) fn port_of(name: &str, place: usize) -> String {
    if place == 0 { name.into() } else { format!("{name}_{place}") }
}

/// The number of the incoming beat in its vector (none if a vector is one beat), and whether the beat completes the vector.
fn count_beats(m: &mut Module, beats: usize, fill: Wire) -> (Option<Wire>, Wire) {
    if beats == 1 {
        // Every beat completes a vector.
        return (None, m.call("high", HighFunction {}, [])[0]);
    }
    let bits = index_bits(beats);
    let beat = m.state("beat_q", bits);
    let next_beat = NextBeatFunction { beats: beats as u32, bits };
    let [final_beat, next] = m.call("next_beat", next_beat, [fill, beat]);
    m.next(beat, next);
    (Some(beat), final_beat)
}

/// Rules of packets. `stop`: their length is limited; `several`: a vector has several beats. Returns `[tready, fill, vector]`: a beat is
/// taken if offered, it is stored, it completes a vector.
fn packet_rules(
    m: &mut Module,
    [tvalid, permit, room, final_beat]: [Wire; 4],
    tlast: Wire,
    stop: Option<Wire>,
    several: bool,
) -> ([Wire; 3], PacketOutputs) {
    let mut low = Low::default();
    let begun = m.state("begun_q", 1);
    let cut = if several { m.state("cut_q", 1) } else { low.wire(m) };
    let dropping = if stop.is_some() { m.state("dropping_q", 1) } else { low.wire(m) };
    let [tready, fill, vector, last, opens, next_begun] = m.call(
        "packet",
        PacketRulesFunction {},
        [tvalid, tlast, permit, room, final_beat, begun, cut, dropping],
    );
    m.next(begun, next_begun);
    let partial = several.then(|| {
        let inputs = [tvalid, tready, tlast, final_beat, dropping, cut, vector];
        let [partial, next_cut] = m.call("cuts", CutRulesFunction {}, inputs);
        m.next(cut, next_cut);
        partial
    });
    let limits = stop.map(|stop| {
        let inputs = [tvalid, tready, tlast, vector, last, stop, dropping];
        let [too_long, next_dropping] = m.call("drops", DropRulesFunction {}, inputs);
        m.next(dropping, next_dropping);
        // The packet ends here, or the vector is the last that it may have.
        let [ends] = m.call("ending", EitherFunction {}, [last, stop]);
        LimitOutputs { vector, ends, too_long }
    });
    let last = limits.as_ref().map_or(last, |limits| limits.ends);
    let packet = PacketOutputs { opens, last, partial, cut: several.then_some(cut), limits };
    ([tready, fill, vector], packet)
}

/// The words of a beat, or zeros after the packet was cut short.
fn padded(m: &mut Module, name: &str, cut: Option<Wire>, x: &[Wire]) -> Vec<Wire> {
    let Some(cut) = cut else { return x.to_vec() };
    let width = x.first().map_or(1, |x| x.width());
    m.call_each(name, PaddedFunction { width }, x.iter().map(|&x| [cut, x]))
}

/// Joins words to elements.
fn joined(m: &mut Module, shape: &Shape, words: Vec<Wire>) -> Vec<Wire> {
    let (mut elements, mut rest) = (Vec::new(), words.as_slice());
    for (run, e, element) in shape.places() {
        let (words, behind) = rest.split_at(element.1);
        rest = behind;
        match shape.element(element, true) {
            Some(join) => elements.extend(m.leaf((&*port_of("join", run), e), VectorLeaf::new(join), words)),
            None => elements.extend(words),
        }
    }
    elements
}
