use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::EntityTypeId;
use crate::fact::Temporality;
use crate::ontology::declared::{DeclaredClass, DeclaredProperty};
use crate::ontology::hierarchy::{closure_of, impossible};
use crate::ontology::{Axioms, RelationKind};

const EX: &str = "http://example.org/";

fn class(name: &str) -> DeclaredClass {
    DeclaredClass {
        iri: format!("{EX}{name}"),
        ..DeclaredClass::default()
    }
}

fn below(name: &str, parents: &[&str]) -> DeclaredClass {
    DeclaredClass {
        parents: parents
            .iter()
            .map(|parent| format!("{EX}{parent}"))
            .collect(),
        ..class(name)
    }
}

fn property(name: &str) -> DeclaredProperty {
    DeclaredProperty {
        iri: format!("{EX}{name}"),
        ..DeclaredProperty::default()
    }
}

fn of(classes: Vec<DeclaredClass>, properties: Vec<DeclaredProperty>) -> Declarations {
    Declarations {
        classes,
        properties,
        ..Declarations::default()
    }
}

#[derive(Default)]
struct Base {
    types: Vec<EntityType>,
    relations: Vec<RelationType>,
    count: u128,
}

impl Base {
    fn plan(&mut self, declared: &Declarations) -> Import {
        let mut fresh = || {
            self.count += 1;
            Uuid::from_u128(self.count)
        };
        let words = (&*self.types, &*self.relations);
        plan(words, declared, &mut fresh, RecordTime::from_micros(7))
    }

    fn take(&mut self, declared: &Declarations) -> Import {
        let import = self.plan(declared);
        import
            .clone()
            .take_into(&mut self.types, &mut self.relations);
        self.sort();
        import
    }

    /// In the order in which a store gives them back.
    fn sort(&mut self) {
        self.types.sort_by(|a, b| a.key.cmp(&b.key));
        self.relations.sort_by(|a, b| a.key.cmp(&b.key));
        for kind in &mut self.types {
            kind.disjoint_with.sort();
            if let Some(more) = kind.parents.get_mut(1..) {
                more.sort();
            }
        }
        for relation in &mut self.relations {
            relation.domains.sort();
            relation.ranges.sort();
        }
    }

    fn kind(&self, key: &str) -> &EntityType {
        self.types.iter().find(|one| one.key == key).unwrap()
    }

    fn parents(&self, key: &str) -> Vec<&str> {
        let kind = self.kind(key);
        let key_of = |id: &EntityTypeId| self.types.iter().find(|one| one.id == *id).unwrap();
        kind.parents.iter().map(|id| &*key_of(id).key).collect()
    }
}

fn reasons(import: &Import) -> Vec<String> {
    let told = import.left_out.iter();
    told.map(|one| format!("{}: {}", one.name.replace(EX, ""), one.reason))
        .collect()
}

#[test]
fn words_are_added_with_keys_and_labels_of_their_names() {
    let mut base = Base::default();
    let works_for = DeclaredProperty {
        domains: vec![format!("{EX}Person")],
        ranges: vec![format!("{EX}LocalBusiness")],
        axioms: Axioms {
            functional: true,
            ..Axioms::default()
        },
        ..property("worksFor")
    };
    let declared = of(
        vec![
            below("LocalBusiness", &["Agent"]),
            class("Person"),
            class("Agent"),
        ],
        vec![works_for],
    );

    let import = base.take(&declared);

    assert_eq!(reasons(&import), Vec::<String>::new());
    let keys: Vec<_> = base
        .types
        .iter()
        .map(|one| (&*one.key, &*one.label))
        .collect();
    assert_eq!(
        keys,
        [
            ("agent", "Agent"),
            ("local_business", "Local business"),
            ("person", "Person")
        ]
    );
    assert_eq!(base.parents("local_business"), ["agent"]);
    let relation = &base.relations[0];
    assert_eq!(
        (&*relation.key, &*relation.label),
        ("works_for", "works for")
    );
    assert_eq!(relation.domains, [base.kind("person").id]);
    assert_eq!(relation.ranges, [base.kind("local_business").id]);
    assert!(relation.axioms.functional);

    let again = base.take(&declared);
    assert!(again.is_empty());
    assert_eq!(again.unchanged, 4);
}

