-- Whose vectors a base is searched with, and whose it was searched with before.
CREATE TABLE base_model (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    serving TEXT,
    previous TEXT,
    since BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, base_id)
);

INSERT INTO base_model (tenant_id, base_id, serving, previous, since)
    SELECT tenant_id, base_id, MIN(model), NULL, 0 FROM vector GROUP BY tenant_id, base_id;
