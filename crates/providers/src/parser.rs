//! Parsers in a cage: files from strangers are read by a child process with few rights.
//!
//! A parser may loop, crash or ask for all memory; then its process ends and the server goes on.
//! [`ParserPool`] stands in the server, [`serve_parser`] in the child. They speak in frames over
//! the child's standard input and output (see `parser/frame.rs`).

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use model::document::ParsedDocument;
use model::ontology::declared::Declarations;
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

mod child;
mod frame;

pub use child::{ParserLimits, serve_parser};
pub use frame::Read;
use frame::{Header, Reply};

/// The format by which a file is read for the links in it: its sections are the links, the address
/// in the body and the date, if one is given, as the heading; its title says what kind of list it is.
pub const LINKS: &str = "links";

/// The format by which a file is read for the words it declares; what its relative IRIs are
/// relative to may stand behind it, after a space.
const ONTOLOGY: &str = "ontology";

/// What the relative IRIs of a file are relative to, if it is to be read for the words it
/// declares.
pub fn ontology_base(format: &str) -> Option<Option<&str>> {
    let base = format.strip_prefix(ONTOLOGY)?;
    match base.strip_prefix(' ') {
        None => base.is_empty().then_some(None),
        base => Some(base),
    }
}

/// How a pool runs its processes.
#[derive(Debug, Clone)]
pub struct ParserOptions {
    /// The program; its `main` ends in [`serve_parser`] when called with `args`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Processes at most; further files wait.
    pub processes: NonZeroUsize,
    /// Bytes of a file at most. The child holds the whole file within its memory limit.
    pub input_bytes: u64,
    /// Bytes of an answer at most.
    pub output_bytes: u32,
    /// For one file, from its first byte sent to the last byte answered.
    pub time: Duration,
    /// After so long without a file a process is stopped.
    pub idle: Duration,
    /// Files after which a process is replaced, so that leaks do not add up.
    pub files_per_process: u32,
}

impl ParserOptions {
    /// Two processes, 30 s, 128 MiB in and 64 MiB out.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().collect(),
            processes: NonZeroUsize::new(2).expect("two is not zero"),
            input_bytes: 128 * 1024 * 1024,
            output_bytes: 64 * 1024 * 1024,
            time: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            files_per_process: 200,
        }
    }
}

/// A file to be parsed.
#[derive(Debug, Clone)]
pub enum Content {
    /// Its bytes.
    Bytes(Bytes),
    /// Where it lies. It is opened by the server; the child sees bytes only.
    File(PathBuf),
}

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Self {
        Content::Bytes(bytes)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Content::Bytes(bytes.into())
    }
}

impl From<&Path> for Content {
    fn from(file: &Path) -> Self {
        Content::File(file.to_owned())
    }
}

