//! Any target, named by `QUIPU_FUZZ_TARGET`: one build serves them all.
#![no_main]

use std::sync::LazyLock;

use fuzz::{Target, watch};
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<&'static Target> = LazyLock::new(|| {
    let name = std::env::var("QUIPU_FUZZ_TARGET").expect("QUIPU_FUZZ_TARGET names the target");
    fuzz::target(&name).unwrap_or_else(|| panic!("no target is called {name}"))
});

fuzz_target!(
    init: {
        let _ = *TARGET;
        watch::take_the_hook();
    },
    |bytes: &[u8]| {
        if let Err(fault) = watch::run(*TARGET, bytes) {
            eprintln!("{}: {fault}", TARGET.name);
            std::process::abort();
        }
    }
);