#[test]
fn a_word_without_an_iri_is_taken_for_the_one_of_its_key_and_another_is_not() {
    let mut base = Base::default();
    base.take(&of(vec![class("Person")], vec![property("knows")]));
    base.types[0].iri = None;
    base.types[0].colour = Some("#4a7fb5".to_owned());

    let import = base.take(&of(vec![class("Person")], vec![]));
    assert_eq!(import.changed_types.len(), 1);
    assert_eq!(
        base.types[0].iri.as_deref(),
        Some("http://example.org/Person")
    );
    assert_eq!(base.types[0].colour.as_deref(), Some("#4a7fb5"));

    let mut other = class("Person");
    other.iri = "http://other.example/Person".to_owned();
    let import = base.take(&of(vec![other, class("person")], vec![]));
    assert_eq!(
        reasons(&import),
        [
            "http://other.example/Person: the key `person` is taken by <http://example.org/Person>",
            "person: the key `person` is taken by <http://example.org/Person>",
        ]
    );
    assert!(import.is_empty());
}

#[test]
fn what_is_said_to_be_the_same_is_one_word_whichever_came_first() {
    let same = |name: &str, other: &str| DeclaredClass {
        iri: format!("http://other.example/{name}"),
        same_as: vec![format!("{EX}{other}")],
        ..DeclaredClass::default()
    };
    let chief = DeclaredClass {
        parents: vec!["http://other.example/Human".to_owned()],
        ..class("Chief")
    };
    for same_later in [true, false] {
        let mut base = Base::default();
        let (first, second) = (class("Person"), same("Human", "Person"));
        let first = if same_later {
            vec![first, second]
        } else {
            vec![second, first]
        };
        base.take(&of(first, vec![]));
        base.take(&of(vec![same("Human", "Person"), chief.clone()], vec![]));

        let keys: Vec<&str> = base.types.iter().map(|one| &*one.key).collect();
        let kept = if same_later { "person" } else { "human" };
        assert_eq!(keys, ["chief", kept]);
        assert_eq!(base.parents("chief"), [kept]);
    }
}

#[test]
fn loops_are_left_out_and_told_also_those_through_the_base() {
    let mut base = Base::default();
    let import = base.take(&of(
        vec![
            below("A", &["B"]),
            below("B", &["C"]),
            below("C", &["A", "D"]),
            class("D"),
        ],
        vec![],
    ));
    assert_eq!(
        reasons(&import),
        ["c: one of its wider kinds, since that makes a loop: c → a → b → c"]
    );
    assert_eq!(base.parents("c"), ["d"]);

    let import = base.take(&of(vec![below("D", &["A"]), below("A", &["A"])], vec![]));
    assert!(base.parents("d").is_empty());
    assert_eq!(
        reasons(&import),
        [
            "A: its wider kind is the kind itself",
            "d: one of its wider kinds, since that makes a loop: d → a → b → c → d",
        ]
    );

    let wider = |name: &str, wider: &str| DeclaredProperty {
        sub_property_of: Some(format!("{EX}{wider}")),
        ..property(name)
    };
    let import = base.take(&of(vec![], vec![wider("p", "q"), wider("q", "p")]));
    assert_eq!(import.left_out.len(), 1);
    assert_eq!(
        base.relations
            .iter()
            .filter(|one| one.sub_property_of.is_some())
            .count(),
        1
    );
}

#[test]
fn no_kind_is_left_that_nothing_can_be_of() {
    let disjoint = |name: &str, other: &str| DeclaredClass {
        disjoint_with: vec![format!("{EX}{other}")],
        ..class(name)
    };
    let mut base = Base::default();
    let both = below("Both", &["One", "Other"]);
    let import = base.take(&of(
        vec![disjoint("One", "Other"), class("Other"), both.clone()],
        vec![],
    ));
    assert_eq!(
        reasons(&import),
        ["one: that it is disjoint with `other`: `both` is of both"]
    );

    let mut base = Base::default();
    base.take(&of(vec![disjoint("One", "Other"), class("Other")], vec![]));
    assert_eq!(base.kind("other").disjoint_with, [base.kind("one").id]);
    let import = base.take(&of(vec![both], vec![]));
    assert_eq!(
        reasons(&import),
        [
            "both: its wider kind `other`: with it `both` is of both `one` and `other`, which are disjoint"
        ]
    );
    assert_eq!(base.parents("both"), ["one"]);
}

#[test]
fn a_relation_stays_a_relation_and_names_stay_names() {
    let mut base = Base::default();
    base.take(&of(vec![], vec![property("age")]));
    let age = DeclaredProperty {
        kind: RelationKind::Attribute,
        ..property("age")
    };
    let both = DeclaredProperty {
        axioms: Axioms {
            symmetric: true,
            asymmetric: true,
            ..Axioms::default()
        },
        temporality: Some(Temporality::Eternal),
        ..property("kin")
    };

    let import = base.take(&of(vec![], vec![age, property("knownAs"), both]));

    assert_eq!(
        reasons(&import),
        [
            "knownAs: `known_as` holds the names of things and is the same in every base",
            "age: `age` is of the kind `relation` in the base, and in the file of the kind `attribute`",
            "kin: that it is asymmetric: it is symmetric, and the two rule each other out",
        ]
    );
    let kin = base.relations.iter().find(|one| one.key == "kin");
    assert_eq!(kin.unwrap().temporality, Temporality::Eternal);
}

