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

/// Makes `id` the first and only page, inherited attributes kept: the interpreter goes through
/// the whole list of pages for each one it reads.
pub(super) fn only_page(document: &mut Document, id: ObjectId) {
    let mut list = Dictionary::new();
    list.set("Type", Object::Name(b"Pages".to_vec()));
    list.set("Count", 1);
    list.set("Kids", vec![Object::Reference(id)]);
    let root = document.trailer.get(b"Root").and_then(Object::as_reference);
    let Ok(root) = root else { return };
    // The place of the list made for the page before, once there is one.
    let known = document
        .get_dictionary(root)
        .ok()
        .and_then(|root| root.get(ONLY).ok());
    let place = known.and_then(|place| place.as_reference().ok());
    let place = match place {
        Some(place) => {
            document.objects.insert(place, Object::Dictionary(list));
            place
        }
        None => document.add_object(list),
    };
    if let Ok(root) = document.get_object_mut(root).and_then(Object::as_dict_mut) {
        root.set("Pages", place);
        root.set(ONLY, place);
    }
}

/// Where the catalogue remembers the list of [`only_page`].
const ONLY: &[u8] = b"QuipuOnlyPage";

/// Rewrites the content of the page `id` and of the forms it draws; the object that holds the
/// page's content from now on, if it could be rewritten.
pub(super) fn page(
    document: &mut Document,
    id: ObjectId,
    budget: &mut Budget,
) -> Result<Option<ObjectId>, DocumentError> {
    let Ok(content) = document.get_page_content(id) else {
        return Ok(None);
    };
    budget.spend(content.len())?;
    let resources = page_resources(document, id);
    let mut place = None;
    if let Some(stripped) = stripped(&content) {
        let stream = Stream::new(Dictionary::new(), stripped).with_compression(false);
        let added = document.add_object(stream);
        if let Ok(page) = document.get_object_mut(id).and_then(Object::as_dict_mut) {
            page.set("Contents", added);
            place = Some(added);
        }
    }
    for resources in resources {
        forms(document, &resources, budget, 0)?;
    }
    Ok(place)
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
    operations.retain(says_text);
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
