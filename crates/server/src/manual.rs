//! The manual: the pages under `docs/manual`, and a page per operation from its doc comment.

use kernel::manual::{Manual, ManualSection};
use kernel::{Registered, Registry, TargetKind};

/// The pages, in reading order.
const PAGES: &[&str] = &[
    include_str!("../../../docs/manual/start.md"),
    include_str!("../../../docs/manual/documents.md"),
    include_str!("../../../docs/manual/sources.md"),
    include_str!("../../../docs/manual/search.md"),
    include_str!("../../../docs/manual/models.md"),
    include_str!("../../../docs/manual/ontology.md"),
    include_str!("../../../docs/manual/agents.md"),
    include_str!("../../../docs/manual/rights.md"),
    include_str!("../../../docs/manual/operations.md"),
    include_str!("../../../docs/manual/nodes.md"),
    include_str!("../../../docs/manual/export.md"),
    include_str!("../../../docs/manual/backup.md"),
];

/// The whole manual.
pub fn manual(registry: &Registry) -> Manual {
    let pages = PAGES.iter().flat_map(|page| sections_of(page));
    Manual::new(pages.chain(registry.iter().map(section_of)).collect())
}

/// A page cut at its headings.
fn sections_of(page: &str) -> Vec<ManualSection> {
    let mut sections: Vec<ManualSection> = Vec::new();
    let mut page_title = "";
    for line in page.lines() {
        match line.strip_prefix("# ").or_else(|| line.strip_prefix("## ")) {
            Some(heading) => {
                let is_page = line.starts_with("# ");
                page_title = if is_page { heading } else { page_title };
                let title = if is_page {
                    heading.to_owned()
                } else {
                    format!("{page_title} › {heading}")
                };
                sections.push(ManualSection {
                    title,
                    text: String::new(),
                });
            }
            None => {
                if let Some(section) = sections.last_mut() {
                    section.text.push_str(line);
                    section.text.push('\n');
                }
            }
        }
    }
    sections.retain(|section| !section.text.trim().is_empty());
    sections
}

/// An operation as a page: what it does, how it is called, what it takes.
pub fn section_of(registered: &Registered) -> ManualSection {
    let spec = &registered.entry.spec;
    let mut text = format!("{}\n", registered.description);
    let mut doors = Vec::new();
    if let Some((method, path)) = spec.route {
        doors.push(format!("REST `{} /api/v1{path}`", method.name()));
    }
    if !spec.tool_doors.is_empty() {
        doors.push(format!("MCP tool `{}`", spec.name));
    }
    if let Some(cli) = spec.cli {
        doors.push(format!("`quipu {}`", cli.verb));
    }
    let (scope, role) = needed(registered);
    text.push_str(&format!(
        "\n{}. Scope {scope}, role {role}.\n",
        doors.join(", ")
    ));
    for argument in registered.table.iter() {
        let need = if argument.required { "" } else { " (optional)" };
        text.push_str(&format!(
            "- `{}`{need}: {}\n",
            argument.name, argument.description
        ));
    }
    ManualSection {
        title: format!("Operations › {} ({})", spec.title, spec.name),
        text,
    }
}

/// The scope and the role that an operation needs, in words.
pub fn needed(registered: &Registered) -> (&'static str, &'static str) {
    let spec = &registered.entry.spec;
    let role = match (registered.entry.target, spec.system_admin) {
        (TargetKind::Public, _) => return ("-", "anybody"),
        (_, true) => "system admin",
        (TargetKind::Base, _) => spec.least_role.name(),
        (TargetKind::Tenant | TargetKind::Account, _) => "-",
    };
    (spec.scope.name(), role)
}
