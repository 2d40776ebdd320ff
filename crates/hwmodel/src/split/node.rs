//! A merge of two parts: scalars, and lanes in groups that share copies of the factor's registers.

use super::fa2::fa2_merge_weight;
use super::lane::{LaneInputs, MergeKind, merge_lane};
use super::scalars::{ScalarInputs, ScalarOutputs, scalar_inputs, scalar_outputs};
use super::state::State;
use super::weight::flash_d_merge_weight;
use crate::attention::group::LANES_PER_GROUP;
use crate::attention::partial::StateStepFunction;
use crate::rtl::{Module, Tag, Wire};
use flashd_spec::numerics::Numerics;
use std::sync::Arc;

/// What a group of lanes gets.
struct GroupInputs<'a> {
    /// A merge reaches the lanes in the next cycle.
    valid: Wire,
    /// Its factor.
    w: Wire,
    /// Which side it is for.
    upper: Wire,
    /// Part a is empty.
    take_b: Wire,
    /// Part b is empty.
    keep_a: Wire,
    /// Accumulators of part a.
    a: &'a [Wire],
    /// Of part b.
    b: &'a [Wire],
}

/// Up to 16 lanes and their copies of the factor: the accumulators of both parts.
fn group(
    around: &mut Module,
    index: usize,
    kind: MergeKind,
    n: &Arc<Numerics>,
    inputs: &GroupInputs,
) -> Vec<Wire> {
    let lanes = inputs.a.len();
    let tag = Tag::module(
        format!("{}_group_{lanes}", kind.lane_name(n)),
        format!("{lanes} lanes and their copies of the factor."),
    );
    around.part(("group", index), tag, |m| {
        m.clock();
        m.reset();
        let valid = m.input("valid", inputs.valid);
        let scalars =
            [("w", inputs.w), ("upper", inputs.upper), ("take_b", inputs.take_b), ("keep_a", inputs.keep_a)]
                .map(|(name, wire)| (name, m.input(name, wire)));
        let (a, b) = (m.inputs("a", inputs.a), m.inputs("b", inputs.b));

        let enable = m.register_reset("update_q", 0, valid);
        let [w, upper, take_b, keep_a] =
            scalars.map(|(name, wire)| m.register_if(format!("{name}_q"), valid, wire));
        let lane = |(i, (&a, &b)): (usize, (&Wire, &Wire))| {
            merge_lane(m, i, kind, n, &LaneInputs { a, b, w, upper, take_b, keep_a, enable })
        };
        let o: Vec<Wire> = a.iter().zip(&b).enumerate().map(lane).collect();
        m.outputs("o", &o)
    })
}

impl MergeKind {
    fn node_doc(self) -> &'static str {
        match self {
            MergeKind::Fixed => {
                "Merge of two parts: o = o_a + sigmoid(L_b - L_a) * (o_b - o_a), in fixed point."
            }
            MergeKind::Rounded => {
                "Merge of two parts: o = o_a + sigmoid(L_b - L_a) * (o_b - o_a), every operation rounded."
            }
            MergeKind::Fused => {
                "Merge of two parts: o = o_a + sigmoid(L_b - L_a) * (o_b - o_a), rounded once."
            }
            MergeKind::Fa2 => {
                "Merge of two parts: o = o_a * 2^(m_a - m) + o_b * 2^(m_b - m), and l alike; one of both factors is 1."
            }
        }
    }

    /// The unit for the scalars.
    fn weight(self, m: &mut Module, n: &Arc<Numerics>, inputs: &ScalarInputs) -> ScalarOutputs {
        match self {
            MergeKind::Fa2 => fa2_merge_weight(m, n, self.factor(n), inputs),
            _ => flash_d_merge_weight(m, n, self.factor(n), inputs),
        }
    }
}

/// Merge `index` of a tree: both parts together, their scalars two cycles later. The `last` merge's accumulators are not delayed
/// for another.
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
        // Both come in the same cycle.
        let valid = m.input("valid", parts[0].valid);
        let [a_empty, b_empty] =
            [("a_empty", parts[0]), ("b_empty", parts[1])].map(|(name, part)| m.input(name, part.empty));
        let [a_scalars, b_scalars] = scalar_inputs(m, &parts[0].scalars, &parts[1].scalars);
        let (a, b) = (m.inputs("a", &parts[0].o), m.inputs("b", &parts[1].o));

        m.reserve(&["weight"]);
        let valid_q = m.register_reset("valid_q", 0, valid);
        let scalars = ScalarInputs { a: &a_scalars, b: &b_scalars, a_empty, b_empty, valid: valid_q };
        let weight = kind.weight(m, n, &scalars);
        let valid_qq = m.register_reset("valid_qq", 0, valid_q);
        let (take_b, keep_a) = (m.register("a_empty_q", a_empty), m.register("b_empty_q", b_empty));
        let [empty] = m.call("both_empty", StateStepFunction {}, [take_b, keep_a]);
        let empty = m.register("empty_q", empty);
        let mut o = Vec::new();
        for (g, (a, b)) in a.chunks(LANES_PER_GROUP).zip(b.chunks(LANES_PER_GROUP)).enumerate() {
            let (w, upper) = (weight.w, weight.upper);
            let inputs = GroupInputs { valid: valid_q, w, upper, take_b, keep_a, a, b };
            o.extend(group(m, g, kind, n, &inputs));
        }
        if !last {
            // The next merge's factor takes a cycle more than its parts' accumulators.
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
