//! The contract of an operation, and the entry that forgets its types.

use std::borrow::Cow;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use model::Result;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::mpsc::Receiver;

use crate::cx::{CallState, Cx};
use crate::target::Opened;
use crate::{Error, Spec, Target, TargetKind, arguments};

/// One thing that can be asked, defined once and served on every door.
///
/// The struct is the arguments; its doc comment is the tool's description, the text of the API
/// document and the page of the manual.
pub trait Operation: DeserializeOwned + JsonSchema + Send + 'static {
    /// What a call is about. Holding one proves that the caller may reach it.
    type Target: Target;
    /// The answer.
    type Output: Reply;
    /// What it declares about itself.
    const SPEC: Spec;

    /// Does it.
    fn run(self, cx: &Cx<'_, Self::Target>) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// An answer that comes part by part: a file, or lines that tell how far something is.
#[derive(Debug)]
pub struct Flow {
    /// Name under which a browser keeps it, if it is a file.
    pub filename: Option<String>,
    /// Its media type; the first of [`Spec::flows`] if none.
    pub media_type: Option<&'static str>,
    /// The parts. One that fails ends it in a way that the receiver sees.
    pub parts: Receiver<Result<Bytes>>,
}

/// What an operation answers whose answer comes part by part; see [`Spec::flows`].
#[derive(Debug)]
pub struct Flowing(pub Flow);

impl Serialize for Flowing {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_unit()
    }
}

impl JsonSchema for Flowing {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Flowing".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "contentEncoding": "binary" })
    }
}

impl Reply for Flowing {
    fn flow(self) -> Option<Flow> {
        Some(self.0)
    }
}

/// An answer: structure for programs, text for people and models, both from one value.
pub trait Reply: Serialize + JsonSchema + Send + 'static {
    /// HTTP status of success.
    const STATUS: u16 = 200;

    /// The answer as text: prose where the operation has some to give, else its JSON.
    fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// What follows instead of structure and text, for the few answers that come part by part.
    fn flow(self) -> Option<Flow>
    where
        Self: Sized,
    {
        None
    }
}

/// The last line of a page's text: where to go on; nothing at the end.
pub fn more(next: Option<impl Display>) -> String {
    next.map_or_else(String::new, |next| {
        format!("… and more: the same with the cursor {next}\n")
    })
}

/// An answer without its type.
#[derive(Debug)]
pub struct Answer {
    /// The structure.
    pub json: Value,
    /// The text.
    pub text: String,
    /// HTTP status.
    pub status: u16,
    /// Whether it was given before, to the same idempotency key.
    pub replayed: bool,
    /// What follows instead, part by part.
    pub flow: Option<Flow>,
}

impl Answer {
    pub(crate) fn of<R: Reply>(reply: &R) -> Result<Self> {
        let json = serde_json::to_value(reply).map_err(Error::internal)?;
        Ok(Self {
            json,
            text: reply.text(),
            status: R::STATUS,
            replayed: false,
            flow: None,
        })
    }
}

/// A call that is under way.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Result<Answer>> + Send + 'a>>;

/// An operation without its types: what the doors see.
pub struct Entry {
    /// What it declares about itself.
    pub spec: Spec,
    /// What it is about.
    pub target: TargetKind,
    /// Schema of its arguments.
    pub arguments: fn(&mut SchemaGenerator) -> Schema,
    /// Schema of its answer.
    pub output: fn(&mut SchemaGenerator) -> Schema,
    pub(crate) call: for<'a> fn(Opened, &'a CallState, Map<String, Value>) -> Running<'a>,
}

impl Entry {
    /// The entry of an operation.
    pub const fn of<O: Operation>() -> Self {
        Self {
            spec: O::SPEC,
            target: O::Target::KIND,
            arguments: |schemas| O::json_schema(schemas),
            output: |schemas| O::Output::json_schema(schemas),
            call: |opened, state, arguments| Box::pin(call::<O>(opened, state, arguments)),
        }
    }
}

/// The only generic code between a door and an operation.
async fn call<O: Operation>(
    opened: Opened,
    state: &CallState,
    arguments: Map<String, Value>,
) -> Result<Answer> {
    let target = O::Target::take(opened).expect("the gate opens the kind that the entry names");
    let operation: O = arguments::into_operation(arguments)?;
    let cx = Cx::new(target, state);
    let output = operation.run(&cx).await?;
    let answer = Answer::of(&output)?;
    Ok(Answer {
        flow: output.flow(),
        ..answer
    })
}
