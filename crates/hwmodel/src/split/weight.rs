//! FLASH-D's scalars of a merge: `w = sigmoid(L_b - L_a)` and `L = max(L_a, L_b) + log2(1 + 2^-|L_b - L_a|)`.

use super::lane::MergeKind;
use super::merge_numerics;
use super::scalars::{LseScalars, MergeScalars, ScalarInputs, ScalarOutputs, scalar_unit};
use crate::attention::partial::LogSumExpFunction;
use crate::flash_d::lse_step::{ExpArgumentFunction, Log2p1TailFunction, SigmoidWeightFunction};
use crate::function;
use crate::rtl::{Module, Tag, Wire};
use flashd_spec::numerics::Numerics;
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

function! {
    /// The rest of the hold rule's budget in both parts together.
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

function! {
    /// Drops the top bit of the log-sum-exp, a copy of the sign.
    pub struct NarrowLseFunction { bits: u32 }
    name(this) = format!("narrow_lse_{}", this.bits);
    doc = "y = x without its top bit, which is a copy of the sign: the log-sum-exp of all keys fits that of a core.";
    inputs { x: this.bits + 1 }
    outputs { y: this.bits }
    eval<W> { [x.slice(0, this.bits)] }
}

function! {
    /// The complement of a bit.
    pub struct NotFunction {}
    name(this) = "not";
    doc = "y = not x.";
    inputs { x: 1 }
    outputs { y: 1 }
    eval<W> { [x.not()] }
}

impl MergeScalars for LseScalars {
    fn of(scalars: &[Wire]) -> LseScalars {
        LseScalars { lse: scalars[0], room: scalars.get(1).copied() }
    }

    /// FLASH-D's scalars of a merge, in two stages. `w` is the smaller of the weight of part b and one minus it; `upper`
    /// says that it is one minus the weight.
    fn merge(
        around: &mut Module,
        kind: MergeKind,
        n: &Arc<Numerics>,
        inputs: &ScalarInputs<LseScalars>,
    ) -> ScalarOutputs<LseScalars> {
        let form = kind.factor(n);
        let tag = Tag::module(
            format!("merge_weight_{}", form.suffix(n)),
            "Scalars of a merge, base 2: x = L_b - L_a, w = 1 / (1 + 2^-x), L = max(L_a, L_b) + log2(1 + 2^-|x|).",
        );
        let merge = Arc::new(merge_numerics(n));
        let bits = n.state_bits();
        scalar_unit(around, tag, inputs, |m, inputs| {
            let numerics = || merge.clone();
            let ScalarInputs { a, b, a_empty, b_empty, valid } = inputs;
            let [x, score, both] = m.call(
                "difference",
                LseDifferenceFunction { numerics: n.clone() },
                [a.lse, b.lse, a_empty, b_empty],
            );
            // The second stage.
            let (x, score, both) =
                (m.register("x_q", x), m.register("score_q", score), m.register("both_q", both));
            let room = a.room.zip(b.room).map(|(a, b)| {
                let least = LeastRoomFunction { bits: a.width() };
                let [room] = m.call("least", least, [a, b, a_empty, b_empty]);
                m.register("room_q", room)
            });
            let [t, negative] = m.call("argument", ExpArgumentFunction { numerics: numerics() }, [x]);
            let [tail] = m.call("tail", Log2p1TailFunction { numerics: numerics() }, [t]);
            // An empty part is a first key to the sigmoid unit.
            let [first] = m.call("one_empty", NotFunction {}, [both]);
            let [w] = m.call("sigmoid", SigmoidWeightFunction { numerics: numerics(), form }, [t, first]);
            let [upper] = m.call("side", NotFunction {}, [negative]);
            let [sum] = m.call("sum", LogSumExpFunction { numerics: numerics() }, [score, x, tail, both]);
            let [lse] = m.call("narrow", NarrowLseFunction { bits }, [sum]);
            let lse = m.register_if("lse_q", valid, lse);
            let room = room.map(|room| m.register_if("room_qq", valid, room));
            let scalars = LseScalars { lse, room };
            ScalarOutputs { scalars, w, upper }
        })
    }
}
