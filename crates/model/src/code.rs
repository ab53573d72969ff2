//! What can go wrong for a caller: one table, read by every door.

use std::error::Error as StdError;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// Result of everything a caller can ask for.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $http:literal $rpc:literal $retry:literal $exit:literal;)*) => {
        /// Why an operation refused or failed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $variant,)*
        }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            /// Its name on the wire.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name),* }
            }

            /// HTTP status.
            pub const fn http(self) -> u16 {
                match self { $(Code::$variant => $http),* }
            }

            /// JSON-RPC error number.
            pub const fn rpc(self) -> i32 {
                match self { $(Code::$variant => $rpc),* }
            }

            /// Whether the same call may succeed later.
            pub const fn retryable(self) -> bool {
                match self { $(Code::$variant => $retry),* }
            }

            /// Exit code of the command line.
            pub const fn exit(self) -> u8 {
                match self { $(Code::$variant => $exit),* }
            }
        }
    };
}

codes! {
    //  code              name                       http rpc    retry  exit
    /// An argument is missing, unknown or out of bounds.
    InvalidArgument       "invalid_argument"         400 -32602  false  2;
    /// No credential, or one that is unknown, expired or revoked.
    Unauthenticated       "unauthenticated"          401 -32001  false  3;
    /// The credential's scope does not cover the operation.
    InsufficientScope     "insufficient_scope"       403 -32003  false  3;
    /// The owner's role in the base does not cover the operation.
    Forbidden             "forbidden"                403 -32003  false  3;
    /// It does not exist, or the caller may not know that it does.
    NotFound              "not_found"                404 -32004  false  4;
    /// The body did not arrive, or too slowly.
    TooSlow               "request_timeout"          408 -32005  true   75;
    /// The thing is in a state that rules the operation out.
    Conflict              "conflict"                 409 -32009  false  5;
    /// The same idempotency key is still being worked on.
    StillRunning          "idempotency_in_progress"  409 -32009  true   5;
    /// More bytes than the door takes.
    TooLarge              "too_large"                413 -32602  false  2;
    /// A content type that the door does not take.
    UnsupportedMedia      "unsupported_media_type"   415 -32602  false  2;
    /// The idempotency key was used with other arguments.
    KeyReused             "idempotency_key_reused"   422 -32602  false  2;
    /// The content cannot be read as what it says it is.
    Unreadable            "unreadable"               422 -32602  false  2;
    /// The plan's budget is spent; `retry_after` says for how long.
    RateLimited           "rate_limited"             429 -32006  true   7;
    /// A fault of the server; the details are in its log under the request id.
    Internal              "internal"                 500 -32603  false  70;
    /// Too busy, not caught up yet, or shutting down.
    Unavailable           "unavailable"              503 -32006  true   75;
    /// The disk is full or refuses writes; reads still work.
    StorageFull           "storage_full"             507 -32006  true   74;
    /// It took longer than the operation may.
    DeadlineExceeded      "deadline_exceeded"        504 -32005  true   75;
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.name())
    }
}

/// A refusal or failure: a code for programs, a sentence for people.
///
/// The sentence names the argument, shows the value and says what would be right. Secrets and
/// stored text never stand in it. `source` is for the log only.
#[derive(Debug)]
pub struct Error {
    /// What kind of refusal it is.
    pub code: Code,
    /// The sentence for the caller.
    pub message: String,
    /// More for programs: the argument's name, the nearest known one, a limit. Null if none.
    pub details: Value,
    /// Seconds after which the call may be tried again.
    pub retry_after: Option<u32>,
    /// The cause, for the log.
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// A refusal with a code and its sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: Value::Null,
            retry_after: None,
            source: None,
        }
    }

    /// An argument is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// Not there, or not for this caller to know.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    /// A fault of ours; the caller learns only that.
    pub fn internal(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let message = "the server failed to do this; its log has the cause under this request id";
        Self {
            source: Some(source.into()),
            ..Self::new(Code::Internal, message)
        }
    }

    /// Adds details for programs.
    #[must_use]
    pub fn details(self, details: Value) -> Self {
        Self { details, ..self }
    }

    /// Adds the cause, for the log.
    #[must_use]
    pub fn caused_by(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            source: Some(source.into()),
            ..self
        }
    }

    /// Says when to try again.
    #[must_use]
    pub fn retry_after(self, seconds: u32) -> Self {
        Self {
            retry_after: Some(seconds),
            ..self
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
