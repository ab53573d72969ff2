//! Small files of each format, made here.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A zip archive with these entries.
pub(crate) fn zip(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        let method = match *name {
            "mimetype" => CompressionMethod::Stored,
            _ => CompressionMethod::Deflated,
        };
        zip.start_file(
            *name,
            SimpleFileOptions::default().compression_method(method),
        )
        .unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The namespaces of a Word document.
pub(crate) const WORD: &str = "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\" \
    xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\" \
    xmlns:m=\"http://schemas.openxmlformats.org/officeDocument/2006/math\" \
    xmlns:mc=\"http://schemas.openxmlformats.org/markup-compatibility/2006\" \
    xmlns:wps=\"http://schemas.microsoft.com/office/word/2010/wordprocessingShape\"";

const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// A list of relations: id, kind, target.
pub(crate) fn relations(of: &[(&str, &str, &str)]) -> String {
    let mut out =
        "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">"
            .to_owned();
    for (id, kind, target) in of {
        let mode = if target.contains("://") {
            " TargetMode=\"External\""
        } else {
            ""
        };
        let written = format!(
            "<Relationship Id=\"{id}\" Type=\"{RELATIONS}/{kind}\" Target=\"{target}\"{mode}/>"
        );
        out.push_str(&written);
    }
    out + "</Relationships>"
}

/// A Word document with this body and these further parts.
pub(crate) fn docx(body: &str, parts: &[(&str, &str)]) -> Vec<u8> {
    let main = format!("<w:document {WORD}><w:body>{body}</w:body></w:document>");
    let package = relations(&[("r1", "officeDocument", "word/document.xml")]);
    let mut entries = vec![
        ("_rels/.rels", package.as_str()),
        ("word/document.xml", main.as_str()),
    ];
    entries.extend(parts);
    zip(&entries)
}

/// A paragraph of a Word document, with a style where one is given.
pub(crate) fn paragraph(style: &str, text: &str) -> String {
    let style = match style {
        "" => String::new(),
        style => format!("<w:pPr><w:pStyle w:val=\"{style}\"/></w:pPr>"),
    };
    format!("<w:p>{style}<w:r><w:t>{text}</w:t></w:r></w:p>")
}

/// An OpenDocument file with this body.
pub(crate) fn odf(kind: &str, body: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" \
         xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\" \
         xmlns:style=\"urn:oasis:names:tc:opendocument:xmlns:style:1.0\" \
         xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" \
         xmlns:draw=\"urn:oasis:names:tc:opendocument:xmlns:drawing:1.0\" \
         xmlns:presentation=\"urn:oasis:names:tc:opendocument:xmlns:presentation:1.0\" \
         xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\
         <office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    );
    let media_type = format!("application/vnd.oasis.opendocument.{kind}");
    zip(&[("mimetype", &media_type), ("content.xml", &content)])
}

/// A PDF whose pages have these contents; an empty one has no text.
pub(crate) fn pdf(pages: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len())
        .map(|at| format!("{} 0 R", 5 + 2 * at))
        .collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Count {} /Kids [{}] >>",
            pages.len(),
            kids.join(" ")
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    for (at, content) in pages.iter().enumerate() {
        objects.push(format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ));
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] \
             /Resources << /Font << /F1 3 0 R >> >> /Contents {} 0 R >>",
            4 + 2 * at
        ));
    }
    objects.push("<< /Title (A Ledger) /CreationDate (D:20240506070809Z) >>".to_owned());
    let mut out = "%PDF-1.4\n".to_owned();
    let mut offsets = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        offsets.push(out.len());
        let written = format!("{} 0 obj\n{object}\nendobj\n", at + 1);
        out.push_str(&written);
    }
    let start = out.len();
    let written = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    out.push_str(&written);
    for offset in offsets {
        let written = format!("{offset:010} 00000 n \n");
        out.push_str(&written);
    }
    let written = format!(
        "trailer << /Size {} /Root 1 0 R /Info {} 0 R >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1,
        objects.len()
    );
    out.push_str(&written);
    out.into_bytes()
}
