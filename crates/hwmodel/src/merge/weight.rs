//! FLASH-D's scalars of a merge: `w = sigmoid(L_b - L_a)` and the log-sum-exp of both parts.

use super::merge_numerics;
use crate::cores::factor::FactorForm;
use crate::cores::lse_step::{
    ExpArgument, ExpArgumentFunction, Log2p1Tail, Log2p1TailFunction, SigmoidWeight, SigmoidWeightFunction,
};
use crate::cores::partial::{LogSumExp, LogSumExpFunction};
use crate::numerics::Numerics;
use crate::rtl::{Bus, EnabledRegister, In, Logic, Out, Register, Tag, ast, hdl_gen, logic};
use crate::{circuit, function, unit};
use std::sync::Arc;

function! {
    /// The difference of two log-sum-exps.
    pub struct LseDifferenceFunction { numerics: Arc<Numerics> }
    name(this) = "lse_difference";
    doc = "x = b - a, and b; where one part is empty x = 0, and the other one's log-sum-exp.";
    inputs {
        a: this.numerics.state_bits(), b: this.numerics.state_bits(), a_empty: 1, b_empty: 1
    }
    outputs { x: this.numerics.state_bits() + 2, score: this.numerics.state_bits(), both: 1 }
    eval<W> {
        let wide = a.width() + 2;
        let both = a_empty.or(&b_empty).not();
        let difference = b.sext(wide).sub(&a.sext(wide)).named("difference");
        [both.repeat(wide).and(&difference), b_empty.select(&a, &b), both]
    }
}
unit! {
    /// The difference of two log-sum-exps.
    pub struct LseDifference(LseDifferenceFunction) { a, b, a_empty, b_empty } -> { x, score, both }
}

function! {
    /// What is left of the hold rule's budget in both parts together.
    pub struct LeastRoomFunction { bits: u32 }
    name(this) = format!("least_room_{}", this.bits);
    doc = "The smaller room: what is held, relative to what is kept, is no more in both together than in the worse of them.";
    inputs { a: this.bits, b: this.bits, a_empty: 1, b_empty: 1 }
    outputs { y: this.bits }
    eval<W> {
        let wide = this.bits + 1;
        let smaller = a.zext(wide).slt(&b.zext(wide)).named("a_is_less");
        let take_a = b_empty.or(&a_empty.not().and(&smaller));
        [take_a.select(&a, &b)]
    }
}
unit! {
    /// What is left of the hold rule's budget in both parts together.
    pub struct LeastRoom(LeastRoomFunction) { a, b, a_empty, b_empty } -> { y }
}

function! {
    /// The log-sum-exp without the bit that it never needs.
    pub struct NarrowLseFunction { bits: u32 }
    name(this) = format!("narrow_lse_{}", this.bits);
    doc = "y = x without its top bit, which is a copy of the sign: the log-sum-exp of all keys fits that of a core.";
    inputs { x: this.bits + 1 }
    outputs { y: this.bits }
    eval<W> { [x.slice(0, this.bits)] }
}
unit! {
    /// The log-sum-exp without the bit that it never needs.
    pub struct NarrowLse(NarrowLseFunction) { x } -> { y }
}

circuit! {
    /// Scalars of a merge, two stages.
    pub struct FlashDMergeWeight {
        ports {
            /// Clock.
            clk: Bus<In>,
            /// Log-sum-exp of part a.
            a_lse: Bus<In>,
            /// Of part b.
            b_lse: Bus<In>,
            /// What part a's hold rule has left.
            a_room: Vec<Bus<In>>,
            /// Part b's.
            b_room: Vec<Bus<In>>,
            /// Part a is empty.
            a_empty: Bus<In>,
            /// Part b is empty.
            b_empty: Bus<In>,
            /// A merge is in the second stage.
            valid: Bus<In>,
            /// Log-sum-exp of both, two cycles later.
            lse: Bus<Out>,
            /// What the hold rule has left in both.
            room: Vec<Bus<Out>>,
            /// The smaller one of the weight of part b and one minus it, a cycle later: for the lanes' registers.
            w: Bus<Out>,
            /// It is one minus the weight.
            upper: Bus<Out>,
        }
        parts {
            /// x.
            difference: LseDifference,
            /// Second stage.
            x_q: Register,
            /// Second stage.
            score_q: Register,
            /// Second stage.
            both_q: Register,
            /// The smaller room.
            least: Vec<LeastRoom>,
            /// Second stage.
            room_q: Vec<Register>,
            /// |x|.
            argument: ExpArgument,
            /// log2(1 + 2^-|x|).
            tail: Log2p1Tail,
            /// w or 1 - w.
            sigmoid: SigmoidWeight,
            /// Neither.
            one_empty: Not,
            /// The larger one.
            side: Not,
            /// L.
            sum: LogSumExp,
            /// Its bits.
            narrow: NarrowLse,
            /// Result.
            lse_q: EnabledRegister,
            /// Result.
            room_qq: Vec<EnabledRegister>,
        }
        config {
            rooms: usize,
        }
    }
}

