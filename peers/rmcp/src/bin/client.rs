//! One errand of the rmcp client: list the tools, search, read the document of
//! the best hit, ask for a document of another base. Prints one JSON object;
//! `peers/clients/run.py` says what it must hold.
//!
//! `client URL TOKEN QUERY FOREIGN_ID initialize|discover`

use anyhow::{Context, Result, bail};
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientConfig, ProtocolVersion};
use rmcp::service::{Peer, RoleClient};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, token, query, foreign, opening] = words.as_slice() else {
        bail!("usage: client URL TOKEN QUERY FOREIGN_ID initialize|discover");
    };
    let lifecycle = match opening.as_str() {
        "initialize" => ClientLifecycleMode::Initialize,
        "discover" => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
        other => bail!("the opening must be initialize or discover, not `{other}`"),
    };

    let report = match errand(url, token, query, foreign, lifecycle).await {
        Ok(report) => report,
        Err(refusal) => json!({ "refused": format!("{refusal:#}") }),
    };
    println!("{report}");
    Ok(())
}

async fn errand(
    url: &str,
    token: &str,
    query: &str,
    foreign: &str,
    lifecycle: ClientLifecycleMode,
) -> Result<Value> {
    let transport = StreamableHttpClientTransport::from_config(
        StreamableHttpClientTransportConfig::with_uri(url).auth_header(token),
    );
    let client = ClientConfig::default()
        .serve_with_lifecycle(transport, lifecycle)
        .await?;
    let version = client
        .peer_info()
        .map(|info| info.protocol_version.to_string());
    let tools = client.list_all_tools().await?;

    let found = call(&client, "search_chunks", json!({ "query": query })).await?;
    let hits = found
        .structured_content
        .clone()
        .context("search_chunks answered no structure")?;
    let hit = hits["chunks"][0].clone();
    let read = call(
        &client,
        "get_document",
        json!({ "document_id": hit["document_id"] }),
    )
    .await?;
    let stranger = call(&client, "get_document", json!({ "document_id": foreign })).await?;

    let report = json!({
        "version": version,
        "tools": tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>(),
        "hit": hit,
        "document": text(&read),
        "foreign": { "is_error": stranger.is_error == Some(true), "text": text(&stranger) },
    });
    client.cancel().await?;
    Ok(report)
}

async fn call(
    peer: &Peer<RoleClient>,
    tool: &'static str,
    arguments: Value,
) -> Result<CallToolResult> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let params = CallToolRequestParams::new(tool).with_arguments(arguments);
    Ok(peer.call_tool(params).await?)
}

fn text(answer: &CallToolResult) -> String {
    answer
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .map(|block| block.text.as_str())
        .collect()
}
