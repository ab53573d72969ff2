//! Rich Text Format: groups, control words, and text in the code page of its font.

use std::collections::HashMap;

use encoding_rs::Encoding;
use model::WorldTime;
use model::document::ParsedDocument;

use super::outline::Outline;
use super::{DocumentError, date, table};

/// Groups within groups that are followed.
const DEPTH_MAX: usize = 1024;

/// Reads a rich text.
pub(super) fn parse(bytes: &[u8]) -> Result<ParsedDocument, DocumentError> {
    if !bytes.starts_with(b"{\\rtf") {
        return Err(DocumentError::broken(
            "the file does not start with `{\\rtf`",
        ));
    }
    let mut reader = Reader::new();
    let mut tokens = Tokens { bytes, at: 0 };
    while let Some(token) = tokens.next() {
        reader.take(&token, &mut tokens)?;
    }
    // The first is the one that holds the whole file.
    if reader.groups.len() > 1 {
        reader
            .left_out
            .push("the file ends in the middle of the text".to_owned());
    }
    Ok(reader.finish())
}

enum Token<'b> {
    Open,
    Close,
    Word(&'b str, Option<i64>),
    /// `\'hh`, or a plain byte.
    Byte(u8),
    /// A control symbol: `\~`, `\*`.
    Symbol(u8),
}

struct Tokens<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Tokens<'b> {
    fn next(&mut self) -> Option<Token<'b>> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            return Some(match byte {
                b'{' => Token::Open,
                b'}' => Token::Close,
                b'\r' | b'\n' | 0 => continue,
                b'\\' => self.control()?,
                byte => Token::Byte(byte),
            });
        }
    }

    fn control(&mut self) -> Option<Token<'b>> {
        let first = *self.bytes.get(self.at)?;
        if !first.is_ascii_alphabetic() {
            self.at += 1;
            if first == b'\'' {
                let digits = self.bytes.get(self.at..self.at + 2);
                let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
                if let Some(code) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
                    self.at += 2;
                    return Some(Token::Byte(code));
                }
            }
            return Some(Token::Symbol(first));
        }
        let word = self.run(|byte| byte.is_ascii_alphabetic());
        let start = self.at;
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        self.run(|byte| byte.is_ascii_digit());
        let number = self.text(start, self.at).parse().ok();
        if number.is_none() {
            self.at = start;
        }
        if self.bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        Some(Token::Word(word, number))
    }

    fn run(&mut self, belongs: impl Fn(u8) -> bool) -> &'b str {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|byte| belongs(*byte)) {
            self.at += 1;
        }
        self.text(start, self.at)
    }

    fn text(&self, from: usize, to: usize) -> &'b str {
        std::str::from_utf8(&self.bytes[from..to]).expect("only ASCII was passed over")
    }
}

/// What the text of a group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Text,
    /// Not shown, and nothing to tell of it.
    Skip,
    FontTable,
    Styles,
    Title,
    Created,
    Revised,
    /// The number or bullet of a list item.
    Marker,
    Note,
    Edge,
    Picture,
    Object,
}

#[derive(Debug, Clone)]
struct Group {
    role: Role,
    encoding: &'static Encoding,
    /// Bytes that stand for a Unicode letter in old readers.
    fallback: usize,
    hidden: bool,
    deleted: bool,
}

struct Reader {
    groups: Vec<Group>,
    outline: Outline,
    left_out: Vec<String>,
    pending: Vec<u8>,
    skip: usize,
    high_surrogate: Option<u16>,
    paragraph: String,
    marker: String,
    level: Option<u8>,
    style: i64,
    in_table: bool,
    cells: Vec<String>,
    rows: Vec<Vec<String>>,
    fonts: HashMap<i64, &'static Encoding>,
    font: i64,
    headings: HashMap<i64, u8>,
    style_name: (i64, String),
    title: String,
    stamp: [i64; 6],
    created: Option<WorldTime>,
    revised: Option<WorldTime>,
    notes: Vec<String>,
    note: String,
    edges: Vec<String>,
    edge: String,
    hidden: usize,
    deleted: usize,
    pictures: usize,
    objects: usize,
    starred: bool,
    last_item: bool,
    page: &'static Encoding,
}

impl Reader {
    fn new() -> Reader {
        Reader {
            groups: Vec::new(),
            outline: Outline::default(),
            left_out: Vec::new(),
            pending: Vec::new(),
            skip: 0,
            high_surrogate: None,
            paragraph: String::new(),
            marker: String::new(),
            level: None,
            style: 0,
            in_table: false,
            cells: Vec::new(),
            rows: Vec::new(),
            fonts: HashMap::new(),
            font: 0,
            headings: HashMap::new(),
            style_name: (0, String::new()),
            title: String::new(),
            stamp: [0; 6],
            created: None,
            revised: None,
            notes: Vec::new(),
            note: String::new(),
            edges: Vec::new(),
            edge: String::new(),
            hidden: 0,
            deleted: 0,
            pictures: 0,
            objects: 0,
            starred: false,
            last_item: false,
            page: encoding_rs::WINDOWS_1252,
        }
    }

