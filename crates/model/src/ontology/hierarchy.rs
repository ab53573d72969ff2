//! Which kinds are above which: loops, and kinds that nothing can be of.

use std::collections::BTreeSet;

/// That one node is directly above another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The narrower one.
    pub below: usize,
    /// The wider one.
    pub above: usize,
    /// Whether it may be left out; edges that stay make no loop among themselves.
    pub may_go: bool,
}

/// A loop, and the edge by whose leaving out there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// The place of that edge in the list.
    pub edge: usize,
    /// The nodes from its lower end back to that end.
    pub nodes: Vec<usize>,
}

/// Two nodes of which nothing is to be both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// One of them.
    pub one: usize,
    /// The other.
    pub other: usize,
    /// Whether it may be left out; edges and pairs that stay do not contradict one another.
    pub may_go: bool,
}

/// Something to leave out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conflict {
    /// An edge that makes a loop.
    Loop(Loop),
    /// A pair, since a node is below both.
    Pair {
        /// The place of the pair in the list.
        pair: usize,
        /// The node.
        below: usize,
    },
    /// An edge, since by it a node is below both of a pair.
    Edge {
        /// The place of the edge in the list.
        edge: usize,
        /// The place of the pair in the list.
        pair: usize,
        /// The node.
        below: usize,
    },
}

/// Conflicts up to which what was left out is looked at again, whether it had to be.
const LOOKED_AT_AGAIN: usize = 500;

/// What to leave out so that no node is above itself and none below both of a pair.
///
/// What is left out contradicts what is kept, whatever else was left out: asked again with what
/// was kept as staying, the same is left out.
pub fn settle(nodes: usize, edges: &[Edge], pairs: &[Pair]) -> Vec<Conflict> {
    let mut kept = Kept {
        nodes,
        edges,
        pairs,
        gone_edges: BTreeSet::new(),
        gone_pairs: BTreeSet::new(),
    };
    let mut conflicts: Vec<Conflict> = Vec::new();
    for found in loops(nodes, edges) {
        kept.gone_edges.insert(found.edge);
        conflicts.push(Conflict::Loop(found));
    }
    while let Some(conflict) = kept.impossible() {
        match conflict {
            Conflict::Pair { pair, .. } => kept.gone_pairs.insert(pair),
            Conflict::Edge { edge, .. } => kept.gone_edges.insert(edge),
            Conflict::Loop(_) => break,
        };
        conflicts.push(conflict);
    }
    if LOOKED_AT_AGAIN < conflicts.len() {
        return conflicts;
    }
    conflicts.retain(|conflict| !kept.take_back(conflict));
    conflicts
}

/// Edges and pairs with those that were left out.
struct Kept<'a> {
    nodes: usize,
    edges: &'a [Edge],
    pairs: &'a [Pair],
    gone_edges: BTreeSet<usize>,
    gone_pairs: BTreeSet<usize>,
}

impl Kept<'_> {
    fn above(&self) -> Vec<Vec<usize>> {
        let mut above = vec![Vec::new(); self.nodes];
        for (place, edge) in self.edges.iter().enumerate() {
            if !self.gone_edges.contains(&place) {
                above[edge.below].push(edge.above);
            }
        }
        above
    }

    /// A node that is below both of a pair, and what is to go for it.
    fn impossible(&self) -> Option<Conflict> {
        let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
        let ends = |pair: &Pair| (pair.one.min(pair.other), pair.one.max(pair.other));
        for (place, pair) in self.pairs.iter().enumerate() {
            if !self.gone_pairs.contains(&place) {
                pairs.insert(ends(pair));
            }
        }
        let above = self.above();
        let ((one, other), below) = impossible(&above, &pairs)?;
        let here = |(_, pair): &(usize, &Pair)| ends(pair) == (one, other);
        let of_pair = || self.pairs.iter().enumerate().filter(here);
        let stays = of_pair().any(|(_, pair)| !pair.may_go);
        let open = of_pair().find(|(place, _)| !self.gone_pairs.contains(place));
        let pair = open.map_or(0, |(place, _)| place);
        if !stays {
            return Some(Conflict::Pair { pair, below });
        }
        let to_both = closure_of(below, &above);
        let leads = |edge: &Edge| {
            to_both.contains(&edge.below) && {
                let all = closure_of(edge.above, &above);
                all.contains(&one) || all.contains(&other)
            }
        };
        let edge =
            self.edges.iter().enumerate().rev().find(|(place, edge)| {
                edge.may_go && !self.gone_edges.contains(place) && leads(edge)
            });
        edge.map(|(edge, _)| Conflict::Edge { edge, pair, below })
    }

    /// Takes back what was left out if nothing speaks against it any more; whether it did.
    fn take_back(&mut self, conflict: &Conflict) -> bool {
        match conflict {
            Conflict::Pair { pair, .. } => {
                self.gone_pairs.remove(pair);
                let is_sound = self.impossible().is_none();
                if !is_sound {
                    self.gone_pairs.insert(*pair);
                }
                is_sound
            }
            Conflict::Loop(Loop { edge, .. }) | Conflict::Edge { edge, .. } => {
                let Edge { below, above, .. } = self.edges[*edge];
                if closure_of(above, &self.above()).contains(&below) {
                    return false;
                }
                self.gone_edges.remove(edge);
                let is_sound = self.impossible().is_none();
                if !is_sound {
                    self.gone_edges.insert(*edge);
                }
                is_sound
            }
        }
    }
}

