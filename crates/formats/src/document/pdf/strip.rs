//! Keeps of a page's content only what writes text.
//!
//! Colours, paths and shadings say nothing, cost time, and are where the interpreter gives up on
//! files that every viewer opens.

use std::collections::HashSet;

use pdf_extract::content::{Content, Operation};
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};

use super::super::{DocumentError, Limits};

/// Forms within forms that are followed.
const FORMS_DEEP_MAX: usize = 12;

/// What may still be inflated, and which forms were seen.
#[derive(Debug)]
pub(super) struct Budget {
    left: u64,
    limit: u64,
    forms: HashSet<ObjectId>,
}

impl Budget {
    pub(super) fn new(limits: &Limits) -> Budget {
        Budget {
            left: limits.output_bytes,
            limit: limits.output_bytes,
            forms: HashSet::new(),
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), DocumentError> {
        self.left = self
            .left
            .checked_sub(bytes as u64)
            .ok_or(DocumentError::Output { limit: self.limit })?;
        Ok(())
    }
}

/// Rewrites the content of the page `id` and of the forms it draws.
pub(super) fn page(
    document: &mut Document,
    id: ObjectId,
    budget: &mut Budget,
) -> Result<(), DocumentError> {
    let Ok(content) = document.get_page_content(id) else {
        return Ok(());
    };
    budget.spend(content.len())?;
    let resources = page_resources(document, id);
    if let Some(stripped) = stripped(&content) {
        let stream = Stream::new(Dictionary::new(), stripped).with_compression(false);
        let stream = document.add_object(stream);
        if let Ok(page) = document.get_object_mut(id).and_then(Object::as_dict_mut) {
            page.set("Contents", stream);
        }
    }
    for resources in resources {
        forms(document, &resources, budget, 0)?;
    }
    Ok(())
}

/// The resources of a page, its own and inherited ones.
fn page_resources(document: &Document, id: ObjectId) -> Vec<Dictionary> {
    let Ok((own, inherited)) = document.get_page_resources(id) else {
        return Vec::new();
    };
    let inherited = inherited
        .into_iter()
        .filter_map(|id| document.get_dictionary(id).ok());
    own.into_iter().chain(inherited).cloned().collect()
}

fn forms(
    document: &mut Document,
    resources: &Dictionary,
    budget: &mut Budget,
    depth: usize,
) -> Result<(), DocumentError> {
    if depth > FORMS_DEEP_MAX {
        return Ok(());
    }
    let drawn = resources
        .get(b"XObject")
        .and_then(|drawn| document.dereference(drawn));
    let Ok(drawn) = drawn.and_then(|(_, drawn)| drawn.as_dict()) else {
        return Ok(());
    };
    let ids: Vec<ObjectId> = drawn
        .iter()
        .filter_map(|(_, form)| form.as_reference().ok())
        .collect();
    for id in ids {
        if !budget.forms.insert(id) {
            continue;
        }
        let Ok(form) = document.get_object(id).and_then(Object::as_stream) else {
            continue;
        };
        if form.dict.get(b"Subtype").and_then(Object::as_name).ok() != Some(b"Form") {
            continue;
        }
        let content = form
            .decompressed_content()
            .unwrap_or_else(|_| form.content.clone());
        budget.spend(content.len())?;
        let inner = form
            .dict
            .get(b"Resources")
            .and_then(|inner| document.dereference(inner));
        let inner = inner.and_then(|(_, inner)| inner.as_dict()).ok().cloned();
        if let Some(stripped) = stripped(&content)
            && let Ok(form) = document.get_object_mut(id).and_then(Object::as_stream_mut)
        {
            form.dict.remove(b"Filter");
            form.dict.remove(b"DecodeParms");
            form.set_content(stripped);
        }
        if let Some(inner) = inner {
            forms(document, &inner, budget, depth + 1)?;
        }
    }
    Ok(())
}

/// `content` with only the operators that matter to text; `None` if it cannot be taken apart.
fn stripped(content: &[u8]) -> Option<Vec<u8>> {
    let mut operations = Content::decode(content).ok()?.operations;
    operations.retain(|operation| says_text(operation));
    Content { operations }.encode().ok()
}

fn says_text(operation: &Operation) -> bool {
    matches!(
        operation.operator.as_str(),
        "q" | "Q"
            | "cm"
            | "BT"
            | "ET"
            | "T*"
            | "Tj"
            | "TJ"
            | "'"
            | "\""
            | "Tc"
            | "Tw"
            | "Tz"
            | "TL"
            | "Tf"
            | "Tr"
            | "Ts"
            | "Td"
            | "TD"
            | "Tm"
            | "Do"
    )
}
