//! The rmcp server of the benchmark: the wire contract of `peers/bench/README.md`.
//!
//! `bench FOLDER PORT`

use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rusqlite::{Connection, OptionalExtension};
use sha2::{Digest, Sha256};

#[derive(Clone)]
struct Library {
    tools: Arc<Vec<Tool>>,
    rows: Arc<Mutex<Connection>>,
}

impl Library {
    fn open(folder: &str) -> Result<Self> {
        let tools = std::fs::read(format!("{folder}/tools.json")).context("tools.json")?;
        let rows = Connection::open(format!("{folder}/bench.sqlite"))?;
        Ok(Self {
            tools: Arc::new(serde_json::from_slice(&tools)?),
            rows: Arc::new(Mutex::new(rows)),
        })
    }

    fn knows(&self, token: &str) -> bool {
        let hash = Sha256::digest(token.as_bytes()).to_vec();
        let rows = self.rows.lock().expect("no holder panics");
        rows.prepare_cached("SELECT 1 FROM token WHERE hash = ?1")
            .and_then(|mut select| select.exists([hash]))
            .unwrap_or(false)
    }

    fn document(&self, id: &str) -> rusqlite::Result<Option<String>> {
        let rows = self.rows.lock().expect("no holder panics");
        rows.prepare_cached("SELECT body FROM document WHERE id = ?1")?
            .query_row([id], |row| row.get(0))
            .optional()
    }
}

impl ServerHandler for Library {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.as_ref().clone()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if call.name != "get_document" {
            return Err(ErrorData::invalid_params(
                format!("Unknown tool: {}", call.name),
                None,
            ));
        }
        let id = call
            .arguments
            .as_ref()
            .and_then(|arguments| arguments.get("document_id"))
            .and_then(|id| id.as_str())
            .unwrap_or_default();
        let found = self
            .document(id)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let answer = match found {
            Some(body) => CallToolResult::success(vec![ContentBlock::text(body)]),
            None => CallToolResult::error(vec![ContentBlock::text("No document with that id")]),
        };
        Ok(answer.into())
    }
}

async fn authorised(State(library): State<Library>, request: Request, next: Next) -> Response {
    let known = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .is_some_and(|token| library.knows(token));
    if known {
        next.run(request).await
    } else {
        StatusCode::UNAUTHORIZED.into_response()
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().context("usage: bench FOLDER PORT")?;
    let port: u16 = words.next().context("usage: bench FOLDER PORT")?.parse()?;

    let library = Library::open(&folder)?;
    let handler = library.clone();
    let service: StreamableHttpService<Library, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::default(),
        StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true),
    );
    let router = axum::Router::new()
        .nest_service("/mcp", service)
        .layer(middleware::from_fn_with_state(library, authorised));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    axum::serve(listener, router).await?;
    Ok(())
}
