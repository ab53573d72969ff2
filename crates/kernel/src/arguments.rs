//! Reading the arguments of a call: one way for every door, so that the same mistake gives the
//! same sentence everywhere.
//!
//! Doors differ in what they can carry: a query word is always text, a model sends `null`, `""`,
//! numbers in quotes and lists written as text. All of it is brought to what the operation's
//! schema names, and what does not fit is refused with the argument's name.

use model::{Error, Result};
use schemars::Schema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// What shape an argument has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Text, also ids and dates.
    Text,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list.
    List,
    /// A structure.
    Object,
    /// Whatever JSON has.
    Any,
}

impl Shape {
    const fn words(self) -> &'static str {
        match self {
            Shape::Text => "text",
            Shape::Integer => "a whole number",
            Shape::Number => "a number",
            Shape::Boolean => "`true` or `false`",
            Shape::List => "a list",
            Shape::Object => "an object",
            Shape::Any => "a value",
        }
    }
}

/// An argument of an operation, as its schema tells.
#[derive(Debug, Clone)]
pub struct Argument {
    /// Its name on every door.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// Whether a call without it is refused.
    pub required: bool,
    /// What it means.
    pub description: String,
    /// The words it may be, if they are few.
    pub choices: Vec<String>,
    /// What is taken where it is absent, if that can be said.
    pub default: Option<Value>,
    /// Least and greatest whole number.
    pub bounds: (i64, i64),
    /// Whether its value is never shown.
    pub secret: bool,
}

/// The bounds that a schema states, or that its format implies.
fn bounds_of(property: &Value) -> (i64, i64) {
    let stated = |name: &str| property.get(name).and_then(Value::as_i64);
    let implied = match property.get("format").and_then(Value::as_str) {
        Some("uint8") => u8::MAX.into(),
        Some("uint32") => u32::MAX.into(),
        _ => i64::MAX,
    };
    (
        stated("minimum").unwrap_or(i64::MIN),
        stated("maximum").unwrap_or(implied),
    )
}

/// The arguments of an operation in the order of its struct.
#[derive(Debug, Clone, Default)]
pub struct ArgumentTable(Vec<Argument>);

/// Schemas as schemars writes optional ones: under `anyOf` beside null.
fn without_null(property: &Value) -> &Value {
    let choices = property.get("anyOf").and_then(Value::as_array);
    choices
        .and_then(|choices| {
            choices
                .iter()
                .find(|one| one.get("type") != Some(&json!("null")))
        })
        .unwrap_or(property)
}

fn shape_of(property: &Value) -> Shape {
    let kind = match property.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().find(|kind| *kind != "null"),
        other => other,
    };
    match kind.and_then(Value::as_str) {
        Some("integer") => Shape::Integer,
        Some("number") => Shape::Number,
        Some("boolean") => Shape::Boolean,
        Some("array") => Shape::List,
        Some("object") => Shape::Object,
        None if is_open(property) => Shape::Any,
        _ => Shape::Text,
    }
}

/// Whether a schema says nothing of what a value is.
fn is_open(property: &Value) -> bool {
    let says = ["enum", "oneOf", "anyOf", "const", "$ref", "format"];
    !says.iter().any(|word| property.get(word).is_some())
}

