//! For when a claim is read to hold, from what was stated and what stands beside it.
//!
//! A stated date is the interval that its precision says. What was not stated is read out: a
//! missing start from the dates of the documents that attest the claim, a missing end, where a
//! subject has one value at a time, from the stated start of the next other value. The read-out
//! interval therefore depends on neighbours and is never written into the claim.

use crate::fact::{End, Rank, Temporality, Validity};
use crate::time::{Interval, OPEN_END, OPEN_START};
use crate::{FactId, WorldTime};

/// A claim among those of one subject and relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Its id.
    pub id: FactId,
    /// What it says of its subject; equal for two claims that say the same.
    pub says: String,
    /// When it is stated to hold.
    pub validity: Validity,
    /// How it ranks.
    pub rank: Rank,
    /// The earliest and the latest date of the documents that attest it, where a document's own
    /// text or its sender dates it.
    pub attested: Option<(WorldTime, WorldTime)>,
}

/// How claims of a relation are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// How they stand in time.
    pub temporality: Temporality,
    /// Whether a subject has one value at a time.
    pub single_valued: bool,
}

/// For when each claim holds, in the order given; none for one that holds at no moment.
///
/// The claims are all those of one subject (as its identity stands) and one relation. The answer
/// does not depend on their order.
pub fn read_out(claims: &[Claim], reading: Reading) -> Vec<Option<Interval>> {
    let successions = match reading {
        Reading {
            temporality: Temporality::State,
            single_valued: true,
        } => Successions::of(claims),
        _ => Successions::none(),
    };
    claims
        .iter()
        .map(|claim| match reading.temporality {
            Temporality::Eternal => Some(Interval::ALWAYS),
            Temporality::Event => event(&claim.validity),
            Temporality::State => state(claim, &successions),
        })
        .collect()
}

/// Pairs of claims that say different things of one subject for one moment, the earlier id first.
///
/// `holds` is what [`read_out`] gave for the claims of a single-valued relation.
pub fn contradictions(claims: &[Claim], holds: &[Option<Interval>]) -> Vec<(FactId, FactId)> {
    first_contradictions(claims, holds, usize::MAX)
}

/// As [`contradictions`], `most` of them at most: of many claims that all hold together, each
/// contradicts each.
pub fn first_contradictions(
    claims: &[Claim],
    holds: &[Option<Interval>],
    most: usize,
) -> Vec<(FactId, FactId)> {
    let mut held: Vec<(Interval, &Claim)> = claims
        .iter()
        .zip(holds)
        .filter(|(claim, _)| Rank::Deprecated < claim.rank)
        .filter_map(|(claim, interval)| Some(((*interval)?, claim)))
        .collect();
    held.sort_by_key(|(interval, claim)| (interval.from(), claim.id));
    let mut pairs = Vec::new();
    for (place, (interval, claim)) in held.iter().enumerate() {
        let later = held[place + 1..]
            .iter()
            .take_while(|(next, _)| next.from() < interval.to());
        pairs.extend(
            later
                .filter(|(_, other)| other.says != claim.says)
                .map(|(_, other)| (claim.id.min(other.id), claim.id.max(other.id)))
                .take(most.saturating_sub(pairs.len())),
        );
        if most <= pairs.len() {
            break;
        }
    }
    pairs.sort_unstable();
    pairs
}

/// The stated starts of a single-valued relation, in order.
struct Successions<'a>(Vec<(i64, &'a str)>);

impl<'a> Successions<'a> {
    const fn none() -> Self {
        Self(Vec::new())
    }

    fn of(claims: &'a [Claim]) -> Self {
        let mut starts: Vec<(i64, &str)> = claims
            .iter()
            .filter(|claim| Rank::Deprecated < claim.rank)
            .filter_map(|claim| {
                let from = claim.validity.from?;
                Some((from.earliest().start_micros(), claim.says.as_str()))
            })
            .collect();
        starts.sort_unstable();
        Self(starts)
    }

