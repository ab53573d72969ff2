//! The frames between a pool and its processes.
//!
//! Asked: length of the header (4 bytes, big-endian), the header as JSON, the file's bytes.
//! Answered: length of the reply (4 bytes, big-endian), the reply as JSON.

use std::io::{self, Read as _, Write};

use model::document::ParsedDocument;
use model::ontology::declared::Declarations;
use serde::{Deserialize, Serialize};

/// A header is a format, a name and a number.
const HEADER_BYTES: u32 = 64 * 1024;

/// What stands before a file's bytes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Header {
    pub format: String,
    pub filename: String,
    pub bytes: u64,
}

/// What a parser makes of a file.
#[derive(Debug, Serialize, Deserialize)]
pub enum Read {
    /// Its text.
    Document(ParsedDocument),
    /// The words that it declares.
    Ontology(Declarations),
}

impl From<ParsedDocument> for Read {
    fn from(document: ParsedDocument) -> Self {
        Read::Document(document)
    }
}

impl From<Declarations> for Read {
    fn from(declared: Declarations) -> Self {
        Read::Ontology(declared)
    }
}

/// What a child says of a file.
#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    /// It was read.
    Parsed(Read),
    /// It cannot be read; a sentence says why.
    Refused(String),
    /// The parser broke down, and its process should not be trusted with another file.
    Panicked,
}

/// A header with its length.
pub fn head(header: &Header) -> Vec<u8> {
    let json = serde_json::to_vec(header).expect("a header is plain data");
    let mut head = (json.len() as u32).to_be_bytes().to_vec();
    head.extend_from_slice(&json);
    head
}

/// The next request, or none when the other side has closed the pipe.
pub fn read_request(from: &mut impl io::Read) -> io::Result<Option<(Header, Vec<u8>)>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_be_bytes(length);
    if HEADER_BYTES < length {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the header is too long",
        ));
    }
    let mut json = vec![0; length as usize];
    from.read_exact(&mut json)?;
    let header: Header = serde_json::from_slice(&json)?;
    let mut file = Vec::with_capacity(header.bytes as usize);
    from.take(header.bytes).read_to_end(&mut file)?;
    if (file.len() as u64) < header.bytes {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((header, file)))
}

/// Sends a reply at once.
pub fn write_reply(to: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let json = serde_json::to_vec(reply)?;
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    to.write_all(&length.to_be_bytes())?;
    to.write_all(&json)?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(bytes: u64, file: &[u8]) -> Vec<u8> {
        let header = Header {
            format: "text".into(),
            filename: "a.txt".into(),
            bytes,
        };
        [head(&header), file.to_vec()].concat()
    }

    #[test]
    fn requests_are_read_one_after_the_other_until_the_pipe_closes() {
        let sent = [request(3, b"one"), request(0, b"")].concat();
        let mut pipe = sent.as_slice();

        let (header, file) = read_request(&mut pipe).unwrap().unwrap();
        assert_eq!(
            (header.format.as_str(), header.filename.as_str()),
            ("text", "a.txt")
        );
        assert_eq!(file, b"one");
        assert_eq!(read_request(&mut pipe).unwrap().unwrap().1, b"");
        assert!(read_request(&mut pipe).unwrap().is_none());
    }

    #[test]
    fn a_request_that_ends_early_or_has_no_header_is_an_error() {
        assert!(read_request(&mut request(9, b"short").as_slice()).is_err());
        assert!(read_request(&mut [0xff; 64].as_slice()).is_err());
        assert!(read_request(&mut [0, 0, 0, 2, b'{', b'}'].as_slice()).is_err());
    }
}
