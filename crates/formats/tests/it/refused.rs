//! What is refused, and that the refusal says why.

use formats::document::{DocumentError, Format, Limits, parse};

use crate::build::{docx, odf, paragraph, pdf, zip};
use crate::read;

fn refusal(format: Format, bytes: &[u8]) -> String {
    read(format, bytes).unwrap_err().to_string()
}

#[test]
fn a_file_that_is_not_read_is_refused_by_its_name_and_kind() {
    let png = Format::detect("photo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap_err();
    let renamed = Format::detect("notes.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap_err();
    let archive = Format::detect("all.zip", &zip(&[("a.txt", "a")])).unwrap_err();
    let binary = Format::detect("data", b"ab\x01\x02\x03\0\0\xFF").unwrap_err();

    assert!(
        png.to_string()
            .starts_with("`photo.png` is a PNG image; Quipu reads Markdown")
    );
    assert!(
        renamed
            .to_string()
            .starts_with("`notes.txt` is a PNG image")
    );
    assert!(
        archive
            .to_string()
            .starts_with("`all.zip` is a zip archive; unpack it first")
    );
    assert!(binary.to_string().starts_with("`data` is a binary file"));
}

#[test]
fn a_format_is_told_by_what_a_file_holds_before_its_name() {
    for (name, bytes, format) in [
        ("report", pdf(&["BT ET"]), Format::Pdf),
        ("report.txt", b"{\\rtf1 a}".to_vec(), Format::Rtf),
        ("report.bin", docx("", &[]), Format::Docx),
        ("report.zip", odf("spreadsheet", ""), Format::Ods),
        (
            "page",
            b"\n<!-- c --><!DOCTYPE html><p>a".to_vec(),
            Format::Html,
        ),
        ("a.md", b"<html> in markdown".to_vec(), Format::Markdown),
        ("a.csv", b"a,b".to_vec(), Format::Csv),
        ("a.eml", b"Subject: a\n\nb".to_vec(), Format::Eml),
        (
            "mail",
            b"Received: a\nMessage-ID: <b>\nSubject: c\n\nd".to_vec(),
            Format::Eml,
        ),
        ("README", b"Hello: world".to_vec(), Format::Text),
        ("a.py", b"print(1)".to_vec(), Format::Text),
    ] {
        assert_eq!(Format::detect(name, &bytes), Ok(format), "{name}");
    }
}

#[test]
fn an_archive_that_declares_more_than_is_read_is_refused() {
    let huge = "x".repeat(30 << 20);
    let file = docx(&paragraph("", &huge), &[]);
    let limits = Limits {
        output_bytes: 10 << 20,
        ..Limits::default()
    };

    let by_ratio = parse(Format::Docx, "a.docx", &file, &Limits::default()).unwrap_err();
    let by_size = parse(Format::Docx, "a.docx", &file, &limits).unwrap_err();

    assert_eq!(by_ratio, DocumentError::Ratio { limit: 100 });
    assert_eq!(by_size, DocumentError::Output { limit: 10 << 20 });
}

#[test]
fn an_archive_that_lies_about_its_sizes_is_stopped_while_it_is_read() {
    let mut file = docx(&paragraph("", &"x".repeat(30 << 20)), &[]);
    // The size an entry declares stands 24 bytes into its central record.
    for at in 0..file.len() - 46 {
        if file[at..].starts_with(b"PK\x01\x02") {
            file[at + 24..at + 28].copy_from_slice(&1000_u32.to_le_bytes());
        }
    }

    assert!(refusal(Format::Docx, &file).contains("larger than its declared uncompressed size"));
}

#[test]
fn ten_thousand_and_one_entries_are_refused() {
    let names: Vec<String> = (0..10_001).map(|at| format!("e{at}")).collect();
    let entries: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();

    let error = read(Format::Docx, &zip(&entries)).unwrap_err();

    assert_eq!(
        error,
        DocumentError::Entries {
            found: 10_001,
            limit: 10_000
        }
    );
}

#[test]
fn an_entity_bomb_is_refused_for_its_document_type() {
    let bomb =
        "<!DOCTYPE lolz [<!ENTITY a \"lol\"><!ENTITY b \"&a;&a;\">]><w:document>&b;</w:document>";
    let file = zip(&[("word/document.xml", bomb)]);

    assert_eq!(
        refusal(Format::Docx, &file),
        "`word/document.xml` declares a document type (DTD), which is not read"
    );
}

#[test]
fn xml_nested_without_end_is_refused() {
    let body = "<w:p>".repeat(5000);

    assert!(refusal(Format::Docx, &docx(&body, &[])).contains("nests more than 256 levels deep"));
}

#[test]
fn encrypted_files_ask_for_one_without_a_password() {
    let manifest = "<manifest:manifest xmlns:manifest=\"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0\">\
        <manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>";
    let open_document = zip(&[("META-INF/manifest.xml", manifest), ("content.xml", "junk")]);
    let mut archive = zip(&[("word/document.xml", "a")]);
    // The first flag of an entry, in its own header and in the central record.
    for at in 0..archive.len() - 10 {
        if archive[at..].starts_with(b"PK\x03\x04") {
            archive[at + 6] |= 1;
        } else if archive[at..].starts_with(b"PK\x01\x02") {
            archive[at + 8] |= 1;
        }
    }

    assert_eq!(
        read(Format::Odt, &open_document).unwrap_err(),
        DocumentError::Encrypted
    );
    assert_eq!(
        read(Format::Docx, &archive).unwrap_err(),
        DocumentError::Encrypted
    );
}

#[test]
fn a_link_in_an_archive_is_refused() {
    use std::io::Cursor;
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    writer
        .add_symlink("word/document.xml", "/etc/passwd", options)
        .unwrap();
    let file = writer.finish().unwrap().into_inner();

    assert_eq!(read(Format::Docx, &file).unwrap_err(), DocumentError::Link);
}

#[test]
fn broken_files_say_what_is_broken() {
    assert!(refusal(Format::Pdf, b"%PDF-1.4 nothing").starts_with("the file is broken: the PDF"));
    assert!(
        refusal(Format::Docx, b"PK\x03\x04 nothing").starts_with("the file is broken: the archive")
    );
    assert!(refusal(Format::Docx, &zip(&[("a", "")])).contains("no part `word/document.xml`"));
    assert!(refusal(Format::Rtf, b"nothing").starts_with("the file is broken"));
    assert!(refusal(Format::Text, b"a\0b").contains("binary data at byte 1"));
}

#[test]
fn a_pdf_with_more_pages_than_the_limit_is_refused() {
    let limits = Limits {
        pages: 2,
        ..Limits::default()
    };

    let error = parse(Format::Pdf, "a.pdf", &pdf(&["", "", ""]), &limits).unwrap_err();

    assert_eq!(error, DocumentError::Pages { found: 3, limit: 2 });
}
