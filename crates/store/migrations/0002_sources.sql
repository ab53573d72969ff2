-- Sources: where documents come from, what each of them has, and the pages that are pulled.
CREATE TABLE source (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    id UUID NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    least_role TEXT NOT NULL,
    settings TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    run BIGINT NOT NULL,
    pulled_at BIGINT,
    outcome TEXT,
    PRIMARY KEY (tenant_id, base_id, id),
    UNIQUE (tenant_id, base_id, name, least_role)
);
CREATE UNIQUE INDEX source_id ON source (tenant_id, id);

-- A document's key in its source is the document's external key.
CREATE TABLE source_item (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    document_id UUID NOT NULL,
    source_id UUID NOT NULL,
    missing_at BIGINT,
    PRIMARY KEY (tenant_id, base_id, document_id)
);
CREATE INDEX source_item_source ON source_item (tenant_id, base_id, source_id, document_id);

CREATE TABLE source_page (
    tenant_id UUID NOT NULL,
    base_id UUID NOT NULL,
    source_id UUID NOT NULL,
    url TEXT NOT NULL,
    etag TEXT,
    last_modified TEXT,
    asked_at BIGINT NOT NULL,
    run BIGINT NOT NULL,
    gone BIGINT NOT NULL,
    fault TEXT,
    PRIMARY KEY (tenant_id, base_id, source_id, url)
);
CREATE INDEX source_page_asked ON source_page (tenant_id, base_id, source_id, asked_at, url);