    /// Where the next value other than `says` is stated to begin, after `start`.
    fn next_after(&self, start: i64, says: &str) -> Option<i64> {
        let first = self.0.partition_point(|(from, _)| *from <= start);
        let other = self.0[first..].iter().find(|(_, value)| *value != says);
        other.map(|(from, _)| *from)
    }
}

fn event(validity: &Validity) -> Option<Interval> {
    let from = validity.from?;
    let end = match validity.to {
        End::On(to) => to.latest().end_micros(),
        End::Open | End::Unknown => from.latest().end_micros(),
    };
    Interval::new(from.earliest().start_micros(), end)
}

fn state(claim: &Claim, successions: &Successions<'_>) -> Option<Interval> {
    let start = match (claim.validity.from, claim.attested) {
        (Some(from), _) => from.earliest().start_micros(),
        (None, Some((earliest, _))) => earliest.start_micros(),
        (None, None) => OPEN_START,
    };
    let next = successions.next_after(start, &claim.says);
    let end = match (claim.validity.to, claim.attested) {
        // "Until 2024" beside "from 2024": the one hands over to the other.
        (End::On(to), _) => {
            let end = to.latest().end_micros();
            next.filter(|next| to.latest().start_micros() <= *next)
                .map_or(end, |next| next.min(end))
        }
        (End::Unknown, Some((_, latest))) => {
            // A document may speak of what is still to come.
            let begun = claim.validity.from.map(|from| from.latest().end_micros());
            latest.end_micros().max(begun.unwrap_or(OPEN_START))
        }
        (End::Unknown, None) | (End::Open, _) => next.unwrap_or(OPEN_END),
    };
    Interval::new(start, end)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::fact::Bound;

    fn date(text: &str) -> WorldTime {
        text.parse().unwrap()
    }

    fn claim(number: u128, says: &str, from: &str, to: &str) -> Claim {
        let on = |text| Bound::on(date(text));
        Claim {
            id: FactId::new(Uuid::from_u128(number)),
            says: says.to_owned(),
            validity: Validity {
                from: (!from.is_empty()).then(|| on(from)),
                to: match to {
                    "" => End::Open,
                    "?" => End::Unknown,
                    date => End::On(on(date)),
                },
            },
            rank: Rank::Normal,
            attested: None,
        }
    }

    fn between(from: &str, to: &str) -> Option<Interval> {
        let bound = |text: &str, open| match text {
            "" => open,
            text => date(text).start_micros(),
        };
        Interval::new(bound(from, OPEN_START), bound(to, OPEN_END))
    }

    const ONE_AT_A_TIME: Reading = Reading {
        temporality: Temporality::State,
        single_valued: true,
    };
    const MANY: Reading = Reading {
        temporality: Temporality::State,
        single_valued: false,
    };
    const EVENT: Reading = Reading {
        temporality: Temporality::Event,
        single_valued: false,
    };

    #[test]
    fn until_2024_covers_2024() {
        let claims = [claim(1, "a", "2019", "2024")];
        assert_eq!(read_out(&claims, MANY), [between("2019", "2025")]);
    }

    #[test]
    fn the_next_other_value_ends_an_open_one_where_a_subject_has_one_at_a_time() {
        let claims = [
            claim(1, "ann", "2019", ""),
            claim(2, "ann", "2020", ""),
            claim(3, "ben", "2021-03", ""),
        ];
        let expected = [
            between("2019", "2021-03"),
            between("2020", "2021-03"),
            between("2021-03", ""),
        ];
        assert_eq!(read_out(&claims, ONE_AT_A_TIME), expected);
        assert_eq!(contradictions(&claims, &expected), []);
        let expected = [
            between("2019", ""),
            between("2020", ""),
            between("2021-03", ""),
        ];
        assert_eq!(read_out(&claims, MANY), expected);
    }

    #[test]
    fn an_end_in_the_year_of_the_next_start_is_a_hand_over() {
        let claims = [
            claim(1, "ann", "2019", "2021"),
            claim(2, "ben", "2021-03", ""),
        ];
        let holds = read_out(&claims, ONE_AT_A_TIME);
        assert_eq!(holds, [between("2019", "2021-03"), between("2021-03", "")]);
        assert_eq!(contradictions(&claims, &holds), []);
    }

    #[test]
    fn an_end_well_after_the_next_start_is_a_contradiction_and_both_are_held() {
        let claims = [
            claim(1, "ann", "2019", "2023"),
            claim(2, "ben", "2021-03", ""),
        ];
        let holds = read_out(&claims, ONE_AT_A_TIME);
        assert_eq!(holds, [between("2019", "2024"), between("2021-03", "")]);
        assert_eq!(
            contradictions(&claims, &holds),
            [(claims[0].id, claims[1].id)]
        );
    }

    #[test]
    fn an_undated_state_holds_always_and_an_undated_event_never() {
        let claims = [claim(1, "a", "", "")];
        assert_eq!(read_out(&claims, MANY), [Some(Interval::ALWAYS)]);
        assert_eq!(read_out(&claims, EVENT), [None]);
    }

    #[test]
    fn an_event_covers_its_own_precision_and_a_ranged_one_its_range() {
        let mut ranged = claim(2, "b", "", "");
        ranged.validity.from = Bound::between(date("1860"), date("1865"));
        let claims = [claim(1, "a", "1861-05", ""), ranged];
        let expected = [between("1861-05", "1861-06"), between("1860", "1866")];
        assert_eq!(read_out(&claims, EVENT), expected);
    }

    #[test]
    fn what_was_not_stated_is_read_from_the_documents_that_attest_it() {
        let mut ended = claim(1, "a", "", "?");
        ended.attested = Some((date("2019-05"), date("2020-06")));
        assert_eq!(
            read_out(&[ended.clone()], MANY),
            [between("2019-05", "2020-07")]
        );

        ended.validity.from = Some(Bound::on(date("2022")));
        assert_eq!(read_out(&[ended], MANY), [between("2022", "2023")]);
    }

    #[test]
    fn a_deprecated_claim_ends_no_other_and_contradicts_none() {
        let mut wrong = claim(2, "ben", "2021", "");
        wrong.rank = Rank::Deprecated;
        let claims = [claim(1, "ann", "2019", ""), wrong];
        let holds = read_out(&claims, ONE_AT_A_TIME);
        assert_eq!(holds, [between("2019", ""), between("2021", "")]);
        assert_eq!(contradictions(&claims, &holds), []);
    }

    proptest::proptest! {
        #[test]
        fn the_reading_does_not_depend_on_the_order_of_arrival(
            drawn in proptest::collection::vec((0_u8..4, 1990_i32..2030, proptest::option::of(0_i32..9)), 0..12),
            seed: u64,
        ) {
            let claims: Vec<Claim> = (1..).zip(&drawn).map(|(number, (value, from, length))| {
                let to = length.map_or(String::new(), |length| (from + length).to_string());
                claim(number, &value.to_string(), &from.to_string(), &to)
            }).collect();
            let mut shuffled: Vec<usize> = (0..claims.len()).collect();
            shuffled.sort_by_key(|&place| (place as u64 + 1).wrapping_mul(seed | 1));
            let reordered: Vec<Claim> = shuffled.iter().map(|&place| claims[place].clone()).collect();

            let (holds, again) = (read_out(&claims, ONE_AT_A_TIME), read_out(&reordered, ONE_AT_A_TIME));

            for (place, &origin) in shuffled.iter().enumerate() {
                proptest::prop_assert_eq!(again[place], holds[origin]);
            }
            proptest::prop_assert_eq!(contradictions(&claims, &holds), contradictions(&reordered, &again));
            // Nothing that is stated is lost: every dated claim holds at its stated start.
            for (claim, interval) in claims.iter().zip(&holds) {
                let start = claim.validity.from.unwrap().earliest().start_micros();
                proptest::prop_assert_eq!(interval.unwrap().from(), start);
            }
        }
    }
}
