//! Ontology files, and what taking them in does.

use formats::owl;
use model::RecordTime;
use model::ontology::import::plan;
use model::ontology::misfit::Kinds;
use model::ontology::{EntityType, RelationType, is_key};
use uuid::Uuid;

/// Small, so that a case is over soon whatever it asks for.
const LIMITS: owl::Limits = owl::Limits {
    bytes: 64 << 10,
    statements: 5_000,
    words: 300,
    depth: 50,
    list: 100,
    pairs: 2_000,
    left_out: 200,
};

/// An ontology is read or refused; what is read is taken into an empty base, which is sound then,
/// and a second time does nothing.
pub fn read(bytes: &[u8]) {
    let declared = match owl::read(bytes, Some("http://example.org/base"), &LIMITS) {
        Ok(declared) => declared,
        Err(refusal) => {
            let told = refusal.to_string();
            assert!(
                !told.is_empty() && told.len() < 2_000,
                "a refusal is a sentence"
            );
            return;
        }
    };
    assert!(declared.classes.len() + declared.properties.len() <= LIMITS.words);
    assert!(declared.left_out.len() <= LIMITS.left_out + 1);
    let told = declared.left_out.iter();
    assert!(
        told.clone()
            .all(|one| !one.name.is_empty() && !one.reason.is_empty())
    );

    let (mut types, mut relations): (Vec<EntityType>, Vec<RelationType>) = Default::default();
    let mut count = 0;
    let mut fresh = || {
        count += 1;
        Uuid::from_u128(count)
    };
    let at = RecordTime::from_micros(0);
    plan((&types, &relations), &declared, &mut fresh, at).take_into(&mut types, &mut relations);
    types.sort_by(|one, other| one.key.cmp(&other.key));
    relations.sort_by(|one, other| one.key.cmp(&other.key));
    assert!(types.windows(2).all(|pair| pair[0].key != pair[1].key));
    assert!(relations.windows(2).all(|pair| pair[0].key != pair[1].key));
    assert!(
        types
            .iter()
            .all(|kind| is_key(&kind.key) && !kind.label.is_empty())
    );
    assert!(
        relations
            .iter()
            .all(|one| is_key(&one.key) && !one.label.is_empty())
    );
    let kinds = Kinds::of(&types);
    for kind in &types {
        let mut parents = kind.parents.iter();
        assert!(
            parents.all(|parent| !kinds.is_above(kind.id, *parent)),
            "no kind is above itself"
        );
    }
    assert_eq!(kinds.impossible(), None, "something can be of every kind");
    let again = plan((&types, &relations), &declared, &mut fresh, at);
    assert!(again.is_empty(), "a second time changes nothing");
}
