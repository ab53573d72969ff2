//! The names of a base's things, in memory: found by any part of them.
//!
//! A cache like the search index: thrown away and rebuilt at will, and brought up to the moment
//! that a transaction sees before it is asked. A million names are about forty megabytes, read
//! from end to end in a few milliseconds.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use model::ontology::RelationType;
use model::text::fold;
use model::{EntityId, FactId, KbId, RecordTime, TenantId};

use crate::statement::statements;
use crate::value::params;
use crate::{StoreError, Tx, bases};

statements! {
    tenant {
        SINCE: "SELECT id, subject_id, value, recorded_at FROM fact \
            WHERE tenant_id = $1 AND base_id = $2 AND predicate_id = $3 AND recorded_at > $4 AND recorded_at <= $5 ORDER BY recorded_at, id",
        CLOSED_SINCE: "SELECT id FROM fact WHERE tenant_id = $1 AND base_id = $2 AND invalidated_at > $3 AND invalidated_at <= $4",
    }
}

/// The names of every base that was asked for.
#[derive(Default)]
pub struct Names {
    bases: Mutex<HashMap<(TenantId, KbId), Shared>>,
}

/// A base's names, followed by one asker at a time.
type Shared = Arc<tokio::sync::Mutex<Table>>;

/// A name that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its thing, as the name was given: it may be folded into another.
    pub entity: EntityId,
    /// How the name fits.
    pub fit: Fit,
    /// Bytes of the name, folded.
    pub length: usize,
}

/// How a name fits what is looked for, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It has all but one of the words, and two at least.
    SomeWords(u32),
    /// It has the text within it.
    Part,
    /// It is the text.
    Exact,
}

/// Names one after another, each between two line feeds, which no folded name holds.
#[derive(Default)]
struct Table {
    head: Option<RecordTime>,
    text: String,
    /// Where each name begins in `text`.
    starts: Vec<usize>,
    entities: Vec<EntityId>,
    claims: Vec<FactId>,
    facts: HashMap<FactId, usize>,
    closed: HashSet<usize>,
}

const SEPARATOR: char = '\n';

impl Names {
    /// The names that have `text` within them, or else most of its words; those that fit best
    /// first, then the shortest, `limit` at most. A thing may have several.
    ///
    /// Names that are held now, as the transaction sees it; those that the `hidden` claims give are
    /// as if they were not there.
    pub async fn find(
        &self,
        tx: &mut Tx,
        kb: KbId,
        (text, limit): (&str, usize),
        hidden: &HashSet<FactId>,
    ) -> Result<Vec<Found>, StoreError> {
        let table = {
            let mut bases = self.bases.lock().unwrap_or_else(PoisonError::into_inner);
            bases.entry((tx.tenant(), kb)).or_default().clone()
        };
        let mut table = table.lock().await;
        table.follow(tx, kb).await?;
        Ok(table.find(text, limit, hidden))
    }

    /// Forgets a base's names; they are read again when asked for.
    pub fn forget(&self, tenant: TenantId, kb: KbId) {
        let mut bases = self.bases.lock().unwrap_or_else(PoisonError::into_inner);
        bases.remove(&(tenant, kb));
    }
}

impl Table {
    /// Brings the table to the moment that the transaction sees.
    async fn follow(&mut self, tx: &mut Tx, kb: KbId) -> Result<(), StoreError> {
        let Some(head) = bases::head(tx, kb).await? else {
            return Ok(());
        };
        let last = self.head.unwrap_or(RecordTime::from_micros(i64::MIN));
        if head <= last {
            return Ok(());
        }
        let known_as = RelationType::known_as_id(kb);
        for mut row in tx.rows(&SINCE, params![kb, known_as, last, head]).await? {
            let (fact, entity): (FactId, EntityId) = (row.take()?, row.take()?);
            let value: Option<String> = row.take()?;
            let name: Option<String> = value.and_then(|value| serde_json::from_str(&value).ok());
            self.add(fact, entity, &name.unwrap_or_default());
        }
        for mut row in tx.rows(&CLOSED_SINCE, params![kb, last, head]).await? {
            if let Some(&place) = self.facts.get(&row.take()?) {
                self.closed.insert(place);
            }
        }
        self.head = Some(head);
        Ok(())
    }

