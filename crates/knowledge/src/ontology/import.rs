//! What previewing an import and making it have in common: both make it, and one takes it back.

use std::fmt::Write as _;

use engine::ledger::{self, Contradiction, Revision};
use kernel::{Base, Cx, Reply, Upload, WriteTx};
use model::ontology::declared::{Declarations, LeftOut};
use model::ontology::import::{Changed, Import, plan};
use model::{Code, Error, RecordTime, Result};
use providers::ParseFailure;
use providers::parser::Content;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use store::bases;
use store::ontology::{self, Ontology};

use super::{ContradictionInfo, EntityTypeInfo, RelationTypeInfo, decision};
use crate::documents::file_name;

/// What an import does to the words of a base.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OntologyImport {
    /// What `apply_ontology_import` is to be given to do just this.
    pub digest: String,
    /// Whether it was done.
    pub applied: bool,
    /// The name of the file, or of the pack.
    pub name: String,
    /// The IRI of the ontology, if the file says it.
    pub ontology: Option<String>,
    /// Words that the base did not have.
    pub added: Vec<AddedWord>,
    /// Words of which the file says more or other than the base did.
    pub changed: Vec<ChangedWord>,
    /// How many words of the file the base had just so.
    pub unchanged: usize,
    /// What the file says and the base does not take, and why.
    pub left_out: Vec<LeftOut>,
    /// Stored facts that contradict the words since, 1,000 of a word and rule at most.
    pub contradictions: Vec<ContradictionInfo>,
}

/// A word that a base did not have.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct AddedWord {
    /// `entity_type`, `relation` or `attribute`.
    pub what: &'static str,
    /// Its key.
    pub key: String,
    /// What is said of it.
    pub fields: Map<String, Value>,
}

/// A word of which more or other is said.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ChangedWord {
    /// `entity_type`, `relation` or `attribute`.
    pub what: &'static str,
    /// Its key.
    pub key: String,
    /// What changes.
    pub changes: Vec<FieldChange>,
}

/// Something that is said of a word, before and after.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct FieldChange {
    /// Its name.
    pub field: String,
    /// What was said.
    pub before: Value,
    /// What is said since.
    pub after: Value,
}

impl Reply for OntologyImport {
    fn text(&self) -> String {
        let mut text = String::new();
        for word in &self.added {
            let label = word
                .fields
                .get("label")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let _ = writeln!(text, "add       {:<11} {}  {label}", word.what, word.key);
        }
        for word in &self.changed {
            let _ = writeln!(text, "change    {:<11} {}", word.what, word.key);
            for change in &word.changes {
                let (before, after) = (&change.before, &change.after);
                let _ = writeln!(text, "          {}: {before} -> {after}", change.field);
            }
        }
        for left in &self.left_out {
            let _ = writeln!(text, "left out  {}: {}", left.name, left.reason);
        }
        for found in &self.contradictions {
            let facts: Vec<String> = found.facts.iter().map(ToString::to_string).collect();
            let things = found.entities.iter().map(ToString::to_string);
            let named = facts
                .into_iter()
                .chain(things)
                .collect::<Vec<_>>()
                .join(" ");
            let _ = writeln!(
                text,
                "breaks    {} of {}: {named}",
                found.rule.name(),
                found.word
            );
        }
        let (added, changed) = (self.added.len(), self.changed.len());
        let (unchanged, left_out) = (self.unchanged, self.left_out.len());
        let broken = self.contradictions.len();
        let _ = writeln!(
            text,
            "{added} to add, {changed} to change, {unchanged} as they are, {left_out} left out, \
             {broken} contradictions with stored facts"
        );
        if self.applied {
            text.push_str("done\n");
        } else {
            let _ = writeln!(
                text,
                "nothing is done yet; apply it with --digest {}",
                self.digest
            );
        }
        text
    }
}

/// Where the words come from.
pub(super) struct Wanted {
    /// The name of the file.
    pub(super) filename: Option<String>,
    /// The name of a pack instead of a file.
    pub(super) pack: Option<String>,
    /// What relative IRIs of the file are relative to.
    pub(super) base_iri: Option<String>,
}

/// Words that were read and not yet compared with the base's.
pub(super) struct Words {
    name: String,
    hash: [u8; 32],
    declared: Declarations,
}

impl Wanted {
    /// Reads the file, in a process of its own, or the pack.
    ///
    /// # Errors
    /// `unreadable` with what is wrong with the file.
    pub(super) async fn read(self, cx: &Cx<'_, Base>) -> Result<Words> {
        let Upload { staged, filename } = cx.upload()?;
        if let Some(name) = &self.pack {
            if 0 < staged.size {
                return Err(Error::invalid("give a file or `pack`, not both"));
            }
            let pack = cx.packs.get(name)?;
            return Ok(Words {
                name: pack.name.to_owned(),
                hash: Sha256::digest(pack.file).into(),
                declared: pack.declared.clone(),
            });
        }
        let name = file_name(
            self.filename
                .or(filename)
                .or_else(|| Some("ontology".to_owned())),
        )?;
        if staged.size == 0 {
            let sentence =
                format!("the file `{name}` is empty; send it as the body, or name a `pack`");
            return Err(Error::invalid(sentence));
        }
        let content = Content::File(staged.path().to_owned());
        let base = self.base_iri.as_deref();
        let declared = cx.core().parser.read_ontology(&name, base, content).await;
        Ok(Words {
            declared: declared.map_err(refusal)?,
            hash: staged.hash,
            name,
        })
    }
}

