-- Files that were about to be erased: whoever is about to refer to one sees here that it may be gone.
CREATE TABLE erasure (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    blob_hash BYTEA NOT NULL,
    begun_at BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (tenant_id, base_id, blob_hash)
);
CREATE INDEX erasure_begun ON erasure (tenant_id, begun_at);
