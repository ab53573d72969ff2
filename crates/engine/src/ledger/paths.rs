//! Chains of claims that join two things.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

use model::time::Interval;
use model::{EntityId, FactId, KbId, RelationTypeId, Result};
use store::fact_holds::{Hold, View};
use store::{Tx, fact_holds, facts};

use super::people;

/// Hops of a chain at most.
pub const HOPS_MAX: u32 = 3;
/// Chains of an answer at most.
pub const PATHS_MAX: usize = 10;
/// A thing between the two with more claims than this is not looked beyond.
const DEGREE_MAX: usize = 150;
/// Things beside one end that are looked beyond at most.
const BESIDE_MAX: usize = 400;
/// Claims looked at beside one end at most.
const EDGES_MAX: u32 = 20_000;

/// A chain, from the one thing to the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// The claims, in order.
    pub steps: Vec<Step>,
    /// For when all of them hold together; none if at no one moment.
    pub holds: Option<Interval>,
    /// Mean confidence of its claims.
    pub confidence: f64,
}

/// A claim on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The claim.
    pub fact: FactId,
    /// The relation, if the ontology has a word for it.
    pub predicate: Option<RelationTypeId>,
    /// The thing this step leaves.
    pub from: EntityId,
    /// The thing it reaches.
    pub to: EntityId,
    /// Whether the claim is about the thing it leaves.
    pub forward: bool,
}

/// The chains found, and what was left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Paths {
    /// Shortest first; then those over things with fewer claims, then the surest.
    pub paths: Vec<Path>,
    /// Things with too many claims to be looked beyond.
    pub hubs: Vec<EntityId>,
}

/// A claim seen from one of its ends.
#[derive(Debug, Clone, Copy)]
struct Edge {
    fact: FactId,
    predicate: Option<RelationTypeId>,
    here: EntityId,
    there: EntityId,
    forward: bool,
    holds: Option<Interval>,
}

/// The chains of at most `hops` claims between two things, as the view shows them.
///
/// With a world time every claim holds at one and the same instant of it. None for two ends that
/// are one thing.
pub async fn paths_between(
    tx: &mut Tx,
    kb: KbId,
    (from, to): (EntityId, EntityId),
    hops: u32,
    view: View,
) -> Result<Paths> {
    let mut found = Paths::default();
    let from = people::canonical(tx, kb, from, view.as_of).await?;
    let to = people::canonical(tx, kb, to, view.as_of).await?;
    if from == to {
        return Ok(found);
    }
    let near = edges(tx, kb, from, view, EDGES_MAX).await?;
    let mut chains: Vec<Vec<Edge>> = near
        .iter()
        .filter(|edge| edge.there == to)
        .map(|edge| vec![*edge])
        .collect();
    let mut degrees: HashMap<EntityId, usize> = HashMap::new();
    if 2 <= hops {
        let far = edges(tx, kb, to, view, EDGES_MAX).await?;
        let by_middle = by_there(&far, &[from, to]);
        for edge in near.iter().filter(|edge| edge.there != to) {
            for last in by_middle.get(&edge.there).into_iter().flatten() {
                chains.push(vec![*edge, turned(last)]);
            }
        }
        if 3 <= hops {
            // Looked beyond from the end with fewer things beside it.
            let near_by = by_there(&near, &[from, to]);
            let swapped = by_middle.len() < near_by.len();
            let (few, many) = if swapped {
                (&by_middle, &near_by)
            } else {
                (&near_by, &by_middle)
            };
            let beside: BTreeSet<EntityId> = few.keys().copied().collect();
            for middle in beside.into_iter().take(BESIDE_MAX) {
                let beyond = edges(tx, kb, middle, view, DEGREE_MAX as u32 + 1).await?;
                degrees.insert(middle, beyond.len());
                if DEGREE_MAX < beyond.len() {
                    found.hubs.push(middle);
                    continue;
                }
                for step in beyond {
                    for (first, last) in few[&middle].iter().flat_map(|first| {
                        many.get(&step.there)
                            .into_iter()
                            .flatten()
                            .map(move |last| (first, last))
                    }) {
                        chains.push(if swapped {
                            vec![*last, turned(&step), turned(first)]
                        } else {
                            vec![*first, step, turned(last)]
                        });
                    }
                }
            }
        }
    }
    found.paths = best(tx, kb, chains, view, &mut degrees).await?;
    Ok(found)
}

/// The edges by the thing they lead to, those to the ends themselves left out.
fn by_there(edges: &[Edge], ends: &[EntityId]) -> HashMap<EntityId, Vec<Edge>> {
    let mut groups: HashMap<EntityId, Vec<Edge>> = HashMap::new();
    for edge in edges.iter().filter(|edge| !ends.contains(&edge.there)) {
        groups.entry(edge.there).or_default().push(*edge);
    }
    groups
}

/// The same claim, seen from its other end.
fn turned(edge: &Edge) -> Edge {
    Edge {
        here: edge.there,
        there: edge.here,
        forward: !edge.forward,
        ..*edge
    }
}

