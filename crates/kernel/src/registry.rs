//! All operations of the house with what was read off their schemas, once.

use std::collections::HashMap;

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};

use crate::arguments::ArgumentTable;
use crate::operation::Entry;

/// An operation with its schemas.
pub struct Registered {
    /// The operation.
    pub entry: &'static Entry,
    /// Its arguments.
    pub table: ArgumentTable,
    /// Schema of the arguments, self-contained.
    pub arguments: Schema,
    /// Schema of the answer, self-contained.
    pub output: Schema,
    /// The doc comment of its struct.
    pub description: String,
}

/// All operations, by name and in the manual's order.
pub struct Registry {
    operations: Vec<Registered>,
    by_name: HashMap<&'static str, usize>,
}

/// Schemas without references, for readers that do not follow them.
fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .into_generator()
}

impl Registry {
    /// The registry of these tables.
    ///
    /// # Panics
    /// If two operations have one name.
    pub fn new(tables: &[&'static [Entry]]) -> Self {
        let mut operations = Vec::new();
        let mut by_name = HashMap::new();
        for entry in tables.iter().copied().flatten() {
            let arguments = (entry.arguments)(&mut generator());
            let output = (entry.output)(&mut generator());
            let description = arguments.get("description").and_then(|text| text.as_str());
            let description = description.unwrap_or_default().to_owned();
            let table = ArgumentTable::of(&arguments);
            let before = by_name.insert(entry.spec.name, operations.len());
            assert!(
                before.is_none(),
                "two operations are called {}",
                entry.spec.name
            );
            operations.push(Registered {
                entry,
                table,
                arguments,
                output,
                description,
            });
        }
        Self {
            operations,
            by_name,
        }
    }

    /// The operation of that name.
    pub fn get(&self, name: &str) -> Option<&Registered> {
        self.by_name.get(name).map(|&place| &self.operations[place])
    }

    /// All operations, in the manual's order.
    pub fn iter(&self) -> impl Iterator<Item = &Registered> {
        self.operations.iter()
    }
}
