//! Messages over standard input and output: one line of JSON each.

use std::mem;

/// Bytes of a line at most, its end not counted.
pub const LINE_BYTES_MAX: usize = 10 * 1024 * 1024;

/// One message as one line, its end included.
///
/// Valid JSON holds line ends only between its tokens, where a space means the same; so a
/// message that was printed over several lines stays one message.
pub fn line(json: &str) -> String {
    let mut line = json.trim().replace(['\n', '\r'], " ");
    line.push('\n');
    line
}

/// A line was longer than 10 MiB; the rest of it is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line is longer than {LINE_BYTES_MAX} bytes; send each message as one shorter line")]
pub struct LineTooLong;

/// Cuts a stream of bytes into lines. Blank lines are passed over.
///
/// Whether a line is a message is for `rpc` to say: a garbage line is one error there, and the
/// next line starts afresh.
#[derive(Debug, Default)]
pub struct Lines {
    held: Vec<u8>,
    /// Start of what no line has been cut from yet.
    start: usize,
    /// From `start` up to here there is no line end; never less than `start`.
    searched: usize,
    /// Inside a line that was too long already.
    skipping: bool,
}

impl Lines {
    /// Takes bytes as they arrive.
    pub fn push(&mut self, bytes: &[u8]) {
        self.drop_cut();
        self.held.extend_from_slice(bytes);
    }

    /// The next whole line without its end, or `None` until more bytes arrive.
    ///
    /// # Errors
    /// Once for each line beyond the limit, as soon as it passes it.
    pub fn next_line(&mut self) -> Option<Result<Vec<u8>, LineTooLong>> {
        loop {
            let unsearched = &self.held[self.searched..];
            let Some(offset) = unsearched.iter().position(|byte| *byte == b'\n') else {
                return self.wait();
            };
            let end = self.searched + offset;
            let line = self.held[self.start..end].trim_ascii().to_vec();
            self.start = end + 1;
            self.searched = self.start;
            match (mem::take(&mut self.skipping), line.len()) {
                (true, _) | (false, 0) => {}
                (false, length) if LINE_BYTES_MAX < length => return Some(Err(LineTooLong)),
                (false, _) => return Some(Ok(line)),
            }
        }
    }

    /// The last line, if the stream ended without a line end.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        let rest = self.held.split_off(self.start);
        let line = rest.trim_ascii();
        (!self.skipping && !line.is_empty()).then(|| line.to_vec())
    }

    fn drop_cut(&mut self) {
        let cut = mem::take(&mut self.start);
        self.held.drain(..cut);
        self.searched -= cut;
    }

    fn wait(&mut self) -> Option<Result<Vec<u8>, LineTooLong>> {
        self.drop_cut();
        self.searched = self.held.len();
        if self.skipping || LINE_BYTES_MAX < self.held.len() {
            self.held.clear();
            self.searched = 0;
            return (!mem::replace(&mut self.skipping, true)).then_some(Err(LineTooLong));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc;

    fn all(lines: &mut Lines) -> Vec<Result<Vec<u8>, LineTooLong>> {
        std::iter::from_fn(|| lines.next_line()).collect()
    }

    #[test]
    fn lines_are_cut_wherever_the_bytes_happen_to_break() {
        let stream = b"{\"a\":1}\r\n\n  \n{\"b\":2}\n{\"c\":3}";
        for size in 1..=stream.len() {
            let (mut lines, mut found) = (Lines::default(), Vec::new());
            for bytes in stream.chunks(size) {
                lines.push(bytes);
                found.extend(all(&mut lines));
            }

            assert_eq!(
                found,
                [Ok(b"{\"a\":1}".to_vec()), Ok(b"{\"b\":2}".to_vec())]
            );
            assert_eq!(lines.finish().as_deref(), Some(&b"{\"c\":3}"[..]));
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_one_error_and_the_next_is_read() {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for _ in 0..11 {
            lines.push(&vec![b'x'; 1024 * 1024]);
            found.extend(all(&mut lines));
        }
        lines.push(b"x\n{}\n");
        found.extend(all(&mut lines));

        assert_eq!(found, [Err(LineTooLong), Ok(b"{}".to_vec())]);
    }

    #[test]
    fn a_line_of_the_longest_length_is_read() {
        let mut lines = Lines::default();
        lines.push(&vec![b'x'; LINE_BYTES_MAX]);
        assert_eq!(lines.next_line(), None);
        lines.push(b"\n");

        assert_eq!(lines.next_line().unwrap().unwrap().len(), LINE_BYTES_MAX);
    }

    #[test]
    fn a_message_printed_over_several_lines_goes_out_as_one() {
        assert_eq!(
            line("{\n  \"a\": \"x\\ny\"\r\n}\n"),
            "{   \"a\": \"x\\ny\"  }\n"
        );
    }

    #[test]
    fn a_garbage_line_and_a_batch_line_are_one_refusal_each() {
        let mut lines = Lines::default();
        lines.push(b"garbage\n[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n");

        let refusals: Vec<_> = all(&mut lines)
            .into_iter()
            .map(|line| {
                let line = line.unwrap();
                rpc::read_text(&line)
                    .and_then(|text| rpc::read_envelope(text).map(|_| ()))
                    .unwrap_err()
                    .code
            })
            .collect();

        assert_eq!(refusals, [rpc::PARSE_ERROR, rpc::INVALID_REQUEST]);
    }
}
