//! The hidden verb: a process with few rights that reads documents, lists of links and ontologies
//! for the server.

use formats::document::{self, Format, Limits};
use formats::owl;
use providers::parser::{LINKS, ParserLimits, Read, ontology_base, serve_parser};

/// Serves documents over standard input and output until its end, within the process's limits.
pub fn read_documents() -> std::process::ExitCode {
    let limits = Limits::default();
    let read = |format: &str, filename: &str, bytes: &[u8]| -> Result<Read, String> {
        if let Some(base) = ontology_base(format) {
            let declared = owl::read(bytes, base, &owl::Limits::default());
            return declared.map(Read::from).map_err(|error| error.to_string());
        }
        let parsed = if format == LINKS {
            document::links::parse(bytes)
        } else {
            let format = Format::detect(filename, bytes).map_err(|refusal| refusal.to_string())?;
            document::parse(format, filename, bytes, &limits)
        };
        parsed.map(Read::from).map_err(|error| error.to_string())
    };
    let served = serve_parser(ParserLimits::default(), read);
    match served {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(_) => std::process::ExitCode::FAILURE,
    }
}
