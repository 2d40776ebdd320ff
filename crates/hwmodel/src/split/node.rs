//! A merge of two parts: scalars, and lanes in groups that share copies of the factor's registers.

use super::lane::{MergeKind, SharedInputs, merge_lane};
use super::scalars::{MergeScalars, ScalarInputs, State, scalar_inputs};
use crate::attention::group::{LANES_PER_GROUP, copy_while};
use crate::attention::partial::StateStepFunction;
use crate::rtl::{Module, Tag, Wire};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// Up to 16 lanes and their copies of the factor. Merges the accumulators of both parts, a and b. With `valid`, a merge
/// reaches the lanes in the next cycle.
fn group(
    around: &mut Module,
    index: usize,
    kind: MergeKind,
    n: &Arc<Numerics>,
    valid: Wire,
    shared: SharedInputs,
    [a, b]: [&[Wire]; 2],
) -> Vec<Wire> {
    let lanes = a.len();
    let tag = Tag::module(
        format!("{}_group_{lanes}", kind.lane_name(n)),
        format!("{lanes} lanes and their copies of the factor."),
    );
    around.part(("group", index), tag, |m| {
        m.clock();
        m.reset();
        let valid = m.input("valid", valid);
        let shared = m.enter("", &shared);
        let (a, b) = (m.inputs("a", a), m.inputs("b", b));

        let shared = SharedInputs { w: kind.lane_factor(m, n, shared.w), ..shared };
        let enable = m.register_reset("update_q", 0, valid);
        let shared = copy_while(m, valid, &shared);
        let parts = a.iter().zip(&b).enumerate();
        let o: Vec<Wire> =
            parts.map(|(i, (&a, &b))| merge_lane(m, i, kind, n, [a, b], shared, enable)).collect();
        m.outputs("o", &o)
    })
}

impl MergeKind {
    fn node_doc(self) -> &'static str {
        match self {
            MergeKind::Fixed => {
                "Merge of two parts: o = o_a + sigmoid(L_b - L_a) * (o_b - o_a), in fixed point."
            }
            MergeKind::Ranged => {
                "Merge of two parts: o = o_a + sigmoid(L_b - L_a) * (o_b - o_a), in fixed point, an exponent for each lane."
            }
            MergeKind::Rounded => {
                "Merge of two parts: o = o_a + sigmoid(L_b - L_a) * (o_b - o_a), every operation rounded."
            }
            MergeKind::Fa2 => {
                "Merge of two parts: o = o_a * 2^(m_a - m) + o_b * 2^(m_b - m), and l alike; one of both factors is 1."
            }
            MergeKind::LogReference => {
                "Merge of two parts in fixed point: o = (o_a >> m - m_a) + (o_b >> m - m_b), and l alike; half of both where l reaches 2."
            }
            MergeKind::SharedLog => {
                "Merge of two parts in fixed point: o = o_a * 2^(m_a - m) + o_b * 2^(m_b - m), and l alike; half of both where l\nreaches 2."
            }
            MergeKind::RangedSum => {
                "Merge of two parts in fixed point: o = o_a * 2^(m_a - m) + o_b * 2^(m_b - m), and l alike; half of both where l\nreaches 2. An exponent for each lane."
            }
        }
    }
}

/// Merge `index` of a tree: returns the state of both parts together, with scalars two cycles after the parts'.
/// The accumulators of the `last` merge are not delayed for a next one.
pub fn merge_node<S: MergeScalars>(
    around: &mut Module,
    index: usize,
    kind: MergeKind,
    n: &Arc<Numerics>,
    parts: [&State<S>; 2],
    last: bool,
) -> State<S> {
    let d = parts[0].o.len();
    let end = if last { "_last" } else { "" };
    let tag = Tag::module(format!("merge_{}_{d}{end}", kind.lane_name(n)), kind.node_doc());
    around.part(("merge", index), tag, |m| {
        m.clock();
        m.reset();
        // Both parts come in the same cycle.
        let valid = m.input("valid", parts[0].valid);
        let [a_empty, b_empty] = m.input_each([("a_empty", parts[0].empty), ("b_empty", parts[1].empty)]);
        let [a_part, b_part] = scalar_inputs(m, &parts[0].scalars, &parts[1].scalars);
        let (a, b) = (m.inputs("a", &parts[0].o), m.inputs("b", &parts[1].o));

        let valid_q = m.register_reset("valid_q", 0, valid);
        let scalars = ScalarInputs { a: a_part, b: b_part, a_empty, b_empty, valid: valid_q };
        let weight = S::merge(m, kind, n, &scalars);
        let valid_qq = m.register_reset("valid_qq", 0, valid_q);
        let (take_b, keep_a) = (m.register("a_empty_q", a_empty), m.register("b_empty_q", b_empty));
        let [empty] = m.call("both_empty", StateStepFunction {}, [take_b, keep_a]);
        let empty = m.register("empty_q", empty);
        let mut o = Vec::new();
        for (g, (a, b)) in a.chunks(LANES_PER_GROUP).zip(b.chunks(LANES_PER_GROUP)).enumerate() {
            let shared = SharedInputs { w: weight.w, upper: weight.upper, take_b, keep_a };
            o.extend(group(m, g, kind, n, valid_q, shared, [a, b]));
        }
        if !last {
            // The next merge's factor comes a cycle later than these accumulators.
            o = m.registers("o_q", &o);
        }
        State {
            valid: m.output("valid_out", valid_qq),
            empty: m.output("empty", empty),
            scalars: m.hand_out("", &weight.scalars),
            o: m.outputs("o", &o),
        }
    })
}
