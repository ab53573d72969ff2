//! Which format a file is of, by what it holds and then by its name.

use super::encoding;

/// A format that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Markdown.
    Markdown,
    /// Plain text.
    Text,
    /// A web page.
    Html,
    /// A Word document.
    Docx,
    /// A PDF with a text layer.
    Pdf,
    /// Values apart by commas, semicolons, tabs or bars.
    Csv,
    /// An Excel workbook.
    Xlsx,
    /// A PowerPoint presentation.
    Pptx,
    /// An OpenDocument text.
    Odt,
    /// An OpenDocument spreadsheet.
    Ods,
    /// An OpenDocument presentation.
    Odp,
    /// A mail.
    Eml,
    /// A book.
    Epub,
    /// Rich text.
    Rtf,
}

/// Why a file is refused before it is read: a sentence that names the file and what it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(String);

/// The formats a refusal offers.
const READ: &str = "Quipu reads Markdown, text, HTML, Word (docx), PDF, CSV, Excel (xlsx), \
                    PowerPoint (pptx), OpenDocument (odt, ods, odp), mail (eml), EPUB and RTF";

/// First bytes of formats that are refused, with an offset.
const FOREIGN: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG", "a PNG image"),
    (0, b"\xFF\xD8\xFF", "a JPEG image"),
    (0, b"GIF8", "a GIF image"),
    (8, b"WEBP", "a WebP image"),
    (0, b"II*\0", "a TIFF image"),
    (0, b"MM\0*", "a TIFF image"),
    (4, b"ftypheic", "a HEIC image"),
    (4, b"ftypavif", "an AVIF image"),
    (4, b"ftyp", "a video or audio file (MP4)"),
    (8, b"WAVE", "a WAV recording"),
    (8, b"AVI ", "an AVI video"),
    (0, b"OggS", "an Ogg recording"),
    (0, b"ID3", "an MP3 recording"),
    (0, b"\xFF\xFB", "an MP3 recording"),
    (0, b"fLaC", "a FLAC recording"),
    (0, b"\x1A\x45\xDF\xA3", "a Matroska or WebM video"),
    (0, b"\x1F\x8B", "a gzip archive"),
    (0, b"BZh", "a bzip2 archive"),
    (0, b"\xFD7zXZ", "an xz archive"),
    (0, b"\x28\xB5\x2F\xFD", "a Zstandard archive"),
    (0, b"7z\xBC\xAF", "a 7-Zip archive"),
    (0, b"Rar!", "a RAR archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x7FELF", "a program (ELF)"),
    (0, b"MZ", "a Windows program"),
    (0, b"\xCF\xFA\xED\xFE", "a program (Mach-O)"),
    (0, b"\xCA\xFE\xBA\xBE", "a program (Java class or Mach-O)"),
    (0, b"\0asm", "a program (WebAssembly)"),
    (0, b"SQLite format 3\0", "a SQLite database"),
    (0, b"%!PS", "a PostScript file"),
    (0, b"wOFF", "a font"),
    (0, b"wOF2", "a font"),
    (0, b"PAR1", "a Parquet file"),
];

impl Format {
    /// All formats, as a message lists them.
    pub const ALL: [Format; 14] = [
        Format::Markdown,
        Format::Text,
        Format::Html,
        Format::Docx,
        Format::Pdf,
        Format::Csv,
        Format::Xlsx,
        Format::Pptx,
        Format::Odt,
        Format::Ods,
        Format::Odp,
        Format::Eml,
        Format::Epub,
        Format::Rtf,
    ];

