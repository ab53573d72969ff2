use std::sync::Arc;

use formats::graph::{Format, Graph, Names, Words};
use kernel::{Base, Cx, Flow, Flowing, Method, Operation, Spec};
use model::{Code, Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use store::{bases, ontology};
use tokio::sync::{Semaphore, mpsc};

use super::walk::{Reader, Stopped, Walk};

/// Export a base as an RDF graph.
///
/// The answer is all that you may see of the base as of one moment, part by part: its words, its
/// documents, its entities, and every fact as a statement with its dates, when it was recorded and
/// held no more, its quotes and sources; retracted and corrected facts too. What is held now and
/// holds now stands there as a plain triple besides. The manual's page on exporting says how each
/// thing is written. An answer that breaks off is not whole: throw it away.
#[derive(Deserialize, JsonSchema)]
pub struct ExportGraph {
    /// How it is written: `turtle` (or `ttl`), `jsonld` (or `json-ld`, `json`).
    #[serde(default)]
    format: GraphFormat,
    /// Address under which ids become IRIs, such as `https://example.org/`; `urn:utopia:kb:…` if
    /// absent. Keep the same one for exports that are to be joined.
    base: Option<String>,
}

/// How a graph is written.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum GraphFormat {
    /// Turtle.
    #[default]
    Turtle,
    /// Turtle.
    Ttl,
    /// JSON-LD.
    Jsonld,
    /// JSON-LD.
    #[serde(rename = "json-ld")]
    JsonLd,
    /// JSON-LD.
    Json,
}

impl From<GraphFormat> for Format {
    fn from(format: GraphFormat) -> Self {
        match format {
            GraphFormat::Turtle | GraphFormat::Ttl => Format::Turtle,
            GraphFormat::Jsonld | GraphFormat::JsonLd | GraphFormat::Json => Format::JsonLd,
        }
    }
}

/// Exports of one process at the same time. Each keeps a snapshot open, and on SQLite one of few
/// connections for reading.
static PLACES: Semaphore = Semaphore::const_new(2);

/// When to ask again where all places are taken, in seconds.
const ASK_AGAIN_SECONDS: u32 = 10;

/// Parts that may wait for a receiver.
const WAITING: usize = 4;

impl Operation for ExportGraph {
    type Target = Base;
    type Output = Flowing;
    const SPEC: Spec = Spec::read("export_graph", "Export a base as RDF")
        .route(Method::Get, "/kbs/{kb_id}/export")
        .flows(&[Format::Turtle.media_type(), Format::JsonLd.media_type()]);

    async fn run(self, cx: &Cx<'_, Base>) -> Result<Flowing> {
        let kb = cx.target.id();
        let base = self.base.as_deref().filter(|base| !base.trim().is_empty());
        let names =
            Names::new(kb, base).map_err(|error| Error::invalid(format!("`base` {error}")))?;
        let format = Format::from(self.format);
        let place = PLACES.try_acquire().map_err(|_| {
            let sentence = "as many exports as this server makes at once are under way";
            Error::new(Code::Unavailable, sentence).retry_after(ASK_AGAIN_SECONDS)
        })?;

        // The snapshot begins with the first statement, so the answer is of this moment.
        let mut tx = cx.read().await?;
        let slug = bases::find(&mut tx, kb).await?.map(|base| base.slug);
        let words = ontology::read(&mut tx, kb).await?;
        let words = Words::new(&names, words.types, words.relations);
        let (out, parts) = mpsc::channel(WAITING);
        let reader = Reader {
            kb,
            role: cx.target.role(),
            now: cx.now(),
        };
        let walk = Walk::new(Graph::new(format, names, words), reader, out.clone());
        let core = Arc::clone(cx.core());
        tokio::spawn(async move {
            let walked = walk.run(tx).await;
            drop((place, core));
            // By now the snapshot is closed, so a receiver that takes its time holds nothing up.
            if let Err(Stopped::Failed(error)) = walked {
                let _ = out.send(Err(error)).await;
            }
        });
        Ok(Flowing(Flow {
            filename: slug.map(|slug| format!("{slug}.{}", format.extension())),
            media_type: Some(format.media_type()),
            parts,
        }))
    }
}
