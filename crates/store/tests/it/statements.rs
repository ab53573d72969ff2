//! Every statement is accepted by both engines, and binds its tenant.

use crate::stores::{World, on_both_engines};

on_both_engines! {
    async fn every_statement_prepares(world: &World) {
        let mut refused = Vec::new();
        for statement in store::statements() {
            if let Err(error) = world.db.prepare(statement).await {
                refused.push(format!("{error:?}"));
            }
        }
        assert!(refused.is_empty(), "{refused:#?}");
    }
}

#[test]
fn a_statement_names_the_tenant_unless_it_says_why_not() {
    for statement in store::statements() {
        let binds = statement.text().contains("tenant_id") && statement.text().contains("$1");
        let tenant_first = statement.text().contains("tenant_id = $1")
            || statement.text().contains("(tenant_id, ") && statement.text().contains("($1, ")
            || statement.text().contains("VALUES ($1, ");
        match statement.directory_reason() {
            None => assert!(binds && tenant_first, "`{}`", statement.name()),
            Some(reason) => assert!(!reason.is_empty(), "`{}`", statement.name()),
        }
    }
}

#[test]
fn no_other_statement_stands_outside_of_tenants() {
    let mut free: Vec<_> = store::statements()
        .filter(|statement| statement.directory_reason().is_some())
        // Made from the migrations: one to read, to load and to count each table.
        .filter(|statement| {
            ["READ_", "LOAD_", "COUNT_"].iter().all(|verb| {
                !statement
                    .name()
                    .starts_with(&format!("store::rows::{verb}"))
            })
        })
        .map(|statement| statement.name())
        .collect();
    free.sort_unstable();
    let known = [
        "store::bases::HEADS",
        "store::bases::TENANT_OF",
        "store::credentials::BASES_OF",
        "store::credentials::BY_SECRET",
        "store::credentials::TOUCH",
        "store::holds::ALL",
        "store::holds::CLEAR",
        "store::holds::RELEASE",
        "store::holds::SET",
        "store::jobs::CLAIM",
        "store::jobs::CLAIM_ALIKE",
        "store::jobs::COUNTS",
        "store::jobs::HAND_BACK_ALL",
        "store::jobs::NEXT",
        "store::jobs::RELEASE_ALL",
        "store::tenants::FIND",
        "store::tenants::INSERT",
        "store::tenants::LIST",
        "store::tenants::META",
        "store::tenants::SET_META",
        "store::users::BY_EMAIL",
        "store::users::FIRST_ADMIN",
        "store::users::LINK",
        "store::users::PRUNE_LINKS",
        "store::users::USE_LINK",
    ];
    assert_eq!(free, known);
}

#[test]
fn every_statement_has_a_name_of_its_own() {
    let mut names: Vec<_> = store::statements()
        .map(|statement| statement.name())
        .collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}

on_both_engines! {
    async fn a_statement_about_a_tenant_is_refused_where_none_is_open(world: &World) {
        let mut tx = world.db.read_directory().await.unwrap();
        let refused = store::bases::list(&mut tx).await.unwrap_err().to_string();
        assert!(refused.contains("open for none"), "{refused}");
    }

    async fn statements_that_ran_can_be_compared(world: &World) {
        let recording = world.db.record_statements();
        let mut tx = world.db.read(world.tenant).await.unwrap();
        store::bases::find(&mut tx, world.kb).await.unwrap();
        store::bases::list(&mut tx).await.unwrap();
        assert_eq!(recording.statements(), ["store::bases::FIND", "store::bases::LIST"]);
    }
}
