//! `quipu serve`: the server, from its first start to its quiet end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use clap::{Arg, ArgMatches, Command};
use kernel::{Core, Registry};
use providers::embed::NONE;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::{Failure, house};
use crate::app::{self, App, Surroundings};
use crate::config::Settings;
use crate::folder::{self, Owner};
use crate::http::listen;
use crate::{demo, telemetry, warm, worker};

/// How long work in the queue may hold up the end.
const WORK_WITHIN: Duration = Duration::from_secs(20);

/// The verb.
pub fn command() -> Command {
    let flag = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    Command::new("serve")
        .about("Serve documents and tools to people and agents, over REST and MCP")
        .long_about(
            "Serve documents and tools to people and agents, over REST and MCP.\n\n\
             On an empty data folder this makes an organisation and its administrator and prints a \
             link by which to choose a password. SIGTERM or Ctrl-C ends it after the requests in \
             flight; a second one at once.",
        )
        .arg(flag(
            "listen",
            "ADDR",
            "Address and port [env: QUIPU_LISTEN] [default: 127.0.0.1:7341]",
        ))
        .arg(flag(
            "public-url",
            "URL",
            "The address by which others reach it [env: QUIPU_PUBLIC_URL]",
        ))
        .arg(flag(
            "metrics-listen",
            "ADDR",
            "Serve metrics on this address [env: QUIPU_METRICS_LISTEN]",
        ))
        .arg(flag(
            "node",
            "NAME",
            "This server's name in logs and metrics [env: QUIPU_NODE]",
        ))
        .arg(flag(
            "demo",
            "DIR",
            "On the first start, make a base \"Demo\" of the documents in DIR, and a token",
        ))
}

/// Runs the verb until the end is asked for.
pub async fn run(
    registry: Registry,
    settings: Settings,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    telemetry::start_log(&settings).map_err(Failure::wrong)?;
    let owner = Owner::of(&settings.data).map_err(|error| Failure::local(error.to_string()))?;
    let core = app::open_core(&settings, &registry, Surroundings::real()).await?;
    app::begin(&core, &settings).await?;
    let started = accounts::start::start(&core).await?;
    let (end, ended) = watch::channel(false);
    let listener = TcpListener::bind(settings.listen).await.map_err(|error| {
        Failure::local(format!(
            "cannot listen on {}: {error}; another address is given with --listen or QUIPU_LISTEN",
            settings.listen
        ))
    })?;
    let socket = listen::bind_socket(&folder::socket(&settings.data)).map_err(|error| {
        Failure::local(format!(
            "cannot open the socket in the data folder: {error}"
        ))
    })?;
    // Nothing is counted where nobody can ask for the counts.
    if let Some(at) = settings.metrics_listen {
        let metrics = telemetry::start_metrics(&settings).map_err(Failure::local)?;
        telemetry::serve_metrics(at, metrics, ended.clone())
            .await
            .map_err(|error| Failure::local(format!("cannot serve metrics on {at}: {error}")))?;
        tokio::spawn(telemetry::watch_models(Arc::clone(&core), ended.clone()));
    }
    let app = App::new(core, registry, settings);
    let mut tasks = worker::start(&app, app::JOBS, &ended);
    tasks.spawn(warm::follow(Arc::clone(&app), ended.clone()));
    tokio::spawn(probe_blobs(Arc::clone(&app)));
    let router = crate::http::router(&app);
    announce(&app, started.set_up_secret.as_deref()).await;
    let tcp = tokio::spawn(listen::serve_tcp(listener, router.clone(), ended.clone()));
    let local = tokio::spawn(listen::serve_socket(socket, router.clone(), ended));
    if let Some(samples) = matches.get_one::<String>("demo") {
        show_demo(&app, &router, &PathBuf::from(samples)).await?;
    }
    asked_to_end().await;
    app.readiness.draining.store(true, Ordering::Relaxed);
    tracing::info!("finishing what is in flight");
    let _ = end.send(true);
    let _ = tokio::join!(tcp, local);
    let rest = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(WORK_WITHIN, rest).await.is_err() {
        tracing::warn!("work in the queue was cut off; it goes on at the next start");
        tasks.abort_all();
    }
    house::finish(&app).await;
    let _ = std::fs::remove_file(folder::socket(&app.settings.data));
    drop(owner);
    Ok(())
}

/// Says early what is wrong with the store of blobs; calls that need it say so themselves.
async fn probe_blobs(app: Arc<App>) {
    if app.settings.bucket.is_some()
        && let Err(why) = app.core.blobs.probe(&app.core.ids.next().to_string()).await
    {
        tracing::error!("{why}; documents can be neither added nor read until that is mended");
    }
}

async fn announce(app: &App, set_up_secret: Option<&str>) {
    let settings = &app.settings;
    let url = &settings.public_url;
    let search = search_by(&app.core).await;
    println!("Quipu {} serves {url}", env!("CARGO_PKG_VERSION"));
    println!(
        "  data    {} ({})",
        settings.data.display(),
        app.core.db.engine_name()
    );
    if settings.bucket.is_some() {
        println!("  blobs   {}", app.core.blobs.place());
    }
    if !settings.embedded() {
        let work = if settings.worker {
            ""
        } else {
            ", does no work in the queue"
        };
        println!("  node    {}{work}", settings.node);
    }
    println!("  search  {search}");
    if let Some(secret) = set_up_secret {
        println!("  set up  {url}/setup?secret={secret}");
        println!("          (sets the administrator's password; works once, for 15 minutes)");
    }
}

/// What search goes by, in a few words.
async fn search_by(core: &Core) -> String {
    let Ok(name) = knowledge::models::wanted(core).await else {
        return "words".to_owned();
    };
    match core.embedders.by_name(&name).map(|known| known.embedder) {
        Some(Ok(embedder)) => format!("words and meaning ({})", embedder.model_tag()),
        Some(Err(why)) => format!("words only ({why})"),
        None if name == NONE => "words only".to_owned(),
        None => format!("words only (the settings name no model `{name}` any more)"),
    }
}

/// Makes the demo where there is no base at all, else says where it is.
async fn show_demo(app: &Arc<App>, router: &Router, samples: &Path) -> Result<(), Failure> {
    match demo::look(router).await.map_err(Failure::local)? {
        demo::Look::Nothing => {
            let demo = demo::make(router, samples).await.map_err(Failure::local)?;
            let program = std::env::current_exe().unwrap_or_else(|_| "quipu".into());
            let settings = &app.settings;
            let data =
                std::path::absolute(&settings.data).unwrap_or_else(|_| settings.data.clone());
            let place = (settings.public_url.as_str(), &*data, &*program);
            println!("{}", demo::introduction(place, &demo));
        }
        demo::Look::Demo(kb) => {
            println!("  Demo    {}/api/v1/kbs/{kb}/mcp", app.settings.public_url);
            println!(
                "  The first start showed a token; `quipu token create --name NAME` makes another."
            );
        }
        demo::Look::Others => {}
    }
    Ok(())
}

/// Resolves at the first SIGTERM or Ctrl-C; a second one ends the process at once.
async fn asked_to_end() {
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        std::process::exit(130);
    });
}
