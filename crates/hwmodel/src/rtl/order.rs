//! In which order the parts of a circuit compute: sources first, so that each computes once for all that moves.

use super::circuit::{Kind, Node, Reader};

/// The nodes that compute, sources first.
///
/// Where parts that are circuits feed each other, the order among them does not matter for the result: what moves is computed
/// again until nothing does.
pub(super) fn evaluation_order(nodes: &[Node], starts: &[u32], readers: &[Reader]) -> Vec<u32> {
    let mut order = Vec::new();
    let mut state = vec![State::New; nodes.len()];
    // An explicit stack: chains of adders are long. Depth first along the readers, which puts a node after all that it feeds.
    for root in 0..nodes.len() {
        let mut stack = vec![(root, Vec::new())];
        if !computes(&nodes[root]) || state[root] != State::New {
            continue;
        }
        state[root] = State::Open;
        stack[0].1 = fed_by(&nodes[root], nodes, starts, readers);
        while let Some((node, fed)) = stack.last_mut() {
            match fed.pop() {
                Some(next) if state[next] == State::New => {
                    state[next] = State::Open;
                    let fed = fed_by(&nodes[next], nodes, starts, readers);
                    stack.push((next, fed));
                }
                Some(_) => {}
                None => {
                    state[*node] = State::Done;
                    order.push(*node as u32);
                    stack.pop();
                }
            }
        }
    }
    order.reverse();
    order
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    Done,
}

fn computes(node: &Node) -> bool {
    matches!(node.kind, Kind::Leaf { .. } | Kind::Part(_))
}

/// The nodes that compute from what a node computes in the same cycle.
fn fed_by(node: &Node, nodes: &[Node], starts: &[u32], readers: &[Reader]) -> Vec<usize> {
    let combinational = |output: usize| match &node.kind {
        Kind::Part(part) => part.follows_inputs(output),
        _ => true,
    };
    let mut fed: Vec<usize> = Vec::new();
    for (output, &slot) in node.outputs.iter().enumerate() {
        if combinational(output) {
            let range = starts[slot as usize] as usize..starts[slot as usize + 1] as usize;
            fed.extend(readers[range].iter().map(|reader| reader.node as usize));
        }
    }
    fed.retain(|&next| computes(&nodes[next]));
    fed.sort_unstable();
    fed.dedup();
    fed
}
