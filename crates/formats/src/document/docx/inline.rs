//! The running text of a paragraph.

use super::super::xml::Element;
use super::super::{omml, script};
use super::{Reader, note_mark};

/// What a paragraph says.
#[derive(Debug, Default)]
pub(super) struct Inline {
    /// Its text.
    pub(super) text: String,
    /// Text boxes and diagrams anchored in it, as Markdown.
    pub(super) floats: Vec<String>,
    /// Notes and comments it refers to, by kind and id.
    pub(super) notes: Vec<(String, String)>,
}

impl Inline {
    pub(super) fn settle(&mut self) {
        let kept = self.text.trim_end().len();
        self.text.truncate(kept);
    }
}

/// What was left out so far.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Characters of tracked deletions.
    pub(super) deleted: usize,
    hidden: usize,
    pictures: usize,
    objects: usize,
    symbols: usize,
    /// Notes met inside table cells, on their way to the end of the section.
    pub(super) notes_in_cells: Vec<(String, String)>,
}

impl Left {
    pub(super) fn sentences(&self) -> Vec<String> {
        [
            (self.deleted, "characters of tracked deletions"),
            (self.hidden, "characters of hidden text"),
            (self.pictures, "pictures (their text is not read)"),
            (self.objects, "embedded objects"),
            (self.symbols, "symbols of a picture font"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
    }
}

impl Reader {
    pub(super) fn run(&mut self, element: &Element, out: &mut Inline) {
        for child in element.elements() {
            self.piece(child, out);
        }
    }

    fn piece(&mut self, element: &Element, out: &mut Inline) {
        match &*element.name {
            "w:t" => out.text.push_str(&element.text()),
            "w:tab" | "w:ptab" => out.text.push('\t'),
            "w:br"
                if element
                    .attribute("w:type")
                    .is_none_or(|kind| kind == "textWrapping") =>
            {
                out.text.push('\n');
            }
            "w:cr" => out.text.push('\n'),
            "w:noBreakHyphen" => out.text.push('\u{2011}'),
            "w:softHyphen" | "w:br" | "w:pPr" | "w:rPr" | "w:sdtPr" | "w:instrText"
            | "w:fldData" | "w:footnoteRef" | "w:endnoteRef" | "w:annotationRef"
            | "w:delInstrText" | "w:tcPr" | "w:proofErr" | "wp:posOffset" | "wp:align" => {}
            "w:sym" => self.symbol(element, out),
            "w:r" => self.text_run(element, out),
            "w:hyperlink" => self.link(element, out),
            "w:del" | "w:moveFrom" | "w:delText" => {
                self.left.deleted += element.text().chars().count();
            }
            "w:footnoteReference" => Self::note("w:footnote", element, out),
            "w:endnoteReference" => Self::note("w:endnote", element, out),
            "w:commentReference" => Self::note("w:comment", element, out),
            "m:oMath" | "m:oMathPara" => {
                if out.text.ends_with('$') {
                    out.text.push(' ');
                }
                let formula = omml::text(element);
                if !formula.is_empty() {
                    let written = format!("${formula}$");
                    out.text.push_str(&written);
                }
            }
            "mc:AlternateContent" => self.alternative(element, out),
            "w:txbxContent" => {
                let text = self.text_box(element);
                if !text.trim().is_empty() {
                    out.floats.push(text);
                }
            }
            "w:p" | "w:tbl" => {
                // Blocks where only runs belong: text all the same.
                let text = self.plain_block(element);
                out.floats.push(text);
            }
            "wp:docPr" => {
                let alternative = element.attribute("descr").unwrap_or_default();
                let alternative = alternative.split_whitespace().collect::<Vec<_>>().join(" ");
                if !alternative.is_empty() {
                    let written = format!("![{alternative}]()");
                    out.text.push_str(&written);
                }
            }
            "pic:pic" | "v:imagedata" => self.left.pictures += 1,
            "a:t" => {
                out.text.push_str(&element.text());
            }
            "a:p" => {
                let text = element.text();
                if !text.trim().is_empty() {
                    out.floats.push(text);
                }
            }
            "v:textpath" => {
                if let Some(text) = element.attribute("string") {
                    out.floats.push(text.to_owned());
                }
            }
            "c:chart" | "dgm:relIds" => self.drawing(element, out),
            "w:object" => {
                self.left.objects += 1;
                self.run(element, out);
            }
            "w:ruby" => self.ruby(element, out),
            _ => self.run(element, out),
        }
    }

    fn text_run(&mut self, run: &Element, out: &mut Inline) {
        let hidden = run
            .child("w:rPr")
            .and_then(|properties| properties.child("w:vanish"));
        let hidden = hidden.is_some_and(|vanish| {
            !matches!(vanish.attribute("w:val"), Some("0" | "false" | "off"))
        });
        if hidden {
            self.left.hidden += run.text().chars().count();
            return;
        }
        let start = out.text.len();
        self.run(run, out);
        let script = match run
            .child("w:rPr")
            .and_then(|properties| properties.value_of("w:vertAlign"))
        {
            Some("superscript") => script::raised(&out.text[start..]),
            Some("subscript") => script::lowered(&out.text[start..]),
            _ => None,
        };
        if let Some(script) = script {
            out.text.replace_range(start.., &script);
        }
    }

    fn symbol(&mut self, element: &Element, out: &mut Inline) {
        let code = element
            .attribute("w:char")
            .and_then(|code| u32::from_str_radix(code, 16).ok());
        match code.and_then(char::from_u32) {
            // A place in a picture font says nothing by itself.
            Some('\u{E000}'..='\u{F8FF}') | None => self.left.symbols += 1,
            Some(letter) => out.text.push(letter),
        }
    }

    fn link(&mut self, element: &Element, out: &mut Inline) {
        let start = out.text.len();
        self.run(element, out);
        let target = element
            .attribute("r:id")
            .and_then(|id| self.relations.target(id));
        let words = out.text[start..].to_owned();
        if let Some(target) = target
            && !words.trim().is_empty()
            && !words.contains('\n')
            && words.trim() != target
            && !target.contains([' ', '(', ')', '\n'])
        {
            out.text.truncate(start);
            let written = format!("[{words}]({target})");
            out.text.push_str(&written);
        }
    }

    fn note(kind: &str, element: &Element, out: &mut Inline) {
        let id = element.attribute("w:id").unwrap_or_default();
        if let Some(mark) = note_mark(kind, id) {
            out.text.push_str(&mark);
        }
        out.notes.push((kind.to_owned(), id.to_owned()));
    }

    /// Of the ways a file offers to show one thing, the first that says something.
    fn alternative(&mut self, element: &Element, out: &mut Inline) {
        for way in element.elements() {
            let mut found = Inline::default();
            self.run(way, &mut found);
            if !found.text.trim().is_empty() || !found.floats.is_empty() {
                out.text.push_str(&found.text);
                out.floats.append(&mut found.floats);
                out.notes.append(&mut found.notes);
                return;
            }
        }
    }

    fn drawing(&mut self, element: &Element, out: &mut Inline) {
        let id = element
            .attribute("r:id")
            .or_else(|| element.attribute("r:dm"));
        match id.and_then(|id| self.drawings.get(id)) {
            Some(text) => out.floats.push(text.clone()),
            None => self.left.objects += 1,
        }
    }

    /// A word with its reading: 漢字(かんじ).
    fn ruby(&mut self, element: &Element, out: &mut Inline) {
        if let Some(base) = element.child("w:rubyBase") {
            self.run(base, out);
        }
        if let Some(reading) = element.child("w:rt") {
            out.text.push('(');
            self.run(reading, out);
            out.text.push(')');
        }
    }
}
