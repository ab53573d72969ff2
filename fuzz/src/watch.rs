//! Panics count also where they are caught: `formats::document::parse` answers a panic of a parser
//! as a broken document, and in our own code that is a fault all the same.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use crate::Target;

thread_local! {
    /// Where and why this thread panicked during a case.
    static PANICS: RefCell<Vec<(String, String)>> = const { RefCell::new(Vec::new()) };
}

/// Runs a case; what broke, if anything did.
///
/// # Errors
/// Where it panicked and with which words.
pub fn run(target: &Target, bytes: &[u8]) -> Result<(), String> {
    take_the_hook();
    PANICS.with_borrow_mut(Vec::clear);
    // What the case leaves half done is dropped with it.
    let _ = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(bytes)));
    let counts = |place: &str| !target.lenient || is_ours(place);
    PANICS.with_borrow(
        |panics| match panics.iter().find(|(place, _)| counts(place)) {
            Some((place, words)) => Err(format!("{place}: {words}")),
            None => Ok(()),
        },
    )
}

/// Whether a source file is of this workspace and not of a library.
fn is_ours(place: &str) -> bool {
    !place.starts_with('/')
}

/// Panics are noted instead of printed. Also where libFuzzer put a hook before that aborts.
pub fn take_the_hook() {
    static TAKEN: Once = Once::new();
    TAKEN.call_once(|| panic::set_hook(Box::new(note)));
}

fn note(panic: &PanicHookInfo<'_>) {
    let place = panic
        .location()
        .map(ToString::to_string)
        .unwrap_or_default();
    let words = panic.payload_as_str().unwrap_or_default().to_owned();
    PANICS.with_borrow_mut(|panics| panics.push((place, words)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(lenient: bool, run: fn(&[u8])) -> Target {
        Target {
            name: "a target",
            run,
            lenient,
        }
    }

    #[test]
    fn a_panic_of_ours_is_found_even_where_it_is_caught() {
        let caught = |_: &[u8]| drop(panic::catch_unwind(|| panic!("broken")));

        for (run, broken) in [
            (caught as fn(&[u8]), true),
            (|_| panic!("broken"), true),
            (|_| {}, false),
        ] {
            let outcome = super::run(&target(true, run), b"");
            assert_eq!(outcome.is_err(), broken, "{outcome:?}");
        }
    }
}
