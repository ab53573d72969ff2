//! The hidden verb: a process with few rights that reads documents for the server.

use formats::document::{self, Format, Limits};
use providers::parser::{ParserLimits, serve_parser};

/// Serves documents over standard input and output until its end, within the process's limits.
pub fn read_documents() -> std::process::ExitCode {
    let limits = Limits::default();
    let served = serve_parser(ParserLimits::default(), |_format, filename, bytes| {
        let format = Format::detect(filename, bytes).map_err(|refusal| refusal.to_string())?;
        document::parse(format, filename, bytes, &limits).map_err(|error| error.to_string())
    });
    match served {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(_) => std::process::ExitCode::FAILURE,
    }
}
