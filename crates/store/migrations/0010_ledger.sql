-- The ledger: kinds of things and of claims, claims on two clocks, who is one with whom.
-- An open end of record time or of world time is the greatest (or least) BIGINT; it is compared
-- and never added to. A claim without a relation or an entity as its object has the nil UUID in
-- `fact_hold`, whose columns are sort keys.
CREATE TABLE entity_type (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    id UUID NOT NULL,
    key TEXT NOT NULL,
    label TEXT NOT NULL,
    description TEXT NOT NULL,
    iri TEXT,
    colour TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, base_id, id),
    UNIQUE (tenant_id, base_id, key)
);

CREATE TABLE entity_type_parent (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    type_id UUID NOT NULL,
    parent_id UUID NOT NULL,
    is_primary BOOLEAN NOT NULL,
    PRIMARY KEY (tenant_id, base_id, type_id, parent_id)
);

CREATE TABLE entity_type_disjoint (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    type_id UUID NOT NULL,
    other_id UUID NOT NULL,
    PRIMARY KEY (tenant_id, base_id, type_id, other_id)
);

CREATE TABLE relation_type (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    id UUID NOT NULL,
    key TEXT NOT NULL,
    label TEXT NOT NULL,
    description TEXT NOT NULL,
    iri TEXT,
    kind TEXT NOT NULL,
    temporality TEXT NOT NULL,
    functional BOOLEAN NOT NULL,
    inverse_functional BOOLEAN NOT NULL,
    transitive BOOLEAN NOT NULL,
    "symmetric" BOOLEAN NOT NULL,
    "asymmetric" BOOLEAN NOT NULL,
    irreflexive BOOLEAN NOT NULL,
    inverse_of UUID,
    sub_property_of UUID,
    datatype TEXT,
    unit TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, base_id, id),
    UNIQUE (tenant_id, base_id, key)
);

-- Types that a relation starts from and leads to, and attributes that a claim of it may carry.
CREATE TABLE relation_type_link (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    relation_id UUID NOT NULL,
    role TEXT NOT NULL,
    other_id UUID NOT NULL,
    PRIMARY KEY (tenant_id, base_id, relation_id, role, other_id)
);
CREATE INDEX relation_type_link_other ON relation_type_link (tenant_id, base_id, other_id);

CREATE TABLE event (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    id UUID NOT NULL,
    recorded_at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    user_id UUID,
    credential_id UUID,
    payload_hash BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, base_id, id)
);
CREATE INDEX event_recorded ON event (tenant_id, base_id, recorded_at, id);

CREATE TABLE event_payload (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    event_id UUID NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (tenant_id, base_id, event_id)
);

CREATE TABLE entity (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    id UUID NOT NULL,
    recorded_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, base_id, id)
);
CREATE INDEX entity_recorded ON entity (tenant_id, base_id, recorded_at, id);

CREATE TABLE entity_kind (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    entity_id UUID NOT NULL,
    type_id UUID,
    source TEXT NOT NULL,
    rec_from BIGINT NOT NULL,
    rec_to BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, base_id, entity_id, rec_from)
);
CREATE INDEX entity_kind_type ON entity_kind (tenant_id, base_id, type_id, rec_to);

CREATE TABLE fact (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    id UUID NOT NULL,
    subject_id UUID NOT NULL,
    predicate_id UUID,
    object_id UUID,
    value TEXT,
    unit TEXT,
    says TEXT NOT NULL,
    wording TEXT,
    rank TEXT NOT NULL,
    valid_from TEXT,
    valid_from_latest TEXT,
    valid_from_approximate BOOLEAN NOT NULL,
    valid_to TEXT,
    valid_to_earliest TEXT,
    valid_to_approximate BOOLEAN NOT NULL,
    ended_unknown BOOLEAN NOT NULL,
    starts_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    date_text TEXT,
    calendar TEXT,
    confidence DOUBLE PRECISION NOT NULL,
    recorded_at BIGINT NOT NULL,
    invalidated_at BIGINT,
    supersedes UUID,
    PRIMARY KEY (tenant_id, base_id, id)
);
CREATE INDEX fact_subject ON fact (tenant_id, base_id, subject_id, predicate_id);
CREATE INDEX fact_object ON fact (tenant_id, base_id, object_id, predicate_id);
CREATE INDEX fact_recorded ON fact (tenant_id, base_id, recorded_at, id);
CREATE INDEX fact_invalidated ON fact (tenant_id, base_id, invalidated_at, id);
CREATE INDEX fact_predicate ON fact (tenant_id, base_id, predicate_id, recorded_at, id);
CREATE INDEX fact_supersedes ON fact (tenant_id, base_id, supersedes);

