//! Who is one with whom: links between entities, each with a record-time life of its own.
//!
//! Links form a forest: an entity is folded into one other at a time, and a link is only ever
//! made between two roots. Taking one link away therefore leaves every other as it was, and the
//! order in which links are taken away does not matter.

use std::collections::{BTreeMap, BTreeSet};

use crate::EntityId;

/// "`fold` is the same thing as `keep`", while it is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// The entity that stays.
    pub keep: EntityId,
    /// The entity that is one with it.
    pub fold: EntityId,
}

/// The links that are held at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    keep_of: BTreeMap<EntityId, EntityId>,
}

/// Why two entities cannot be linked.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum IdentityError {
    /// They are one already.
    #[error("the two are the same entity already")]
    AlreadyOne,
}

impl Identity {
    /// The identity that these links make. A second link of one `fold` replaces the first.
    pub fn of(links: impl IntoIterator<Item = Link>) -> Self {
        Self {
            keep_of: links
                .into_iter()
                .map(|link| (link.fold, link.keep))
                .collect(),
        }
    }

    /// The entity that stands for `id` and all that are one with it.
    pub fn canonical(&self, id: EntityId) -> EntityId {
        let mut root = id;
        // A forest is at most as deep as it has links; more would be a circle.
        for _ in 0..=self.keep_of.len() {
            match self.keep_of.get(&root) {
                Some(keep) => root = *keep,
                None => return root,
            }
        }
        unreachable!("links are made between roots, so they form no circle")
    }

    /// All entities that are one with `id`, itself among them, in order.
    pub fn members(&self, id: EntityId) -> BTreeSet<EntityId> {
        let root = self.canonical(id);
        let linked = self.keep_of.keys().copied();
        linked
            .filter(|&other| self.canonical(other) == root)
            .chain([root])
            .collect()
    }

    /// The link that makes `fold` one with `keep`: between the entities that stand for them.
    ///
    /// # Errors
    /// If they are one already.
    pub fn link(&self, keep: EntityId, fold: EntityId) -> Result<Link, IdentityError> {
        let (keep, fold) = (self.canonical(keep), self.canonical(fold));
        if keep == fold {
            return Err(IdentityError::AlreadyOne);
        }
        Ok(Link { keep, fold })
    }

    /// For every entity that is not its own stand-in: the one that stands for it.
    pub fn closure(&self) -> BTreeMap<EntityId, EntityId> {
        self.keep_of
            .keys()
            .map(|&id| (id, self.canonical(id)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn entity(number: u8) -> EntityId {
        EntityId::new(Uuid::from_u128(number.into()))
    }

    proptest! {
        #[test]
        fn taking_links_away_in_any_order_gives_back_what_was_there(
            pairs in proptest::collection::vec((0_u8..12, 0_u8..12), 0..30),
            order in proptest::collection::vec(any::<u32>(), 30),
        ) {
            let mut links: Vec<Link> = Vec::new();
            for (keep, fold) in pairs {
                let held = Identity::of(links.iter().copied());
                if let Ok(link) = held.link(entity(keep), entity(fold)) {
                    links.push(link);
                }
            }
            // Each entity that was folded was so once.
            let folds: BTreeSet<EntityId> = links.iter().map(|link| link.fold).collect();
            prop_assert_eq!(folds.len(), links.len());

            let mut left: Vec<(u32, Link)> = order.iter().copied().zip(links).collect();
            left.sort_unstable();
            while let Some((_, gone)) = left.pop() {
                let held = Identity::of(left.iter().map(|(_, link)| *link));
                // What hung on the folded entity hangs on it still, apart from `keep`.
                prop_assert_eq!(held.canonical(gone.fold), gone.fold);
                for id in 0..12 {
                    prop_assert!(held.members(entity(id)).contains(&entity(id)));
                }
            }
            prop_assert_eq!(Identity::of([]).closure(), BTreeMap::new());
        }
    }

    #[test]
    fn an_absorbed_entity_is_known_by_the_one_that_stays() {
        let identity = Identity::default();
        let first = identity.link(entity(1), entity(2)).unwrap();
        let identity = Identity::of([first]);
        let second = identity.link(entity(3), entity(2)).unwrap();
        assert_eq!(
            second,
            Link {
                keep: entity(3),
                fold: entity(1)
            }
        );

        let identity = Identity::of([first, second]);
        assert_eq!(identity.canonical(entity(2)), entity(3));
        assert_eq!(identity.members(entity(3)).len(), 3);
        assert_eq!(
            identity.link(entity(1), entity(3)),
            Err(IdentityError::AlreadyOne)
        );
    }
}
