//! What must hold of facts, of who is one with whom, and of the words for both.

use super::Rule;
use crate::statement::statements;

pub(super) static RULES: &[Rule] = &[
    Rule {
        says: "facts about an entity that is not there",
        columns: &["fact", "subject"],
        statement: &FACT_WITHOUT_SUBJECT,
    },
    Rule {
        says: "facts that lead to an entity that is not there",
        columns: &["fact", "object"],
        statement: &FACT_WITHOUT_OBJECT,
    },
    Rule {
        says: "facts of a relation that is not there",
        columns: &["fact", "relation"],
        statement: &FACT_WITHOUT_RELATION,
    },
    Rule {
        says: "facts that correct one that is not there",
        columns: &["fact", "corrected fact"],
        statement: &FACT_WITHOUT_FORMER,
    },
    Rule {
        says: "facts held no longer before they were held, or dated after the base's last write",
        columns: &["fact"],
        statement: &FACT_TIMES,
    },
    Rule {
        says: "facts that are held and whose time is not read out",
        columns: &["fact"],
        statement: &FACT_WITHOUT_HOLD,
    },
    Rule {
        says: "times read out of a fact that is not held",
        columns: &["fact"],
        statement: &HOLD_WITHOUT_FACT,
    },
    Rule {
        says: "times of a fact that are read out twice at one moment",
        columns: &["fact"],
        statement: &HOLD_TWICE,
    },
    Rule {
        says: "evidence without its fact",
        columns: &["fact", "document"],
        statement: &EVIDENCE_WITHOUT_FACT,
    },
    Rule {
        says: "evidence from a document that is not there",
        columns: &["fact", "document"],
        statement: &EVIDENCE_WITHOUT_DOCUMENT,
    },
    Rule {
        says: "quotations from a purged document",
        columns: &["fact", "document"],
        statement: &QUOTE_OF_PURGED,
    },
    Rule {
        says: "qualifiers without their fact",
        columns: &["fact"],
        statement: &QUALIFIER_WITHOUT_FACT,
    },
    Rule {
        says: "kinds of an entity that is not there",
        columns: &["entity"],
        statement: &KIND_WITHOUT_ENTITY,
    },
    Rule {
        says: "entities of a type that is not there",
        columns: &["entity", "type"],
        statement: &KIND_WITHOUT_TYPE,
    },
    Rule {
        says: "entities that are of two types at one moment",
        columns: &["entity"],
        statement: &KIND_TWICE,
    },
    Rule {
        says: "merges of an entity that is not there",
        columns: &["entity", "merged into"],
        statement: &MERGE_WITHOUT_ENTITY,
    },
    Rule {
        says: "entities merged into two at one moment",
        columns: &["entity"],
        statement: &MERGE_TWICE,
    },
    Rule {
        says: "merged entities that are not known by the one that stays",
        columns: &["entity", "merged into"],
        statement: &MERGE_WITHOUT_IDENTITY,
    },
    Rule {
        says: "entities known by one that is merged into another itself",
        columns: &["entity", "known by"],
        statement: &IDENTITY_NOT_LAST,
    },
    Rule {
        says: "entities said to differ from one that is not there",
        columns: &["entity", "entity"],
        statement: &DIFFERENT_WITHOUT_ENTITY,
    },
    Rule {
        says: "events dated after the base's last write",
        columns: &["event"],
        statement: &EVENT_TIMES,
    },
    Rule {
        says: "contents of an event that is not there",
        columns: &["event"],
        statement: &PAYLOAD_WITHOUT_EVENT,
    },
    Rule {
        says: "types below a type that is not there",
        columns: &["type", "type above"],
        statement: &PARENT_WITHOUT_TYPE,
    },
    Rule {
        says: "links of a relation that is not there",
        columns: &["relation"],
        statement: &LINK_WITHOUT_RELATION,
    },
];

