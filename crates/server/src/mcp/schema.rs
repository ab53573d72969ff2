//! Schemas as MCP clients like them: no references, no dialect, no null where absence will do.

use schemars::Schema;
use serde_json::{Value, json};

/// The schema of a tool's arguments. An optional argument is one that may be left out, so null is
/// not offered (it is taken all the same).
pub fn input(schema: &Schema) -> Value {
    let mut schema = object(schema);
    schema["additionalProperties"] = Value::Bool(false);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for property in properties.values_mut() {
            drop_null(property);
        }
    }
    visit(&mut schema, &drop_noise);
    schema
}

/// The schema of a tool's structured answer: permissive, so that a field may be added; nullable
/// fields keep their null.
pub fn output(schema: &Schema) -> Value {
    let mut schema = object(schema);
    visit(&mut schema, &drop_noise);
    schema
}

fn object(schema: &Schema) -> Value {
    let mut schema = schema.as_value().clone();
    if let Some(members) = schema.as_object_mut() {
        members.remove("description");
        members.entry("type").or_insert(json!("object"));
        members.entry("properties").or_insert(json!({}));
    }
    schema
}

fn visit(value: &mut Value, change: &impl Fn(&mut serde_json::Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            change(members);
            members
                .values_mut()
                .for_each(|member| visit(member, change));
        }
        Value::Array(list) => list.iter_mut().for_each(|one| visit(one, change)),
        _ => {}
    }
}

/// `$schema`, titles that repeat the type's name, and number formats that JSON Schema lacks.
fn drop_noise(members: &mut serde_json::Map<String, Value>) {
    members.remove("$schema");
    if members.get("title").is_some_and(Value::is_string) {
        members.remove("title");
    }
    if members
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(|format| format != "uuid")
    {
        members.remove("format");
    }
}

fn drop_null(property: &mut Value) {
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            property["type"] = kind.clone();
        }
    }
    if let Some(Value::Array(words)) = property.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    let Some(choices) = property.get("anyOf").and_then(Value::as_array) else {
        return;
    };
    let real: Vec<&Value> = choices.iter().filter(|one| one["type"] != "null").collect();
    if let [Value::Object(only)] = real.as_slice() {
        let mut merged = only.clone();
        if let Some(description) = property.get("description") {
            merged.insert("description".to_owned(), description.clone());
        }
        *property = Value::Object(merged);
    }
    if property.get("default").is_some_and(Value::is_null) {
        property
            .as_object_mut()
            .map(|members| members.remove("default"));
    }
}
