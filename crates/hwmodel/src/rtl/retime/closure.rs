//! Maximum-weight closure by a minimum cut.

use std::collections::VecDeque;

/// A flow network with residual capacities.
struct Network {
    /// By arc: its head and its residual capacity. Arc `a ^ 1` is the reverse of arc `a`.
    arcs: Vec<(usize, i64)>,
    out: Vec<Vec<usize>>,
}

/// More than any sum of weights.
const UNBOUNDED: i64 = i64::MAX / 4;

impl Network {
    fn new(nodes: usize) -> Network {
        Network { arcs: Vec::new(), out: vec![Vec::new(); nodes] }
    }

    fn arc(&mut self, from: usize, to: usize, capacity: i64) {
        for (tail, head, capacity) in [(from, to, capacity), (to, from, 0)] {
            self.out[tail].push(self.arcs.len());
            self.arcs.push((head, capacity));
        }
    }

    /// The distance of each node from `from` over arcs with capacity left; `usize::MAX` if there is no way.
    fn distances(&self, from: usize) -> Vec<usize> {
        let mut distance = vec![usize::MAX; self.out.len()];
        distance[from] = 0;
        let mut open = VecDeque::from([from]);
        while let Some(node) = open.pop_front() {
            for &arc in &self.out[node] {
                let (head, capacity) = self.arcs[arc];
                if capacity > 0 && distance[head] == usize::MAX {
                    distance[head] = distance[node] + 1;
                    open.push_back(head);
                }
            }
        }
        distance
    }

    /// Pushes one path's flow along shortest paths; 0 if none is left. `next` is the first arc of each node that may still lead on.
    fn push(&mut self, from: usize, to: usize, distance: &[usize], next: &mut [usize]) -> i64 {
        let mut path: Vec<usize> = Vec::new();
        let mut node = from;
        while node != to {
            let found = (next[node]..self.out[node].len()).find(|&place| {
                let (head, capacity) = self.arcs[self.out[node][place]];
                capacity > 0 && distance[head] == distance[node] + 1
            });
            match (found, path.last().copied()) {
                (Some(place), _) => {
                    next[node] = place;
                    path.push(self.out[node][place]);
                    node = self.arcs[self.out[node][place]].0;
                }
                (None, Some(arc)) => {
                    next[node] = usize::MAX;
                    path.pop();
                    node = self.arcs[arc ^ 1].0;
                    next[node] += 1;
                }
                (None, None) => return 0,
            }
        }
        let amount = path.iter().map(|&arc| self.arcs[arc].1).min().unwrap_or(0);
        for arc in path {
            self.arcs[arc].1 -= amount;
            self.arcs[arc ^ 1].1 += amount;
        }
        amount
    }

    /// Dinic's algorithm: a maximum flow, by blocking flows over shortest paths.
    fn fill(&mut self, from: usize, to: usize) {
        loop {
            let distance = self.distances(from);
            if distance[to] == usize::MAX {
                return;
            }
            let mut next = vec![0; self.out.len()];
            while self.push(from, to, &distance, &mut next) > 0 {}
        }
    }
}

/// The set of nodes with the largest sum of weights that is closed: with `x` it contains `y` for each pair `(x, y)` of `implied`, and it
/// contains none of the nodes without a weight. Of several such sets the smallest; empty if no set has a positive sum.
pub(super) fn best_closure(
    weights: &[Option<i64>],
    implied: impl Iterator<Item = (usize, usize)>,
) -> Vec<usize> {
    let (source, sink) = (weights.len(), weights.len() + 1);
    let mut network = Network::new(weights.len() + 2);
    for (node, weight) in weights.iter().enumerate() {
        match weight {
            Some(gain @ 1..) => network.arc(source, node, *gain),
            Some(0) => {}
            Some(loss) => network.arc(node, sink, -loss),
            None => network.arc(node, sink, UNBOUNDED),
        }
    }
    implied.for_each(|(x, y)| network.arc(x, y, UNBOUNDED));
    network.fill(source, sink);
    let reached = network.distances(source);
    (0..weights.len()).filter(|&node| reached[node] != usize::MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::best_closure;

    #[test]
    fn closures_of_random_graphs_are_the_best_of_all_sets() {
        let mut state = 1u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let nodes = 2 + random(8) as usize;
            let weights: Vec<Option<i64>> =
                (0..nodes).map(|_| (random(8) > 0).then(|| random(11) as i64 - 5)).collect();
            let pairs: Vec<(usize, usize)> = (0..random(12))
                .map(|_| (random(nodes as u64) as usize, random(nodes as u64) as usize))
                .collect();
            let value = |set: u32| {
                let has = |node: usize| set >> node & 1 == 1;
                let closed = pairs.iter().all(|&(x, y)| !has(x) || has(y));
                let sum: Option<i64> = (0..nodes).filter(|&node| has(node)).map(|node| weights[node]).sum();
                sum.filter(|_| closed)
            };
            let best = (0..1u32 << nodes).filter_map(value).max();
            let found = best_closure(&weights, pairs.iter().copied());
            let found = found.iter().fold(0, |set, &node| set | 1 << node);
            assert_eq!(value(found), best, "{weights:?} {pairs:?}");
        }
    }
}
