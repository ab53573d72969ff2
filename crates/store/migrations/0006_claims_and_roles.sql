-- Whose claim of an idempotency key it is, and what the call was about.
ALTER TABLE idempotency ADD COLUMN claim UUID;
ALTER TABLE idempotency ADD COLUMN thing TEXT;
CREATE INDEX idempotency_thing ON idempotency (tenant_id, base_id, thing);

-- When a version's passages were last given other ordinals, for another least role.
ALTER TABLE document_version ADD COLUMN renumbered_at BIGINT;
CREATE INDEX document_version_renumbered ON document_version (tenant_id, base_id, renumbered_at);