    fn group(&mut self) -> &mut Group {
        if self.groups.is_empty() {
            // Text after the last group: read as if the file went on.
            self.groups.push(Group {
                role: Role::Text,
                encoding: self.page,
                fallback: 1,
                hidden: false,
                deleted: false,
            });
        }
        self.groups.last_mut().expect("one was just made")
    }

    fn take(&mut self, token: &Token<'_>, tokens: &mut Tokens<'_>) -> Result<(), DocumentError> {
        match token {
            Token::Byte(byte) => {
                if self.skip > 0 {
                    self.skip -= 1;
                } else {
                    self.starred = false;
                    self.pending.push(*byte);
                }
                return Ok(());
            }
            // A skipped letter may be written as a control symbol or word too.
            Token::Word("bin", count) => {
                let count = usize::try_from(count.unwrap_or(0)).unwrap_or(0);
                tokens.at = tokens.at.saturating_add(count).min(tokens.bytes.len());
                return Ok(());
            }
            _ => self.flush(),
        }
        match token {
            Token::Open => {
                self.skip = 0;
                let group = self.group().clone();
                if self.groups.len() >= DEPTH_MAX {
                    return Err(DocumentError::Depth {
                        part: "the text".to_owned(),
                        limit: DEPTH_MAX as u32,
                    });
                }
                self.groups.push(group);
            }
            Token::Close => {
                self.skip = 0;
                let closed = self.groups.pop();
                let outer = self.groups.last().map_or(Role::Skip, |group| group.role);
                if let Some(closed) = closed.filter(|closed| closed.role != outer) {
                    self.close(closed.role);
                }
            }
            Token::Symbol(b'*') => self.starred = true,
            Token::Symbol(symbol) => self.symbol(*symbol),
            Token::Word(word, number) => {
                let starred = std::mem::take(&mut self.starred);
                self.word(word, *number, starred);
            }
            Token::Byte(_) => {}
        }
        Ok(())
    }

    /// Decodes the bytes gathered so far in the code page of their font.
    fn flush(&mut self) {
        if !self.pending.is_empty() {
            let bytes = std::mem::take(&mut self.pending);
            let encoding = self.group().encoding;
            let text = encoding.decode_without_bom_handling(&bytes).0.into_owned();
            self.put(&text);
        }
    }

    fn put(&mut self, text: &str) {
        let group = self.group().clone();
        if group.deleted && group.role == Role::Text {
            self.deleted += text.chars().count();
            return;
        }
        if group.hidden && group.role == Role::Text {
            self.hidden += text.chars().count();
            return;
        }
        match group.role {
            Role::Text => self.paragraph.push_str(text),
            Role::Title => self.title.push_str(text),
            Role::Marker => self.marker.push_str(text),
            Role::Note => self.note.push_str(text),
            Role::Edge => self.edge.push_str(text),
            Role::Styles => self.style_name.1.push_str(text),
            Role::Skip
            | Role::FontTable
            | Role::Created
            | Role::Revised
            | Role::Picture
            | Role::Object => {}
        }
    }