fn choices_of(property: &Value) -> Vec<String> {
    let words = |list: &Vec<Value>| {
        list.iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    if let Some(list) = property.get("enum").and_then(Value::as_array) {
        return words(list);
    }
    let one_of = property.get("oneOf").and_then(Value::as_array);
    one_of
        .map(|list| {
            let each = list
                .iter()
                .flat_map(|one| match (one.get("const"), one.get("enum")) {
                    (Some(Value::String(word)), _) => vec![word.clone()],
                    (_, Some(Value::Array(list))) => words(list),
                    _ => Vec::new(),
                });
            each.collect()
        })
        .unwrap_or_default()
}

impl ArgumentTable {
    /// The table that a schema describes.
    pub fn of(schema: &Schema) -> Self {
        let schema = schema.as_value();
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Self::default();
        };
        let arguments = properties.iter().map(|(name, property)| {
            let inner = without_null(property);
            let description = property
                .get("description")
                .or_else(|| inner.get("description"));
            Argument {
                name: name.clone(),
                shape: shape_of(inner),
                required: required.contains(&name.as_str()),
                description: description
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                choices: choices_of(inner),
                default: property
                    .get("default")
                    .filter(|value| !value.is_null())
                    .cloned(),
                bounds: bounds_of(inner),
                secret: inner
                    .get("format")
                    .is_some_and(|format| format == "password"),
            }
        });
        Self(arguments.collect())
    }

    /// The arguments.
    pub fn iter(&self) -> impl Iterator<Item = &Argument> {
        self.0.iter()
    }

    /// The argument of that name.
    pub fn get(&self, name: &str) -> Option<&Argument> {
        self.0.iter().find(|argument| argument.name == name)
    }

    /// The known name that `name` was probably meant to be.
    fn nearest(&self, name: &str) -> Option<&str> {
        let distance = |known: &str| strsim::damerau_levenshtein(known, name);
        let near = self
            .0
            .iter()
            .map(|argument| (distance(&argument.name), &argument.name));
        near.filter(|(distance, known)| *distance <= 2.max(known.len() / 3))
            .min()
            .map(|(_, known)| known.as_str())
    }

    fn unknown(&self, name: &str) -> Error {
        let shown: String = name.chars().take(60).collect();
        let known: Vec<&str> = self
            .0
            .iter()
            .map(|argument| argument.name.as_str())
            .collect();
        let hint = match (self.nearest(name), known.is_empty()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, true) => "it takes none".to_owned(),
            (None, false) => format!("it takes `{}`", known.join("`, `")),
        };
        Error::invalid(format!("there is no argument `{shown}`; {hint}"))
            .details(json!({ "argument": shown, "known": known }))
    }

    /// Brings what a door carried to the shapes that the operation names.
    ///
    /// Null is absent, and so is `""` where the argument is optional; numbers and lists may be
    /// written as text.
    ///
    /// # Errors
    /// `invalid_argument` naming an argument that is unknown, missing, blank or of another shape.
    pub fn normalise(&self, given: Map<String, Value>) -> Result<Map<String, Value>> {
        let mut arguments = Map::new();
        for (name, value) in given {
            let argument = self.get(&name).ok_or_else(|| self.unknown(&name))?;
            if let Some(value) = fit(argument, value)? {
                arguments.insert(name, value);
            }
        }
        let missing = self
            .0
            .iter()
            .find(|one| one.required && !arguments.contains_key(&one.name));
        match missing {
            Some(missing) => Err(refusal(&missing.name, "is missing")),
            None => Ok(arguments),
        }
    }
}

fn refusal(name: &str, fault: &str) -> Error {
    Error::invalid(format!("`{name}` {fault}")).details(json!({ "argument": name }))
}

/// Below this every whole number is a float of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The value in the shape of the argument; `None` if it counts as absent.
fn fit(argument: &Argument, value: Value) -> Result<Option<Value>> {
    if is_absent(argument, &value)? {
        return Ok(None);
    }
    let value = shaped(argument.shape, value);
    if !is_of_shape(argument.shape, &value) {
        let shape = argument.shape.words();
        let fault = format!("must be {shape}, not `{}`", shown(argument, &value));
        return Err(refusal(&argument.name, &fault));
    }
    match argument.shape {
        Shape::Integer => within(argument, value).map(Some),
        Shape::Text if !argument.choices.is_empty() => one_of(argument, &value).map(Some),
        _ => Ok(Some(value)),
    }
}

/// What counts as not given: null, and `""` where the argument is optional.
fn is_absent(argument: &Argument, value: &Value) -> Result<bool> {
    match value {
        Value::Null => Ok(true),
        Value::String(text) if argument.shape == Shape::Text && text.trim().is_empty() => {
            if argument.required {
                return Err(refusal(&argument.name, "must not be blank"));
            }
            Ok(true)
        }
        Value::String(text) => Ok(text.is_empty() && !argument.required),
        _ => Ok(false),
    }
}

/// The value as its shape writes it, where that can be told; else as it is.
fn shaped(shape: Shape, value: Value) -> Value {
    match (shape, value) {
        (Shape::Integer | Shape::Number | Shape::Boolean, Value::String(text)) => {
            from_word(shape, text.trim()).unwrap_or(Value::String(text))
        }
        // 5.0 is what some clients make of 5.
        (Shape::Integer, Value::Number(number)) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
                Value::from(float as i64)
            }
            _ => Value::Number(number),
        },
        (Shape::List, Value::String(text)) => list_from_text(&text),
        (Shape::List, one @ (Value::Number(_) | Value::Bool(_))) => Value::Array(vec![one]),
        (_, value) => value,
    }
}

/// The number or truth that a word writes.
fn from_word(shape: Shape, word: &str) -> Option<Value> {
    match (shape, word) {
        (Shape::Integer, _) => word.parse::<i64>().ok().map(Value::from),
        (Shape::Number, _) => word.parse::<f64>().ok().map(Value::from),
        (Shape::Boolean, "true" | "1") => Some(Value::Bool(true)),
        (Shape::Boolean, "false" | "0") => Some(Value::Bool(false)),
        _ => None,
    }
}

fn is_of_shape(shape: Shape, value: &Value) -> bool {
    match shape {
        Shape::Text => value.is_string(),
        Shape::Integer => value.is_i64() || value.is_u64(),
        Shape::Number => value.is_number(),
        Shape::Boolean => value.is_boolean(),
        Shape::List => value.is_array(),
        Shape::Object => value.is_object(),
        Shape::Any => true,
    }
}

/// The value in a refusal, unless it is a secret.
fn shown(argument: &Argument, value: &Value) -> String {
    if argument.secret {
        return "…".to_owned();
    }
    value.to_string().chars().take(80).collect()
}

