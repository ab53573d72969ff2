//! One story per noun, the same on both engines.

use model::{
    AuditId, ChunkId, CredentialId, DocumentId, JobId, KbId, RequestId, Role, Scopes, UserId,
    Visibility,
};
use store::audit::Entry;
use store::chunks::NewChunk;
use store::credentials::{Credential, CredentialKind, Reach};
use store::documents::{
    DocumentState, Listing, NewDocument, NewVersion, Parsed, Restored, StoredSection,
};
use store::idempotency::{Claim, Key, NewClaim, Outcome};
use store::jobs::{JobState, NewJob};
use store::vectors::Vector;
use store::{
    StoreError, audit, bases, chunks, credentials, documents, idempotency, jobs, tenants, users,
    vectors,
};

use crate::stores::{World, at, base, on_both_engines, uuid};

const DOCUMENT: DocumentId = DocumentId::new(uuid::Uuid::from_u128(100));

fn version(text: &[u8; 32], at_micros: i64) -> NewVersion<'static> {
    NewVersion {
        blob_hash: *text,
        size: 12,
        media_type: "text/plain",
        filename: "memo.txt",
        accepted_at: at(at_micros),
    }
}

fn section(seq: u32, heading: &str, body: &str, char_start: u64) -> StoredSection {
    StoredSection {
        seq,
        heading_path: vec![heading.to_owned()],
        body: body.to_owned(),
        char_start,
        char_count: body.chars().count() as u64,
    }
}

fn everything(role: Role) -> Listing {
    Listing {
        role,
        state: None,
        deleted: false,
    }
}

fn new_job(number: u128, key: &str) -> NewJob<'_> {
    NewJob {
        id: JobId::new(uuid(number)),
        base: Some(KbId::new(uuid(3))),
        queue: "documents",
        kind: "parse",
        key,
        payload: "{}",
        run_at: at(10),
        created_at: at(10),
    }
}

pub fn entry(number: u128, operation: &str) -> Entry {
    Entry {
        id: AuditId::new(uuid(number)),
        at: at(number as i64),
        base: Some(KbId::new(uuid(3))),
        user: Some(UserId::new(uuid(2))),
        user_label: "ann@acme.test".into(),
        credential: None,
        credential_name: None,
        client: Some("claude-code".into()),
        actor: None,
        door: "rest".into(),
        operation: operation.into(),
        target: Some(("document".into(), uuid(100).to_string())),
        verdict: "ok".into(),
        request: RequestId::new(uuid(number)),
        detail: None,
    }
}

/// Adds a document with its first version and two passages, all held from 20 on.
async fn published(world: &World) -> Vec<i64> {
    let mut tx = world.db.write(world.tenant).await.unwrap();
    let document = NewDocument {
        id: DOCUMENT,
        external_key: "memo",
        least_role: Role::Viewer,
    };
    documents::add(&mut tx, world.kb, &document, &version(&[1; 32], 10))
        .await
        .unwrap();
    let now = bases::advance_clock(&mut tx, world.kb, at(20))
        .await
        .unwrap();
    let parsed = Parsed {
        media_type: Some("text/markdown"),
        title: Some("Memo"),
        document_date: Some("2026-03"),
        date_source: Some("content"),
        left_out: &["page 3 has no text layer".to_owned()],
        char_count: 8,
    };
    let sections = [
        section(0, "One", "ab𝄞d", 0),
        section(1, "Bare", "", 4),
        section(2, "Two", "efgh", 4),
    ];
    documents::put_parsed(&mut tx, world.kb, (DOCUMENT, 1), &parsed, &sections)
        .await
        .unwrap();
    let headings = ["One".to_owned()];
    let new = ["first", "second"].map(|text| NewChunk {
        id: ChunkId::of(DOCUMENT, &headings, text, 0),
        heading_path: &headings,
        title: "Memo",
        text,
    });
    let ordinals = chunks::insert(&mut tx, world.kb, (DOCUMENT, Role::Viewer), &new, now)
        .await
        .unwrap();
    documents::set_chunk_order(&mut tx, world.kb, (DOCUMENT, 1), &ordinals)
        .await
        .unwrap();
    assert!(
        documents::publish(&mut tx, world.kb, (DOCUMENT, 1), now)
            .await
            .unwrap()
    );
    tx.commit().await.unwrap();
    ordinals
}