/// Edges to leave out so that no node is above itself, with the loop that each closes.
///
/// Of a loop the edge goes that comes last on the way; edges that stay never go.
fn loops(nodes: usize, edges: &[Edge]) -> Vec<Loop> {
    let mut out_of: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (place, edge) in edges.iter().enumerate() {
        out_of[edge.below].push(place);
    }
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    let mut found = Vec::new();
    loop {
        let round = walk(nodes, edges, &out_of, &gone);
        if round.is_empty() {
            return found;
        }
        gone.extend(round.iter().map(|one| one.edge));
        found.extend(round);
    }
}

/// One walk over all that is left, upwards; the loops it comes upon, none of them twice broken.
fn walk(nodes: usize, edges: &[Edge], out_of: &[Vec<usize>], gone: &BTreeSet<usize>) -> Vec<Loop> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        OnTheWay(usize),
        Done,
    }
    let mut state = vec![State::New; nodes];
    let mut now_gone = BTreeSet::new();
    let mut found = Vec::new();
    for start in 0..nodes {
        if state[start] != State::New {
            continue;
        }
        // The node, the edge by which it was come upon, and how many of its edges were looked at.
        let mut way: Vec<(usize, Option<usize>, usize)> = vec![(start, None, 0)];
        state[start] = State::OnTheWay(0);
        while let Some((node, _, looked_at)) = way.last_mut() {
            let node = *node;
            let Some(&place) = out_of[node].get(*looked_at) else {
                state[node] = State::Done;
                way.pop();
                continue;
            };
            *looked_at += 1;
            if gone.contains(&place) {
                continue;
            }
            match state[edges[place].above] {
                State::Done => {}
                State::New => {
                    let above = edges[place].above;
                    state[above] = State::OnTheWay(way.len());
                    way.push((above, Some(place), 0));
                }
                State::OnTheWay(depth) => {
                    let on_the_way = || way[depth + 1..].iter().filter_map(|step| step.1);
                    let of_loop: Vec<usize> = on_the_way().chain([place]).collect();
                    if of_loop.iter().any(|edge| now_gone.contains(edge)) {
                        continue;
                    }
                    let last = of_loop.iter().rposition(|&edge| edges[edge].may_go);
                    let Some(last) = last else { continue };
                    now_gone.insert(of_loop[last]);
                    let turned = of_loop[last + 1..].iter().chain(&of_loop[..=last]);
                    let mut nodes: Vec<usize> = turned.map(|&edge| edges[edge].below).collect();
                    nodes.rotate_right(1);
                    nodes.push(nodes[0]);
                    found.push(Loop {
                        edge: of_loop[last],
                        nodes,
                    });
                }
            }
        }
    }
    found
}

/// A node itself and all above it. `above` lists those directly above.
pub fn closure_of(node: usize, above: &[Vec<usize>]) -> BTreeSet<usize> {
    let mut all = BTreeSet::from([node]);
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        open.extend(above[node].iter().filter(|&&wider| all.insert(wider)));
    }
    all
}

