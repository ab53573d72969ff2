//! The tools of a door as the protocol lists them.

use kernel::{Door, Effect, Registered, Registry};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::schema;

/// The tools that a door serves, in the manual's order, each with its JSON.
pub struct Catalogue {
    tools: Vec<(&'static str, Value)>,
}

impl Catalogue {
    /// The catalogue of a door.
    pub fn of(registry: &Registry, door: Door) -> Self {
        let served = registry
            .iter()
            .filter(|one| one.entry.spec.tool_doors.contains(&door));
        Self {
            tools: served.map(|one| (one.entry.spec.name, tool(one))).collect(),
        }
    }

    /// Names of the tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.tools.iter().map(|(name, _)| *name)
    }

    /// The tools whose place is in `seen` (bit 0 is the first), as one JSON array.
    pub fn list(&self, seen: u128) -> Box<RawValue> {
        let seen = self
            .tools
            .iter()
            .enumerate()
            .filter(|(place, _)| seen >> place & 1 == 1);
        let list: Vec<&Value> = seen.map(|(_, (_, tool))| tool).collect();
        to_raw_value(&list).expect("values always serialize")
    }
}

fn tool(registered: &Registered) -> Value {
    let spec = &registered.entry.spec;
    let mut tool = json!({
        "name": spec.name,
        "title": spec.title,
        "description": registered.description,
        "inputSchema": schema::input(&registered.arguments),
        "annotations": {
            "title": spec.title,
            "readOnlyHint": spec.effect == Effect::Read,
            "destructiveHint": spec.effect == Effect::Destroy,
            "idempotentHint": spec.effect == Effect::Read || spec.idempotent_by_key,
            "openWorldHint": false,
        },
    });
    if spec.structured {
        tool["outputSchema"] = schema::output(&registered.output);
    }
    tool
}