/// Why a file was not parsed. All but the last two are about the file: trying again is no use.
#[derive(Debug, thiserror::Error)]
pub enum ParseFailure {
    /// The parser cannot read it; its sentence for the user.
    #[error("{0}")]
    Refused(String),
    /// More bytes than a parser takes.
    #[error("the file has {bytes} bytes; a parser takes at most {most}")]
    TooLarge {
        /// The file's size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// It was given up.
    #[error("reading the file took longer than {} s", limit.as_secs())]
    TooLong {
        /// The limit.
        limit: Duration,
    },
    /// It ran out of memory.
    #[error("reading the file takes more memory than a parser may use")]
    TooMuchMemory,
    /// Its text is longer than an answer may be.
    #[error("the file's text is longer than {most} bytes")]
    TooMuchOutput {
        /// The limit.
        most: u32,
    },
    /// The parser failed; files that are damaged on purpose do that.
    #[error("the parser failed on this file; it may be damaged")]
    Crashed,
    /// The server could not read the file to send it.
    #[error("the file could not be read")]
    NotRead(#[source] io::Error),
    /// No process could be started.
    #[error("the parser's process could not be started")]
    NotStarted(#[source] io::Error),
}

/// Processes that parse, started when needed and replaced when they fail. Clones share them.
///
/// They end with the pool: a child is killed when it is dropped, and ends by itself when its
/// standard input closes, so even a server that is killed leaves none behind.
#[derive(Debug, Clone)]
pub struct ParserPool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: ParserOptions,
    permits: Semaphore,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    /// The one used last at the end, so that the others may rest.
    workers: Vec<(u64, Worker)>,
    /// Counts the times that a worker came to rest.
    tickets: u64,
}

impl ParserPool {
    /// A pool without a process yet.
    pub fn new(options: ParserOptions) -> ParserPool {
        let permits = Semaphore::new(options.processes.get());
        ParserPool {
            shared: Arc::new(Shared {
                options,
                permits,
                idle: Mutex::default(),
            }),
        }
    }

    /// What a parser makes of a file of the given format.
    ///
    /// Waits for a free process first; dropping the future kills the process it uses.
    pub async fn parse(
        &self,
        format: &str,
        filename: &str,
        content: impl Into<Content>,
    ) -> Result<ParsedDocument, ParseFailure> {
        match self.read(format, filename, content.into()).await? {
            Read::Document(document) => Ok(document),
            Read::Ontology(_) => Err(ParseFailure::Crashed),
        }
    }

    /// The words that an ontology file declares. `base` is what its relative IRIs are relative to,
    /// where the file does not say so itself.
    ///
    /// Waits for a free process first; dropping the future kills the process it uses.
    pub async fn read_ontology(
        &self,
        filename: &str,
        base: Option<&str>,
        content: impl Into<Content>,
    ) -> Result<Declarations, ParseFailure> {
        let format = match base {
            Some(base) => format!("{ONTOLOGY} {base}"),
            None => ONTOLOGY.to_owned(),
        };
        match self.read(&format, filename, content.into()).await? {
            Read::Ontology(declared) => Ok(declared),
            Read::Document(_) => Err(ParseFailure::Crashed),
        }
    }

    async fn read(
        &self,
        format: &str,
        filename: &str,
        content: Content,
    ) -> Result<Read, ParseFailure> {
        let options = &self.shared.options;
        let (bytes, source) = open(content).await.map_err(ParseFailure::NotRead)?;
        if options.input_bytes < bytes {
            return Err(ParseFailure::TooLarge {
                bytes,
                most: options.input_bytes,
            });
        }
        let header = Header {
            format: format.into(),
            filename: filename.into(),
            bytes,
        };

        let permit = self.shared.permits.acquire().await;
        let _permit = permit.expect("the semaphore is never closed");
        let mut worker = self.shared.worker().map_err(ParseFailure::NotStarted)?;
        let answer = tokio::time::timeout(
            options.time,
            worker.ask(&header, source, options.output_bytes),
        );
        let fault = match answer.await {
            Ok(Ok(Reply::Parsed(read))) => {
                self.shared.rest(worker);
                return Ok(read);
            }
            Ok(Ok(Reply::Refused(sentence))) => {
                self.shared.rest(worker);
                return Err(ParseFailure::Refused(sentence));
            }
            Ok(Ok(Reply::Panicked) | Err(Fault::Garbled)) => ParseFailure::Crashed,
            Ok(Err(Fault::Source(error))) => ParseFailure::NotRead(error),
            Ok(Err(Fault::Output)) => ParseFailure::TooMuchOutput {
                most: options.output_bytes,
            },
            Ok(Err(Fault::Pipe)) => worker.end(options).await,
            Err(_) => ParseFailure::TooLong {
                limit: options.time,
            },
        };
        worker.kill().await;
        tracing::warn!(format, bytes, %fault, "a parser process was replaced");
        Err(fault)
    }

    /// Processes that wait for a file.
    pub fn idle(&self) -> usize {
        self.shared.resting().workers.len()
    }
}

impl Shared {
    fn resting(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process that lives: one that rests, or a new one.
    fn worker(&self) -> io::Result<Worker> {
        loop {
            let rested = self.resting().workers.pop();
            match rested {
                // It may have been killed from outside while it rested; no file is to blame.
                Some((_, mut worker)) => {
                    if worker.lives() {
                        return Ok(worker);
                    }
                }
                None => return Worker::start(&self.options),
            }
        }
    }

    /// Keeps a process for the next file, and stops it if none comes.
    fn rest(self: &Arc<Self>, mut worker: Worker) {
        worker.files += 1;
        if self.options.files_per_process <= worker.files {
            return;
        }
        let ticket = {
            let mut idle = self.resting();
            idle.tickets += 1;
            let ticket = idle.tickets;
            idle.workers.push((ticket, worker));
            ticket
        };
        let (shared, patience) = (Arc::downgrade(self), self.options.idle);
        tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            if let Some(shared) = shared.upgrade() {
                shared
                    .resting()
                    .workers
                    .retain(|(waiting, _)| *waiting != ticket);
            }
        });
    }
}

type Source = Box<dyn AsyncRead + Send + Unpin>;

async fn open(content: Content) -> io::Result<(u64, Source)> {
    match content {
        Content::Bytes(bytes) => Ok((bytes.len() as u64, Box::new(io::Cursor::new(bytes)))),
        Content::File(path) => {
            let file = tokio::fs::File::open(path).await?;
            let bytes = file.metadata().await?.len();
            Ok((bytes, Box::new(file)))
        }
    }
}

/// What ends an exchange before its answer.
enum Fault {
    /// The file to send could not be read to its end.
    Source(io::Error),
    /// The child closed its end: it is gone, or going.
    Pipe,
    /// The answer is too long.
    Output,
    /// The answer is no answer.
    Garbled,
}

#[derive(Debug)]
struct Worker {
    child: Child,
    requests: ChildStdin,
    replies: ChildStdout,
    last_words: JoinHandle<Vec<u8>>,
    files: u32,
}

impl Worker {
    fn start(options: &ParserOptions) -> io::Result<Worker> {
        let mut child = Command::new(&options.program)
            .args(&options.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let requests = child.stdin.take().expect("standard input is piped");
        let replies = child.stdout.take().expect("standard output is piped");
        let errors = child.stderr.take().expect("standard error is piped");
        let last_words = tokio::spawn(last_words(errors));
        Ok(Worker {
            child,
            requests,
            replies,
            last_words,
            files: 0,
        })
    }

    fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    async fn ask(&mut self, header: &Header, source: Source, most: u32) -> Result<Reply, Fault> {
        let head = frame::head(header);
        self.requests
            .write_all(&head)
            .await
            .map_err(|_| Fault::Pipe)?;
        self.send(header.bytes, source).await?;

        let bytes = self.replies.read_u32().await.map_err(|_| Fault::Pipe)?;
        if most < bytes {
            return Err(Fault::Output);
        }
        let mut reply = vec![0; bytes as usize];
        self.replies
            .read_exact(&mut reply)
            .await
            .map_err(|_| Fault::Pipe)?;
        serde_json::from_slice(&reply).map_err(|_| Fault::Garbled)
    }

    /// Sends `bytes` bytes, no more and no fewer, in pieces.
    async fn send(&mut self, bytes: u64, mut source: Source) -> Result<(), Fault> {
        let mut left = bytes;
        let mut piece = vec![0; 64 * 1024];
        while 0 < left {
            let room = left.min(piece.len() as u64) as usize;
            let read = source
                .read(&mut piece[..room])
                .await
                .map_err(Fault::Source)?;
            if read == 0 {
                return Err(Fault::Source(io::ErrorKind::UnexpectedEof.into()));
            }
            self.requests
                .write_all(&piece[..read])
                .await
                .map_err(|_| Fault::Pipe)?;
            left -= read as u64;
        }
        self.requests.flush().await.map_err(|_| Fault::Pipe)
    }

    /// Why a process that closed its pipes has ended.
    async fn end(&mut self, options: &ParserOptions) -> ParseFailure {
        /// For the kernel to finish a process that has closed its pipes.
        const GRACE: Duration = Duration::from_secs(5);
        let status = tokio::time::timeout(GRACE, self.child.wait()).await;
        let words = tokio::time::timeout(GRACE, &mut self.last_words).await;
        let Ok(Ok(status)) = status else {
            return ParseFailure::Crashed;
        };
        let words = words.ok().and_then(Result::ok).unwrap_or_default();
        cause(status, &words, options.time)
    }

    async fn kill(mut self) {
        if let Err(error) = self.child.kill().await {
            tracing::warn!(%error, "a parser process could not be killed");
        }
    }
}

fn cause(status: ExitStatus, last_words: &[u8], limit: Duration) -> ParseFailure {
    // What Rust's allocator says before it aborts.
    const NO_MEMORY: &[u8] = b"memory allocation of ";
    match status.signal().and_then(Signal::from_named_raw) {
        Some(Signal::XCPU) => ParseFailure::TooLong { limit },
        // Not by us: the kernel was out of memory.
        Some(Signal::KILL) => ParseFailure::TooMuchMemory,
        Some(Signal::ABORT)
            if last_words
                .windows(NO_MEMORY.len())
                .any(|words| words == NO_MEMORY) =>
        {
            ParseFailure::TooMuchMemory
        }
        _ => ParseFailure::Crashed,
    }
}

/// The end of what a process writes to standard error. Read on and on, so that it never blocks;
/// never logged, as it may hold a document's text.
async fn last_words(mut errors: impl AsyncRead + Unpin) -> Vec<u8> {
    const KEPT: usize = 4096;
    let mut words = Vec::new();
    let mut piece = [0; 1024];
    while let Ok(read @ 1..) = errors.read(&mut piece).await {
        words.extend_from_slice(&piece[..read]);
        words.drain(..words.len().saturating_sub(KEPT));
    }
    words
}
