//! Stored claims that what is said of their words does not fit.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Datatype, EntityType, RelationType};
use crate::fact::{Object, Rank, Validity, Value};
use crate::holds::{Claim, first_contradictions};
use crate::named::named;
use crate::time::Interval;
use crate::{EntityId, EntityTypeId, FactId, WorldTime};

/// What is said of a word that stored claims can contradict.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Rule {
    /// A subject has one value at a time.
    Functional,
    /// An object has one subject at a time.
    InverseFunctional,
    /// From a to b: never from b to a.
    Asymmetric,
    /// Never from a to a.
    Irreflexive,
    /// How claims stand in time.
    Temporal,
    /// What the values of an attribute are.
    Datatype,
    /// Kinds of things that it is said of.
    Domain,
    /// Kinds of things that it leads to.
    Range,
    /// Kinds that nothing is both of.
    Disjoint,
}
named! { Rule {
    Functional = "functional", InverseFunctional = "inverse_functional", Asymmetric = "asymmetric",
    Irreflexive = "irreflexive", Temporal = "temporal", Datatype = "datatype", Domain = "domain",
    Range = "range", Disjoint = "disjoint"
} }

/// A claim of a relation as it stands, its things as they are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Its id.
    pub id: FactId,
    /// What it is about.
    pub subject: EntityId,
    /// What it says.
    pub object: Object,
    /// When it is stated to hold.
    pub validity: Validity,
    /// How it ranks.
    pub rank: Rank,
    /// For when it is read to hold.
    pub holds: Option<Interval>,
}

/// A rule with the claims, one or two, that do not fit it.
pub type Misfit = (Rule, Vec<FactId>);

/// Claims of a relation that what is said of it does not fit, `most` for each rule at most.
pub fn misfits(relation: &RelationType, claims: &[Standing], most: usize) -> BTreeSet<Misfit> {
    let mut found = BTreeSet::new();
    let mut add = |rule: Rule, facts: Vec<Vec<FactId>>| {
        found.extend(facts.into_iter().take(most).map(|facts| (rule, facts)));
    };
    let one = |claim: &Standing| vec![claim.id];
    let axioms = relation.axioms;
    if axioms.functional {
        add(Rule::Functional, pairs(claims, End::Subject, most));
    }
    if axioms.inverse_functional {
        add(Rule::InverseFunctional, pairs(claims, End::Object, most));
    }
    if axioms.asymmetric {
        add(Rule::Asymmetric, both_ways(claims, most));
    }
    if axioms.irreflexive || axioms.asymmetric {
        let to_itself = claims.iter().filter(|claim| {
            claim.rank > Rank::Deprecated
                && claim.holds.is_some()
                && claim.object.entity() == Some(claim.subject)
        });
        add(Rule::Irreflexive, to_itself.map(one).collect());
    }
    let undated = |claim: &&Standing| claim.validity.checked(relation.temporality).is_err();
    add(
        Rule::Temporal,
        claims.iter().filter(undated).map(one).collect(),
    );
    let other = |claim: &&Standing| match &claim.object {
        Object::Value(value) => !fits_datatype(relation.datatype, value),
        Object::Entity(_) => false,
    };
    add(
        Rule::Datatype,
        claims.iter().filter(other).map(one).collect(),
    );
    found
}

