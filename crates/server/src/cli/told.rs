//! Answers that come line by line, shown as they come: a bar, what was found, what came of it.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use super::Failure;
use super::house::Arriving;

/// Reads an answer to its end, shows how far it is, and gives the rest to `each`; what stood under
/// `done`.
///
/// # Errors
/// If it broke off before that.
pub async fn read(
    mut arriving: Arriving,
    quiet: bool,
    mut each: impl FnMut(&Value, &ProgressBar),
) -> Result<Value, Failure> {
    let target = if quiet || !std::io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent} % {msg}, {elapsed}") {
        bar.set_style(style);
    }
    let (mut text, mut done) = (Vec::new(), None);
    while let Some(part) = arriving.next().await? {
        text.extend_from_slice(&part);
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            let line: Value = serde_json::from_slice(&line).map_err(|error| {
                Failure::local(format!("a line of the answer is no JSON: {error}"))
            })?;
            if let Some(progress) = line.get("progress") {
                show(&bar, progress);
            } else if let Some(end) = line.get("done") {
                done = Some(end.clone());
            } else {
                each(&line, &bar);
            }
        }
    }
    bar.finish_and_clear();
    done.ok_or_else(|| Failure::local("the answer ended before it was done"))
}

fn show(bar: &ProgressBar, progress: &Value) {
    let number = |name: &str| progress[name].as_u64().unwrap_or_default();
    let word = |name: &str| progress[name].as_str().unwrap_or_default();
    bar.set_length(number("of"));
    bar.set_position(number("done"));
    let message = match word("looking_at") {
        "" => format!("{} of {}", word("step"), word("base")),
        looking_at => looking_at.to_owned(),
    };
    bar.set_message(message);
}