    fn symbol(&mut self, symbol: u8) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        match symbol {
            b'~' => self.put("\u{A0}"),
            b'_' => self.put("\u{2011}"),
            b'\\' | b'{' | b'}' => self.put(char::from(symbol).encode_utf8(&mut [0; 4])),
            b'\r' | b'\n' => self.end_paragraph(),
            _ => {}
        }
    }

    fn close(&mut self, role: Role) {
        match role {
            Role::Styles => self.style_ends(),
            Role::Created => self.created = self.stamped(),
            Role::Revised => self.revised = self.stamped(),
            Role::Note => {
                let note = std::mem::take(&mut self.note).trim().to_owned();
                if !note.is_empty() {
                    self.notes.push(note);
                    let mark = format!("[^{}]", self.notes.len());
                    self.put(&mark);
                }
            }
            Role::Edge => {
                let edge = std::mem::take(&mut self.edge).trim().to_owned();
                if !edge.is_empty() && !self.edges.contains(&edge) {
                    self.edges.push(edge);
                }
            }
            Role::Picture => self.pictures += 1,
            Role::Object => self.objects += 1,
            _ => {}
        }
    }

    fn stamped(&mut self) -> Option<WorldTime> {
        let [year, month, day, ..] = std::mem::take(&mut self.stamp);
        date::iso(&format!("{year:04}-{month:02}-{day:02}"))
    }

    /// A name of the style sheet ends: "heading 1;".
    fn style_ends(&mut self) {
        let (number, name) = std::mem::take(&mut self.style_name);
        let name = name.trim().trim_end_matches(';').to_lowercase();
        if let Some(level) = name
            .strip_prefix("heading ")
            .and_then(|level| level.trim().parse().ok())
        {
            self.headings.insert(number, level);
        } else if name == "title" {
            self.headings.insert(number, 0);
        }
    }

    fn word(&mut self, word: &str, number: Option<i64>, starred: bool) {
        let value = number.unwrap_or(1);
        let on = value != 0;
        let role = self.group().role;
        match word {
            "u" => {
                self.unicode(number.unwrap_or(0));
                return;
            }
            "uc" => {
                self.group().fallback = usize::try_from(value).unwrap_or(1).min(16);
                return;
            }
            _ => {}
        }
        self.skip = 0;
        match word {
            "ansicpg" => {
                self.page = code_page(value).unwrap_or(self.page);
                let page = self.page;
                for group in &mut self.groups {
                    group.encoding = page;
                }
            }
            "mac" => {
                self.page = encoding_rs::MACINTOSH;
                self.group().encoding = encoding_rs::MACINTOSH;
            }
            "fonttbl" => self.group().role = Role::FontTable,
            "stylesheet" => self.group().role = Role::Styles,
            "f" => {
                self.font = value;
                if role != Role::FontTable {
                    let encoding = self.fonts.get(&value).copied().unwrap_or(self.page);
                    self.group().encoding = encoding;
                }
            }
            "fcharset" if role == Role::FontTable => {
                if let Some(encoding) = charset(value) {
                    self.fonts.insert(self.font, encoding);
                }
            }
            "s" if role == Role::Styles => self.style_name.0 = value,
            "s" => self.style = value,
            "title" => self.group().role = Role::Title,
            "creatim" => self.group().role = Role::Created,
            "revtim" => self.group().role = Role::Revised,
            "yr" => self.stamp[0] = value,
            "mo" => self.stamp[1] = value,
            "dy" => self.stamp[2] = value,
            "pict" => self.group().role = Role::Picture,
            "object" => self.group().role = Role::Object,
            // What an object shows in the text.
            "result" => self.group().role = Role::Text,
            "listtext" | "pntext" => self.group().role = Role::Marker,
            "footnote" | "annotation" => self.group().role = Role::Note,
            "header" | "headerl" | "headerr" | "headerf" | "footer" | "footerl" | "footerr"
            | "footerf" => {
                self.group().role = Role::Edge;
            }
            "info" | "shptxt" | "fldrslt" | "shp" | "shprslt" | "shpinst" | "field" => {}
            "colortbl" | "fldinst" | "listtable" | "listoverridetable" | "rsidtbl"
            | "generator" | "xmlnstbl" | "themedata" | "colorschememapping" | "datastore"
            | "latentstyles" | "bkmkstart" | "bkmkend" | "nonshppict" | "sp" | "atnid"
            | "atnauthor" | "atndate" | "atnref" | "private" | "filetbl" | "revtbl"
            | "userprops" | "ftnsep" | "ftnsepc" | "aftnsep" | "xe" | "tc" => {
                self.group().role = Role::Skip;
            }
            "v" => self.group().hidden = on,
            "deleted" => self.group().deleted = on,
            "plain" => {
                let group = self.group();
                group.hidden = false;
                group.deleted = false;
            }
            "pard" => {
                self.level = None;
                self.style = 0;
                self.in_table = false;
            }
            "outlinelevel" if role == Role::Text => self.level = u8::try_from(value).ok(),
            "intbl" => self.in_table = on,
            "par" | "sect" | "page"
                if role == Role::Text
                // `\page` ends nothing but the sheet of paper.
                && word != "page" =>
            {
                self.end_paragraph();
            }
            "par" | "line" | "sect" => self.put("\n"),
            "tab" => self.put("\t"),
            "cell" | "nestcell" if role == Role::Text => {
                let cell = std::mem::take(&mut self.paragraph);
                let marker = std::mem::take(&mut self.marker);
                self.cells.push(
                    format!("{} {}", marker.trim(), cell.trim())
                        .trim()
                        .to_owned(),
                );
            }
            "row" | "nestrow" if role == Role::Text => {
                let cells = std::mem::take(&mut self.cells);
                self.rows.push(cells);
            }
            "emdash" => self.put("—"),
            "endash" => self.put("–"),
            "lquote" => self.put("‘"),
            "rquote" => self.put("’"),
            "ldblquote" => self.put("“"),
            "rdblquote" => self.put("”"),
            "bullet" => self.put("•"),
            "emspace" | "enspace" | "qmspace" => self.put(" "),
            // A destination that old readers should skip, and this one does not know either.
            _ if starred => self.group().role = Role::Skip,
            _ => {}
        }
    }

    fn unicode(&mut self, code: i64) {
        // Written as a signed 16 bit number.
        let Ok(unit) = u16::try_from(code.rem_euclid(0x1_0000)) else {
            return;
        };
        match (self.high_surrogate.take(), unit) {
            (_, 0xD800..=0xDBFF) => self.high_surrogate = Some(unit),
            (Some(high), 0xDC00..=0xDFFF) => {
                let letter = char::decode_utf16([high, unit]).next().and_then(Result::ok);
                self.put(letter.unwrap_or('\u{FFFD}').encode_utf8(&mut [0; 4]));
            }
            _ => {
                let letter = char::from_u32(u32::from(unit)).unwrap_or('\u{FFFD}');
                self.put(letter.encode_utf8(&mut [0; 4]));
            }
        }
        self.skip = self.group().fallback;
    }

    fn end_paragraph(&mut self) {
        if self.in_table || !self.cells.is_empty() {
            // Several paragraphs of one cell.
            self.paragraph.push(' ');
            return;
        }
        self.end_table();
        let text = std::mem::take(&mut self.paragraph);
        let text = text.trim();
        let marker = std::mem::take(&mut self.marker);
        if text.is_empty() {
            return;
        }
        let level = self
            .level
            .map(|level| level + 1)
            .or(self.headings.get(&self.style).copied());
        let marker = marker.trim();
        if let Some(level) = level.filter(|level| *level <= 9) {
            self.write_notes();
            let number = if marker.is_empty() {
                String::new()
            } else {
                format!("{marker} ")
            };
            self.outline.heading(level, &format!("{number}{text}"));
            self.last_item = false;
        } else if marker.is_empty() {
            self.outline.text(text);
            self.last_item = false;
        } else {
            // A bullet of whatever shape, or a number as it is written.
            let marker = if marker.contains(char::is_alphanumeric) {
                marker
            } else {
                "-"
            };
            let item = format!("{marker} {text}");
            if self.last_item {
                self.outline.line(&item);
            } else {
                self.outline.text(&item);
            }
            self.last_item = true;
        }
    }

    fn end_table(&mut self) {
        if !self.cells.is_empty() {
            let cells = std::mem::take(&mut self.cells);
            self.rows.push(cells);
        }
        if !self.rows.is_empty() {
            let rows = std::mem::take(&mut self.rows);
            self.outline.text(&table::markdown(&rows));
            self.last_item = false;
        }
    }

    fn write_notes(&mut self) {
        for (at, note) in self.notes.iter_mut().enumerate() {
            // Written once, at the end of the section; the number stays taken.
            if !note.is_empty() {
                self.outline
                    .text(&format!("[^{}]: {}", at + 1, std::mem::take(note)));
            }
        }
    }

    fn finish(mut self) -> ParsedDocument {
        self.flush();
        self.in_table = false;
        if !self.cells.is_empty() {
            let rest = std::mem::take(&mut self.paragraph);
            self.cells.push(rest.trim().to_owned());
        }
        self.end_table();
        self.end_paragraph();
        self.write_notes();
        self.outline.leave();
        for edge in &self.edges {
            self.outline.text(edge);
        }
        for (count, what) in [
            (self.deleted, "characters of tracked deletions"),
            (self.hidden, "characters of hidden text"),
            (self.pictures, "pictures (their text is not read)"),
            (self.objects, "embedded objects"),
        ] {
            if count > 0 {
                self.left_out.push(format!("{count} {what}"));
            }
        }
        let title = self.title.trim().to_owned();
        ParsedDocument {
            title: Some(title).filter(|title| !title.is_empty()),
            date: date::stated(self.revised.or(self.created)),
            sections: self.outline.finish(),
            left_out: self.left_out,
            ..ParsedDocument::default()
        }
    }
}

/// A Windows code page.
fn code_page(number: i64) -> Option<&'static Encoding> {
    let label = match number {
        932 => "shift_jis",
        936 => "gb18030",
        949 => "euc-kr",
        950 => "big5",
        65001 => "utf-8",
        10000 => "macintosh",
        20866 => "koi8-r",
        874 => "windows-874",
        1250..=1258 => return Encoding::for_label(format!("windows-{number}").as_bytes()),
        _ => return None,
    };
    Encoding::for_label(label.as_bytes())
}

/// The code page of a font's character set.
fn charset(number: i64) -> Option<&'static Encoding> {
    code_page(match number {
        0 => 1252,
        77 => 10000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}
