-- Tenants, people, bases, credentials, the log, documents, passages, work.
-- One text for both engines; see migrations.rs for the one word that is rewritten.
CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE tenant (
    id UUID NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    slug TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

CREATE TABLE user_account (
    id UUID NOT NULL PRIMARY KEY,
    tenant_id UUID NOT NULL,
    email TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    password_hash TEXT,
    system_admin BOOLEAN NOT NULL,
    disabled_at BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX user_account_tenant ON user_account (tenant_id, created_at, id);

CREATE TABLE setup_link (
    secret_hash BYTEA NOT NULL PRIMARY KEY,
    tenant_id UUID NOT NULL,
    user_id UUID NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);

CREATE TABLE base_directory (
    id UUID NOT NULL PRIMARY KEY,
    tenant_id UUID NOT NULL
);

CREATE TABLE base (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    name TEXT NOT NULL,
    slug TEXT NOT NULL,
    visibility TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    clock BIGINT NOT NULL,
    next_ordinal BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, slug)
);

CREATE TABLE member (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    user_id UUID NOT NULL,
    role TEXT NOT NULL,
    granted_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, base_id, user_id)
);
CREATE INDEX member_user ON member (tenant_id, user_id);

CREATE TABLE credential (
    id UUID NOT NULL PRIMARY KEY,
    tenant_id UUID NOT NULL,
    user_id UUID,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    secret_hash BYTEA NOT NULL UNIQUE,
    hint TEXT NOT NULL,
    scopes TEXT NOT NULL,
    all_bases BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT,
    revoked_at BIGINT,
    client_name TEXT,
    client_seen_at BIGINT
);
CREATE INDEX credential_tenant ON credential (tenant_id, user_id, created_at, id);

CREATE TABLE credential_base (
    tenant_id UUID NOT NULL,
    credential_id UUID NOT NULL,
    base_id UUID NOT NULL,
    PRIMARY KEY (tenant_id, credential_id, base_id)
);

CREATE TABLE audit (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    at BIGINT NOT NULL,
    base_id UUID,
    user_id UUID,
    user_label TEXT NOT NULL,
    credential_id UUID,
    credential_name TEXT,
    client TEXT,
    actor TEXT,
    door TEXT NOT NULL,
    operation TEXT NOT NULL,
    target_kind TEXT,
    target_id TEXT,
    verdict TEXT NOT NULL,
    request_id UUID NOT NULL,
    detail TEXT,
    sealed BOOLEAN NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX audit_base ON audit (tenant_id, base_id, at, id);
CREATE INDEX audit_time ON audit (tenant_id, at, id);
CREATE INDEX audit_unsealed ON audit (tenant_id, at, id) WHERE sealed = FALSE;

CREATE TABLE audit_seal (
    tenant_id UUID NOT NULL,
    n BIGINT NOT NULL,
    audit_id UUID NOT NULL,
    prev_hash BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, n),
    UNIQUE (tenant_id, audit_id)
);

CREATE TABLE idempotency (
    tenant_id UUID NOT NULL,
    principal_id UUID NOT NULL,
    operation TEXT NOT NULL,
    base_id UUID NOT NULL,
    key TEXT NOT NULL,
    args_hash BYTEA NOT NULL,
    outcome TEXT,
    created_at BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, principal_id, operation, base_id, key)
);
CREATE INDEX idempotency_age ON idempotency (tenant_id, created_at);

CREATE TABLE document (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    id UUID NOT NULL,
    external_key TEXT NOT NULL,
    filename TEXT NOT NULL,
    least_role TEXT NOT NULL,
    state TEXT NOT NULL,
    failure TEXT,
    version BIGINT NOT NULL,
    held_version BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT,
    purged_at BIGINT,
    PRIMARY KEY (tenant_id, base_id, id),
    UNIQUE (tenant_id, base_id, external_key)
);
CREATE INDEX document_listing ON document (tenant_id, base_id, created_at, id);

CREATE TABLE document_version (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    document_id UUID NOT NULL,
    version BIGINT NOT NULL,
    blob_hash BYTEA NOT NULL,
    size BIGINT NOT NULL,
    media_type TEXT NOT NULL,
    filename TEXT NOT NULL,
    accepted_at BIGINT NOT NULL,
    recorded_at BIGINT,
    invalidated_at BIGINT,
    title TEXT,
    document_date TEXT,
    date_source TEXT,
    left_out TEXT NOT NULL,
    char_count BIGINT NOT NULL,
    chunk_order BYTEA,
    PRIMARY KEY (tenant_id, base_id, document_id, version)
);
CREATE INDEX document_version_blob ON document_version (tenant_id, base_id, blob_hash);
CREATE INDEX document_version_recorded ON document_version (tenant_id, base_id, recorded_at);

CREATE TABLE section (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    document_id UUID NOT NULL,
    version BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    heading_path TEXT NOT NULL,
    body TEXT NOT NULL,
    char_start BIGINT NOT NULL,
    char_count BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, base_id, document_id, version, seq)
);

CREATE TABLE chunk (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    ordinal BIGINT NOT NULL,
    id UUID NOT NULL,
    document_id UUID NOT NULL,
    recorded_at BIGINT NOT NULL,
    invalidated_at BIGINT,
    purged_at BIGINT,
    least_role TEXT NOT NULL,
    heading_path TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (tenant_id, base_id, ordinal),
    UNIQUE (tenant_id, base_id, id, recorded_at)
);
CREATE INDEX chunk_document ON chunk (tenant_id, base_id, document_id, ordinal);
CREATE INDEX chunk_invalidated ON chunk (tenant_id, base_id, invalidated_at);
CREATE INDEX chunk_purged ON chunk (tenant_id, base_id, purged_at);

CREATE TABLE vector (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    model TEXT NOT NULL,
    chunk_id UUID NOT NULL,
    added_at BIGINT NOT NULL,
    scale DOUBLE PRECISION NOT NULL,
    code BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, base_id, chunk_id, model)
);
CREATE INDEX vector_added ON vector (tenant_id, base_id, model, added_at, chunk_id);

CREATE TABLE job (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    base_id UUID,
    queue TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    run_at BIGINT NOT NULL,
    lease_until BIGINT,
    progress TEXT,
    error TEXT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX job_unfinished ON job (tenant_id, kind, key) WHERE state IN ('waiting', 'running');
CREATE INDEX job_queue ON job (queue, state, run_at);
CREATE INDEX job_due ON job (queue, run_at, id) WHERE state IN ('waiting', 'running');
CREATE INDEX job_base ON job (tenant_id, base_id, created_at, id);
CREATE INDEX job_key ON job (tenant_id, base_id, key, created_at, id);
CREATE INDEX job_finished ON job (tenant_id, finished_at);
