//! Headings and blocks in reading order, gathered into sections.

use model::document::Section;

/// A piece of a document in reading order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// A heading; 0 is the document's title, 1 the outermost heading.
    Heading(u8, String),
    /// Markdown text.
    Text(String),
}

impl Block {
    /// Its text, whatever it is.
    pub(super) fn into_text(self) -> String {
        match self {
            Block::Heading(_, text) | Block::Text(text) => text,
        }
    }
}

/// Builds the sections of a document.
#[derive(Debug, Default)]
pub(super) struct Outline {
    path: Vec<(u8, String)>,
    body: String,
    sections: Vec<Section>,
}

impl Outline {
    /// Starts the section of a heading. One without text starts none.
    pub(super) fn heading(&mut self, level: u8, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return;
        }
        self.close();
        self.path.retain(|(outer, _)| *outer < level);
        self.path.push((level, text));
    }

    /// Adds a block, apart from the one before by a blank line.
    pub(super) fn text(&mut self, text: &str) {
        let text = text.trim_matches(['\n', '\r']).trim_end();
        if text.trim().is_empty() {
            return;
        }
        if !self.body.is_empty() {
            self.body.push_str("\n\n");
        }
        self.body.push_str(text);
    }

    /// Adds a line, directly below the one before.
    pub(super) fn line(&mut self, text: &str) {
        if !self.body.is_empty() {
            self.body.push('\n');
        }
        self.body.push_str(text.trim_end());
    }

    /// Adds `block`.
    pub(super) fn push(&mut self, block: Block) {
        match block {
            Block::Heading(level, text) => self.heading(level, &text),
            Block::Text(text) => self.text(&text),
        }
    }

    /// Leaves every heading: what follows belongs to the document as a whole.
    pub(super) fn leave(&mut self) {
        self.close();
        self.path.clear();
    }

    fn close(&mut self) {
        let mut body = std::mem::take(&mut self.body);
        body.truncate(body.trim_end().len());
        let blank = body.len() - body.trim_start().len();
        body.drain(..blank);
        if !body.is_empty() || !self.path.is_empty() {
            let heading_path = self.path.iter().map(|(_, text)| text.clone()).collect();
            self.sections.push(Section { heading_path, body });
        }
    }

    /// The sections, in reading order.
    pub(super) fn finish(mut self) -> Vec<Section> {
        self.close();
        self.sections
    }
}

/// The first outermost heading, which is a document's title when nothing else states one.
pub(super) fn first_heading(sections: &[Section]) -> Option<String> {
    sections
        .iter()
        .find_map(|section| section.heading_path.first().cloned())
}