CREATE TABLE fact_hold (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    fact_id UUID NOT NULL,
    subject_id UUID NOT NULL,
    predicate_id UUID NOT NULL,
    object_id UUID NOT NULL,
    holds_from BIGINT NOT NULL,
    holds_to BIGINT NOT NULL,
    rec_from BIGINT NOT NULL,
    rec_to BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, base_id, fact_id, rec_from)
);
CREATE INDEX fact_hold_subject ON fact_hold (tenant_id, base_id, subject_id, predicate_id, holds_from, holds_to, rec_from, rec_to, object_id, fact_id);
CREATE INDEX fact_hold_object ON fact_hold (tenant_id, base_id, object_id, predicate_id, holds_from, holds_to, rec_from, rec_to, subject_id, fact_id);

CREATE TABLE fact_evidence (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    fact_id UUID NOT NULL,
    n BIGINT NOT NULL,
    document_id UUID NOT NULL,
    version BIGINT NOT NULL,
    chunk_id UUID NOT NULL,
    quote TEXT NOT NULL,
    char_start BIGINT NOT NULL,
    char_end BIGINT NOT NULL,
    document_date TEXT,
    origin TEXT NOT NULL,
    recorded_at BIGINT NOT NULL,
    invalidated_at BIGINT,
    PRIMARY KEY (tenant_id, base_id, fact_id, n)
);
CREATE INDEX fact_evidence_document ON fact_evidence (tenant_id, base_id, document_id);

CREATE TABLE fact_qualifier (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    fact_id UUID NOT NULL,
    n BIGINT NOT NULL,
    qualifier_type_id UUID NOT NULL,
    value TEXT,
    unit TEXT,
    entity_id UUID,
    PRIMARY KEY (tenant_id, base_id, fact_id, n)
);

CREATE TABLE same_as (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    fold_id UUID NOT NULL,
    rec_from BIGINT NOT NULL,
    keep_id UUID NOT NULL,
    rec_to BIGINT NOT NULL,
    event_id UUID NOT NULL,
    PRIMARY KEY (tenant_id, base_id, fold_id, rec_from)
);
CREATE INDEX same_as_event ON same_as (tenant_id, base_id, event_id);
CREATE INDEX same_as_begun ON same_as (tenant_id, base_id, rec_from);
CREATE INDEX same_as_ended ON same_as (tenant_id, base_id, rec_to);
CREATE INDEX same_as_keep ON same_as (tenant_id, base_id, keep_id);

CREATE TABLE identity (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    entity_id UUID NOT NULL,
    rec_from BIGINT NOT NULL,
    canonical_id UUID NOT NULL,
    rec_to BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, base_id, entity_id, rec_from)
);
CREATE INDEX identity_canonical ON identity (tenant_id, base_id, canonical_id, rec_to);

CREATE TABLE different_from (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    one_id UUID NOT NULL,
    other_id UUID NOT NULL,
    rec_from BIGINT NOT NULL,
    rec_to BIGINT NOT NULL,
    event_id UUID NOT NULL,
    PRIMARY KEY (tenant_id, base_id, one_id, other_id, rec_from)
);
CREATE INDEX different_from_other ON different_from (tenant_id, base_id, other_id);