    /// The format of a file with these bytes: by content where that tells, by extension where
    /// it does not (a Markdown file is text like any other). `head` is the whole file or at
    /// least its first 64 KiB; an office file is told apart by its extension when the part that
    /// says what it is lies further on.
    ///
    /// # Errors
    /// A sentence naming the file, what it is, and what is read.
    pub fn detect(filename: &str, head: &[u8]) -> Result<Format, Refusal> {
        let extension = extension(filename);
        if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            return zipped(filename, &extension, head);
        }
        if starts_within(head, b"%PDF-", 1024) {
            return Ok(Format::Pdf);
        }
        if head.starts_with(b"{\\rtf") {
            return Ok(Format::Rtf);
        }
        if head.starts_with(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1") {
            return Err(refusal(filename, &compound(&extension, head)));
        }
        for (at, magic, what) in FOREIGN {
            if head.get(*at..at + magic.len()) == Some(*magic) && !only_looks_like(magic, head) {
                return Err(refusal(filename, what));
            }
        }
        if looks_like_html(head) && !matches!(extension.as_str(), "md" | "markdown" | "mdx") {
            return Ok(Format::Html);
        }
        if let Some(what) = text_in_name_only(&extension) {
            return Err(refusal(filename, what));
        }
        if let Err(error) = encoding::decode(&head[..whole_letters(head)]) {
            return Err(refusal(filename, &format!("a binary file ({error})")));
        }
        Ok(match extension.as_str() {
            "md" | "markdown" | "mdown" | "mkd" | "mdx" | "qmd" => Format::Markdown,
            "htm" | "html" | "xhtml" | "shtml" => Format::Html,
            "csv" | "tsv" | "tab" => Format::Csv,
            "eml" | "mht" | "mhtml" => Format::Eml,
            // A broken office file is better told so than read as text.
            "docx" | "docm" | "xlsx" | "xlsm" | "pptx" | "pptm" | "odt" | "ods" | "odp"
            | "epub" | "pdf" | "rtf" => {
                let what = format!("not a {extension} file, whatever its name says");
                return Err(refusal(filename, &what));
            }
            _ if looks_like_mail(head) => Format::Eml,
            _ => Format::Text,
        })
    }

    /// The format with this media type; parameters and case do not matter.
    pub fn of_media_type(media_type: &str) -> Option<Format> {
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        match media_type.to_ascii_lowercase().as_str() {
            "text/x-markdown" => Some(Format::Markdown),
            "application/xhtml+xml" => Some(Format::Html),
            "text/tab-separated-values" | "application/csv" => Some(Format::Csv),
            "text/rtf" => Some(Format::Rtf),
            lower => Format::ALL
                .into_iter()
                .find(|format| format.media_type() == lower),
        }
    }

    /// The registered media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Format::Markdown => "text/markdown",
            Format::Text => "text/plain",
            Format::Html => "text/html",
            Format::Docx => {
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
            }
            Format::Pdf => "application/pdf",
            Format::Csv => "text/csv",
            Format::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Format::Pptx => {
                "application/vnd.openxmlformats-officedocument.presentationml.presentation"
            }
            Format::Odt => "application/vnd.oasis.opendocument.text",
            Format::Ods => "application/vnd.oasis.opendocument.spreadsheet",
            Format::Odp => "application/vnd.oasis.opendocument.presentation",
            Format::Eml => "message/rfc822",
            Format::Epub => "application/epub+zip",
            Format::Rtf => "application/rtf",
        }
    }

    /// Its short name, which is also the usual extension.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Markdown => "md",
            Format::Text => "txt",
            Format::Html => "html",
            Format::Docx => "docx",
            Format::Pdf => "pdf",
            Format::Csv => "csv",
            Format::Xlsx => "xlsx",
            Format::Pptx => "pptx",
            Format::Odt => "odt",
            Format::Ods => "ods",
            Format::Odp => "odp",
            Format::Eml => "eml",
            Format::Epub => "epub",
            Format::Rtf => "rtf",
        }
    }
}

fn refusal(filename: &str, what: &str) -> Refusal {
    Refusal(format!("`{filename}` is {what}; {READ}"))
}

fn extension(filename: &str) -> String {
    let name = filename.rsplit(['/', '\\']).next().unwrap_or(filename);
    name.rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase())
        .unwrap_or_default()
}

fn starts_within(head: &[u8], magic: &[u8], bytes: usize) -> bool {
    let head = &head[..head.len().min(bytes + magic.len())];
    head.windows(magic.len()).any(|window| window == magic)
}

fn contains(head: &[u8], part: &[u8]) -> bool {
    head.windows(part.len()).any(|window| window == part)
}