/// The claims that lead from a thing to others, as the view shows them.
async fn edges(
    tx: &mut Tx,
    kb: KbId,
    thing: EntityId,
    view: View,
    limit: u32,
) -> Result<Vec<Edge>> {
    let Some(known) = people::members(tx, kb, thing, view.as_of).await? else {
        return Ok(Vec::new());
    };
    let mut holds = Vec::new();
    for forward in [true, false] {
        for &member in &known.members {
            let left = limit.saturating_sub(u32::try_from(holds.len()).unwrap_or(u32::MAX));
            if left == 0 {
                break;
            }
            let found = if forward {
                fact_holds::edges_from(tx, kb, member, view, left).await?
            } else {
                fact_holds::edges_to(tx, kb, member, view, left).await?
            };
            let there = |hold: &Hold| {
                if forward {
                    hold.object
                } else {
                    Some(hold.subject)
                }
            };
            holds.extend(
                found
                    .into_iter()
                    .filter_map(|hold| Some((there(&hold)?, forward, hold))),
            );
        }
    }
    let others = holds.iter().map(|(there, ..)| *there);
    let known_as = people::folded(tx, kb, others, view.as_of).await?;
    let seen = |hold: &Hold, there: EntityId, forward| Edge {
        fact: hold.fact,
        predicate: hold.predicate,
        here: known.canonical,
        there: known_as.get(&there).copied().unwrap_or(there),
        forward,
        holds: hold.holds,
    };
    Ok(holds
        .iter()
        .map(|(there, forward, hold)| seen(hold, *there, *forward))
        .filter(|edge| edge.there != edge.here)
        .collect())
}

/// The best chains, each sequence of things and directed relations once.
async fn best(
    tx: &mut Tx,
    kb: KbId,
    chains: Vec<Vec<Edge>>,
    view: View,
    degrees: &mut HashMap<EntityId, usize>,
) -> Result<Vec<Path>> {
    let mut seen = HashSet::new();
    let mut kept: Vec<(Vec<Edge>, Option<Interval>)> = Vec::new();
    for chain in chains {
        let holds = together(&chain, view.at);
        if view.at.is_some() && holds.is_none() {
            continue;
        }
        let shape: Vec<_> = chain
            .iter()
            .map(|edge| (edge.there, edge.predicate, edge.forward))
            .collect();
        if seen.insert(shape) {
            kept.push((chain, holds));
        }
        if BESIDE_MAX <= kept.len() {
            break;
        }
    }
    // Shorter ones come first: those that are longer than the last to be shown need no look.
    let mut hops: Vec<usize> = kept.iter().map(|(chain, _)| chain.len()).collect();
    hops.sort_unstable();
    if let Some(&longest) = hops.get(PATHS_MAX - 1) {
        kept.retain(|(chain, _)| chain.len() <= longest);
    }
    for (chain, _) in &kept {
        for middle in chain.iter().skip(1).map(|edge| edge.here) {
            if let Entry::Vacant(place) = degrees.entry(middle) {
                let limit = DEGREE_MAX as u32 + 1;
                place.insert(edges(tx, kb, middle, view, limit).await?.len());
            }
        }
    }
    let ids: BTreeSet<FactId> = kept
        .iter()
        .flat_map(|(chain, _)| chain.iter().map(|edge| edge.fact))
        .collect();
    let ids: Vec<FactId> = ids.into_iter().collect();
    let sure: HashMap<FactId, f64> = facts::by_ids(tx, kb, &ids)
        .await?
        .into_iter()
        .map(|fact| (fact.id, fact.confidence))
        .collect();
    let mut ranked: Vec<(usize, f64, Path)> = kept
        .into_iter()
        .map(|(chain, holds)| {
            let middles = chain.iter().skip(1).map(|edge| edge.here);
            let crowd = middles
                .map(|middle| (degrees[&middle] as f64).ln_1p())
                .sum();
            let confidence =
                chain.iter().map(|edge| sure[&edge.fact]).sum::<f64>() / chain.len() as f64;
            let path = Path {
                steps: chain.iter().map(step).collect(),
                holds,
                confidence,
            };
            (chain.len(), crowd, path)
        })
        .collect();
    ranked.sort_by(|(hops, crowd, path), (other_hops, other_crowd, other)| {
        hops.cmp(other_hops)
            .then(crowd.total_cmp(other_crowd))
            .then(other.confidence.total_cmp(&path.confidence))
            .then_with(|| {
                let ids = |path: &Path| path.steps.iter().map(|step| step.fact).collect::<Vec<_>>();
                ids(path).cmp(&ids(other))
            })
    });
    ranked.truncate(PATHS_MAX);
    Ok(ranked.into_iter().map(|(_, _, path)| path).collect())
}

fn step(edge: &Edge) -> Step {
    Step {
        fact: edge.fact,
        predicate: edge.predicate,
        from: edge.here,
        to: edge.there,
        forward: edge.forward,
    }
}

/// What the claims of a chain and the time asked about share.
fn together(chain: &[Edge], at: Option<Interval>) -> Option<Interval> {
    let all = at.unwrap_or(Interval::ALWAYS);
    chain
        .iter()
        .try_fold(all, |shared, edge| shared.intersection(edge.holds?))
}