    fn add(&mut self, fact: FactId, entity: EntityId, name: &str) {
        let place = self.entities.len();
        self.text.push(SEPARATOR);
        self.starts.push(self.text.len());
        self.text.push_str(&folded(name));
        self.entities.push(entity);
        self.claims.push(fact);
        self.facts.insert(fact, place);
    }

    /// The name at a place.
    fn name(&self, place: usize) -> &str {
        let start = self.starts[place];
        let end = self
            .starts
            .get(place + 1)
            .map_or(self.text.len(), |next| next - SEPARATOR.len_utf8());
        &self.text[start..end]
    }

    /// The places of the names that have `needle` within them, in order.
    fn with<'a>(&'a self, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
        let finder = memchr::memmem::Finder::new(needle.as_bytes()).into_owned();
        let (mut from, mut last) = (0, 0);
        std::iter::from_fn(move || {
            let at = from + finder.find(&self.text.as_bytes()[from..])?;
            let place = self.place(at, last);
            last = place;
            from = self
                .starts
                .get(place + 1)
                .map_or(self.text.len(), |&next| next);
            Some(place)
        })
        .filter(|place| !self.closed.contains(place))
    }

    /// The place of the name that stands at a byte, which is `from` or a later one: looked for
    /// near it first, since what is found often is found close together.
    fn place(&self, at: usize, from: usize) -> usize {
        let mut reach = 1;
        while self
            .starts
            .get(from + reach)
            .is_some_and(|&start| start <= at)
        {
            reach *= 2;
        }
        let (near, far) = (from + reach / 2, self.starts.len().min(from + reach));
        near + self.starts[near..far].partition_point(|&start| start <= at) - 1
    }

    fn find(&self, text: &str, limit: usize, hidden: &HashSet<FactId>) -> Vec<Found> {
        let text = folded(text);
        if text.is_empty() {
            return Vec::new();
        }
        let fit = |place: usize| {
            if self.name(place) == text {
                Fit::Exact
            } else {
                Fit::Part
            }
        };
        let is_shown = |place: &usize| !hidden.contains(&self.claims[*place]);
        let with = self.with(&text).filter(is_shown);
        let mut places: Vec<(usize, Fit)> = with.map(|place| (place, fit(place))).collect();
        if places.is_empty() {
            places = self.by_words(&text);
            places.retain(|(place, _)| is_shown(place));
        }
        self.best(&places, limit)
    }

    /// Names with at least all words but one, and at least two of them.
    fn by_words(&self, text: &str) -> Vec<(usize, Fit)> {
        let words: HashSet<&str> = text.split(' ').collect();
        let least = words.len().saturating_sub(1).max(2);
        let mut scores: HashMap<usize, u32> = HashMap::new();
        for word in &words {
            for place in self.with(word) {
                *scores.entry(place).or_default() += 1;
            }
        }
        scores
            .into_iter()
            .filter(|(_, score)| least <= *score as usize)
            .map(|(place, score)| (place, Fit::SomeWords(score)))
            .collect()
    }

    /// The best `limit` of the names.
    fn best(&self, places: &[(usize, Fit)], limit: usize) -> Vec<Found> {
        let named = |&(place, fit): &(usize, Fit)| {
            (Reverse(fit), self.name(place).len(), self.entities[place])
        };
        let mut all: Vec<_> = places.iter().map(named).collect();
        if limit < all.len() {
            all.select_nth_unstable(limit);
            all.truncate(limit);
        }
        all.sort_unstable();
        let found = all.into_iter();
        let found = found.map(|(Reverse(fit), length, entity)| Found {
            entity,
            fit,
            length,
        });
        found.collect()
    }
}

