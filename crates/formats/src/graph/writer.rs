//! Triples as bytes, in either format.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxjsonld::{JsonLdSerializer, WriterJsonLdSerializer};
use oxrdf::{GraphNameRef, NamedNodeRef, Term, TripleRef};
use oxttl::TurtleSerializer;
use oxttl::turtle::WriterTurtleSerializer;

use super::names::Names;
use super::{Format, terms};

pub(super) struct Writer {
    kind: Kind,
    bytes: Bytes,
}

enum Kind {
    Turtle(WriterTurtleSerializer<Bytes>),
    JsonLd(WriterJsonLdSerializer<Bytes>),
}

/// Bytes that a serializer has written and nobody took yet: it keeps one end, we the other.
#[derive(Clone, Default)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Bytes {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Bytes {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.lock().extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const IN_MEMORY: &str = "writing into memory does not fail";

impl Writer {
    pub(super) fn new(format: Format, names: &Names) -> Self {
        let bytes = Bytes::default();
        let kind = match format {
            Format::Turtle => {
                let own = names.prefixes();
                let fixed = terms::PREFIXES.iter();
                let fixed = fixed.map(|&(prefix, space)| (prefix, space.to_owned()));
                let serializer =
                    own.chain(fixed)
                        .fold(TurtleSerializer::new(), |all, (prefix, space)| {
                            all.with_prefix(prefix, space)
                                .expect("what names begin with are IRIs")
                        });
                Kind::Turtle(serializer.for_writer(bytes.clone()))
            }
            // Without a context: a word that came with an IRI such as `prov:x` would be read as
            // short for another.
            Format::JsonLd => Kind::JsonLd(JsonLdSerializer::new().for_writer(bytes.clone())),
        };
        Self { kind, bytes }
    }

    pub(super) fn triple(
        &mut self,
        subject: NamedNodeRef<'_>,
        predicate: NamedNodeRef<'_>,
        object: &Term,
    ) {
        let triple = TripleRef::new(subject, predicate, object);
        let written = match &mut self.kind {
            Kind::Turtle(turtle) => turtle.serialize_triple(triple),
            Kind::JsonLd(json) => json.serialize_quad(triple.in_graph(GraphNameRef::DefaultGraph)),
        };
        written.expect(IN_MEMORY);
    }

    pub(super) fn waiting(&self) -> usize {
        self.bytes.lock().len()
    }

    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut *self.bytes.lock())
    }

    pub(super) fn finish(self) -> Vec<u8> {
        let bytes = match self.kind {
            Kind::Turtle(turtle) => turtle.finish(),
            Kind::JsonLd(json) => json.finish(),
        };
        std::mem::take(&mut *bytes.expect(IN_MEMORY).lock())
    }
}
