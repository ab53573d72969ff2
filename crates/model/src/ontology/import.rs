//! What taking in the words of a file would do to the words of a base.
//!
//! An import adds words and changes words; it takes none away, and unsays nothing that a base
//! says of a word. Words are told by their IRI first, then by their key, so that taking in the
//! same file again does nothing.

mod places;
mod relations;
mod types;

use uuid::Uuid;

use super::declared::{Declarations, LeftOut, local_name, words_of};
use super::{EntityType, RelationType, is_key, key_of};
use crate::RecordTime;
use relations::Relations;
use types::Types;

/// Longest label that is taken, in characters.
pub const LABEL_CHARS_MAX: usize = 200;

/// What taking in a file does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Import {
    /// Kinds of things that the base does not have.
    pub added_types: Vec<EntityType>,
    /// Kinds of things of which the file says more or other than the base.
    pub changed_types: Vec<Changed<EntityType>>,
    /// Relations and attributes that the base does not have.
    pub added_relations: Vec<RelationType>,
    /// Relations and attributes of which the file says more or other than the base.
    pub changed_relations: Vec<Changed<RelationType>>,
    /// Words of the file that the base has just so.
    pub unchanged: usize,
    /// What the file says and the base does not take.
    pub left_out: Vec<LeftOut>,
}

/// A word before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed<T> {
    /// As the base has it.
    pub before: T,
    /// As it would have it.
    pub after: T,
}

impl Import {
    /// Whether it does nothing.
    pub fn is_empty(&self) -> bool {
        self.added_types.is_empty()
            && self.changed_types.is_empty()
            && self.added_relations.is_empty()
            && self.changed_relations.is_empty()
    }

    /// Makes the words of a base what they are after it.
    pub fn take_into(self, types: &mut Vec<EntityType>, relations: &mut Vec<RelationType>) {
        for Changed { after, .. } in self.changed_types {
            types
                .iter_mut()
                .filter(|kind| kind.id == after.id)
                .for_each(|kind| {
                    kind.clone_from(&after);
                });
        }
        for Changed { after, .. } in self.changed_relations {
            relations
                .iter_mut()
                .filter(|one| one.id == after.id)
                .for_each(|one| {
                    one.clone_from(&after);
                });
        }
        types.extend(self.added_types);
        relations.extend(self.added_relations);
    }
}

/// What taking in `declared` does to a base that has these words.
///
/// `fresh` makes ids for new words, `created_at` is when they are added.
pub fn plan(
    (types, relations): (&[EntityType], &[RelationType]),
    declared: &Declarations,
    fresh: &mut dyn FnMut() -> Uuid,
    created_at: RecordTime,
) -> Import {
    let mut import = Import {
        left_out: declared.left_out.clone(),
        ..Import::default()
    };
    let mut placed = Types::place(types, &declared.classes, &mut import.left_out);
    placed.make(&declared.classes, (fresh, created_at), &mut import.left_out);
    placed.settle(types, &mut import.left_out);

    let mut made = Relations::place(relations, &declared.properties, &mut import.left_out);
    made.make(
        &declared.properties,
        &placed,
        (fresh, created_at),
        &mut import.left_out,
    );
    made.break_loops(relations, &mut import.left_out);

    for (place, after) in placed.all.into_iter().enumerate() {
        match types.get(place) {
            None => import.added_types.push(after),
            Some(before) if *before != after => import.changed_types.push(Changed {
                before: before.clone(),
                after,
            }),
            Some(_) => import.unchanged += usize::from(placed.touched.contains(&place)),
        }
    }
    for (place, after) in made.all.into_iter().enumerate() {
        match relations.get(place) {
            None => import.added_relations.push(after),
            Some(before) if *before != after => import.changed_relations.push(Changed {
                before: before.clone(),
                after,
            }),
            Some(_) => import.unchanged += usize::from(made.touched.contains(&place)),
        }
    }
    import
}

/// The key that an imported word gets: its local name, or its label where the name is a number.
pub fn key_for(iri: &str, label: Option<&str>) -> Option<String> {
    let local = local_name(iri);
    if is_key(local) && !is_numbered(local) {
        return Some(local.to_owned());
    }
    let of_name = key_of(&words_of(local).join(" "));
    let of_label = label.map(key_of).filter(|key| is_key(key));
    let key = match of_label {
        Some(label) if of_name.is_empty() || is_numbered(local) => label,
        _ => of_name,
    };
    is_key(&key).then_some(key)
}

/// Whether a local name is a number with a prefix, such as `BFO_0000050` or `P31`.
fn is_numbered(local: &str) -> bool {
    let digits = local.bytes().rev().take_while(u8::is_ascii_digit).count();
    let letters = local.bytes().filter(u8::is_ascii_alphabetic).count();
    4 <= digits || 0 < digits && letters <= 1
}

/// The name of a word whose file gives it none.
fn label_for(iri: &str) -> String {
    let words = words_of(local_name(iri));
    let small = |word: &String| {
        let is_name = word.chars().all(|letter| !letter.is_lowercase());
        if is_name && 1 < word.chars().count() {
            word.clone()
        } else {
            word.to_lowercase()
        }
    };
    let label: Vec<String> = words.iter().map(small).collect();
    let label: String = label.join(" ").chars().take(LABEL_CHARS_MAX).collect();
    if label.is_empty() {
        iri.chars().take(LABEL_CHARS_MAX).collect()
    } else {
        label
    }
}

fn label_of_type(iri: &str) -> String {
    let label = label_for(iri);
    let mut letters = label.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

fn told_other_name(iri: &str, key: &str) -> LeftOut {
    LeftOut::new(
        iri,
        format!("a word of its own: it is said to be the same as `{key}`"),
    )
}

fn told_loop<'a>(nodes: &[usize], key: impl Fn(usize) -> &'a str, what: &str) -> LeftOut {
    let keys: Vec<&str> = nodes.iter().map(|&n| key(n)).collect();
    let shown = match keys.len() {
        0..=12 => keys.join(" → "),
        many => format!(
            "{} → … → {}, {} steps",
            keys[..4].join(" → "),
            keys[many - 1],
            many - 1
        ),
    };
    LeftOut::new(
        keys.first().copied().unwrap_or_default(),
        format!("one of its wider {what}s, since that makes a loop: {shown}"),
    )
}

fn set(field: &mut String, said: Option<&str>) {
    if let Some(said) = said {
        said.clone_into(field);
    }
}

/// Adds what is not in the list yet, in order.
fn add_all<T: PartialEq>(list: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    for one in more {
        if !list.contains(&one) {
            list.push(one);
        }
    }
}

#[cfg(test)]
mod tests;
