//! What must hold of sources and what they have.

use super::Rule;
use crate::statement::statements;

pub(super) static RULES: &[Rule] = &[
    Rule {
        says: "documents of a source that is not there",
        columns: &["document", "source"],
        statement: &ITEM_WITHOUT_SOURCE,
    },
    Rule {
        says: "things of a source without their document",
        columns: &["document", "source"],
        statement: &ITEM_WITHOUT_DOCUMENT,
    },
    Rule {
        says: "pages of a source that is not there",
        columns: &["source"],
        statement: &PAGE_WITHOUT_SOURCE,
    },
];

statements! {
    tenant {
        ITEM_WITHOUT_SOURCE: "SELECT document_id, source_id FROM source_item WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM source \
            WHERE source.tenant_id = source_item.tenant_id AND source.base_id = source_item.base_id AND source.id = source_item.source_id) LIMIT $3",
        ITEM_WITHOUT_DOCUMENT: "SELECT document_id, source_id FROM source_item WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM document \
            WHERE document.tenant_id = source_item.tenant_id AND document.base_id = source_item.base_id AND document.id = source_item.document_id) LIMIT $3",
        PAGE_WITHOUT_SOURCE: "SELECT DISTINCT source_id FROM source_page WHERE tenant_id = $1 AND base_id = $2 AND NOT EXISTS (SELECT 1 FROM source \
            WHERE source.tenant_id = source_page.tenant_id AND source.base_id = source_page.base_id AND source.id = source_page.source_id) LIMIT $3",
    }
}