#[test]
fn a_word_whose_name_is_a_number_is_called_by_its_label() {
    for (iri, label, key) in [
        (
            "http://purl.example/BFO_0000050",
            Some("part of"),
            Some("part_of"),
        ),
        ("http://purl.example/BFO_0000050", None, Some("bfo_0000050")),
        (
            "http://wiki.example/P31",
            Some("instance of"),
            Some("instance_of"),
        ),
        ("http://example.org/首都", Some("capital"), Some("capital")),
        ("http://example.org/首都", None, None),
        ("http://example.org/top10", Some("best"), Some("top10")),
        (
            "http://example.org/kb/class/line_item",
            Some("Position"),
            Some("line_item"),
        ),
    ] {
        assert_eq!(key_for(iri, label).as_deref(), key, "{iri}");
    }
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "A", "B", "C", "D", "E", "workFor", "WorkFor", "p1", "q",
    ])
    .prop_map(str::to_owned)
}

fn iri() -> impl Strategy<Value = String> {
    (any::<bool>(), name()).prop_map(|(own, name)| {
        let place = if own { EX } else { "http://other.example/" };
        format!("{place}{name}")
    })
}

fn iris() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(iri(), 0..3)
}

fn a_class() -> impl Strategy<Value = DeclaredClass> {
    (iri(), iris(), iris(), iris(), any::<bool>()).prop_map(
        |(iri, parents, disjoint_with, mut same_as, labelled)| {
            same_as.truncate(1);
            DeclaredClass {
                label: labelled.then(|| "Label".to_owned()),
                iri,
                parents,
                disjoint_with,
                same_as,
                description: None,
            }
        },
    )
}

fn a_property() -> impl Strategy<Value = DeclaredProperty> {
    let flags = prop::collection::vec(any::<bool>(), 4);
    let other = || prop::option::of(iri());
    (iri(), iris(), iris(), other(), other(), flags).prop_map(
        |(iri, domains, ranges, inverse_of, sub_property_of, flags)| DeclaredProperty {
            iri,
            kind: if flags[0] {
                RelationKind::Relation
            } else {
                RelationKind::Attribute
            },
            axioms: Axioms {
                symmetric: flags[1],
                asymmetric: flags[2],
                functional: flags[3],
                ..Axioms::default()
            },
            domains,
            ranges,
            inverse_of,
            sub_property_of,
            ..DeclaredProperty::default()
        },
    )
}

fn a_file() -> impl Strategy<Value = Declarations> {
    let classes = prop::collection::vec(a_class(), 0..8);
    let properties = prop::collection::vec(a_property(), 0..6);
    (classes, properties).prop_map(|(mut classes, mut properties)| {
        let mut seen = HashSet::new();
        classes.retain(|class| seen.insert(class.iri.clone()));
        let mut seen = HashSet::new();
        properties.retain(|property| seen.insert(property.iri.clone()));
        of(classes, properties)
    })
}

proptest! {
    #[test]
    fn a_second_time_changes_nothing_and_what_stands_is_sound(first in a_file(), second in a_file()) {
        let mut base = Base::default();
        for file in [&first, &second] {
            base.take(file);
            let again = base.plan(file);
            prop_assert!(again.is_empty(), "{again:#?}");
        }
        let mut keys = HashSet::new();
        prop_assert!(base.types.iter().all(|one| is_key(&one.key) && keys.insert(&one.key)));
        let mut keys = HashSet::new();
        prop_assert!(base.relations.iter().all(|one| is_key(&one.key) && keys.insert(&one.key)));
        let place: HashMap<_, _> = base.types.iter().enumerate().map(|(n, one)| (one.id, n)).collect();
        let above: Vec<Vec<usize>> = base.types.iter()
            .map(|one| one.parents.iter().map(|id| place[id]).collect()).collect();
        for node in 0..above.len() {
            prop_assert!(above[node].iter().all(|&wider| !closure_of(wider, &above).contains(&node)));
        }
        let pairs = base.types.iter().flat_map(|one| one.disjoint_with.iter()
            .map(|other| (place[&one.id].min(place[other]), place[&one.id].max(place[other]))).collect::<Vec<_>>());
        prop_assert_eq!(impossible(&above, &pairs.collect()), None);
        for relation in &base.relations {
            prop_assert!(!(relation.axioms.symmetric && relation.axioms.asymmetric));
        }
    }
}
