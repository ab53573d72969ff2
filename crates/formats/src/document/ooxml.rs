//! What Word, Excel and PowerPoint files share: relations between parts, properties, charts.

use model::document::DocumentDate;

use super::archive::Archive;
use super::xml::XmlReader;
use super::{DocumentError, date, table};

/// Reads the text of a part; `None` if there is none.
pub(super) type ReadPart = fn(&mut Archive<'_>, &str) -> Result<Option<String>, DocumentError>;

/// The parts that a part refers to.
#[derive(Debug, Clone, Default)]
pub(super) struct Relations {
    /// Id, kind (its last part counts), target.
    all: Vec<(String, String, String)>,
}

impl Relations {
    /// The relations of `part`; none if the file lists none. The empty name is the package.
    pub(super) fn of(archive: &mut Archive<'_>, part: &str) -> Result<Relations, DocumentError> {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let list = match folder {
            "" => format!("_rels/{name}.rels"),
            folder => format!("{folder}/_rels/{name}.rels"),
        };
        let mut all = Vec::new();
        archive.stream(&list, |stream| {
            let mut xml = XmlReader::new(&list, stream);
            while let Some(relation) = xml.next_of(&|name| name == "rel:Relationship")? {
                let of = |name: &str| relation.attribute(name).unwrap_or_default().to_owned();
                let target = match relation.attribute("TargetMode") {
                    Some("External") => of("Target"),
                    _ => resolve(folder, &of("Target")),
                };
                all.push((of("Id"), of("Type"), target));
            }
            Ok(())
        })?;
        Ok(Relations { all })
    }

    /// Ids and targets of the relations whose kind ends like `kind`, in the file's order.
    pub(super) fn of_kind(&self, kind: &str) -> impl Iterator<Item = (&str, &str)> {
        self.all
            .iter()
            .filter(move |(_, found, _)| found.ends_with(kind))
            .map(|(id, _, target)| (id.as_str(), target.as_str()))
    }

    /// Where the relation `id` leads: a part, or an address outside.
    pub(super) fn target(&self, id: &str) -> Option<&str> {
        self.all
            .iter()
            .find(|(known, ..)| known == id)
            .map(|(.., target)| target.as_str())
    }
}

/// The name of the part that `target`, written in a part of `folder`, means.
pub(super) fn resolve(folder: &str, target: &str) -> String {
    let (mut names, target): (Vec<&str>, &str) = match target.strip_prefix('/') {
        Some(target) => (Vec::new(), target),
        None => (
            folder.split('/').filter(|name| !name.is_empty()).collect(),
            target,
        ),
    };
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names.join("/")
}

/// The part that the package says is the document.
pub(super) fn main_part(archive: &mut Archive<'_>, usual: &str) -> Result<String, DocumentError> {
    let package = Relations::of(archive, "")?;
    let stated = package
        .of_kind("/officeDocument")
        .map(|(_, target)| target.to_owned())
        .next();
    Ok(stated
        .filter(|stated| archive.has(stated))
        .unwrap_or_else(|| usual.to_owned()))
}

/// Title and date that the properties of a file state.
#[derive(Debug, Default)]
pub(super) struct Properties {
    pub(super) title: Option<String>,
    pub(super) date: Option<DocumentDate>,
}

/// The properties of an office file: its title, and when it was last changed (else made).
pub(super) fn properties(archive: &mut Archive<'_>) -> Result<Properties, DocumentError> {
    let package = Relations::of(archive, "")?;
    let stated = package
        .of_kind("/core-properties")
        .map(|(_, target)| target.to_owned())
        .next();
    let name = stated.unwrap_or_else(|| "docProps/core.xml".to_owned());
    let mut found = Properties::default();
    let (mut modified, mut created) = (None, None);
    archive.stream(&name, |stream| {
        let mut xml = XmlReader::new(&name, stream);
        let wanted =
            |name: &str| matches!(name, "dc:title" | "dcterms:modified" | "dcterms:created");
        while let Some(element) = xml.next_of(&wanted)? {
            let text = element.text().trim().to_owned();
            match &*element.name {
                "dc:title" => found.title = Some(text).filter(|text| !text.is_empty()),
                "dcterms:modified" => modified = date::iso(&text),
                _ => created = date::iso(&text),
            }
        }
        Ok(())
    })?;
    found.date = date::stated(modified.or(created));
    Ok(found)
}

/// Title, axes and values of a chart.
pub(super) fn chart(
    archive: &mut Archive<'_>,
    part: &str,
) -> Result<Option<String>, DocumentError> {
    let text = archive.stream(part, |stream| {
        let mut xml = XmlReader::new(part, stream);
        let mut titles: Vec<String> = Vec::new();
        let mut series: Vec<(String, Vec<String>, Vec<String>)> = Vec::new();
        while let Some(element) = xml.next_of(&|name| matches!(name, "c:ser" | "c:title"))? {
            if element.is("c:title") {
                let mut title = String::new();
                element.each("a:t", &mut |text| title.push_str(&text.text()));
                titles.push(title);
                continue;
            }
            let values = |names: [&str; 2]| {
                let mut values = Vec::new();
                if let Some(list) = names.iter().find_map(|name| element.child(name)) {
                    list.each("c:v", &mut |value| values.push(value.text()));
                }
                values
            };
            let name = values(["c:tx", "c:tx"]).join(" ");
            series.push((
                name,
                values(["c:cat", "c:xVal"]),
                values(["c:val", "c:yVal"]),
            ));
        }
        let mut rows = Vec::new();
        if !series.is_empty() {
            let mut head = vec![String::new()];
            head.extend(series.iter().map(|(name, ..)| name.clone()));
            rows.push(head);
            let names = series
                .iter()
                .map(|(_, names, _)| names)
                .max_by_key(|names| names.len());
            let count = series
                .iter()
                .map(|(_, _, values)| values.len())
                .max()
                .unwrap_or(0);
            for at in 0..count.max(names.map_or(0, Vec::len)) {
                let mut row = vec![
                    names
                        .and_then(|names| names.get(at))
                        .cloned()
                        .unwrap_or_default(),
                ];
                row.extend(
                    series
                        .iter()
                        .map(|(_, _, values)| values.get(at).cloned().unwrap_or_default()),
                );
                rows.push(row);
            }
        }
        titles.retain(|title| !title.trim().is_empty());
        Ok(
            format!("{}\n\n{}", titles.join("\n\n"), table::markdown(&rows))
                .trim()
                .to_owned(),
        )
    })?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// The words of a diagram (SmartArt), one point a line.
pub(super) fn diagram(
    archive: &mut Archive<'_>,
    part: &str,
) -> Result<Option<String>, DocumentError> {
    let text = archive.stream(part, |stream| {
        let mut xml = XmlReader::new(part, stream);
        let mut points = Vec::new();
        while let Some(point) = xml.next_of(&|name| name == "dgm:t")? {
            let mut lines = Vec::new();
            point.each("a:p", &mut |line| lines.push(line.text().trim().to_owned()));
            let text = lines.join(" ").trim().to_owned();
            if !text.is_empty() {
                points.push(format!("- {text}"));
            }
        }
        Ok(points.join("\n"))
    })?;
    Ok(text.filter(|text| !text.is_empty()))
}
