//! Whether the process lives, is ready, and what it is.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use serde_json::json;

use crate::app::App;

/// `/livez`, `/readyz` and `/health`; open to all, so they tell nothing but that.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/health", get(health))
}

async fn ready(app: &App) -> Result<(), &'static str> {
    app.readiness.check()?;
    if app.core.db.read_directory().await.is_err() {
        return Err("the store does not answer");
    }
    Ok(())
}

async fn readyz(State(app): State<Arc<App>>) -> Response {
    match ready(&app).await {
        Ok(()) => "ready\n".into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn health(State(app): State<Arc<App>>) -> Response {
    let (status, word) = match ready(&app).await {
        Ok(()) => (StatusCode::OK, "ok"),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
    };
    let body = json!({ "status": word, "name": "quipu", "version": env!("CARGO_PKG_VERSION") });
    (status, axum::Json(body)).into_response()
}
