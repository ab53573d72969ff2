-- What the claims of a thing are counted, ordered and narrowed by stands beside their reading, so
-- that one index answers for all of them and only those shown are looked at themselves.
ALTER TABLE fact_hold ADD COLUMN rank BIGINT NOT NULL DEFAULT 1;
ALTER TABLE fact_hold ADD COLUMN recorded_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE fact_hold ADD COLUMN starts_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE fact_hold ADD COLUMN ends_at BIGINT NOT NULL DEFAULT 0;
UPDATE fact_hold SET
    rank = COALESCE((SELECT CASE fact.rank WHEN 'deprecated' THEN 0 WHEN 'preferred' THEN 2 ELSE 1 END FROM fact
        WHERE fact.tenant_id = fact_hold.tenant_id AND fact.base_id = fact_hold.base_id AND fact.id = fact_hold.fact_id), 1),
    recorded_at = COALESCE((SELECT fact.recorded_at FROM fact
        WHERE fact.tenant_id = fact_hold.tenant_id AND fact.base_id = fact_hold.base_id AND fact.id = fact_hold.fact_id), 0),
    starts_at = COALESCE((SELECT fact.starts_at FROM fact
        WHERE fact.tenant_id = fact_hold.tenant_id AND fact.base_id = fact_hold.base_id AND fact.id = fact_hold.fact_id), 0),
    ends_at = COALESCE((SELECT fact.ends_at FROM fact
        WHERE fact.tenant_id = fact_hold.tenant_id AND fact.base_id = fact_hold.base_id AND fact.id = fact_hold.fact_id), 0);
DROP INDEX fact_hold_subject;
DROP INDEX fact_hold_object;
CREATE INDEX fact_hold_subject ON fact_hold (tenant_id, base_id, subject_id, predicate_id, holds_from, holds_to, rec_from, rec_to, object_id, fact_id, rank, recorded_at, starts_at, ends_at);
CREATE INDEX fact_hold_object ON fact_hold (tenant_id, base_id, object_id, predicate_id, holds_from, holds_to, rec_from, rec_to, subject_id, fact_id, rank, recorded_at, starts_at, ends_at);

-- Claims of one thing that say the same are found without reading what else is said of it; those
-- beside a date, without reading those far from it.
DROP INDEX fact_subject;
CREATE INDEX fact_subject ON fact (tenant_id, base_id, subject_id, predicate_id, says);
CREATE INDEX fact_succession ON fact (tenant_id, base_id, subject_id, predicate_id, starts_at);
CREATE INDEX fact_object_succession ON fact (tenant_id, base_id, object_id, predicate_id, starts_at);
DROP INDEX fact_object;

-- The documents that a reader may not see.
CREATE INDEX document_least_role ON document (tenant_id, base_id, least_role, id);
