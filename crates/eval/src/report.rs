//! The table, for people and as JSON lines.

use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::json;

use crate::Failure;

/// One figure.
pub struct Line {
    pub set: String,
    pub metric: String,
    pub value: f64,
    pub config: String,
}

/// All figures, in the order they were measured.
#[derive(Default)]
pub struct Report {
    lines: Vec<Line>,
}

impl Report {
    pub fn add(&mut self, set: &str, metric: &str, config: &str, value: f64) {
        let (set, metric, config) = (set.to_owned(), metric.to_owned(), config.to_owned());
        self.lines.push(Line {
            set,
            metric,
            value,
            config,
        });
    }

    /// Writes one JSON object a line.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let lines: String = self
            .lines
            .iter()
            .map(|line| {
                let value = (line.value * 10_000.0).round() / 10_000.0;
                json!({
                    "set": line.set,
                    "metric": line.metric,
                    "value": value,
                    "unit": "share",
                    "config": line.config,
                })
                .to_string()
                    + "\n"
            })
            .collect();
        fs::write(path, lines)?;
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{:<28} {:<14} {:<10} value", "set", "metric", "config")?;
        for line in &self.lines {
            writeln!(
                out,
                "{:<28} {:<14} {:<10} {:.4}",
                line.set, line.metric, line.config, line.value
            )?;
        }
        Ok(())
    }
}
