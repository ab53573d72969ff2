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
    let parts = || {
        let mut parts = Vec::new();
        for child in element.elements().filter(|child| child.is("m:e")) {
            let mut inner = String::new();
            below(child, &mut inner);
            parts.push(inner);
        }
        parts
    };
    let written = match &*element.name {
        "m:t" | "w:t" => element.text(),
        "m:f" => format!("\\frac{{{}}}{{{}}}", e("m:num"), e("m:den")),
        "m:sSup" => format!("{{{}}}^{{{}}}", e("m:e"), e("m:sup")),
        "m:sSub" => format!("{{{}}}_{{{}}}", e("m:e"), e("m:sub")),
        "m:sSubSup" | "m:sPre" => {
            format!("{{{}}}_{{{}}}^{{{}}}", e("m:e"), e("m:sub"), e("m:sup"))
        }
        "m:rad" => match e("m:deg") {
            degree if degree.is_empty() => format!("\\sqrt{{{}}}", e("m:e")),
            degree => format!("\\sqrt[{degree}]{{{}}}", e("m:e")),
        },
        "m:nary" => {
            let sign = property(element, "m:naryPr", "m:chr").unwrap_or("∫");
            format!("{sign}_{{{}}}^{{{}}} {}", e("m:sub"), e("m:sup"), e("m:e"))
        }
        "m:d" => {
            let open = property(element, "m:dPr", "m:begChr").unwrap_or("(");
            let close = property(element, "m:dPr", "m:endChr").unwrap_or(")");
            let between = property(element, "m:dPr", "m:sepChr").unwrap_or("|");
            format!("{open}{}{close}", parts().join(between))
        }
        "m:limLow" => format!("{}_{{{}}} ", e("m:e"), e("m:lim")),
        "m:limUpp" => format!("{}^{{{}}} ", e("m:e"), e("m:lim")),
        "m:acc" => {
            let mark = property(element, "m:accPr", "m:chr").unwrap_or("\u{302}");
            format!("{}{mark}", e("m:e"))
        }
        "m:func" => format!("{} {}", e("m:fName"), e("m:e")),
        "m:mr" | "m:eqArr" => format!("{} \\\\ ", parts().join(" & ")),
        "m:rPr" | "w:rPr" | "m:ctrlPr" => String::new(),
        name => {
            let mut inner = String::new();
            below(element, &mut inner);
            // Two formulas in one paragraph are two formulas.
            if name == "m:oMath" {
                inner + " "
            } else {
                inner
            }
        }
    };
    out.push_str(&written);
}
