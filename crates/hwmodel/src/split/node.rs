//! A merge of two parts: scalars, and lanes in groups that share copies of the factor's registers.

use super::fa2::fa2_merge_weight;
use super::lane::{MergeKind, SharedInputs, merge_lane};
use super::scalars::{ScalarInputs, ScalarOutputs, State, scalar_inputs, scalar_outputs};
use super::weight::flash_d_merge_weight;
use crate::attention::group::LANES_PER_GROUP;
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
        let shared = shared.map(|(name, wire)| (name, m.input(name, wire)));
        let (a, b) = (m.inputs("a", a), m.inputs("b", b));

        let shared = kind.shared(m, n, shared);
        let enable = m.register_reset("update_q", 0, valid);
        let shared = shared.map(|(name, wire)| (name, m.register_if(format!("{name}_q"), valid, wire)));
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

    /// Builds the unit that merges the scalars.
    fn weight(self, m: &mut Module, n: &Arc<Numerics>, inputs: &ScalarInputs) -> ScalarOutputs {
        match self {
            MergeKind::Fa2 | MergeKind::LogReference | MergeKind::SharedLog | MergeKind::RangedSum => {
                fa2_merge_weight(m, self, n, inputs)
            }
            _ => flash_d_merge_weight(m, n, self.factor(n), inputs),
        }
    }
}

/// Merge `index` of a tree: returns the state of both parts together, with scalars two cycles after the parts'.
/// The accumulators of the `last` merge are not delayed for a next one.
pub fn merge_node(
    around: &mut Module,
    index: usize,
    kind: MergeKind,
    n: &Arc<Numerics>,
    parts: [&State; 2],
    last: bool,
) -> State {
    let d = parts[0].o.len();
    let end = if last { "_last" } else { "" };
    let tag = Tag::module(format!("merge_{}_{d}{end}", kind.lane_name(n)), kind.node_doc());
    around.part(("merge", index), tag, |m| {
        m.clock();
        m.reset();
        // Both parts come in the same cycle.
        let valid = m.input("valid", parts[0].valid);
        let [a_empty, b_empty] = m.input_each([("a_empty", parts[0].empty), ("b_empty", parts[1].empty)]);
        let [a_scalars, b_scalars] = scalar_inputs(m, &parts[0].scalars, &parts[1].scalars);
        let (a, b) = (m.inputs("a", &parts[0].o), m.inputs("b", &parts[1].o));

        let valid_q = m.register_reset("valid_q", 0, valid);
        let scalars = ScalarInputs { a: &a_scalars, b: &b_scalars, a_empty, b_empty, valid: valid_q };
        let weight = kind.weight(m, n, &scalars);
        let valid_qq = m.register_reset("valid_qq", 0, valid_q);
        let (take_b, keep_a) = (m.register("a_empty_q", a_empty), m.register("b_empty_q", b_empty));
        let [empty] = m.call("both_empty", StateStepFunction {}, [take_b, keep_a]);
        let empty = m.register("empty_q", empty);
        let mut o = Vec::new();
        for (g, (a, b)) in a.chunks(LANES_PER_GROUP).zip(b.chunks(LANES_PER_GROUP)).enumerate() {
            let shared = [("w", weight.w), ("upper", weight.upper), ("take_b", take_b), ("keep_a", keep_a)];
            o.extend(group(m, g, kind, n, valid_q, shared, [a, b]));
        }
        if !last {
            // The next merge's factor comes a cycle later than these accumulators.
            o = m.registers("o_q", &o);
        }
        State {
            valid: m.output("valid_out", valid_qq),
            empty: m.output("empty", empty),
            scalars: scalar_outputs(m, "", &weight.scalars),
            o: m.outputs("o", &o),
        }
    })
}
