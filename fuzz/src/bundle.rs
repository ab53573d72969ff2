//! Archives written as text, so that a mutation reaches the parts and not only their checksums.
//!
//! Each part begins with a line `=== name`; what follows up to the next such line is its content.

use std::borrow::Cow;
use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// What a line that begins a part begins with.
const MARK: &[u8] = b"=== ";

/// The archive that `bytes` describe; bytes that describe none as they are.
pub fn unpacked(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes.starts_with(MARK) {
        return Cow::Borrowed(bytes);
    }
    match archive(bytes) {
        Ok(archive) => Cow::Owned(archive),
        Err(_) => Cow::Borrowed(bytes),
    }
}

fn archive(bytes: &[u8]) -> zip::result::ZipResult<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, content) in parts(bytes) {
        zip.start_file(name, stored)?;
        zip.write_all(content)?;
    }
    Ok(zip.finish()?.into_inner())
}

/// Names and contents.
fn parts(bytes: &[u8]) -> Vec<(String, &[u8])> {
    let mut parts: Vec<(String, &[u8])> = Vec::new();
    let mut rest = bytes;
    while let Some(after) = rest.strip_prefix(MARK) {
        let line_end = after.iter().position(|&byte| byte == b'\n');
        let (name, content) = after.split_at(line_end.unwrap_or(after.len()));
        let content = content.strip_prefix(b"\n").unwrap_or(content);
        let next = content
            .windows(MARK.len() + 1)
            .position(|window| window[0] == b'\n' && &window[1..] == MARK);
        let (content, following) = match next {
            Some(at) => (&content[..at], &content[at + 1..]),
            None => (content, &[][..]),
        };
        parts.push((String::from_utf8_lossy(name).into_owned(), content));
        rest = following;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_parts_becomes_an_archive_of_them() {
        let text = b"=== mimetype\na/b\n=== x/y.xml\n<a>\n=\n</a>";
        assert_eq!(
            parts(text),
            [
                ("mimetype".to_owned(), &b"a/b"[..]),
                ("x/y.xml".to_owned(), b"<a>\n=\n</a>"),
            ]
        );
        assert!(unpacked(text).starts_with(b"PK"));
        assert_eq!(&*unpacked(b"PK\x03\x04"), b"PK\x03\x04");
    }
}
