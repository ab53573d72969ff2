//! The hidden verb: a process with few rights that reads documents, and lists of links, for the
//! server.

use formats::document::{self, Format, Limits};
use providers::parser::{LINKS, ParserLimits, serve_parser};

/// Serves documents over standard input and output until its end, within the process's limits.
pub fn read_documents() -> std::process::ExitCode {
    let limits = Limits::default();
    let served = serve_parser(ParserLimits::default(), |format, filename, bytes| {
        if format == LINKS {
            return document::links::parse(bytes).map_err(|error| error.to_string());
        }
        let format = Format::detect(filename, bytes).map_err(|refusal| refusal.to_string())?;
        document::parse(format, filename, bytes, &limits).map_err(|error| error.to_string())
    });
    match served {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(_) => std::process::ExitCode::FAILURE,
    }
}
