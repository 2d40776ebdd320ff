//! Rules of a stream whose vectors come in beats. A packet belongs to a block.
//!
//! | register | meaning |
//! | --- | --- |
//! | `begun` | a packet has begun and has not ended |
//! | `cut` | the packet's last beat came inside a vector: zeros replace the missing beats |
//! | `dropping` | the packet has too many vectors: the rest is taken and dropped, up to its last beat |

use crate::function;

function! {
    /// Rules of a stream with packets: whether a beat is taken (`tready`), stored (`fill`), and completes a vector (`vector`) or a packet.
    pub struct PacketRulesFunction {}
    name(this) = "packet_rules";
    doc = "Beats are taken inside a packet, or when one may begin, while there is room for the vector.";
    inputs { tvalid: 1, tlast: 1, permit: 1, room: 1, final_beat: 1, begun: 1, cut: 1, dropping: 1 }
    outputs { tready: 1, fill: 1, vector: 1, last: 1, opens: 1, next_begun: 1 }
    eval<W> {
        let able = begun.or(&permit).and(&room).and(&dropping.not()).named("able");
        let tready = dropping.or(&able.and(&cut.not())).named("ready");
        let taken = tvalid.and(&tready).named("taken");
        let fill = able.and(&cut.or(&tvalid)).named("fills");
        let vector = fill.and(&final_beat).named("completes");
        let last = cut.or(&tlast).named("ends");
        let end = dropping.and(&taken).and(&tlast).or(&vector.and(&last));
        let next_begun = begun.or(&fill).and(&end.not());
        [tready, fill.clone(), vector, last, fill.and(&begun.not()), next_begun]
    }
}

function! {
    /// [`PacketRulesFunction`] for a stream without packets.
    pub struct VectorRulesFunction {}
    name(this) = "vector_rules";
    doc = "Beats are taken when there is room for the vector.";
    inputs { tvalid: 1, permit: 1, room: 1, final_beat: 1 }
    outputs { tready: 1, fill: 1, vector: 1 }
    eval<W> {
        let tready = permit.and(&room).named("ready");
        let fill = tvalid.and(&tready).named("fills");
        [tready, fill.clone(), fill.and(&final_beat)]
    }
}

function! {
    /// Rules of a packet that ends inside a vector.
    pub struct CutRulesFunction {}
    name(this) = "cut_rules";
    doc = "A last beat that is not its vector's last: zeros follow until the vector is complete.";
    inputs { tvalid: 1, tready: 1, tlast: 1, final_beat: 1, dropping: 1, cut: 1, vector: 1 }
    outputs { partial: 1, next_cut: 1 }
    eval<W> {
        let taken = tvalid.and(&tready).named("taken");
        let partial = taken.and(&tlast).and(&final_beat.not()).and(&dropping.not()).named("cuts");
        [partial.clone(), partial.or(&cut.and(&vector.not()))]
    }
}

function! {
    /// Rules of a packet with too many vectors.
    pub struct DropRulesFunction {}
    name(this) = "drop_rules";
    doc = "What follows the last vector that a packet may have is dropped.";
    inputs { tvalid: 1, tready: 1, tlast: 1, vector: 1, last: 1, stop: 1, dropping: 1 }
    outputs { too_long: 1, next_dropping: 1 }
    eval<W> {
        let taken = tvalid.and(&tready).named("taken");
        let long = vector.and(&stop).and(&last.not()).named("exceeds");
        [long.clone(), long.or(&dropping.and(&taken.and(&tlast).not()))]
    }
}

function! {
    /// Next state of the flag that a vector waits in the register.
    pub struct FullFunction {}
    name(this) = "vector_full";
    doc = "The register is full from a vector's last beat until it is taken.";
    inputs { vector: 1, full: 1, take: 1 }
    outputs { next_full: 1 }
    eval<W> { [vector.or(&full.and(&take.not()))] }
}

function! {
    /// Set if a beat may be stored.
    pub struct RoomFunction {}
    name(this) = "vector_room";
    doc = "A beat may come when the register is empty or its vector is taken in this cycle.";
    inputs { full: 1, take: 1 }
    outputs { room: 1 }
    eval<W> { [full.not().or(&take)] }
}

function! {
    /// Counts the beats of a vector.
    pub struct NextBeatFunction { beats: u32, bits: u32 }
    name(this) = format!("next_beat_{}", this.beats);
    doc = "Beats of a vector, counted.";
    inputs { fill: 1, beat: this.bits }
    outputs { final_beat: 1, next_beat: this.bits }
    eval<W> {
        let final_beat = beat.eq(&W::constant(this.bits, u64::from(this.beats) - 1)).named("at_end");
        let following = beat.add(&W::constant(this.bits, 1)).named("following");
        let next = final_beat.select(&W::zero(this.bits), &following);
        [final_beat, fill.select(&next, &beat)]
    }
}

function! {
    /// A word of a beat, or zero after the packet was cut short.
    pub struct PaddedFunction { width: u32 }
    name(this) = format!("padded_{}", this.width);
    doc = "Zeros where the packet was cut short.";
    inputs { cut: 1, x: this.width }
    outputs { y: this.width }
    eval<W> { [cut.not().repeat(this.width).and(&x)] }
}

function! {
    /// An up/down counter.
    pub struct UpDownFunction { bits: u32 }
    name(this) = format!("up_down_{}", this.bits);
    doc = "count + up - down; up and down together change nothing.";
    inputs { count: this.bits, up: 1, down: 1 }
    outputs { next_count: this.bits, some: 1 }
    eval<W> {
        let more = up.and(&down.not()).named("more");
        let less = down.and(&up.not()).named("less");
        // All ones are -1.
        let step = less.repeat(this.bits - 1).concat(&less.or(&more)).named("step");
        [count.add(&step), count.any()]
    }
}

function! {
    /// Next place of a vector in its packet.
    pub struct NextPlaceFunction { bits: u32 }
    name(this) = format!("next_place_{}", this.bits);
    doc = "One more for each vector; 0 after the packet's last.";
    inputs { vector: 1, last: 1, place: this.bits }
    outputs { next_place: this.bits }
    eval<W> {
        let following = place.add(&W::constant(this.bits, 1)).named("following");
        [vector.select(&last.not().repeat(this.bits).and(&following), &place)]
    }
}

function! {
    /// Set if the array takes the offered query or key.
    pub struct TakeFunction {}
    name(this) = "array_takes";
    doc = "The array takes what waits when it is ready and not frozen.";
    inputs { full: 1, ready: 1, ce: 1 }
    outputs { take: 1 }
    eval<W> { [full.and(&ready).and(&ce)] }
}