on_both_engines! {
    async fn a_tenant_is_found_and_its_slug_is_its_own(world: &World) {
        let mut tx = world.db.write_directory().await.unwrap();
        let known = tenants::find(&mut tx, world.tenant).await.unwrap().unwrap();
        assert_eq!(known.slug, "acme");
        assert_eq!(tenants::list(&mut tx).await.unwrap(), std::slice::from_ref(&known));
        tenants::set_meta(&mut tx, "deployment", "one").await.unwrap();
        tenants::set_meta(&mut tx, "deployment", "two").await.unwrap();
        assert_eq!(tenants::meta(&mut tx, "deployment").await.unwrap().as_deref(), Some("two"));
        assert_eq!(tenants::meta(&mut tx, "unknown").await.unwrap(), None);
        let twin = tenants::Tenant { id: model::TenantId::new(uuid(50)), ..known };
        let taken = tenants::insert(&mut tx, &twin).await.unwrap_err();
        assert!(matches!(&taken, StoreError::Unique(table) if table == "tenant"), "{taken:?}");
    }

    async fn a_user_signs_in_once_a_password_is_set_by_link(world: &World) {
        let mut tx = world.db.write(world.tenant).await.unwrap();
        users::insert_setup_link(&mut tx, &[9; 32], world.user, at(100)).await.unwrap();
        tx.commit().await.unwrap();

        let mut tx = world.db.write_directory().await.unwrap();
        assert_eq!(users::use_setup_link(&mut tx, &[9; 32], at(100)).await.unwrap(), None);
        let whose = users::use_setup_link(&mut tx, &[9; 32], at(99)).await.unwrap();
        assert_eq!(whose, Some((world.tenant, world.user)));
        assert_eq!(users::use_setup_link(&mut tx, &[9; 32], at(99)).await.unwrap(), None);
        assert_eq!(users::prune_setup_links(&mut tx, at(100)).await.unwrap(), 1);
        tx.commit().await.unwrap();

        let mut tx = world.db.write(world.tenant).await.unwrap();
        assert!(users::set_password(&mut tx, world.user, "$argon2id$").await.unwrap());
        assert!(users::set_disabled(&mut tx, world.user, Some(at(7))).await.unwrap());
        let known = users::find(&mut tx, world.user).await.unwrap().unwrap();
        assert_eq!((known.disabled_at, known.system_admin), (Some(at(7)), false));
        assert_eq!(users::list(&mut tx).await.unwrap(), std::slice::from_ref(&known));
        tx.commit().await.unwrap();

        let mut tx = world.db.read_directory().await.unwrap();
        let found = users::find_by_email(&mut tx, "ann@acme.test").await.unwrap();
        assert_eq!(found, Some((known, Some("$argon2id$".to_owned()))));
        assert_eq!(users::find_by_email(&mut tx, "bob@acme.test").await.unwrap(), None);
    }

    async fn a_base_shows_itself_to_members_and_when_open_to_all(world: &World) {
        let (bob, open) = (UserId::new(uuid(4)), KbId::new(uuid(5)));
        let mut tx = world.db.write(world.tenant).await.unwrap();
        bases::insert(&mut tx, &bases::Base { visibility: Visibility::Open, ..base(open, "open") })
            .await
            .unwrap();

        let stand = bases::stand_of(&mut tx, world.kb, world.user).await.unwrap().unwrap();
        assert_eq!(stand.role, Some(Role::Editor));
        let stand = bases::stand_of(&mut tx, world.kb, bob).await.unwrap().unwrap();
        assert_eq!((stand.role, stand.base.slug.as_str()), (None, "papers"));
        assert_eq!(bases::stand_of(&mut tx, KbId::new(uuid(6)), bob).await.unwrap(), None);
        let seen = |stands: Vec<bases::Stand>| -> Vec<_> {
            stands.into_iter().map(|stand| stand.base.slug).collect()
        };
        assert_eq!(seen(bases::visible_to(&mut tx, world.user).await.unwrap()), ["open", "papers"]);
        assert_eq!(seen(bases::visible_to(&mut tx, bob).await.unwrap()), ["open"]);

        bases::set_member(&mut tx, world.kb, world.user, Role::Admin, at(9)).await.unwrap();
        let members = bases::members(&mut tx, world.kb).await.unwrap();
        assert_eq!((members.len(), members[0].role), (1, Role::Admin));
        assert!(bases::remove_member(&mut tx, world.kb, world.user).await.unwrap());
        assert!(!bases::remove_member(&mut tx, world.kb, world.user).await.unwrap());
        assert!(bases::rename(&mut tx, world.kb, "Letters").await.unwrap());
        assert!(bases::set_visibility(&mut tx, world.kb, Visibility::Open).await.unwrap());
        let renamed = bases::find_by_slug(&mut tx, "papers").await.unwrap().unwrap();
        assert_eq!((renamed.name.as_str(), renamed.visibility), ("Letters", Visibility::Open));
        assert_eq!(bases::tenant_of(&mut tx, open).await.unwrap(), Some(world.tenant));
        tx.commit().await.unwrap();
    }

    async fn the_clock_of_a_base_rises_with_every_write(world: &World) {
        let mut tx = world.db.write(world.tenant).await.unwrap();
        assert_eq!(bases::advance_clock(&mut tx, world.kb, at(50)).await.unwrap(), at(50));
        assert_eq!(bases::advance_clock(&mut tx, world.kb, at(50)).await.unwrap(), at(51));
        assert_eq!(bases::advance_clock(&mut tx, world.kb, at(7)).await.unwrap(), at(52));
        assert_eq!(bases::head(&mut tx, world.kb).await.unwrap(), Some(at(52)));
        let unknown = bases::advance_clock(&mut tx, KbId::new(uuid(6)), at(60)).await;
        assert!(unknown.unwrap_err().to_string().contains("has no base"));
    }

    async fn a_transaction_that_failed_can_only_be_dropped(world: &World) {
        let mut tx = world.db.write(world.tenant).await.unwrap();
        bases::rename(&mut tx, world.kb, "Letters").await.unwrap();
        let taken = bases::insert(&mut tx, &base(KbId::new(uuid(7)), "papers")).await.unwrap_err();
        assert!(matches!(&taken, StoreError::Unique(table) if table == "base"), "{taken:?}");
        assert!(bases::list(&mut tx).await.is_err());
        assert!(tx.commit().await.is_err());

        let mut tx = world.db.read(world.tenant).await.unwrap();
        assert_eq!(bases::find(&mut tx, world.kb).await.unwrap().unwrap().name, "papers");
    }

    async fn a_reader_keeps_its_snapshot(world: &World) {
        let mut reader = world.db.read(world.tenant).await.unwrap();
        assert_eq!(bases::list(&mut reader).await.unwrap().len(), 1);

        let mut tx = world.db.write(world.tenant).await.unwrap();
        bases::insert(&mut tx, &base(KbId::new(uuid(7)), "more")).await.unwrap();
        tx.commit().await.unwrap();

        assert_eq!(bases::list(&mut reader).await.unwrap().len(), 1);
        drop(reader);
        let mut reader = world.db.read(world.tenant).await.unwrap();
        assert_eq!(bases::list(&mut reader).await.unwrap().len(), 2);
    }

    async fn a_reader_cannot_write(world: &World) {
        let mut tx = world.db.read(world.tenant).await.unwrap();
        let refused = bases::rename(&mut tx, world.kb, "Letters").await.unwrap_err().to_string();
        assert!(refused.contains("open for reading"), "{refused}");
    }

    async fn another_tenant_sees_nothing(world: &World) {
        published(world).await;
        let mut tx = world.db.read(model::TenantId::new(uuid(77))).await.unwrap();
        assert_eq!(bases::find(&mut tx, world.kb).await.unwrap(), None);
        assert_eq!(documents::find(&mut tx, world.kb, DOCUMENT).await.unwrap(), None);
        assert_eq!(chunks::since(&mut tx, world.kb, 0, 10).await.unwrap(), []);
        assert_eq!(users::find(&mut tx, world.user).await.unwrap(), None);
    }

    async fn a_credential_is_found_by_its_secret_until_it_is_revoked(world: &World) {
        let id = CredentialId::new(uuid(30));
        let credential = Credential {
            id,
            tenant: world.tenant,
            user: Some(world.user),
            kind: CredentialKind::Personal,
            name: "laptop".into(),
            hint: "x7Qa".into(),
            scopes: Scopes::WRITE,
            bases: Reach::Only(vec![world.kb]),
            created_at: at(10),
            expires_at: Some(at(1000)),
            last_used_at: None,
            revoked_at: None,
            client: None,
        };
        let wide = Credential { id: CredentialId::new(uuid(31)), bases: Reach::All, created_at: at(11), ..credential.clone() };
        let mut tx = world.db.write(world.tenant).await.unwrap();
        credentials::insert(&mut tx, &credential, &[1; 32]).await.unwrap();
        credentials::insert(&mut tx, &wide, &[2; 32]).await.unwrap();
        assert_eq!(credentials::find(&mut tx, id).await.unwrap(), Some(credential.clone()));
        assert_eq!(credentials::list(&mut tx, world.user).await.unwrap(), [credential.clone(), wide.clone()]);
        tx.commit().await.unwrap();

        let mut tx = world.db.write_directory().await.unwrap();
        let found = credentials::find_by_secret_hash(&mut tx, &[1; 32]).await.unwrap().unwrap();
        assert_eq!(found.credential, credential);
        assert_eq!(found.owner.map(|owner| owner.email).as_deref(), Some("ann@acme.test"));
        let found = credentials::find_by_secret_hash(&mut tx, &[2; 32]).await.unwrap().unwrap();
        assert_eq!(found.credential, wide);
        assert_eq!(credentials::find_by_secret_hash(&mut tx, &[3; 32]).await.unwrap(), None);
        credentials::touch(&mut tx, &[(id, at(40)), (wide.id, at(41)), (id, at(39))]).await.unwrap();
        tx.commit().await.unwrap();

        let mut tx = world.db.write(world.tenant).await.unwrap();
        credentials::note_client(&mut tx, id, "codex", at(42)).await.unwrap();
        assert!(credentials::revoke(&mut tx, id, at(43)).await.unwrap());
        assert!(!credentials::revoke(&mut tx, id, at(44)).await.unwrap());
        let known = credentials::find(&mut tx, id).await.unwrap().unwrap();
        assert_eq!((known.last_used_at, known.revoked_at), (Some(at(40)), Some(at(43))));
        assert_eq!(known.client, Some(("codex".to_owned(), at(42))));
    }

    async fn the_log_is_read_newest_first_and_its_chain_holds(world: &World) {
        let mut tx = world.db.write(world.tenant).await.unwrap();
        audit::insert(&mut tx, &entry(10, "add_document")).await.unwrap();
        let of_tenant = Entry { base: None, target: None, ..entry(12, "create_token") };
        audit::insert_many(&mut tx, &[entry(11, "search_chunks"), of_tenant.clone()]).await.unwrap();
        tx.commit().await.unwrap();

        let mut tx = world.db.write(world.tenant).await.unwrap();
        let page = audit::page(&mut tx, Some(world.kb), None, 1).await.unwrap();
        assert_eq!(page, [entry(11, "search_chunks")]);
        let after = Some((page[0].at, page[0].id));
        let page = audit::page(&mut tx, Some(world.kb), after, 5).await.unwrap();
        assert_eq!(page, [entry(10, "add_document")]);
        assert_eq!(audit::page(&mut tx, None, None, 5).await.unwrap()[0], of_tenant);

        assert_eq!(audit::seal(&mut tx, 2).await.unwrap(), 2);
        let chain = audit::verify(&mut tx).await.unwrap();
        assert_eq!((chain.sealed, chain.unsealed, chain.broken), (2, 1, None));
        assert_eq!(audit::seal(&mut tx, 100).await.unwrap(), 1);
        assert_eq!(audit::seal(&mut tx, 100).await.unwrap(), 0);
        let chain = audit::verify(&mut tx).await.unwrap();
        assert_eq!((chain.sealed, chain.unsealed, chain.broken), (3, 0, None));
        tx.commit().await.unwrap();
    }

    async fn an_idempotency_key_has_one_owner(world: &World) {
        let key = Key { principal: uuid(2), operation: "add_document", base: Some(world.kb), key: "k1" };
        let other = Key { base: None, ..key };
        let mut tx = world.db.write(world.tenant).await.unwrap();
        let claim = |n: u128, hash: &'static [u8], from| NewClaim { claim: uuid(n), args_hash: hash, at: at(from), lease_until: at(from + 60) };
        assert_eq!(idempotency::claim(&mut tx, &key, &claim(1, &[1], 10)).await.unwrap(), Claim::Ours);
        assert_eq!(idempotency::claim(&mut tx, &other, &claim(2, &[1], 10)).await.unwrap(), Claim::Ours);
        let Claim::Theirs(running) = idempotency::claim(&mut tx, &key, &claim(3, &[2], 20)).await.unwrap() else {
            panic!("the key is taken");
        };
        assert_eq!((running.args_hash, running.outcome), (vec![1], None));

        assert!(!idempotency::take_over(&mut tx, &key, &claim(3, &[2], 69)).await.unwrap());
        assert!(idempotency::take_over(&mut tx, &key, &claim(3, &[2], 70)).await.unwrap());
        idempotency::release(&mut tx, &key, uuid(1)).await.unwrap();
        assert!(!idempotency::finish(&mut tx, &key, uuid(1), "{\"id\":0}", None).await.unwrap(), "it lost its claim");
        assert!(idempotency::finish(&mut tx, &key, uuid(3), "{\"id\":1}", Some("a")).await.unwrap());
        assert!(!idempotency::take_over(&mut tx, &key, &claim(4, &[3], 500)).await.unwrap());
        idempotency::release(&mut tx, &key, uuid(3)).await.unwrap();
        let done = idempotency::find(&mut tx, &key).await.unwrap().unwrap();
        assert_eq!(done.outcome, Some(Outcome::Kept("{\"id\":1}".to_owned())));
        assert_eq!(idempotency::erase(&mut tx, world.kb, "b").await.unwrap(), 0);
        assert_eq!(idempotency::erase(&mut tx, world.kb, "a").await.unwrap(), 1);
        let done = idempotency::find(&mut tx, &key).await.unwrap().unwrap();
        assert_eq!(done.outcome, Some(Outcome::Erased));
        idempotency::release(&mut tx, &other, uuid(2)).await.unwrap();
        assert_eq!(idempotency::find(&mut tx, &other).await.unwrap(), None);
        assert_eq!(idempotency::prune(&mut tx, at(70)).await.unwrap(), 0);
        assert_eq!(idempotency::prune(&mut tx, at(71)).await.unwrap(), 1);
    }

    async fn a_document_is_read_in_the_version_held_at_a_moment(world: &World) {
        published(world).await;
        let mut tx = world.db.write(world.tenant).await.unwrap();
        let taken = NewDocument { id: DocumentId::new(uuid(101)), external_key: "memo", least_role: Role::Viewer };
        assert!(documents::find_by_key(&mut tx, world.kb, taken.external_key).await.unwrap().is_some());
        let second = documents::add_version(&mut tx, world.kb, DOCUMENT, &version(&[2; 32], 30)).await.unwrap();
        assert_eq!(second, Some(2));
        assert_eq!(documents::version_at(&mut tx, world.kb, DOCUMENT, at(35)).await.unwrap().unwrap().version, 1);
        assert!(!documents::set_state(&mut tx, world.kb, (DOCUMENT, 1), DocumentState::Failed, None, at(31)).await.unwrap());
        assert!(documents::set_state(&mut tx, world.kb, (DOCUMENT, 2), DocumentState::Ready, None, at(32)).await.unwrap());
        assert!(documents::publish(&mut tx, world.kb, (DOCUMENT, 2), at(40)).await.unwrap());
        assert!(!documents::publish(&mut tx, world.kb, (DOCUMENT, 1), at(41)).await.unwrap(), "an older version never comes back");

        for (as_of, held) in [(19, None), (20, Some(1)), (39, Some(1)), (40, Some(2)), (900, Some(2))] {
            let version = documents::version_at(&mut tx, world.kb, DOCUMENT, at(as_of)).await.unwrap();
            assert_eq!(version.map(|version| version.version), held, "at {as_of}");
        }
        let held = documents::versions_at(&mut tx, world.kb, &[DOCUMENT, taken.id], at(25)).await.unwrap();
        assert_eq!(held.len(), 1);
        let first = documents::version(&mut tx, world.kb, (DOCUMENT, 1)).await.unwrap().unwrap();
        assert_eq!((first.title.as_deref(), first.chunk_order), (Some("Memo"), Some(vec![1, 2])));
        assert_eq!(first.left_out, ["page 3 has no text layer"]);
        assert_eq!(documents::versions(&mut tx, world.kb, DOCUMENT).await.unwrap().len(), 2);
        let document = documents::find(&mut tx, world.kb, DOCUMENT).await.unwrap().unwrap();
        assert_eq!((document.version, document.held_version, document.state), (2, Some(2), DocumentState::Ready));
        assert_eq!(documents::find_many(&mut tx, world.kb, &[DOCUMENT]).await.unwrap(), [document]);
        tx.commit().await.unwrap();
    }

    async fn a_second_document_with_one_external_key_is_refused(world: &World) {
        published(world).await;
        let mut tx = world.db.write(world.tenant).await.unwrap();
        let taken = NewDocument { id: DocumentId::new(uuid(101)), external_key: "memo", least_role: Role::Viewer };
        let refused = documents::add(&mut tx, world.kb, &taken, &version(&[1; 32], 10)).await.unwrap_err();
        assert!(matches!(&refused, StoreError::Unique(table) if table == "document"), "{refused:?}");
    }

    async fn sections_are_found_by_characters(world: &World) {
        published(world).await;
        let mut tx = world.db.read(world.tenant).await.unwrap();
        for (start, count, found) in [
            (0, 1, "One"), (0, 4, "One"), (3, 1, "One"), (3, 2, "One Bare Two"), (4, 1, "Bare Two"),
            (5, 100, "Two"), (7, 1, "Two"), (8, 10, ""), (0, u64::MAX, "One Bare Two"),
        ] {
            let sections = documents::sections(&mut tx, world.kb, (DOCUMENT, 1), start, count).await.unwrap();
            let headings: Vec<_> = sections.iter().map(|section| section.heading_path[0].as_str()).collect();
            assert_eq!(headings.join(" "), found, "{count} from {start}");
        }
    }

    async fn documents_are_listed_by_page_state_and_role(world: &World) {
        let mut tx = world.db.write(world.tenant).await.unwrap();
        let ids: Vec<_> = (0..5).map(|n| DocumentId::new(uuid(200 + n))).collect();
        for (n, id) in ids.iter().enumerate() {
            let key = format!("key {n}");
            let least_role = if n == 3 { Role::Admin } else { Role::Viewer };
            let document = NewDocument { id: *id, external_key: &key, least_role };
            documents::add(&mut tx, world.kb, &document, &version(&[1; 32], 10)).await.unwrap();
        }
        documents::set_state(&mut tx, world.kb, (ids[1], 1), DocumentState::Failed, Some("no text"), at(11)).await.unwrap();
        documents::delete(&mut tx, world.kb, ids[4], at(12)).await.unwrap();

        let listed = |documents: Vec<documents::Document>| -> Vec<_> { documents.into_iter().map(|document| document.id).collect() };
        let first = documents::page(&mut tx, world.kb, &everything(Role::Viewer), None, 2).await.unwrap();
        let after = Some((first[1].created_at, first[1].id));
        assert_eq!(listed(first), ids[..2]);
        let rest = documents::page(&mut tx, world.kb, &everything(Role::Viewer), after, 9).await.unwrap();
        assert_eq!(listed(rest), [ids[2]]);
        let rest = documents::page(&mut tx, world.kb, &everything(Role::Owner), after, 9).await.unwrap();
        assert_eq!(listed(rest), ids[2..4]);
        let failed = Listing { state: Some(DocumentState::Failed), ..everything(Role::Viewer) };
        let failed = documents::page(&mut tx, world.kb, &failed, None, 9).await.unwrap();
        assert_eq!(failed[0].failure.as_deref(), Some("no text"));
        let deleted = Listing { deleted: true, ..everything(Role::Viewer) };
        assert_eq!(listed(documents::page(&mut tx, world.kb, &deleted, None, 9).await.unwrap()), [ids[4]]);
        let stats = documents::stats(&mut tx, world.kb, Role::Viewer).await.unwrap();
        let stats: Vec<_> = stats.into_iter().map(|count| (count.state, count.documents)).collect();
        assert_eq!(stats, [(DocumentState::Failed, 1), (DocumentState::Pending, 2)]);
        assert!(documents::set_least_role(&mut tx, world.kb, ids[3], ("other", Role::Viewer), at(13)).await.unwrap());
        let after = Some((at(10), ids[2]));
        let rest = documents::page(&mut tx, world.kb, &everything(Role::Viewer), after, 9).await.unwrap();
        assert_eq!(listed(rest), [ids[3]]);
    }

    async fn a_deleted_document_is_absent_until_it_is_restored(world: &World) {
        let old = published(world).await;
        let mut tx = world.db.write(world.tenant).await.unwrap();
        assert!(documents::delete(&mut tx, world.kb, DOCUMENT, at(30)).await.unwrap());
        assert!(!documents::delete(&mut tx, world.kb, DOCUMENT, at(31)).await.unwrap());
        assert_eq!(chunks::close_document(&mut tx, world.kb, DOCUMENT, at(30)).await.unwrap(), 2);
        assert_eq!(documents::version_at(&mut tx, world.kb, DOCUMENT, at(35)).await.unwrap(), None);

        let restored = documents::restore(&mut tx, world.kb, DOCUMENT, at(40)).await.unwrap();
        assert_eq!(restored, Restored::Held { version: 2, copy_of: 1, deleted_at: at(30) });
        let pairs = chunks::reopen_document(&mut tx, world.kb, DOCUMENT, at(30), at(40)).await.unwrap();
        assert_eq!(pairs, [(old[0], 3), (old[1], 4)]);
        assert_eq!(documents::restore(&mut tx, world.kb, DOCUMENT, at(41)).await.unwrap(), Restored::No);

        for (as_of, held) in [(29, Some(1)), (30, None), (39, None), (40, Some(2))] {
            let version = documents::version_at(&mut tx, world.kb, DOCUMENT, at(as_of)).await.unwrap();
            assert_eq!(version.map(|version| version.version), held, "at {as_of}");
            let seen = chunks::held_at(&mut tx, world.kb, (Role::Viewer, at(as_of)), 0, 10).await.unwrap();
            assert_eq!(seen.len(), if held.is_some() { 2 } else { 0 }, "at {as_of}");
        }
        let sections = documents::sections(&mut tx, world.kb, (DOCUMENT, 2), 0, 100).await.unwrap();
        assert_eq!(sections.len(), 3);
        tx.commit().await.unwrap();
    }

    async fn a_purge_leaves_that_it_was_there_and_no_word_of_it(world: &World) {
        published(world).await;
        let mut tx = world.db.write(world.tenant).await.unwrap();
        let twin = NewDocument { id: DocumentId::new(uuid(101)), external_key: "twin", least_role: Role::Viewer };
        documents::add(&mut tx, world.kb, &twin, &version(&[2; 32], 11)).await.unwrap();
        documents::add_version(&mut tx, world.kb, DOCUMENT, &version(&[2; 32], 12)).await.unwrap();

        let free = documents::purge(&mut tx, world.kb, DOCUMENT, at(50)).await.unwrap();
        assert_eq!(free, Some(vec![[1; 32]]), "the other blob is the twin's too");
        assert_eq!(chunks::purge_document(&mut tx, world.kb, DOCUMENT, at(50)).await.unwrap(), 2);
        assert_eq!(documents::purge(&mut tx, world.kb, DOCUMENT, at(51)).await.unwrap(), None);

        let document = documents::find(&mut tx, world.kb, DOCUMENT).await.unwrap().unwrap();
        assert_eq!(document.filename, format!("purged-{DOCUMENT}"));
        assert_eq!((document.purged_at, document.deleted_at, document.held_version), (Some(at(50)), Some(at(50)), None));
        assert!(documents::sections(&mut tx, world.kb, (DOCUMENT, 1), 0, 100).await.unwrap().is_empty());
        let first = documents::version(&mut tx, world.kb, (DOCUMENT, 1)).await.unwrap().unwrap();
        assert_eq!((first.title, first.invalidated_at, first.blob_hash), (None, Some(at(50)), [1; 32]));
        let rows = chunks::since(&mut tx, world.kb, 0, 10).await.unwrap();
        assert!(rows.iter().all(|row| row.text.is_empty() && row.purged_at == Some(at(50))));
        assert_eq!(chunks::purged_since(&mut tx, world.kb, at(49)).await.unwrap().len(), 2);
        assert_eq!(documents::restore(&mut tx, world.kb, DOCUMENT, at(60)).await.unwrap(), Restored::No);
        assert!(documents::refers_to_blob(&mut tx, world.kb, &[2; 32]).await.unwrap());
        assert!(!documents::refers_to_blob(&mut tx, world.kb, &[1; 32]).await.unwrap());
    }

    async fn chunks_are_followed_by_ordinal_and_by_what_was_closed(world: &World) {
        let ordinals = published(world).await;
        let mut tx = world.db.write(world.tenant).await.unwrap();
        let live = chunks::live(&mut tx, world.kb, DOCUMENT).await.unwrap();
        assert_eq!(live.iter().map(|(ordinal, _)| *ordinal).collect::<Vec<_>>(), ordinals);
        assert_eq!(chunks::close(&mut tx, world.kb, &ordinals[..1], at(30)).await.unwrap(), 1);
        assert_eq!(chunks::close(&mut tx, world.kb, &ordinals[..1], at(31)).await.unwrap(), 0);
        let headings = ["Ω".to_owned(), "b \"c\"".to_owned()];
        let new = NewChunk { id: ChunkId::new(uuid(400)), heading_path: &headings, title: "T", text: "third 𝄞\r\n" };
        let third = chunks::insert(&mut tx, world.kb, (DOCUMENT, Role::Admin), &[new], at(30)).await.unwrap();
        assert_eq!(third, [3]);

        let rows = chunks::since(&mut tx, world.kb, 2, 10).await.unwrap();
        assert_eq!((rows[0].text.as_str(), rows[0].heading_path.as_slice()), ("third 𝄞\r\n", &headings[..]));
        assert_eq!(chunks::by_ordinals(&mut tx, world.kb, &third).await.unwrap(), rows);
        assert_eq!(chunks::spans_since(&mut tx, world.kb, 0, 2).await.unwrap().len(), 2);
        let closed = chunks::closed_since(&mut tx, world.kb, at(29)).await.unwrap();
        assert_eq!((closed.len(), closed[0].ordinal), (1, 1));
        assert!(chunks::closed_since(&mut tx, world.kb, at(30)).await.unwrap().is_empty());
        let seen = chunks::held_at(&mut tx, world.kb, (Role::Editor, at(30)), 0, 10).await.unwrap();
        assert_eq!(seen.iter().map(|span| span.ordinal).collect::<Vec<_>>(), [2]);
        assert_eq!(chunks::count(&mut tx, world.kb).await.unwrap(), 2);
        assert_eq!(chunks::ids_of_document(&mut tx, world.kb, DOCUMENT).await.unwrap().len(), 3);
        assert!(chunks::insert(&mut tx, world.kb, (DOCUMENT, Role::Admin), &[], at(31)).await.unwrap().is_empty());
    }

    async fn vectors_are_added_once_and_followed_by_time(world: &World) {
        published(world).await;
        let mut tx = world.db.write(world.tenant).await.unwrap();
        let missing = vectors::missing(&mut tx, world.kb, "mini", 0, 1).await.unwrap();
        assert_eq!((missing.len(), missing[0].text.as_str()), (1, "first"));
        let rest = vectors::missing_of_document(&mut tx, world.kb, ("mini", DOCUMENT), 1, 9).await.unwrap();
        assert_eq!(rest[0].text, "second");
        let vector = Vector { chunk: missing[0].chunk, scale: 0.125, code: vec![-128, -1, 0, 1, 127] };
        vectors::insert(&mut tx, world.kb, "mini", std::slice::from_ref(&vector), at(30)).await.unwrap();
        let other = Vector { code: vec![1], ..vector.clone() };
        vectors::insert(&mut tx, world.kb, "mini", &[other], at(31)).await.unwrap();
        vectors::insert(&mut tx, world.kb, "maxi", std::slice::from_ref(&vector), at(31)).await.unwrap();

        assert_eq!(vectors::of_chunks(&mut tx, world.kb, "mini", &[vector.chunk]).await.unwrap(), std::slice::from_ref(&vector));
        let added = vectors::since(&mut tx, world.kb, "mini", None, 10).await.unwrap();
        assert_eq!((added.len(), &added[0].vector), (1, &vector));
        let after = Some((added[0].added_at, vector.chunk));
        assert!(vectors::since(&mut tx, world.kb, "mini", after, 10).await.unwrap().is_empty());
        assert_eq!(vectors::count(&mut tx, world.kb, "mini").await.unwrap(), 1);
        assert_eq!(vectors::missing(&mut tx, world.kb, "mini", 0, 9).await.unwrap().len(), 1);
        assert_eq!(vectors::delete_model(&mut tx, world.kb, "maxi").await.unwrap(), 1);
        assert_eq!(vectors::delete_chunks(&mut tx, world.kb, &[vector.chunk]).await.unwrap(), 1);
        assert_eq!(vectors::count(&mut tx, world.kb, "mini").await.unwrap(), 0);
    }

    async fn a_job_is_done_once_and_again_when_its_worker_dies(world: &World) {
        let mut tx = world.db.write(world.tenant).await.unwrap();
        assert!(jobs::enqueue(&mut tx, &new_job(500, "memo")).await.unwrap());
        assert!(!jobs::enqueue(&mut tx, &new_job(501, "memo")).await.unwrap());
        assert!(jobs::enqueue(&mut tx, &NewJob { run_at: at(12), ..new_job(502, "other") }).await.unwrap());
        tx.commit().await.unwrap();

        let mut tx = world.db.write_directory().await.unwrap();
        assert_eq!(jobs::next_due(&mut tx, "documents").await.unwrap(), Some(at(10)));
        assert_eq!(jobs::claim(&mut tx, "documents", at(9), at(40)).await.unwrap(), None);
        assert_eq!(jobs::claim(&mut tx, "mail", at(90), at(99)).await.unwrap(), None);
        let first = jobs::claim(&mut tx, "documents", at(11), at(40)).await.unwrap().unwrap();
        assert_eq!((first.key.as_str(), first.attempts, first.tenant), ("memo", 1, world.tenant));
        assert_eq!(jobs::claim(&mut tx, "documents", at(11), at(40)).await.unwrap(), None);
        let again = jobs::claim(&mut tx, "documents", at(50), at(80)).await.unwrap().unwrap();
        assert_eq!((again.id, again.attempts), (first.id, 2));
        tx.commit().await.unwrap();

        let mut tx = world.db.write(world.tenant).await.unwrap();
        assert!(!jobs::heartbeat(&mut tx, &first, at(70)).await.unwrap(), "it is another attempt's");
        assert!(!jobs::finish(&mut tx, &first, at(51)).await.unwrap());
        assert!(jobs::heartbeat(&mut tx, &again, at(90)).await.unwrap());
        jobs::progress(&mut tx, again.id, "{\"done\":3}").await.unwrap();
        assert!(jobs::retry(&mut tx, &again, at(60), "worker ran out of memory").await.unwrap());
        tx.commit().await.unwrap();

        let mut tx = world.db.write_directory().await.unwrap();
        let other = jobs::claim(&mut tx, "documents", at(61), at(90)).await.unwrap().unwrap();
        assert_eq!(other.key, "other");
        let third = jobs::claim(&mut tx, "documents", at(61), at(90)).await.unwrap().unwrap();
        assert_eq!((third.id, third.attempts, third.progress.as_deref()), (first.id, 3, Some("{\"done\":3}")));
        assert_eq!(third.error.as_deref(), Some("worker ran out of memory"));
        tx.commit().await.unwrap();

        let mut tx = world.db.write(world.tenant).await.unwrap();
        assert!(jobs::finish(&mut tx, &third, at(62)).await.unwrap());
        assert!(jobs::fail(&mut tx, &other, at(63), "no text").await.unwrap());
        assert!(jobs::enqueue(&mut tx, &new_job(503, "memo")).await.unwrap(), "the first is finished");
        assert_eq!(jobs::find(&mut tx, other.id).await.unwrap().unwrap().state, JobState::Failed);
        assert_eq!(jobs::by_key(&mut tx, world.kb, "memo", 10).await.unwrap().len(), 2);
        assert_eq!(jobs::prune(&mut tx, at(63)).await.unwrap(), 1);
        assert_eq!(jobs::remove_by_key(&mut tx, world.kb, "memo").await.unwrap(), 1);
        tx.commit().await.unwrap();
    }

    async fn workers_that_claim_at_once_get_a_job_each(world: &World) {
        let mut tx = world.db.write(world.tenant).await.unwrap();
        for n in 0..40 {
            let key = format!("document {n}");
            assert!(jobs::enqueue(&mut tx, &new_job(500 + n, &key)).await.unwrap());
        }
        tx.commit().await.unwrap();

        let workers: Vec<_> = (0..8)
            .map(|_| {
                let db = world.db.clone();
                tokio::spawn(async move {
                    let mut claimed = Vec::new();
                    loop {
                        let mut tx = db.write_directory().await.unwrap();
                        let job = jobs::claim(&mut tx, "documents", at(20), at(90)).await.unwrap();
                        tx.commit().await.unwrap();
                        match job {
                            Some(job) => claimed.push(job.key),
                            None => return claimed,
                        }
                    }
                })
            })
            .collect();
        let mut claimed = Vec::new();
        for worker in workers {
            claimed.extend(worker.await.unwrap());
        }

        claimed.sort_unstable();
        let all = claimed.len();
        claimed.dedup();
        assert_eq!((all, claimed.len()), (40, 40));
    }

    async fn running_jobs_wait_again_after_a_restart(world: &World) {
        let mut tx = world.db.write(world.tenant).await.unwrap();
        jobs::enqueue(&mut tx, &new_job(500, "memo")).await.unwrap();
        jobs::enqueue(&mut tx, &new_job(501, "other")).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = world.db.write_directory().await.unwrap();
        jobs::claim(&mut tx, "documents", at(11), at(40)).await.unwrap().unwrap();
        let counts: Vec<_> = jobs::counts(&mut tx).await.unwrap().into_iter().map(|count| (count.state, count.jobs)).collect();
        assert_eq!(counts, [(JobState::Running, 1), (JobState::Waiting, 1)]);
        assert_eq!(jobs::release_all(&mut tx).await.unwrap(), 1);
        assert_eq!(jobs::counts(&mut tx).await.unwrap()[0].jobs, 2);
    }

    async fn text_with_a_nul_is_refused_by_both(world: &World) {
        let mut tx = world.db.write(world.tenant).await.unwrap();
        let refused = bases::rename(&mut tx, world.kb, "a\0b").await.unwrap_err();
        let said = format!("{refused:?}");
        assert!(!said.contains("a\0b"), "{said}");
    }

    async fn a_store_in_order_has_nothing_to_report(world: &World) {
        published(world).await;
        assert_eq!(world.db.check().await.unwrap(), Vec::<String>::new());
        assert_eq!(users::list(&mut world.db.read(world.tenant).await.unwrap()).await.unwrap().len(), 1);
    }
}
