//! Formulas of office files as one line of LaTeX.

use super::xml::Element;

/// The formula below `element`.
pub(super) fn text(element: &Element) -> String {
    let mut out = String::new();
    below(element, &mut out);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn below(element: &Element, out: &mut String) {
    for child in element.elements() {
        piece(child, out);
    }
}

fn part(element: &Element, name: &str) -> String {
    let mut out = String::new();
    if let Some(child) = element.child(name) {
        below(child, &mut out);
    }
    out.trim().to_owned()
}

fn property<'e>(element: &'e Element, properties: &str, name: &str) -> Option<&'e str> {
    element.child(properties)?.child(name)?.attribute("m:val")
}

fn piece(element: &Element, out: &mut String) {
    let e = |name: &str| part(element, name);
    match &*element.name {
        "m:t" | "w:t" => out.push_str(&element.text()),
        "m:f" => out.push_str(&format!("\\frac{{{}}}{{{}}}", e("m:num"), e("m:den"))),
        "m:sSup" => out.push_str(&format!("{{{}}}^{{{}}}", e("m:e"), e("m:sup"))),
        "m:sSub" => out.push_str(&format!("{{{}}}_{{{}}}", e("m:e"), e("m:sub"))),
        "m:sSubSup" | "m:sPre" => {
            out.push_str(&format!(
                "{{{}}}_{{{}}}^{{{}}}",
                e("m:e"),
                e("m:sub"),
                e("m:sup")
            ));
        }
        "m:rad" => match e("m:deg") {
            degree if degree.is_empty() => out.push_str(&format!("\\sqrt{{{}}}", e("m:e"))),
            degree => out.push_str(&format!("\\sqrt[{degree}]{{{}}}", e("m:e"))),
        },
        "m:nary" => {
            let sign = property(element, "m:naryPr", "m:chr").unwrap_or("∫");
            out.push_str(&format!(
                "{sign}_{{{}}}^{{{}}} {}",
                e("m:sub"),
                e("m:sup"),
                e("m:e")
            ));
        }
        "m:d" => {
            let open = property(element, "m:dPr", "m:begChr").unwrap_or("(");
            let close = property(element, "m:dPr", "m:endChr").unwrap_or(")");
            let between = property(element, "m:dPr", "m:sepChr").unwrap_or("|");
            let mut parts = Vec::new();
            for child in element.elements().filter(|child| child.is("m:e")) {
                let mut inner = String::new();
                below(child, &mut inner);
                parts.push(inner);
            }
            out.push_str(&format!("{open}{}{close}", parts.join(between)));
        }
        "m:limLow" => out.push_str(&format!("{}_{{{}}} ", e("m:e"), e("m:lim"))),
        "m:limUpp" => out.push_str(&format!("{}^{{{}}} ", e("m:e"), e("m:lim"))),
        "m:acc" => {
            let mark = property(element, "m:accPr", "m:chr").unwrap_or("\u{302}");
            out.push_str(&format!("{}{mark}", e("m:e")));
        }
        "m:func" => out.push_str(&format!("{} {}", e("m:fName"), e("m:e"))),
        "m:mr" | "m:eqArr" => {
            let mut cells = Vec::new();
            for child in element.elements().filter(|child| child.is("m:e")) {
                let mut inner = String::new();
                below(child, &mut inner);
                cells.push(inner);
            }
            out.push_str(&format!("{} \\\\ ", cells.join(" & ")));
        }
        // Two formulas in one paragraph are two formulas.
        "m:oMath" => {
            below(element, out);
            out.push(' ');
        }
        "m:rPr" | "w:rPr" | "m:ctrlPr" => {}
        _ => below(element, out),
    }
}
