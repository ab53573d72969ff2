//! What an operation declares about itself, besides its arguments and its answer.

use std::time::Duration;

use model::{Role, Scope};

/// What an operation does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// Adds or changes.
    Write,
    /// Takes something away, even where it can be brought back.
    Destroy,
}

/// A surface that serves operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Door {
    /// REST under `/api/v1`.
    Rest,
    /// One MCP address per base.
    Base,
    /// The command line, in the process that owns the data folder or through its socket.
    Local,
}

impl Door {
    /// Every door.
    pub const ALL: [Door; 3] = [Door::Rest, Door::Base, Door::Local];

    /// Its name in the activity log and in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Door::Rest => "rest",
            Door::Base => "mcp_base",
            Door::Local => "local",
        }
    }
}

/// Method of a REST route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads.
    Get,
    /// Adds.
    Post,
    /// Sets.
    Put,
    /// Changes a part.
    Patch,
    /// Takes away.
    Delete,
}

impl Method {
    /// As written in HTTP.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

/// A verb of the command line: `quipu base create NAME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cli {
    /// Words of the verb, one or two.
    pub verb: &'static str,
    /// Arguments that are given by place instead of by flag.
    pub positional: &'static [&'static str],
}

/// What an operation declares about itself.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Its name: the tool's, the operation id of the API document, the word in the activity log.
    pub name: &'static str,
    /// A short title for people.
    pub title: &'static str,
    /// What it does to the world.
    pub effect: Effect,
    /// REST route below `/api/v1`, with `{words}`: the target's id or arguments.
    pub route: Option<(Method, &'static str)>,
    /// MCP doors that list it as a tool.
    pub tool_doors: &'static [Door],
    /// Whether MCP answers carry structure beside the text.
    pub structured: bool,
    /// Whether "not there" is an answer over MCP instead of a fault.
    pub absence_is_an_answer: bool,
    /// Scope that the credential needs.
    pub scope: Scope,
    /// Role that the credential's owner needs in the base.
    pub least_role: Role,
    /// Whether only a system admin may do it.
    pub system_admin: bool,
    /// Whether an `Idempotency-Key` is taken.
    pub idempotent_by_key: bool,
    /// Whether the request's body is a file.
    pub upload: bool,
    /// Media types of an answer that comes part by part, the usual one first; none for one that
    /// comes at once.
    pub flows: &'static [&'static str],
    /// How long it may take.
    pub deadline: Duration,
    /// Verb of the command line.
    pub cli: Option<Cli>,
}

impl Spec {
    const fn new(name: &'static str, title: &'static str, effect: Effect, scope: Scope) -> Self {
        let least_role = match effect {
            Effect::Read => Role::Viewer,
            Effect::Write | Effect::Destroy => Role::Editor,
        };
        Self {
            name,
            title,
            effect,
            route: None,
            tool_doors: &[],
            structured: false,
            absence_is_an_answer: false,
            scope,
            least_role,
            system_admin: false,
            idempotent_by_key: false,
            upload: false,
            flows: &[],
            deadline: Duration::from_secs(30),
            cli: None,
        }
    }

    /// An operation that changes nothing: scope `read`, role viewer.
    pub const fn read(name: &'static str, title: &'static str) -> Self {
        Self::new(name, title, Effect::Read, Scope::Read)
    }

    /// An operation that adds or changes: scope `write`, role editor.
    pub const fn write(name: &'static str, title: &'static str) -> Self {
        Self::new(name, title, Effect::Write, Scope::Write)
    }

    /// An operation that takes something away: scope `write`, role editor.
    pub const fn destroy(name: &'static str, title: &'static str) -> Self {
        Self::new(name, title, Effect::Destroy, Scope::Write)
    }

    /// Serves it over REST.
    #[must_use]
    pub const fn route(self, method: Method, path: &'static str) -> Self {
        Self {
            route: Some((method, path)),
            ..self
        }
    }

    /// Lists it as a tool of these MCP doors.
    #[must_use]
    pub const fn tool(self, doors: &'static [Door]) -> Self {
        Self {
            tool_doors: doors,
            ..self
        }
    }

    /// Gives structure beside the text over MCP.
    #[must_use]
    pub const fn structured(self) -> Self {
        Self {
            structured: true,
            ..self
        }
    }

    /// Tells over MCP that something is not there as an answer, not as a fault: models go on.
    #[must_use]
    pub const fn absence_is_an_answer(self) -> Self {
        Self {
            absence_is_an_answer: true,
            ..self
        }
    }

    /// Asks for another role in the base than its effect implies.
    #[must_use]
    pub const fn least(self, role: Role) -> Self {
        Self {
            least_role: role,
            ..self
        }
    }

    /// Leaves it to system admins.
    #[must_use]
    pub const fn system_admin(self) -> Self {
        Self {
            system_admin: true,
            ..self
        }
    }

    /// Takes an `Idempotency-Key`.
    #[must_use]
    pub const fn idempotency_key(self) -> Self {
        Self {
            idempotent_by_key: true,
            ..self
        }
    }

    /// Takes a file as the body.
    #[must_use]
    pub const fn upload(self) -> Self {
        Self {
            upload: true,
            deadline: Duration::from_mins(10),
            ..self
        }
    }

    /// Answers part by part, in one of these media types, the first of them unless the answer says
    /// otherwise. Its deadline is over the beginning only.
    #[must_use]
    pub const fn flows(self, media_types: &'static [&'static str]) -> Self {
        Self {
            flows: media_types,
            ..self
        }
    }

    /// May take this long.
    #[must_use]
    pub const fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Is a verb of the command line.
    #[must_use]
    pub const fn cli(self, verb: &'static str, positional: &'static [&'static str]) -> Self {
        Self {
            cli: Some(Cli { verb, positional }),
            ..self
        }
    }
}
