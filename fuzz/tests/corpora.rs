//! Each target: its corpus, then a bounded number of mutations of it.
//!
//! `QUIPU_FUZZ_SECONDS=60 cargo test -p fuzz` mutates each for a minute.

use std::path::Path;
use std::time::Duration;

use fuzz::{TARGETS, mutate, target};

#[expect(
    clippy::disallowed_methods,
    reason = "a test that may be told to go on for longer"
)]
fn time() -> Option<Duration> {
    let seconds = std::env::var("QUIPU_FUZZ_SECONDS").ok()?;
    let seconds = seconds.parse().expect("QUIPU_FUZZ_SECONDS is a number");
    Some(Duration::from_secs(seconds))
}

/// Panics print nothing while a target is watched, so what broke is returned.
fn hold(name: &str) -> Result<(), String> {
    let target = target(name).expect("the test names a target");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    std::fs::create_dir_all(&folder).expect("the build's folder can be written");
    mutate::replay(target)?;
    let cases = mutate::explore(target, &folder, time())?;
    println!("{name}: {cases} cases");
    Ok(())
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test] fn $name() -> Result<(), String> { hold(stringify!($name)) })*

        #[test]
        fn every_target_has_its_test() {
            let tested = [$(stringify!($name)),*];
            assert!(TARGETS.iter().map(|target| target.name).eq(tested));
        }
    };
}

targets! {
    md txt html docx pdf csv xlsx pptx odt ods odp
    eml epub rtf detect analyser passages query arguments wire lines owl
}
