//! The log and the metrics.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use kernel::Core;
use kernel::job::describe;
use knowledge::models::BaseReport;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::sync::watch;
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer, format};
use tracing_subscriber::registry::LookupSpan;

use crate::config::Settings;
use crate::system::share;

/// Libraries that are never asked for more than warnings.
const QUIET: &[&str] = &[
    "tokio_postgres",
    "deadpool_postgres",
    "rusqlite",
    "tantivy",
    "hyper",
    "hyper_util",
    "reqwest",
    "rustls",
    "html5ever",
    "lopdf",
    "pdf_extract",
];

/// Starts the log, on standard error.
///
/// Nothing that is logged holds a secret or a text of the store: fields are ids, names of
/// operations, counts and times, and `Authorization` is never read into one.
///
/// # Errors
/// If the filter cannot be read.
pub fn start_log(settings: &Settings) -> Result<(), String> {
    let filter = EnvFilter::try_new(&settings.log_level).map_err(|error| {
        format!(
            "`log_level` must be a level such as `info`, not `{}`: {error}",
            settings.log_level
        )
    })?;
    // Drivers print the parameters of statements, which hold texts, whatever the level.
    let filter = QUIET.iter().fold(filter, |filter, library| {
        let directive = format!("{library}=warn").parse();
        filter.add_directive(directive.expect("the names of crates make directives"))
    });
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    // Alone on its machine a server needs no name.
    let node = (!settings.embedded()).then(|| settings.node.clone());
    let started = if settings.log_json {
        let lines = format().json().flatten_event(true).with_target(false);
        log.json().event_format(Named { node, lines }).try_init()
    } else {
        let lines = format().compact().with_target(false);
        log.with_ansi(std::io::stderr().is_terminal())
            .event_format(Named { node, lines })
            .try_init()
    };
    started.map_err(|error| error.to_string())
}

/// Lines of the log that begin with the name of the server, where it has one.
struct Named<Lines> {
    node: Option<String>,
    lines: Lines,
}

impl<S, N, Lines> FormatEvent<S, N> for Named<Lines>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
    Lines: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        cx: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let Some(node) = &self.node else {
            return self.lines.format_event(cx, out, event);
        };
        let mut line = String::new();
        let inner = Writer::new(&mut line);
        self.lines.format_event(cx, inner, event)?;
        out.write_str(&named(node, &line))
    }
}

/// The line with the name in it: a first member of an object, a first word otherwise.
fn named(node: &str, line: &str) -> String {
    match line.strip_prefix('{') {
        Some(members) => format!("{{\"node\":{},{members}", serde_json::Value::from(node)),
        None => format!("{node} {line}"),
    }
}

/// Starts counting.
///
/// # Errors
/// If something else counts in this process already.
pub fn start_metrics(settings: &Settings) -> Result<PrometheusHandle, String> {
    let seconds = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
    ];
    let builder = PrometheusBuilder::new()
        .set_buckets(&seconds)
        .map_err(|error| error.to_string())?;
    builder
        .add_global_label("node", &settings.node)
        .install_recorder()
        .map_err(|error| error.to_string())
}

/// Serves the counts at `/metrics` on a listener of their own.
///
/// # Errors
/// If the address cannot be had.
pub async fn serve_metrics(
    at: SocketAddr,
    handle: PrometheusHandle,
    end: watch::Receiver<bool>,
) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind(at).await?;
    let upkept = handle.clone();
    let router = Router::new().route(
        "/metrics",
        get(move || {
            let handle = handle.clone();
            async move { handle.render() }
        }),
    );
    tokio::spawn(crate::http::listen::serve_tcp(
        listener,
        router,
        end.clone(),
    ));
    tokio::spawn(upkeep(upkept, end));
    Ok(())
}

/// How often samples are folded into their buckets; they pile up without.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

async fn upkeep(handle: PrometheusHandle, end: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(UPKEEP_EVERY) => handle.run_upkeep(),
            () = crate::http::listen::ended(end.clone()) => return,
        }
    }
}

/// How often the vectors are counted; over a million passages that takes a second.
const COUNT_EVERY: Duration = Duration::from_mins(1);

/// Keeps the gauges of how many passages have a vector of which model.
pub async fn watch_models(core: Arc<Core>, end: watch::Receiver<bool>) {
    loop {
        match knowledge::models::report(&core).await {
            Ok(report) => report.bases.iter().for_each(gauge),
            Err(error) => {
                tracing::warn!(cause = %describe(&error), "the vectors were not counted");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(COUNT_EVERY) => {}
            () = crate::http::listen::ended(end.clone()) => return,
        }
    }
}

fn gauge(base: &BaseReport) {
    let kb = base.kb.to_string();
    metrics::gauge!("quipu_passages", "base" => kb.clone()).set(base.passages as f64);
    for (model, vectors) in &base.vectors {
        let labels = [("base", kb.clone()), ("model", model.clone())];
        metrics::gauge!("quipu_vectors", &labels).set(*vectors as f64);
        metrics::gauge!("quipu_vectors_share", &labels).set(share(*vectors, base.passages));
        let serves = base.serving.as_ref() == Some(model);
        metrics::gauge!("quipu_vectors_serving", &labels).set(f64::from(u8::from(serves)));
    }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_line_of_either_kind_begins_with_the_servers_name() {
        assert_eq!(named("web1", "INFO done\n"), "web1 INFO done\n");
        let json = named("we\"b", "{\"level\":\"INFO\"}\n");
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&read["node"], &read["level"]),
            (&"we\"b".into(), &"INFO".into())
        );
    }
}
