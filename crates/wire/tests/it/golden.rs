//! The golden table, as far as nothing but this room decides it.

use std::collections::HashSet;

use wire::golden::{Answer, Credential, Runs, cases};
use wire::mcp::PostHeaders;

use crate::door;

#[test]
fn every_case_that_needs_no_door_is_answered_as_the_table_says() {
    let mut failures = Vec::new();
    let pure = cases()
        .into_iter()
        .filter(|case| case.runs == Runs::Anywhere);
    for case in pure {
        assert_eq!(
            (case.credential, case.request.method.as_str()),
            (Credential::Valid, "POST"),
            "{}",
            case.name
        );
        let sent = case.request.headers("localhost");
        let header = |name: &str| {
            let found = sent
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.as_str())
        };
        let headers = PostHeaders {
            content_type: header("content-type"),
            protocol_version: header("mcp-protocol-version"),
            mcp_method: header("mcp-method"),
            mcp_name: header("mcp-name"),
        };

        let reply = door(&headers, &case.request.body(0));

        let body = reply.body.as_deref().unwrap_or_default();
        let kind = reply
            .body
            .as_ref()
            .map(|_| ("content-type".to_owned(), "application/json".to_owned()));
        let answer = Answer {
            status: reply.http,
            headers: &Vec::from_iter(kind),
            body: body.as_bytes(),
        };
        failures.extend(case.check(&answer).err());
    }

    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn no_two_cases_share_a_name() {
    let cases = cases();
    let names: HashSet<_> = cases.iter().map(|case| &case.name).collect();

    assert_eq!(names.len(), cases.len());
}