statements! {
    tenant {
        FACT_WITHOUT_SUBJECT: "SELECT id, subject_id FROM fact WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM entity \
            WHERE entity.tenant_id = fact.tenant_id AND entity.base_id = fact.base_id AND entity.id = fact.subject_id) LIMIT $3",
        FACT_WITHOUT_OBJECT: "SELECT id, object_id FROM fact WHERE tenant_id = $1 AND base_id = $2 AND object_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM entity \
            WHERE entity.tenant_id = fact.tenant_id AND entity.base_id = fact.base_id AND entity.id = fact.object_id) LIMIT $3",
        FACT_WITHOUT_RELATION: "SELECT id, predicate_id FROM fact WHERE tenant_id = $1 AND base_id = $2 AND predicate_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM relation_type \
            WHERE relation_type.tenant_id = fact.tenant_id AND relation_type.base_id = fact.base_id AND relation_type.id = fact.predicate_id) LIMIT $3",
        FACT_WITHOUT_FORMER: "SELECT id, supersedes FROM fact WHERE tenant_id = $1 AND base_id = $2 AND supersedes IS NOT NULL AND NOT EXISTS (SELECT 1 FROM fact AS former \
            WHERE former.tenant_id = fact.tenant_id AND former.base_id = fact.base_id AND former.id = fact.supersedes) LIMIT $3",
        FACT_TIMES: "SELECT fact.id FROM fact JOIN base ON base.tenant_id = fact.tenant_id AND base.id = fact.base_id WHERE fact.tenant_id = $1 AND fact.base_id = $2 \
            AND (fact.invalidated_at < fact.recorded_at OR fact.recorded_at > base.clock OR fact.invalidated_at > base.clock) LIMIT $3",
        FACT_WITHOUT_HOLD: "SELECT id FROM fact WHERE tenant_id = $1 AND base_id = $2 AND invalidated_at IS NULL AND NOT EXISTS (SELECT 1 FROM fact_hold \
            WHERE fact_hold.tenant_id = fact.tenant_id AND fact_hold.base_id = fact.base_id AND fact_hold.fact_id = fact.id AND fact_hold.rec_to = 9223372036854775807) LIMIT $3",
        HOLD_WITHOUT_FACT: "SELECT fact_id FROM fact_hold WHERE tenant_id = $1 AND base_id = $2 AND rec_to = 9223372036854775807 AND NOT EXISTS (SELECT 1 FROM fact \
            WHERE fact.tenant_id = fact_hold.tenant_id AND fact.base_id = fact_hold.base_id AND fact.id = fact_hold.fact_id AND fact.invalidated_at IS NULL) LIMIT $3",
        HOLD_TWICE: "SELECT hold.fact_id FROM fact_hold AS hold JOIN fact_hold AS later ON later.tenant_id = hold.tenant_id AND later.base_id = hold.base_id AND later.fact_id = hold.fact_id AND later.rec_from > hold.rec_from \
            WHERE hold.tenant_id = $1 AND hold.base_id = $2 AND hold.rec_to > later.rec_from LIMIT $3",
        EVIDENCE_WITHOUT_FACT: "SELECT fact_id, document_id FROM fact_evidence WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM fact \
            WHERE fact.tenant_id = fact_evidence.tenant_id AND fact.base_id = fact_evidence.base_id AND fact.id = fact_evidence.fact_id) LIMIT $3",
        EVIDENCE_WITHOUT_DOCUMENT: "SELECT fact_id, document_id FROM fact_evidence WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM document \
            WHERE document.tenant_id = fact_evidence.tenant_id AND document.base_id = fact_evidence.base_id AND document.id = fact_evidence.document_id) LIMIT $3",
        QUOTE_OF_PURGED: "SELECT fact_evidence.fact_id, fact_evidence.document_id FROM document JOIN fact_evidence ON fact_evidence.tenant_id = document.tenant_id \
            AND fact_evidence.base_id = document.base_id AND fact_evidence.document_id = document.id \
            WHERE document.tenant_id = $1 AND document.base_id = $2 AND document.purged_at IS NOT NULL AND fact_evidence.quote <> '' LIMIT $3",
        QUALIFIER_WITHOUT_FACT: "SELECT fact_id FROM fact_qualifier WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM fact \
            WHERE fact.tenant_id = fact_qualifier.tenant_id AND fact.base_id = fact_qualifier.base_id AND fact.id = fact_qualifier.fact_id) LIMIT $3",
        KIND_WITHOUT_ENTITY: "SELECT entity_id FROM entity_kind WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM entity \
            WHERE entity.tenant_id = entity_kind.tenant_id AND entity.base_id = entity_kind.base_id AND entity.id = entity_kind.entity_id) LIMIT $3",
        KIND_WITHOUT_TYPE: "SELECT entity_id, type_id FROM entity_kind WHERE tenant_id = $1 AND base_id = $2 AND type_id IS NOT NULL AND rec_to = 9223372036854775807 AND NOT EXISTS (SELECT 1 FROM entity_type \
            WHERE entity_type.tenant_id = entity_kind.tenant_id AND entity_type.base_id = entity_kind.base_id AND entity_type.id = entity_kind.type_id) LIMIT $3",
        KIND_TWICE: "SELECT kind.entity_id FROM entity_kind AS kind JOIN entity_kind AS later ON later.tenant_id = kind.tenant_id AND later.base_id = kind.base_id AND later.entity_id = kind.entity_id AND later.rec_from > kind.rec_from \
            WHERE kind.tenant_id = $1 AND kind.base_id = $2 AND kind.rec_to > later.rec_from LIMIT $3",
        MERGE_WITHOUT_ENTITY: "SELECT fold_id, keep_id FROM same_as WHERE tenant_id = $1 AND base_id = $2 AND (NOT EXISTS (SELECT 1 FROM entity \
            WHERE entity.tenant_id = same_as.tenant_id AND entity.base_id = same_as.base_id AND entity.id = same_as.fold_id) OR NOT EXISTS (SELECT 1 FROM entity \
            WHERE entity.tenant_id = same_as.tenant_id AND entity.base_id = same_as.base_id AND entity.id = same_as.keep_id)) LIMIT $3",
        MERGE_TWICE: "SELECT merge.fold_id FROM same_as AS merge JOIN same_as AS later ON later.tenant_id = merge.tenant_id AND later.base_id = merge.base_id AND later.fold_id = merge.fold_id AND later.rec_from > merge.rec_from \
            WHERE merge.tenant_id = $1 AND merge.base_id = $2 AND merge.rec_to > later.rec_from LIMIT $3",
        MERGE_WITHOUT_IDENTITY: "SELECT fold_id, keep_id FROM same_as WHERE tenant_id = $1 AND base_id = $2 AND rec_to = 9223372036854775807 AND NOT EXISTS (SELECT 1 FROM identity \
            WHERE identity.tenant_id = same_as.tenant_id AND identity.base_id = same_as.base_id AND identity.entity_id = same_as.fold_id \
            AND identity.rec_to = 9223372036854775807 AND identity.canonical_id <> same_as.fold_id) LIMIT $3",
        IDENTITY_NOT_LAST: "SELECT identity.entity_id, identity.canonical_id FROM identity JOIN same_as ON same_as.tenant_id = identity.tenant_id AND same_as.base_id = identity.base_id \
            AND same_as.fold_id = identity.canonical_id AND same_as.rec_to = 9223372036854775807 \
            WHERE identity.tenant_id = $1 AND identity.base_id = $2 AND identity.rec_to = 9223372036854775807 LIMIT $3",
        DIFFERENT_WITHOUT_ENTITY: "SELECT one_id, other_id FROM different_from WHERE tenant_id = $1 AND base_id = $2 AND (NOT EXISTS (SELECT 1 FROM entity \
            WHERE entity.tenant_id = different_from.tenant_id AND entity.base_id = different_from.base_id AND entity.id = different_from.one_id) OR NOT EXISTS (SELECT 1 FROM entity \
            WHERE entity.tenant_id = different_from.tenant_id AND entity.base_id = different_from.base_id AND entity.id = different_from.other_id)) LIMIT $3",
        EVENT_TIMES: "SELECT event.id FROM event JOIN base ON base.tenant_id = event.tenant_id AND base.id = event.base_id \
            WHERE event.tenant_id = $1 AND event.base_id = $2 AND event.recorded_at > base.clock LIMIT $3",
        PAYLOAD_WITHOUT_EVENT: "SELECT event_id FROM event_payload WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM event \
            WHERE event.tenant_id = event_payload.tenant_id AND event.base_id = event_payload.base_id AND event.id = event_payload.event_id) LIMIT $3",
        PARENT_WITHOUT_TYPE: "SELECT type_id, parent_id FROM entity_type_parent WHERE tenant_id = $1 AND base_id = $2 AND (NOT EXISTS (SELECT 1 FROM entity_type \
            WHERE entity_type.tenant_id = entity_type_parent.tenant_id AND entity_type.base_id = entity_type_parent.base_id AND entity_type.id = entity_type_parent.type_id) OR NOT EXISTS (SELECT 1 FROM entity_type \
            WHERE entity_type.tenant_id = entity_type_parent.tenant_id AND entity_type.base_id = entity_type_parent.base_id AND entity_type.id = entity_type_parent.parent_id)) LIMIT $3",
        LINK_WITHOUT_RELATION: "SELECT DISTINCT relation_id FROM relation_type_link WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM relation_type \
            WHERE relation_type.tenant_id = relation_type_link.tenant_id AND relation_type.base_id = relation_type_link.base_id AND relation_type.id = relation_type_link.relation_id) LIMIT $3",
    }
}