/// The name as it is compared: folded, words parted by single spaces.
fn folded(name: &str) -> String {
    let name = fold(name);
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn table(names: &[&str]) -> Table {
        let mut table = Table::default();
        for (number, name) in (0_u128..).zip(names) {
            let id = Uuid::from_u128(number);
            table.add(FactId::new(id), EntityId::new(id), name);
        }
        table
    }

    fn found(table: &Table, text: &str) -> Vec<u128> {
        let found = table.find(text, 10, &HashSet::new()).into_iter();
        found.map(|found| found.entity.uuid().as_u128()).collect()
    }

    #[test]
    fn a_name_is_found_by_any_part_of_it_in_any_case_and_the_exact_one_first() {
        let table = table(&["Anna Lee", "Ann", "Joanna", "Ben"]);
        assert_eq!(found(&table, "ANN"), [1, 2, 0]);
        assert_eq!(found(&table, "lee"), [0]);
        assert_eq!(found(&table, "x"), [] as [u128; 0]);
        assert_eq!(found(&table, " "), [] as [u128; 0]);
    }

    #[test]
    fn a_name_of_two_characters_in_han_is_found() {
        let table = table(&["东京大学", "京都"]);
        assert_eq!(found(&table, "东京"), [0]);
        assert_eq!(found(&table, "京"), [1, 0]);
    }

    proptest::proptest! {
        /// Names in other scripts than Latin were folded to nothing, and then matched each other or
        /// nothing at all (trustgraph 1036, graphify 811).
        #[test]
        fn a_name_in_any_script_is_never_folded_to_nothing_and_stays_apart_from_others(
            name in "[\\p{L}\\p{N}]{1,12}",
            one in "[一-鿿ぁ-ゖ]{1,6}",
            other in "[一-鿿ぁ-ゖ]{1,6}",
        ) {
            proptest::prop_assert_ne!(folded(&name), "");
            if one != other {
                proptest::prop_assert_ne!(folded(&one), folded(&other));
                let table = table(&[&one, &other]);
                let exact = table.find(&one, 10, &HashSet::new()).into_iter().find(|found| found.fit == Fit::Exact);
                proptest::prop_assert_eq!(exact.map(|found| found.entity.uuid().as_u128()), Some(0));
            }
        }

        #[test]
        fn what_is_found_often_is_found_as_what_is_found_seldom(
            names in proptest::collection::vec("[ab]{0,3}", 1..60), text in "[ab]{1,2}",
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let table = table(&names);
            let places: Vec<usize> = table.with(&text).collect();
            let plain: Vec<usize> =
                (0..names.len()).filter(|&place| names[place].contains(&text)).collect();
            proptest::prop_assert_eq!(places, plain);
        }
    }

    #[test]
    fn most_of_the_words_will_do_where_no_name_has_the_text() {
        let table = table(&["Acme Robotics Europe", "Acme Holding", "Robotics Lab"]);
        assert_eq!(found(&table, "Robotics Acme"), [0]);
        assert_eq!(found(&table, "Robotics Europe GmbH"), [0]);
        assert_eq!(found(&table, "Other Lab"), [] as [u128; 0]);
    }

    #[test]
    fn a_hidden_name_takes_no_place_and_keeps_no_other_from_being_found() {
        let table = table(&["Acme Robotics", "Acme Robotics Europe", "Acme Europe Lab"]);
        let hidden: HashSet<FactId> = [0, 1].map(|id| FactId::new(Uuid::from_u128(id))).into();
        let found = |text: &str, limit: usize| -> Vec<u128> {
            let found = table.find(text, limit, &hidden).into_iter();
            found.map(|found| found.entity.uuid().as_u128()).collect()
        };
        assert_eq!(found("acme", 1), [2]);
        // As where no name had the text: by most of its words.
        assert_eq!(found("Acme Robotics Europe", 10), [2]);
    }

    #[test]
    fn a_text_never_spans_two_names_and_a_name_that_is_held_no_more_is_not_found() {
        let mut table = table(&["Ann", "Ben"]);
        assert_eq!(found(&table, "ann ben"), [] as [u128; 0]);
        table.closed.insert(0);
        assert_eq!(found(&table, "ann"), [] as [u128; 0]);
    }
}
