//! Mails: the subject heads the text, the addresses stand above it, attachments are named.

use mail_parser::{Address, Message, MessageParser, MessagePart, MimeHeaders, PartType};
use model::document::ParsedDocument;

use super::outline::Outline;
use super::{DocumentError, date, html, text};

/// Mails within mails that are read.
const NESTED_MAX: usize = 8;

/// Reads a mail with the mails forwarded in it.
pub(super) fn parse(bytes: &[u8]) -> Result<ParsedDocument, DocumentError> {
    let message = MessageParser::default()
        .parse(bytes)
        .filter(|message| !message.headers().is_empty())
        .ok_or_else(|| DocumentError::broken("the mail has no header"))?;
    let title = message.subject().map(|subject| subject.trim().to_owned());
    let stated = message.header_raw("Date").and_then(date::mail);
    let mut mail = Mail {
        outline: Outline::default(),
        left_out: Vec::new(),
    };
    mail.message(&message, 0);
    Ok(ParsedDocument {
        title: title.filter(|title| !title.is_empty()),
        date: date::stated(stated),
        sections: mail.outline.finish(),
        left_out: mail.left_out,
        ..ParsedDocument::default()
    })
}

struct Mail {
    outline: Outline,
    left_out: Vec<String>,
}

impl Mail {
    fn message(&mut self, message: &Message<'_>, depth: usize) {
        let level = u8::try_from(depth).unwrap_or(u8::MAX);
        self.outline
            .heading(level, message.subject().unwrap_or_default());
        let mut lines = Vec::new();
        for (name, address) in [
            ("From", message.from()),
            ("To", message.to()),
            ("Cc", message.cc()),
            ("Bcc", message.bcc()),
        ] {
            let written = address.map(addresses).filter(|written| !written.is_empty());
            lines.extend(written.map(|written| format!("{name}: {written}")));
        }
        if let Some(date) = message.header_raw("Date") {
            lines.push(format!("Date: {}", date.trim()));
        }
        self.outline.text(&lines.join("\n"));

        // A body that a mail gives both ways is one body: plain where there is plain text.
        for part in message.text_bodies() {
            self.body(part);
        }
        let shown: Vec<*const MessagePart<'_>> = message
            .text_bodies()
            .chain(message.html_bodies())
            .map(std::ptr::from_ref)
            .collect();
        for part in message.attachments() {
            if shown.contains(&std::ptr::from_ref(part)) {
                continue;
            }
            match &part.body {
                PartType::Message(inner) if depth < NESTED_MAX => self.message(inner, depth + 1),
                _ => self.attachment(part),
            }
        }
    }

    fn body(&mut self, part: &MessagePart<'_>) {
        match &part.body {
            PartType::Text(words) => {
                let words = text::line_ends(words.as_ref().into());
                self.outline.text(words.trim());
            }
            PartType::Html(source) => {
                let page = match html::read(source) {
                    Ok(page) => page,
                    Err(error) => {
                        self.left_out.push(format!("a body in HTML: {error}"));
                        return;
                    }
                };
                for block in page.blocks {
                    // Headings of a mail are no outline of it.
                    self.outline.text(&block.into_text());
                }
                self.left_out.extend(page.left_out);
            }
            _ => {}
        }
    }

    fn attachment(&mut self, part: &MessagePart<'_>) {
        let kind = part.content_type().map(|kind| match kind.subtype() {
            Some(subtype) => format!("{}/{subtype}", kind.ctype()),
            None => kind.ctype().to_owned(),
        });
        let kind = kind.unwrap_or_else(|| "unknown kind".to_owned());
        self.left_out.push(match part.attachment_name() {
            Some(name) => format!("attachment `{name}` ({kind}); send it as a document of its own"),
            None => format!("an attachment without a name ({kind})"),
        });
    }
}

fn addresses(address: &Address<'_>) -> String {
    let written = address.iter().map(|one| match (one.name(), one.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (None, None) => String::new(),
    });
    written
        .filter(|one| !one.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}