/// The whole number, if it is within the argument's bounds.
fn within(argument: &Argument, number: Value) -> Result<Value> {
    let (least, greatest) = argument.bounds;
    if number
        .as_i64()
        .is_some_and(|number| (least..=greatest).contains(&number))
    {
        return Ok(number);
    }
    let shown = shown(argument, &number);
    let fault = match (least, greatest) {
        (i64::MIN, _) => format!("must be at most {greatest}, not {shown}"),
        (_, i64::MAX) if number.is_i64() => format!("must be {least} or more, not {shown}"),
        (_, i64::MAX) => format!("must be below 2^63, not {shown}"),
        _ => format!("must be from {least} to {greatest}, not {shown}"),
    };
    Err(refusal(&argument.name, &fault))
}

/// The choice that the text names, in any case.
fn one_of(argument: &Argument, text: &Value) -> Result<Value> {
    let text = text.as_str().unwrap_or_default();
    let is_meant = |known: &&String| known.eq_ignore_ascii_case(text.trim());
    if let Some(known) = argument.choices.iter().find(is_meant) {
        return Ok(Value::String(known.clone()));
    }
    let known = argument.choices.join("`, `");
    let shown: String = text.chars().take(80).collect();
    let fault = format!("must be one of `{known}`, not `{shown}`");
    Err(refusal(&argument.name, &fault))
}

/// `["a","b"]` written as text, or words with commas between.
fn list_from_text(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(list @ Value::Array(_)) => list,
        _ => text
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .collect(),
    }
}

/// The operation that the normalised arguments make.
pub(crate) fn into_operation<O: DeserializeOwned>(arguments: Map<String, Value>) -> Result<O> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let name = error.path().to_string();
        let fault = error.into_inner().to_string();
        match (name.as_str(), fault.starts_with("must ")) {
            ("." | "?", _) => Error::invalid(fault),
            (_, true) => refusal(&name, &fault),
            (_, false) => {
                Error::invalid(format!("`{name}`: {fault}")).details(json!({ "argument": name }))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use model::{KbId, Limit, RecordTime, Role};
    use schemars::{JsonSchema, SchemaGenerator};
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Ask {
        /// What to look for.
        query: String,
        as_of: Option<RecordTime>,
        kb: Option<KbId>,
        role: Option<Role>,
        names: Option<Vec<String>>,
        exact: Option<bool>,
        #[serde(default)]
        limit: Limit<6, 20>,
    }

    fn read(given: Value) -> Result<Ask> {
        let table = ArgumentTable::of(&Ask::json_schema(&mut SchemaGenerator::default()));
        let Value::Object(given) = given else {
            panic!("arguments are an object")
        };
        into_operation(table.normalise(given)?)
    }

    fn sentence(given: Value) -> String {
        read(given).unwrap_err().message
    }

    #[test]
    fn what_models_send_for_absent_counts_as_absent() {
        let ask = read(json!({ "query": "a", "as_of": "", "kb": null, "role": "" })).unwrap();
        assert_eq!(ask.query, "a");
        assert!(ask.as_of.is_none() && ask.kb.is_none() && ask.role.is_none());
        assert_eq!(ask.limit.get(), 6);
    }

    #[test]
    fn numbers_lists_and_truth_may_be_written_as_text() {
        let asks = [
            json!({ "query": "a", "limit": "9", "names": "[\"x\", \"y\"]", "exact": "true" }),
            json!({ "query": "a", "limit": 9.0, "names": "x, y", "exact": true }),
        ];
        for ask in asks {
            let ask = read(ask).unwrap();
            assert_eq!(ask.limit.get(), 9);
            assert_eq!(ask.names.unwrap(), ["x", "y"]);
            assert_eq!(ask.exact, Some(true));
        }
    }

    #[test]
    fn a_refusal_names_the_argument_the_value_and_what_would_be_right() {
        let refusals = [
            (
                json!({ "query": "a", "lmit": 5 }),
                "there is no argument `lmit`; did you mean `limit`?",
            ),
            (json!({}), "`query` is missing"),
            (json!({ "query": "  " }), "`query` must not be blank"),
            (json!({ "query": 5 }), "`query` must be text, not `5`"),
            (
                json!({ "query": "a", "limit": 50 }),
                "`limit` must be from 1 to 20, not 50",
            ),
            (
                json!({ "query": "a", "limit": "six" }),
                "`limit` must be a whole number, not `\"six\"`",
            ),
            (
                json!({ "query": "a", "role": "boss" }),
                "`role` must be one of `viewer`, `editor`, `admin`, `owner`, not `boss`",
            ),
        ];
        for (given, expected) in refusals {
            assert_eq!(sentence(given), expected);
        }
        let refused = sentence(json!({ "query": "a", "as_of": "last week" }));
        assert!(refused.starts_with("`as_of` must be a date"), "{refused}");
    }
}
