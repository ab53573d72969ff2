//! The binary `quipu`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let hidden = std::env::args_os().nth(1);
    if hidden.is_some_and(|word| word == server::app::PARSER_VERB) {
        return server::read_documents();
    }
    server::cli::run(std::env::args_os())
}