function! {
    /// The other bit.
    pub struct NotFunction {}
    name(this) = "not";
    doc = "y = not x.";
    inputs { x: 1 }
    outputs { y: 1 }
    eval<W> { [x.not()] }
}
unit! {
    /// The other bit.
    pub struct Not(NotFunction) { x } -> { y }
}

impl FlashDMergeWeight {
    /// The unit for cores of these numerics.
    pub fn new(n: &Arc<Numerics>, form: FactorForm) -> Self {
        let merge = Arc::new(merge_numerics(n));
        let bits = n.state_bits();
        let rooms = n.budget.iter().len();
        let room_bits = crate::cores::hold_budget::room_bits(n);
        let rooms_of = || Bus::vector(rooms, room_bits);
        FlashDMergeWeight {
            tag: Tag::module(
                format!("merge_weight_{}", form.suffix(n)),
                "Scalars of a merge, base 2: x = L_b - L_a, w = 1 / (1 + 2^-x), L = max(L_a, L_b) + log2(1 + 2^-|x|).",
            ),
            unrest: Default::default(),
            clk: Bus::new(1),
            a_lse: Bus::new(bits),
            b_lse: Bus::new(bits),
            a_room: rooms_of(),
            b_room: rooms_of(),
            a_empty: Bus::new(1),
            b_empty: Bus::new(1),
            valid: Bus::new(1),
            lse: Bus::new(bits),
            room: Bus::vector(rooms, room_bits),
            w: Bus::new(form.bits(n)),
            upper: Bus::new(1),
            difference: LseDifference::new(LseDifferenceFunction { numerics: n.clone() }),
            x_q: Register::new(bits + 2),
            score_q: Register::new(bits),
            both_q: Register::new(1),
            least: (0..rooms).map(|_| LeastRoom::new(LeastRoomFunction { bits: room_bits })).collect(),
            room_q: (0..rooms).map(|_| Register::new(room_bits)).collect(),
            argument: ExpArgument::new(ExpArgumentFunction { numerics: merge.clone() }),
            tail: Log2p1Tail::new(Log2p1TailFunction { numerics: merge.clone() }),
            sigmoid: SigmoidWeight::new(SigmoidWeightFunction { numerics: merge.clone(), form }),
            one_empty: Not::new(NotFunction {}),
            side: Not::new(NotFunction {}),
            sum: LogSumExp::new(LogSumExpFunction { numerics: merge }),
            narrow: NarrowLse::new(NarrowLseFunction { bits }),
            lse_q: EnabledRegister::new(bits),
            room_qq: (0..rooms).map(|_| EnabledRegister::new(room_bits)).collect(),
            rooms,
        }
    }
}

impl Logic for FlashDMergeWeight {
    #[hdl_gen]
    fn update(&mut self) {
        self.difference.a.next = self.a_lse.val();
        self.difference.b.next = self.b_lse.val();
        self.difference.a_empty.next = self.a_empty.val();
        self.difference.b_empty.next = self.b_empty.val();
        self.x_q.clk.next = self.clk.val();
        self.x_q.d.next = self.difference.x.val();
        self.score_q.clk.next = self.clk.val();
        self.score_q.d.next = self.difference.score.val();
        self.both_q.clk.next = self.clk.val();
        self.both_q.d.next = self.difference.both.val();
        self.argument.x.next = self.x_q.q.val();
        self.tail.t.next = self.argument.t.val();
        self.one_empty.x.next = self.both_q.q.val();
        self.side.x.next = self.argument.negative.val();
        self.sigmoid.t.next = self.argument.t.val();
        self.sigmoid.first.next = self.one_empty.y.val();
        self.sum.score.next = self.score_q.q.val();
        self.sum.x.next = self.x_q.q.val();
        self.sum.tail.next = self.tail.tail.val();
        self.sum.grows.next = self.both_q.q.val();
        self.narrow.x.next = self.sum.lse.val();
        self.lse_q.clk.next = self.clk.val();
        self.lse_q.enable.next = self.valid.val();
        self.lse_q.d.next = self.narrow.y.val();
        self.lse.next = self.lse_q.q.val();
        self.w.next = self.sigmoid.w.val();
        self.upper.next = self.side.y.val();
        for i in 0..self.rooms {
            self.least[i].a.next = self.a_room[i].val();
            self.least[i].b.next = self.b_room[i].val();
            self.least[i].a_empty.next = self.a_empty.val();
            self.least[i].b_empty.next = self.b_empty.val();
            self.room_q[i].clk.next = self.clk.val();
            self.room_q[i].d.next = self.least[i].y.val();
            self.room_qq[i].clk.next = self.clk.val();
            self.room_qq[i].enable.next = self.valid.val();
            self.room_qq[i].d.next = self.room_q[i].q.val();
            self.room[i].next = self.room_qq[i].q.val();
        }
    }
}
