//! Whatever the bytes, a parser answers.

use formats::document::Format;
use proptest::prelude::*;

use crate::build::{docx, odf, paragraph, pdf, zip};
use crate::read;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for format in Format::ALL {
            let _ = read(format, &bytes);
        }
        let _ = Format::detect("file", &bytes);
    }

    #[test]
    fn a_damaged_file_never_panics(
        which in 0..6_usize,
        cut in 0.0..1.0_f64,
        places in proptest::collection::vec((0.0..1.0_f64, any::<u8>()), 0..12),
    ) {
        let (format, mut bytes) = match which {
            0 => (Format::Docx, docx(&paragraph("Heading1", "a"), &[])),
            1 => (Format::Odt, odf("text", "<text:p>a</text:p>")),
            2 => (Format::Pdf, pdf(&["BT /F1 10 Tf (a) Tj ET", "BT (b) Tj ET"])),
            3 => (Format::Rtf, b"{\\rtf1{\\fonttbl{\\f0 A;}}\\pard a\\u8364?\\'e4\\cell\\row{\\footnote b}\\par}".to_vec()),
            4 => (Format::Html, b"<table><tr><td rowspan=9>a<template><p>b</table><svg><title>".to_vec()),
            _ => (Format::Epub, zip(&[("META-INF/container.xml", "<a/>"), ("b.opf", "<package/>")])),
        };
        for (place, byte) in places {
            let at = (bytes.len() as f64 * place) as usize;
            bytes[at] = byte;
        }
        bytes.truncate((bytes.len() as f64 * (1.0 - cut * cut)) as usize + 1);

        let _ = read(format, &bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_list_of_links_never_panics(
        feed in any::<bool>(),
        places in proptest::collection::vec((0..120_usize, any::<u8>()), 0..12),
        length in 0..200_usize,
    ) {
        let mut bytes = if feed {
            b"<rss><channel><item><link>https://a.test/&amp;b</link><pubDate>Mon, 06 May 2024 07:08:09 GMT</pubDate><guid>c</guid></item></channel></rss>".to_vec()
        } else {
            b"<urlset><url><loc>https://a.test/&#x41;</loc></url></urlset><a href='b'>c</a><svg><a href=d><title></svg><template><a href=e><table><a href=f>".to_vec()
        };
        for (at, byte) in places {
            bytes[at] = byte;
        }
        bytes.truncate(length);

        let _ = formats::document::links::parse(&bytes);
    }
}

/// Inputs that once went wrong, kept.
#[test]
fn inputs_that_went_wrong_once_are_answered() {
    for (format, bytes) in [
        (Format::Html, &b"<svg><desc><svg><title></svg>"[..]),
        (Format::Rtf, b"{\\rtf1\\bin9999999999 a}"),
        (Format::Rtf, b"{\\rtf1\\u-1?\\uc99 \\u55357?}}}} a"),
        (Format::Csv, b"sep=;\n\"a"),
        (Format::Markdown, b"---\ntitle: a"),
        (
            Format::Eml,
            b"Content-Type: multipart/mixed; boundary=\n\n--\n--\n",
        ),
    ] {
        let _ = read(format, bytes);
    }
}
