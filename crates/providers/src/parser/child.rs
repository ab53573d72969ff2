//! The child's side: limits first, then one file after the other.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::frame::{self, Read, Reply};

/// What a child allows itself.
#[derive(Debug, Clone, Copy)]
pub struct ParserLimits {
    /// Address space, the program's own included.
    pub memory_bytes: u64,
    /// Processor time for one file. Above the pool's time for a file it only serves where the
    /// server has died.
    pub cpu_seconds: u64,
}

impl Default for ParserLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 512 * 1024 * 1024,
            cpu_seconds: 35,
        }
    }
}

/// Reads files from standard input and answers on standard output, until the input closes.
///
/// Call it first thing in `main`, before any thread is started: the process then opens no file,
/// writes none, leaves no core, and has little memory. `parse` gets a format, a filename and the
/// bytes; its sentence of refusal is shown to the user.
///
/// # Errors
/// A limit cannot be set, or the pool broke off in the middle of a file.
pub fn serve_parser<R: Into<Read>>(
    limits: ParserLimits,
    mut parse: impl FnMut(&str, &str, &[u8]) -> Result<R, String>,
) -> io::Result<()> {
    let mut replies = own_output()?;
    confine(limits)?;
    // A panic's message may hold the document's text.
    std::panic::set_hook(Box::new(|_| {}));

    let mut requests = io::stdin().lock();
    while let Some((header, file)) = frame::read_request(&mut requests)? {
        limit_processor(limits.cpu_seconds)?;
        let parsed = catch_unwind(AssertUnwindSafe(|| {
            parse(&header.format, &header.filename, &file)
        }));
        drop(file);
        let reply = match parsed {
            Ok(Ok(read)) => Reply::Parsed(read.into()),
            Ok(Err(sentence)) => Reply::Refused(sentence),
            Err(_) => Reply::Panicked,
        };
        frame::write_reply(&mut replies, &reply)?;
    }
    Ok(())
}

/// The pipe to the pool, out of reach of libraries that print: what goes to standard output from
/// here on goes to standard error.
fn own_output() -> io::Result<File> {
    let replies = rustix::io::dup(io::stdout())?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(File::from(replies))
}

fn confine(limits: ParserLimits) -> io::Result<()> {
    // The three standard streams and the replies are open; a parser needs no other file.
    const FILES: u64 = 4;
    limit(Resource::As, limits.memory_bytes)?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nofile, FILES)?;
    limit_processor(limits.cpu_seconds)?;
    #[cfg(target_os = "linux")]
    rustix::thread::set_no_new_privs(true)?;
    Ok(())
}

/// Sets a limit for good, or keeps the lower one that is already set.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let most = getrlimit(resource)
        .maximum
        .map_or(most, |already| already.min(most));
    Ok(setrlimit(
        resource,
        Rlimit {
            current: Some(most),
            maximum: Some(most),
        },
    )?)
}

/// Allows `seconds` more of the processor: the limit counts from the start of the process, and a
/// process reads many files.
fn limit_processor(seconds: u64) -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec as u64;
    let maximum = getrlimit(Resource::Cpu).maximum;
    let most = used + 1 + seconds;
    let current = Some(maximum.map_or(most, |already| already.min(most)));
    Ok(setrlimit(Resource::Cpu, Rlimit { current, maximum })?)
}
