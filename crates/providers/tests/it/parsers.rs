//! Parsers that fail in every way, in processes of their own.

use std::io::Write;
use std::num::NonZeroUsize;
use std::time::Duration;

use providers::{Content, ParseFailure, ParserOptions, ParserPool};

/// One process, so that the next file shows what the last one left behind.
fn options() -> ParserOptions {
    ParserOptions {
        processes: NonZeroUsize::MIN,
        output_bytes: 1 << 20,
        ..ParserOptions::new(env!("CARGO_BIN_EXE_parser_child"), [])
    }
}

async fn body(pool: &ParserPool, format: &str, file: &str) -> String {
    let parsed = pool
        .parse(format, "a.txt", file.as_bytes().to_vec())
        .await
        .unwrap();
    assert_eq!(parsed.title.as_deref(), Some("a.txt"));
    parsed.sections[0].body.clone()
}

async fn failure(pool: &ParserPool, format: &str) -> ParseFailure {
    pool.parse(format, "a.txt", b"file".to_vec())
        .await
        .unwrap_err()
}

#[tokio::test]
async fn a_process_is_started_by_the_first_file_and_kept_for_the_next() {
    let pool = ParserPool::new(options());
    assert_eq!(pool.idle(), 0);

    assert_eq!(body(&pool, "echo", "knots").await, "knots");
    assert_eq!(body(&pool, "echo", "").await, "");

    assert_eq!(pool.idle(), 1);
    assert_eq!(
        body(&pool, "process", "").await,
        body(&pool, "process", "").await
    );
}

#[tokio::test]
async fn a_refusal_is_the_parsers_sentence_and_keeps_the_process() {
    let pool = ParserPool::new(options());

    let process = body(&pool, "process", "").await;
    assert_eq!(
        failure(&pool, "refuse").await.to_string(),
        "a.txt is encrypted"
    );

    assert_eq!(body(&pool, "process", "").await, process);
}

#[tokio::test]
async fn a_parser_that_breaks_down_is_replaced_and_the_next_file_is_read() {
    let pool = ParserPool::new(options());

    for format in ["panic", "exit", "abort", "overflow"] {
        let failed = failure(&pool, format).await;

        assert!(
            matches!(failed, ParseFailure::Crashed),
            "{format}: {failed:?}"
        );
        assert!(!failed.to_string().contains("secret"));
        assert_eq!(body(&pool, "echo", format).await, format);
    }
}

#[tokio::test]
async fn what_a_parser_prints_does_not_disturb_its_answer() {
    let pool = ParserPool::new(options());

    assert_eq!(body(&pool, "chatter", "").await, "read");
    assert_eq!(body(&pool, "chatter", "").await, "read");
}

#[tokio::test]
async fn a_parser_that_asks_for_too_much_memory_is_stopped_by_its_limit() {
    let pool = ParserPool::new(options());

    assert!(matches!(
        failure(&pool, "hoard").await,
        ParseFailure::TooMuchMemory
    ));
    assert_eq!(body(&pool, "echo", "after").await, "after");
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_not_taken() {
    let pool = ParserPool::new(options());

    assert!(matches!(
        failure(&pool, "babble").await,
        ParseFailure::TooMuchOutput { .. }
    ));
    assert_eq!(body(&pool, "echo", "after").await, "after");
}

#[tokio::test]
async fn a_parser_that_waits_forever_is_killed_when_its_time_is_over() {
    let pool = ParserPool::new(ParserOptions {
        time: Duration::from_millis(300),
        ..options()
    });

    assert!(matches!(
        failure(&pool, "wait").await,
        ParseFailure::TooLong { .. }
    ));
}

#[tokio::test]
async fn a_parser_that_spins_is_ended_by_its_own_processor_limit() {
    let pool = ParserPool::new(options());

    assert!(matches!(
        failure(&pool, "spin").await,
        ParseFailure::TooLong { .. }
    ));
    assert_eq!(body(&pool, "echo", "after").await, "after");
}

#[tokio::test]
async fn a_process_inherits_no_environment_and_opens_no_file() {
    let pool = ParserPool::new(options());

    assert_eq!(body(&pool, "environment", "").await, "0");
    assert_eq!(
        failure(&pool, "open").await.to_string(),
        "no file can be opened"
    );
}

#[tokio::test]
async fn a_large_file_streams_through_the_pipe_and_a_larger_one_is_refused() {
    let pool = ParserPool::new(ParserOptions {
        input_bytes: 8 << 20,
        ..options()
    });
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![b'x'; 8 << 20]).unwrap();

    let parsed = pool.parse("length", "big", file.path()).await.unwrap();
    assert_eq!(parsed.sections[0].body, (8 << 20).to_string());

    file.write_all(b"x").unwrap();
    let refused = pool.parse("length", "big", file.path()).await.unwrap_err();
    assert!(matches!(
        refused,
        ParseFailure::TooLarge {
            bytes: 8_388_609,
            most: 8_388_608
        }
    ));
}

#[tokio::test]
async fn a_missing_file_is_not_the_parsers_fault() {
    let pool = ParserPool::new(options());

    let missing = pool
        .parse("echo", "a", Content::File("/nowhere/at/all".into()))
        .await;

    assert!(matches!(missing, Err(ParseFailure::NotRead(_))));
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_said_to_be_so() {
    let pool = ParserPool::new(ParserOptions::new("/nowhere/at/all", []));

    assert!(matches!(
        failure(&pool, "echo").await,
        ParseFailure::NotStarted(_)
    ));
}

#[tokio::test]
async fn files_beyond_the_processes_wait_and_are_all_read() {
    let pool = ParserPool::new(ParserOptions {
        processes: NonZeroUsize::new(2).unwrap(),
        ..options()
    });
    let files = (0..12).map(|number| {
        let pool = pool.clone();
        tokio::spawn(async move { body(&pool, "echo", &number.to_string()).await })
    });

    for (number, file) in files.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(file.await.unwrap(), number.to_string());
    }
    assert!(pool.idle() <= 2);
}

#[tokio::test]
async fn a_process_is_replaced_after_its_share_of_files() {
    let pool = ParserPool::new(ParserOptions {
        files_per_process: 2,
        ..options()
    });

    let first = body(&pool, "process", "").await;
    assert_eq!(body(&pool, "process", "").await, first);

    assert_ne!(body(&pool, "process", "").await, first);
}

#[tokio::test]
async fn an_idle_process_is_stopped_after_a_while() {
    let pool = ParserPool::new(options());
    body(&pool, "echo", "file").await;
    assert_eq!(pool.idle(), 1);

    tokio::task::yield_now().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::task::yield_now().await;

    assert_eq!(pool.idle(), 0);
}

#[tokio::test]
async fn a_process_killed_from_outside_while_idle_is_replaced_in_silence() {
    let pool = ParserPool::new(options());
    let process = body(&pool, "process", "").await;

    let id = rustix::process::Pid::from_raw(process.parse().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    while std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|state| !state.contains(") Z "))
    {
        tokio::task::yield_now().await;
    }

    assert_eq!(body(&pool, "echo", "next").await, "next");
}
