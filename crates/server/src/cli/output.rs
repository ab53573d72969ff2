//! What the command line prints, and how it ends.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use model::Code;
use serde_json::{Value, json};

/// Why a verb did not do it: the sentence, and the code that programs read.
#[derive(Debug)]
pub struct Failure {
    message: String,
    exit: u8,
    body: Option<Value>,
}

impl Failure {
    /// Wrong arguments or settings.
    pub fn wrong(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            exit: Code::InvalidArgument.exit(),
            body: None,
        }
    }

    /// Something of this machine.
    pub fn local(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            exit: 1,
            body: None,
        }
    }

    /// A failure with an exit code of its own.
    pub fn with_exit(exit: u8, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            exit,
            body: None,
        }
    }

    /// What it says.
    pub fn sentence(self) -> String {
        self.message
    }

    /// A disk without room.
    pub fn full(message: impl Into<String>) -> Self {
        Self::with_exit(Code::StorageFull.exit(), message)
    }

    /// A server's refusal.
    pub fn refused(body: Value) -> Self {
        let named = body["code"].as_str().unwrap_or_default();
        let code = Code::ALL.iter().find(|code| code.name() == named);
        let message = body["error"]
            .as_str()
            .unwrap_or("the server refused without a sentence");
        let here = match code {
            Some(Code::Unauthenticated) => "; here it is given with --token or QUIPU_TOKEN",
            _ => "",
        };
        Self {
            message: format!("{message}{here}"),
            exit: code.map_or(1, |code| code.exit()),
            body: Some(body),
        }
    }

    /// The code of a server's refusal.
    pub fn code(&self) -> Option<&str> {
        self.body.as_ref()?["code"].as_str()
    }

    /// Whether the same may work later: nobody answered, or the answer says so.
    pub fn may_pass(&self) -> bool {
        let Some(named) = self.code() else {
            return self.exit == 1;
        };
        let code = Code::ALL.iter().find(|code| code.name() == named);
        code.is_some_and(|code| code.retryable())
    }

    /// Prints it to standard error and gives the exit code.
    pub fn report(self, as_json: bool) -> ExitCode {
        if as_json {
            let body = self
                .body
                .unwrap_or_else(|| json!({ "error": self.message }));
            let _ = writeln!(std::io::stderr(), "{body}");
        } else {
            let _ = writeln!(std::io::stderr(), "quipu: {}", self.message);
        }
        ExitCode::from(self.exit)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl From<model::Error> for Failure {
    fn from(error: model::Error) -> Self {
        let exit = error.code.exit();
        Self {
            message: kernel::job::describe(&error),
            exit,
            body: None,
        }
    }
}

/// Prints to standard output; a reader that went away is no failure.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
}

/// Prints a line to standard error as it is, for who waits.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints a line to standard error, beside the answer.
pub fn warn(text: &str) {
    let _ = writeln!(std::io::stderr(), "quipu: {text}");
}
