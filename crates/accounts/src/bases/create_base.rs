use kernel::{Cx, Method, Operation, Reply, Spec, Tenant, WriteTx};
use model::ontology::import::plan;
use model::{Code, Error, EventId, KbId, Result, Role, Visibility};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::events::{self, Decider};
use store::{bases, ontology};

/// Make a base: a container of documents and facts with members of its own. You become its owner.
#[derive(Deserialize, JsonSchema)]
pub struct CreateBase {
    /// Its name, at most 100 characters.
    name: String,
    /// `open`: everybody of the organisation reads it. `restricted`: members only, and to others
    /// it does not exist. `restricted` if absent.
    visibility: Option<Visibility>,
    /// Its name in addresses: lower case letters, digits and dashes. Made from the name if absent.
    slug: Option<String>,
    /// Names of the packs whose words it begins with, such as `schema`; `list_ontology_packs`
    /// lists them. It begins without words if absent.
    #[serde(default)]
    packs: Vec<String>,
}

/// A base that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedBase {
    /// The base's id.
    pub id: KbId,
    /// Its name in addresses.
    pub slug: String,
}

impl Reply for CreatedBase {
    const STATUS: u16 = 201;

    fn text(&self) -> String {
        format!("{}  {}\n", self.id, self.slug)
    }
}

/// Longest slug, in characters.
const SLUG_LENGTH_MAX: usize = 60;
/// How many bases of one name get a slug of their own by counting.
const SLUGS_TRIED: u32 = 1000;

impl Operation for CreateBase {
    type Target = Tenant;
    type Output = CreatedBase;
    const SPEC: Spec = Spec::write("create_base", "Make a base")
        .route(Method::Post, "/kbs")
        .idempotency_key()
        .cli("base create", &["name"]);

    async fn run(self, cx: &Cx<'_, Tenant>) -> Result<CreatedBase> {
        let principal = cx.principal();
        let name = super::checked_name(&self.name)?;
        let mut base = bases::Base {
            id: KbId::new(cx.ids.next()),
            slug: match &self.slug {
                Some(slug) => checked_slug(slug)?,
                None => slug_of(&name),
            },
            name,
            visibility: self.visibility.unwrap_or(Visibility::Restricted),
            created_at: cx.now(),
            clock: cx.now(),
        };
        cx.about("base", base.id);
        let mut tx = cx.write().await?;
        base.slug = free_slug(&mut tx, base.slug, self.slug.is_some()).await?;
        bases::insert(&mut tx, &base).await?;
        bases::set_member(&mut tx, base.id, principal.user, Role::Owner, cx.now()).await?;
        give_words(cx, &mut tx, base.id, &self.packs).await?;
        tx.commit(CreatedBase {
            id: base.id,
            slug: base.slug,
        })
        .await
    }
}

/// Gives a new base the words of packs, one after the other.
async fn give_words(
    cx: &Cx<'_, Tenant>,
    tx: &mut WriteTx<'_>,
    kb: KbId,
    packs: &[String],
) -> Result<()> {
    if packs.is_empty() {
        return Ok(());
    }
    let at = bases::advance_clock(tx, kb, cx.now()).await?;
    let principal = cx.principal();
    let decider = Decider {
        user: Some(principal.user),
        credential: Some(principal.credential.id),
    };
    let (mut types, mut relations) = (Vec::new(), Vec::new());
    for name in packs {
        let pack = cx.packs.get(name)?;
        let words = (types.as_slice(), relations.as_slice());
        let import = plan(words, &pack.declared, &mut || cx.ids.next(), at);
        let payload = json!({
            "name": pack.name,
            "ontology": pack.declared.iri,
            "added": import.added_types.len() + import.added_relations.len(),
            "changed": import.changed_types.len() + import.changed_relations.len(),
        });
        let event = (EventId::new(cx.ids.next()), "import_ontology");
        events::insert(tx, kb, event, decider, &payload.to_string(), at).await?;
        import.take_into(&mut types, &mut relations);
    }
    ontology::insert_types(tx, kb, &types).await?;
    Ok(ontology::insert_relations(tx, kb, &relations).await?)
}

async fn free_slug(tx: &mut store::Tx, wished: String, is_exact: bool) -> Result<String> {
    if bases::find_by_slug(tx, &wished).await?.is_none() {
        return Ok(wished);
    }
    let taken = || {
        Error::new(
            Code::Conflict,
            format!("there is a base with the slug `{wished}` already"),
        )
    };
    if is_exact {
        return Err(taken());
    }
    for number in 2..SLUGS_TRIED {
        let slug = format!("{wished}-{number}");
        if bases::find_by_slug(tx, &slug).await?.is_none() {
            return Ok(slug);
        }
    }
    Err(taken())
}

fn checked_slug(slug: &str) -> Result<String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !slug.is_empty()
        && slug.len() <= SLUG_LENGTH_MAX
        && slug.chars().all(plain)
        && !slug.starts_with('-')
    {
        return Ok(slug.to_owned());
    }
    let shown: String = slug.chars().take(80).collect();
    Err(Error::invalid(format!(
        "`slug` must be 1 to {SLUG_LENGTH_MAX} lower case letters, digits and dashes, not `{shown}`"
    )))
}

/// A name in lower case with dashes; letters of other scripts stay out of addresses.
fn slug_of(name: &str) -> String {
    let mut slug = String::new();
    for character in name.to_lowercase().chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(SLUG_LENGTH_MAX);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        "base".to_owned()
    } else {
        slug.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_made_of_what_an_address_can_carry() {
        for (name, slug) in [
            ("Demo", "demo"),
            ("  Q3 — Plan (v2) ", "q3-plan-v2"),
            ("日本語", "base"),
            ("Émile", "mile"),
        ] {
            assert_eq!(slug_of(name), slug);
        }
    }
}