/// A pair of those of which nothing is to be both, with a node that is below both.
pub fn impossible(
    above: &[Vec<usize>],
    pairs: &BTreeSet<(usize, usize)>,
) -> Option<((usize, usize), usize)> {
    if pairs.is_empty() {
        return None;
    }
    (0..above.len()).find_map(|node| {
        let all = closure_of(node, above);
        let of_node = all.iter().find_map(|&one| {
            let mut of_one = pairs.range((one, 0)..=(one, usize::MAX));
            of_one.find(|(_, other)| all.contains(other))
        });
        of_node.map(|pair| (*pair, node))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edge(below: usize, above: usize) -> Edge {
        Edge {
            below,
            above,
            may_go: true,
        }
    }

    fn makes_a_loop(nodes: usize, edges: &[Edge]) -> bool {
        let mut above = vec![Vec::new(); nodes];
        for edge in edges {
            above[edge.below].push(edge.above);
        }
        (0..nodes).any(|node| {
            above[node]
                .iter()
                .any(|&wider| closure_of(wider, &above).contains(&node))
        })
    }

    #[test]
    fn of_a_loop_one_edge_goes_and_the_loop_is_told() {
        let found = loops(4, &[edge(0, 1), edge(1, 2), edge(2, 0), edge(2, 3)]);

        assert_eq!(found.len(), 1);
        assert_eq!((found[0].edge, &found[0].nodes[..]), (2, &[2, 0, 1, 2][..]));
    }

    #[test]
    fn what_the_base_has_stays_and_the_files_edge_goes() {
        let kept = Edge {
            may_go: false,
            ..edge(1, 0)
        };

        let found = loops(2, &[edge(0, 1), kept]);

        assert_eq!(found.len(), 1);
        assert_eq!((found[0].edge, &found[0].nodes[..]), (0, &[0, 1, 0][..]));
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_is_no_loop_and_takes_no_stack() {
        let edges: Vec<Edge> = (0..100_000).map(|n| edge(n, n + 1)).collect();
        assert_eq!(loops(100_001, &edges), []);
    }

    #[test]
    fn a_kind_below_two_that_nothing_is_both_of_is_found() {
        // 2 is below 0 and 1; 3 below 2.
        let above = vec![vec![], vec![], vec![0, 1], vec![2]];
        let pairs = BTreeSet::from([(0, 1), (0, 3)]);

        assert_eq!(impossible(&above, &pairs), Some(((0, 1), 2)));
        assert_eq!(impossible(&above[..2], &BTreeSet::from([(0, 1)])), None);
    }

    proptest! {
        #[test]
        fn without_the_edges_told_there_is_no_loop_and_none_goes_for_nothing(
            pairs in prop::collection::vec((0_usize..8, 0_usize..8, any::<bool>()), 0..30)
        ) {
            // Edges that stay lead from lower to higher numbers, so that they make no loop.
            let edges: Vec<Edge> = pairs.iter().map(|&(below, above, may_go)| Edge {
                below, above, may_go: may_go || above <= below,
            }).collect();
            let found = loops(8, &edges);
            let gone: BTreeSet<usize> = found.iter().map(|one| one.edge).collect();
            prop_assert_eq!(gone.len(), found.len());
            prop_assert!(gone.iter().all(|&edge| edges[edge].may_go));
            let left: Vec<Edge> = edges.iter().enumerate()
                .filter(|(place, _)| !gone.contains(place)).map(|(_, edge)| *edge).collect();
            prop_assert!(!makes_a_loop(8, &left));
            if !makes_a_loop(8, &edges) {
                prop_assert!(gone.is_empty());
            }
            let settled = settle(8, &edges, &[]);
            prop_assert!(settled.len() <= found.len());
            for one in &found {
                prop_assert_eq!(one.nodes.first(), one.nodes.last());
                let steps: BTreeSet<(usize, usize)> = edges.iter().map(|edge| (edge.below, edge.above)).collect();
                for pair in one.nodes.windows(2) {
                    prop_assert!(steps.contains(&(pair[0], pair[1])));
                }
            }
        }
    }
}