/// Whether a value is one of an attribute with this datatype.
pub fn fits_datatype(datatype: Option<Datatype>, value: &Value) -> bool {
    match datatype {
        None => true,
        Some(Datatype::Text) => value.value.is_string(),
        Some(Datatype::Number) => value.value.is_number(),
        Some(Datatype::Bool) => value.value.is_boolean(),
        Some(Datatype::Date) => value
            .value
            .as_str()
            .is_some_and(|text| text.parse::<WorldTime>().is_ok()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Subject,
    Object,
}

/// Pairs that have different other ends at one moment, among those of one thing at an end.
fn pairs(claims: &[Standing], end: End, most: usize) -> Vec<Vec<FactId>> {
    let mut groups: BTreeMap<EntityId, (Vec<Claim>, Vec<Option<Interval>>)> = BTreeMap::new();
    for claim in claims {
        let (thing, says) = match (end, claim.object.entity()) {
            (End::Subject, _) => (claim.subject, claim.object.key()),
            (End::Object, Some(object)) => (object, Object::Entity(claim.subject).key()),
            (End::Object, None) => continue,
        };
        let (group, holds) = groups.entry(thing).or_default();
        group.push(Claim {
            id: claim.id,
            says,
            validity: claim.validity,
            rank: claim.rank,
            attested: None,
        });
        holds.push(claim.holds);
    }
    let mut found = Vec::new();
    for (group, holds) in groups.into_values() {
        let left = most.saturating_sub(found.len());
        let pairs = first_contradictions(&group, &holds, left);
        found.extend(pairs.into_iter().map(|(one, other)| vec![one, other]));
    }
    found
}

/// Pairs that lead from one thing to another and back at one moment.
fn both_ways(claims: &[Standing], most: usize) -> Vec<Vec<FactId>> {
    let counted = claims.iter().filter(|claim| claim.rank > Rank::Deprecated);
    let mut by_ends: HashMap<(EntityId, EntityId), Vec<&Standing>> = HashMap::new();
    for claim in counted {
        if let Some(object) = claim.object.entity() {
            by_ends
                .entry((claim.subject, object))
                .or_default()
                .push(claim);
        }
    }
    let mut found = BTreeSet::new();
    for ((subject, object), there) in &by_ends {
        let Some(back) = by_ends
            .get(&(*object, *subject))
            .filter(|_| subject < object)
        else {
            continue;
        };
        for one in there {
            for other in back {
                let meet = one
                    .holds
                    .zip(other.holds)
                    .is_some_and(|(a, b)| a.overlaps(b));
                if meet && found.len() < most {
                    found.insert(vec![one.id.min(other.id), one.id.max(other.id)]);
                }
            }
        }
    }
    found.into_iter().collect()
}

/// How a kind stands to a list of kinds of which a thing is to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Nothing of it is of any of them.
    RuledOut,
    /// A thing of it may also be of one of them.
    Open,
    /// All of it is of one of them, or any will do.
    Fits,
}

/// The kinds of a base with what is above each.
#[derive(Debug)]
pub struct Kinds {
    above: HashMap<EntityTypeId, HashSet<EntityTypeId>>,
    disjoint: HashSet<(EntityTypeId, EntityTypeId)>,
}

impl Kinds {
    /// The kinds of a base.
    pub fn of(types: &[EntityType]) -> Self {
        let parents: HashMap<EntityTypeId, &[EntityTypeId]> = types
            .iter()
            .map(|kind| (kind.id, kind.parents.as_slice()))
            .collect();
        let closure = |kind: &EntityType| {
            let mut all = HashSet::from([kind.id]);
            let mut open = vec![kind.id];
            while let Some(next) = open.pop() {
                let wider = parents.get(&next).copied().unwrap_or_default();
                open.extend(wider.iter().filter(|&&wider| all.insert(wider)));
            }
            (kind.id, all)
        };
        let pairs = types.iter().flat_map(|kind| {
            let others = kind.disjoint_with.iter();
            others.flat_map(|&other| [(kind.id, other), (other, kind.id)])
        });
        Self {
            above: types.iter().map(closure).collect(),
            disjoint: pairs.collect(),
        }
    }

    /// Whether nothing is of both kinds.
    pub fn are_disjoint(&self, one: EntityTypeId, other: EntityTypeId) -> bool {
        let (Some(one), Some(other)) = (self.above.get(&one), self.above.get(&other)) else {
            return false;
        };
        !self.disjoint.is_empty()
            && one
                .iter()
                .any(|a| other.iter().any(|b| self.disjoint.contains(&(*a, *b))))
    }

    /// How a kind stands to a list of kinds of which a thing is to be one.
    pub fn fit(&self, kind: EntityTypeId, wanted: &[EntityTypeId]) -> Fit {
        let above = self.above.get(&kind);
        let is_of = |wanted: &EntityTypeId| above.is_some_and(|above| above.contains(wanted));
        if wanted.is_empty() || wanted.iter().any(is_of) {
            return Fit::Fits;
        }
        if wanted.iter().all(|&wanted| self.are_disjoint(kind, wanted)) {
            return Fit::RuledOut;
        }
        Fit::Open
    }

    /// A kind that is of two that nothing is both of, with the two; of itself and another too.
    pub fn impossible(&self) -> Option<(EntityTypeId, (EntityTypeId, EntityTypeId))> {
        let mut found: Vec<_> = self
            .above
            .iter()
            .filter_map(|(&kind, above)| {
                let pairs = self.disjoint.iter();
                let mut of_both = pairs.filter(|(a, b)| above.contains(a) && above.contains(b));
                of_both.next().map(|&pair| (kind, pair))
            })
            .collect();
        found.sort();
        found.into_iter().next()
    }

    /// Whether one kind is above another, or is it.
    pub fn is_above(&self, wider: EntityTypeId, narrower: EntityTypeId) -> bool {
        self.above
            .get(&narrower)
            .is_some_and(|above| above.contains(&wider))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::fact::{Bound, End as Until, Temporality};
    use crate::ontology::Axioms;
    use crate::{KbId, RecordTime};

    fn relation(change: impl FnOnce(&mut RelationType)) -> RelationType {
        let kb = KbId::new(Uuid::nil());
        let mut relation = RelationType::known_as(kb, RecordTime::from_micros(0));
        relation.datatype = None;
        change(&mut relation);
        relation
    }

    fn thing(n: u128) -> EntityId {
        EntityId::new(Uuid::from_u128(n))
    }

    fn claim(n: u128, subject: u128, object: u128, years: (i64, i64)) -> Standing {
        Standing {
            id: FactId::new(Uuid::from_u128(n)),
            subject: thing(subject),
            object: Object::Entity(thing(object)),
            validity: Validity::default(),
            rank: Rank::Normal,
            holds: Interval::new(years.0, years.1),
        }
    }

    fn found(relation: &RelationType, claims: &[Standing]) -> Vec<(Rule, Vec<u128>)> {
        let found = misfits(relation, claims, 100).into_iter();
        let numbers = |facts: Vec<FactId>| facts.iter().map(|id| id.uuid().as_u128()).collect();
        found.map(|(rule, facts)| (rule, numbers(facts))).collect()
    }

    #[test]
    fn each_axiom_finds_the_claims_that_contradict_it_for_one_moment() {
        let claims = [
            claim(1, 1, 2, (0, 10)),
            claim(2, 1, 3, (5, 15)),
            claim(3, 2, 1, (9, 12)),
            claim(4, 4, 2, (8, 9)),
            claim(5, 5, 5, (0, 1)),
            claim(6, 1, 4, (15, 20)),
        ];
        let axioms = |axioms: Axioms| relation(|relation| relation.axioms = axioms);
        let none = Axioms::default();

        let functional = axioms(Axioms {
            functional: true,
            ..none
        });
        assert_eq!(
            found(&functional, &claims),
            [(Rule::Functional, vec![1, 2])]
        );
        let inverse = axioms(Axioms {
            inverse_functional: true,
            ..none
        });
        assert_eq!(
            found(&inverse, &claims),
            [(Rule::InverseFunctional, vec![1, 4])]
        );
        let asymmetric = axioms(Axioms {
            asymmetric: true,
            ..none
        });
        assert_eq!(
            found(&asymmetric, &claims),
            [(Rule::Asymmetric, vec![1, 3]), (Rule::Irreflexive, vec![5])]
        );
        let irreflexive = axioms(Axioms {
            irreflexive: true,
            ..none
        });
        assert_eq!(found(&irreflexive, &claims), [(Rule::Irreflexive, vec![5])]);
        let mut deprecated = claims.to_vec();
        for claim in &mut deprecated {
            claim.rank = Rank::Deprecated;
        }
        for relation in [&functional, &inverse, &asymmetric, &irreflexive] {
            assert!(found(relation, &deprecated).is_empty());
        }
        assert_eq!(misfits(&asymmetric, &claims, 0), BTreeSet::new());
    }

    #[test]
    fn dates_and_values_that_a_word_does_not_take_are_found() {
        let dated = Standing {
            validity: Validity {
                from: Some(Bound::on("1861".parse().unwrap())),
                to: Until::Open,
            },
            ..claim(1, 1, 2, (0, 1))
        };
        let eternal = relation(|relation| relation.temporality = Temporality::Eternal);
        assert_eq!(found(&eternal, &[dated]), [(Rule::Temporal, vec![1])]);

        let value = |n: u128, value| Standing {
            object: Object::Value(Value { value, unit: None }),
            ..claim(n, 1, 2, (0, 1))
        };
        let values = [
            value(1, json!("1861-05")),
            value(2, json!("soon")),
            value(3, json!(7)),
            value(4, json!(true)),
        ];
        for (datatype, misfit) in [
            (Datatype::Text, vec![3, 4]),
            (Datatype::Number, vec![1, 2, 4]),
            (Datatype::Date, vec![2, 3, 4]),
            (Datatype::Bool, vec![1, 2, 3]),
        ] {
            let attribute = relation(|relation| relation.datatype = Some(datatype));
            let wanted: Vec<_> = misfit
                .into_iter()
                .map(|n| (Rule::Datatype, vec![n]))
                .collect();
            assert_eq!(found(&attribute, &values), wanted);
        }
    }

    #[test]
    fn a_kind_fits_is_open_or_is_ruled_out() {
        let id = |n: u128| EntityTypeId::new(Uuid::from_u128(n));
        let kind = |n: u128, parents: &[u128], disjoint: &[u128]| EntityType {
            id: id(n),
            key: format!("k{n}"),
            label: String::new(),
            description: String::new(),
            iri: None,
            colour: None,
            parents: parents.iter().map(|&n| id(n)).collect(),
            disjoint_with: disjoint.iter().map(|&n| id(n)).collect(),
            created_at: RecordTime::from_micros(0),
        };
        // 1 agent; 2 person, 3 firm below it and disjoint; 4 a narrower firm; 5 place.
        let types = [
            kind(1, &[], &[]),
            kind(2, &[1], &[3]),
            kind(3, &[1], &[]),
            kind(4, &[3], &[]),
            kind(5, &[], &[]),
        ];
        let kinds = Kinds::of(&types);

        for (of, wanted, fit) in [
            (4, vec![3], Fit::Fits),
            (4, vec![1], Fit::Fits),
            (4, vec![2], Fit::RuledOut),
            (4, vec![2, 5], Fit::Open),
            (1, vec![2], Fit::Open),
            (2, vec![], Fit::Fits),
        ] {
            let wanted: Vec<_> = wanted.into_iter().map(id).collect();
            assert_eq!(kinds.fit(id(of), &wanted), fit, "{of} {wanted:?}");
        }
        assert!(kinds.are_disjoint(id(2), id(4)) && !kinds.are_disjoint(id(1), id(5)));
        assert!(kinds.is_above(id(1), id(4)) && !kinds.is_above(id(4), id(1)));
        assert_eq!(kinds.impossible(), None);
        let mut both = types.to_vec();
        both.push(kind(6, &[2, 4], &[]));
        assert_eq!(Kinds::of(&both).impossible().unwrap().0, id(6));
    }
}