fn refusal(failure: ParseFailure) -> Error {
    match failure {
        ParseFailure::NotRead(_) | ParseFailure::NotStarted(_) => Error::internal(failure),
        failure => Error::new(Code::Unreadable, failure.to_string()),
    }
}

impl Words {
    /// Makes the import in a transaction, which is yet to be committed or dropped, and tells what
    /// it does.
    pub(super) async fn make(
        &self,
        cx: &Cx<'_, Base>,
        tx: &mut WriteTx<'_>,
    ) -> Result<(OntologyImport, Vec<Contradiction>)> {
        let kb = cx.target.id();
        let created_at = bases::advance_clock(tx, kb, cx.now()).await?;
        let before = ontology::read(tx, kb).await?;
        let import = self.plan(cx, &before, created_at);
        let contradictions = self.revise(cx, tx, &import).await?;
        let after = ontology::read(tx, kb).await?;
        let mut told = OntologyImport {
            digest: String::new(),
            applied: false,
            name: self.name.clone(),
            ontology: self.declared.iri.clone(),
            added: added(&import, &after),
            changed: changed(&import, (&before, &after)),
            unchanged: import.unchanged,
            left_out: import.left_out,
            contradictions: contradictions.iter().cloned().map(Into::into).collect(),
        };
        told.digest = self.digest(&before, &told)?;
        Ok((told, contradictions))
    }

    fn plan(&self, cx: &Cx<'_, Base>, before: &Ontology, created_at: RecordTime) -> Import {
        let words = (before.types.as_slice(), before.relations.as_slice());
        plan(words, &self.declared, &mut || cx.ids.next(), created_at)
    }

    async fn revise(
        &self,
        cx: &Cx<'_, Base>,
        tx: &mut WriteTx<'_>,
        import: &Import,
    ) -> Result<Vec<Contradiction>> {
        if import.is_empty() {
            return Ok(Vec::new());
        }
        let changed_types: Vec<_> = afters(&import.changed_types);
        let changed_relations: Vec<_> = afters(&import.changed_relations);
        let revision = Revision {
            added_types: &import.added_types,
            changed_types: &changed_types,
            added_relations: &import.added_relations,
            changed_relations: &changed_relations,
        };
        let payload = json!({
            "name": self.name,
            "file": hex(&self.hash),
            "ontology": self.declared.iri,
            "added": import.added_types.len() + import.added_relations.len(),
            "changed": changed_types.len() + changed_relations.len(),
        });
        let ids = || cx.ids.next();
        let what = ("import_ontology", &payload);
        ledger::revise(tx, &decision(cx, &ids), what, revision).await
    }

    /// What stands for the file, for all words of the base and for what comes of the two.
    fn digest(&self, before: &Ontology, told: &OntologyImport) -> Result<String> {
        let types = before
            .types
            .iter()
            .map(|kind| EntityTypeInfo::of(kind, before));
        let relations = before.relations.iter();
        let relations = relations.map(|relation| RelationTypeInfo::of(relation, before));
        let all = json!({
            "file": hex(&self.hash),
            "types": types.collect::<Vec<_>>(),
            "relations": relations.collect::<Vec<_>>(),
            "told": serde_json::to_value(told).map_err(Error::internal)?,
        });
        Ok(hex(&Sha256::digest(all.to_string())))
    }
}

fn afters<T: Clone>(changed: &[Changed<T>]) -> Vec<T> {
    changed
        .iter()
        .map(|changed| changed.after.clone())
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is said of a word by the names of the fields, without its id and its key.
fn fields(info: &impl Serialize) -> Map<String, Value> {
    let mut fields = match serde_json::to_value(info) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.retain(|name, _| name != "id" && name != "key");
    fields
}

fn added(import: &Import, after: &Ontology) -> Vec<AddedWord> {
    let says_something = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    };
    let word = |what: &'static str, key: &str, mut fields: Map<String, Value>| {
        fields.retain(|_, value| says_something(value));
        AddedWord {
            what,
            key: key.to_owned(),
            fields,
        }
    };
    let types = import.added_types.iter().map(|kind| {
        word(
            "entity_type",
            &kind.key,
            fields(&EntityTypeInfo::of(kind, after)),
        )
    });
    let relations = import.added_relations.iter().map(|relation| {
        let fields = fields(&RelationTypeInfo::of(relation, after));
        word(relation.kind.name(), &relation.key, fields)
    });
    types.chain(relations).collect()
}

fn changed(import: &Import, (before, after): (&Ontology, &Ontology)) -> Vec<ChangedWord> {
    let types = import.changed_types.iter().map(|changed| ChangedWord {
        what: "entity_type",
        key: changed.after.key.clone(),
        changes: changes(
            fields(&EntityTypeInfo::of(&changed.before, before)),
            fields(&EntityTypeInfo::of(&changed.after, after)),
        ),
    });
    let relations = import.changed_relations.iter().map(|changed| ChangedWord {
        what: changed.after.kind.name(),
        key: changed.after.key.clone(),
        changes: changes(
            fields(&RelationTypeInfo::of(&changed.before, before)),
            fields(&RelationTypeInfo::of(&changed.after, after)),
        ),
    });
    types.chain(relations).collect()
}

fn changes(before: Map<String, Value>, mut after: Map<String, Value>) -> Vec<FieldChange> {
    let both = before.into_iter().map(|(field, before)| FieldChange {
        after: after.remove(&field).unwrap_or_default(),
        before,
        field,
    });
    both.filter(|change| change.before != change.after)
        .collect()
}