/// An office file, a book, or a plain archive.
fn zipped(filename: &str, extension: &str, head: &[u8]) -> Result<Format, Refusal> {
    // OpenDocument and EPUB store their media type as the first entry, unpacked.
    let start = &head[..head.len().min(256)];
    for (media_type, format) in [
        (&b"application/epub+zip"[..], Format::Epub),
        (b"application/vnd.oasis.opendocument.text", Format::Odt),
        (
            b"application/vnd.oasis.opendocument.spreadsheet",
            Format::Ods,
        ),
        (
            b"application/vnd.oasis.opendocument.presentation",
            Format::Odp,
        ),
    ] {
        if contains(start, media_type) {
            return Ok(format);
        }
    }
    for (part, format) in [
        (&b"word/document"[..], Format::Docx),
        (b"xl/workbook.xml", Format::Xlsx),
        (b"ppt/presentation.xml", Format::Pptx),
    ] {
        if contains(head, part) {
            return Ok(format);
        }
    }
    match extension {
        "docx" | "docm" | "dotx" => Ok(Format::Docx),
        "xlsx" | "xlsm" => Ok(Format::Xlsx),
        "pptx" | "pptm" | "ppsx" => Ok(Format::Pptx),
        "odt" | "ott" => Ok(Format::Odt),
        "ods" | "ots" => Ok(Format::Ods),
        "odp" | "otp" => Ok(Format::Odp),
        "epub" => Ok(Format::Epub),
        "xlsb" => Err(refusal(
            filename,
            "a binary Excel workbook (xlsb); save it as xlsx",
        )),
        "jar" | "apk" => Err(refusal(filename, "a program (zip)")),
        _ => Err(refusal(filename, "a zip archive; unpack it first")),
    }
}

/// What a file of the old compound kind is. Office wraps files with a password in it too.
fn compound(extension: &str, head: &[u8]) -> String {
    let wide = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    if contains(head, &wide("EncryptedPackage")) || matches!(extension, "docx" | "xlsx" | "pptx") {
        return "protected by a password; send it without one".to_owned();
    }
    match extension {
        "doc" | "dot" => "an old Word document (doc); save it as docx",
        "xls" | "xlt" => "an old Excel workbook (xls); save it as xlsx",
        "ppt" | "pps" => "an old PowerPoint presentation (ppt); save it as pptx",
        "msg" => "an Outlook message (msg); save it as eml",
        "msi" => "a Windows installer",
        _ => "an old Office file",
    }
    .to_owned()
}

/// Short magic numbers that plain text may begin with too.
fn only_looks_like(magic: &[u8], head: &[u8]) -> bool {
    matches!(
        magic,
        b"MZ" | b"BZh" | b"GIF8" | b"ID3" | b"PAR1" | b"wOFF" | b"wOF2"
    ) && encoding::decode(&head[..whole_letters(head)]).is_ok()
}

/// Formats whose bytes are text although nobody reads them as such.
fn text_in_name_only(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "bmp" | "ico" | "tif" | "tiff" | "heic" => {
            "an image"
        }
        "mp3" | "wav" | "ogg" | "flac" | "m4a" => "a recording",
        "mp4" | "mov" | "avi" | "mkv" | "webm" => "a video",
        "zip" | "gz" | "tar" | "7z" | "rar" => "an archive",
        "exe" | "dll" | "so" | "bin" | "class" | "wasm" => "a program",
        "doc" | "xls" | "ppt" => "not an Office file, whatever its name says",
        _ => return None,
    })
}

/// Where `head` may be cut without breaking a letter of UTF-8 or UTF-16.
fn whole_letters(head: &[u8]) -> usize {
    let even = head.len() & !1;
    match std::str::from_utf8(head) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) if head.contains(&0) => even,
        Ok(_) | Err(_) => head.len(),
    }
}

fn looks_like_html(head: &[u8]) -> bool {
    let start = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let start = String::from_utf8_lossy(&start[..start.len().min(1024)]).to_ascii_lowercase();
    let mut rest = start.trim_start();
    // Comments and an XML declaration may stand before the page.
    loop {
        rest = match rest {
            _ if rest.starts_with("<!--") => match rest.split_once("-->") {
                Some((_, rest)) => rest.trim_start(),
                None => return false,
            },
            _ if rest.starts_with("<?xml") => match rest.split_once("?>") {
                Some((_, rest)) => rest.trim_start(),
                None => return false,
            },
            _ => break,
        };
    }
    [
        "<!doctype html",
        "<html",
        "<head>",
        "<head ",
        "<body>",
        "<body ",
    ]
    .iter()
    .any(|tag| rest.starts_with(tag))
}

/// A head of header lines with at least two that only mails have.
fn looks_like_mail(head: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&head[..head.len().min(8 << 10)]);
    let mut seen = 0;
    for line in start.lines().take(60) {
        if line.is_empty() {
            break;
        }
        if line.starts_with([' ', '\t']) {
            continue;
        }
        let Some((name, _)) = line.split_once(':') else {
            return false;
        };
        let name = name.to_ascii_lowercase();
        if matches!(
            name.as_str(),
            "received"
                | "message-id"
                | "mime-version"
                | "return-path"
                | "delivered-to"
                | "dkim-signature"
        ) {
            seen += 1;
        }
    }
    seen >= 2
}
