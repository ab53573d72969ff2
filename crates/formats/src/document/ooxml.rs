//! What Word, Excel and PowerPoint files share: relations between parts, properties, charts.

use model::document::DocumentDate;

use super::archive::Archive;
use super::xml::{Found, XmlReader};
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
        let (mut titles, mut axes): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let mut kind = None;
        let mut series: Vec<(String, Vec<String>, Vec<String>)> = Vec::new();
        let kinds = |name: &str| name.starts_with("c:") && name.ends_with("Chart");
        let wanted = |name: &str| matches!(name, "c:ser" | "c:title");
        while let Some(found) = xml.next_of_either(&kinds, &wanted)? {
            let element = match found {
                Found::Opened(element) => {
                    kind = kind.or_else(|| chart_kind(&element.name));
                    continue;
                }
                Found::Whole(element) => element,
            };
            if element.is("c:title") {
                let mut title = String::new();
                element.each("a:t", &mut |text| title.push_str(&text.text()));
                // The chart's own title stands before what it draws, those of its axes after.
                if series.is_empty() {
                    titles.push(title);
                } else {
                    axes.push(title);
                }
                continue;
            }
            let values = |names: [&str; 2]| {
                let mut values = Vec::new();
                if let Some(list) = names.iter().find_map(|name| element.child(name)) {
                    list.each("c:v", &mut |value| values.push(shown_number(&value.text())));
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
        titles.extend(kind.map(str::to_owned));
        titles.push(table::markdown(&rows));
        titles.extend(axes);
        titles.retain(|title| !title.trim().is_empty());
        Ok(titles.join("\n\n"))
    })?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// What kind of chart an element draws, in words.
fn chart_kind(name: &str) -> Option<&'static str> {
    Some(match name.trim_start_matches("c:") {
        "lineChart" | "line3DChart" => "Line chart",
        "barChart" | "bar3DChart" => "Bar chart",
        "pieChart" | "pie3DChart" | "ofPieChart" => "Pie chart",
        "doughnutChart" => "Doughnut chart",
        "areaChart" | "area3DChart" => "Area chart",
        "scatterChart" => "Scatter chart",
        "bubbleChart" => "Bubble chart",
        "radarChart" => "Radar chart",
        "surfaceChart" | "surface3DChart" => "Surface chart",
        "stockChart" => "Stock chart",
        _ => return None,
    })
}

/// What a drawing over a sheet or a slide says.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    pub(super) texts: Vec<String>,
    pub(super) left_out: Vec<String>,
}

/// The text boxes, charts and diagrams of a drawing part.
pub(super) fn drawing(archive: &mut Archive<'_>, part: &str) -> Result<Drawing, DocumentError> {
    let relations = Relations::of(archive, part)?;
    let mut out = Drawing::default();
    let (mut pictures, mut charts) = (0, Vec::new());
    archive.stream(part, |stream| {
        let mut xml = XmlReader::new(part, stream);
        let wanted = |name: &str| {
            matches!(
                name,
                "txBody" | "c:chart" | "dgm:relIds" | "pic" | "mc:Fallback"
            )
        };
        while let Some(element) = xml.next_of(&wanted)? {
            match &*element.name {
                "txBody" => {
                    let mut lines = Vec::new();
                    element.each("a:p", &mut |line| lines.push(line.text().trim().to_owned()));
                    out.texts.push(lines.join("\n").trim().to_owned());
                }
                "pic" => pictures += 1,
                "c:chart" | "dgm:relIds" => {
                    let id = element
                        .attribute("r:id")
                        .or_else(|| element.attribute("r:dm"));
                    charts.extend(id.and_then(|id| relations.target(id)).map(str::to_owned));
                }
                _ => {}
            }
        }
        Ok(())
    })?;
    for part in charts {
        out.texts.extend(chart_or_diagram(archive, &part)?);
    }
    if pictures > 0 {
        out.left_out
            .push(format!("{pictures} pictures (their text is not read)"));
    }
    Ok(out)
}

/// The text of a chart or of a diagram's data.
pub(super) fn chart_or_diagram(
    archive: &mut Archive<'_>,
    part: &str,
) -> Result<Option<String>, DocumentError> {
    if part.contains("diagram") {
        diagram(archive, part)
    } else {
        chart(archive, part)
    }
}

/// A number as an office program shows it, to 15 digits: files hold "4.4000000000000004".
pub(super) fn shown_number(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(value) if text.len() > 15 && value.is_finite() => {
            let rounded: f64 = format!("{value:.14e}").parse().unwrap_or(value);
            rounded.to_string()
        }
        _ => text.to_owned(),
    }
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
