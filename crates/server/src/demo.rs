//! The base "Demo" of the first start, and the lines by which a newcomer tries it.

mod story;

use std::path::Path;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use http::Method;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::http::{listen, rest};

/// What the first start made.
pub struct Demo {
    /// The base.
    pub kb: String,
    /// A token that reads and writes.
    pub token: String,
}

/// The base's name.
const NAME: &str = "Demo";

async fn call(
    router: &Router,
    method: Method,
    path: &str,
    body: impl Into<Body>,
) -> Result<Value, String> {
    let request = Request::builder()
        .method(method)
        .uri(format!("{}{path}", rest::PREFIX))
        .header(CONTENT_TYPE, "application/json")
        .body(body.into())
        .map_err(|error| error.to_string())?;
    let answer = listen::in_process(router, request).await;
    let is_success = answer.status().is_success();
    let body = answer
        .into_body()
        .collect()
        .await
        .map_err(|error| error.to_string())?
        .to_bytes();
    let body: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
    if is_success {
        Ok(body)
    } else {
        Err(body["error"].as_str().unwrap_or("refused").to_owned())
    }
}

/// Puts a file into the base.
async fn upload(router: &Router, kb: &str, file: &Path) -> Result<Value, String> {
    let name = file
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let bytes = std::fs::read(file).map_err(|error| format!("cannot read {name}: {error}"))?;
    let query: String = form_urlencoded::Serializer::new(String::new())
        .append_pair("filename", &name)
        .finish();
    let path = format!("/kbs/{kb}/documents?{query}");
    call(router, Method::POST, &path, bytes).await
}

/// Makes the base, puts the samples in, tells the story of a firm and its people, and makes a
/// token that reads that base and no other, for pasting into clients.
///
/// # Errors
/// The sentence of whatever refused.
pub async fn make(router: &Router, samples: &Path) -> Result<Demo, String> {
    let base = json!({ "name": NAME, "visibility": "open" });
    let base = call(router, Method::POST, "/kbs", base.to_string()).await?;
    let kb = base["id"].as_str().unwrap_or_default().to_owned();
    let entries = std::fs::read_dir(samples)
        .map_err(|error| format!("cannot read {}: {error}", samples.display()))?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    for file in files {
        upload(router, &kb, &file).await?;
    }
    story::tell(router, &kb, &samples.join("story")).await?;
    let token = json!({ "name": "demo", "scope": "read", "kb_ids": [kb] });
    let token = call(router, Method::POST, "/me/tokens", token.to_string()).await?;
    Ok(Demo {
        kb,
        token: token["token"].as_str().unwrap_or_default().to_owned(),
    })
}

/// What the deployment holds already.
pub enum Look {
    /// No base at all.
    Nothing,
    /// The demo of an earlier start.
    Demo(String),
    /// Bases, and the demo not among them.
    Others,
}

/// Looks for the demo.
///
/// # Errors
/// The sentence of whatever refused.
pub async fn look(router: &Router) -> Result<Look, String> {
    let answer = call(router, Method::GET, "/kbs", Body::empty()).await?;
    let bases = answer["kbs"].as_array().cloned().unwrap_or_default();
    let demo = bases.iter().find(|base| base["name"] == NAME);
    Ok(match demo.and_then(|base| base["id"].as_str()) {
        Some(kb) => Look::Demo(kb.to_owned()),
        None if bases.is_empty() => Look::Nothing,
        None => Look::Others,
    })
}

/// Ready lines for a shell, two agents and a JSON settings file. `program` is this program's file,
/// which need not be where another shell looks for programs.
pub fn introduction((public_url, data, program): (&str, &Path, &Path), demo: &Demo) -> String {
    let Demo { kb, token } = demo;
    let url = format!("{public_url}/api/v1/kbs/{kb}/mcp");
    let config = json!({
        "mcpServers": {
            "quipu-demo": { "type": "http", "url": url, "headers": { "Authorization": format!("Bearer {token}") } }
        }
    });
    let config = serde_json::to_string_pretty(&config).unwrap_or_default();
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let folder = quoted(program.parent().unwrap_or(program));
    let data = quoted(data);
    format!(
        r#"
Base "Demo"  {url}
Token        {token}
             (reads this base and no other; shown once; ends after 90 days; `quipu token list`,
             `quipu token revoke ID`, `quipu token create --name NAME --base BASE`)

Ask it from a shell:
  curl -s {url} -H "Authorization: Bearer {token}" -H "Content-Type: application/json" \
    -d '{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"search_chunks","arguments":{{"query":"who approves travel"}}}}}}'

Claude Code:
  claude mcp add --transport http quipu-demo {url} --header "Authorization: Bearer {token}"

Codex:
  export QUIPU_TOKEN={token}
  codex mcp add quipu-demo --url {url} --bearer-token-env-var QUIPU_TOKEN

Any client with a JSON settings file:
{config}

Your own documents, while this runs, from another shell:
  export QUIPU_DATA={data} PATH={folder}:"$PATH"
  quipu base create Papers && quipu ingest ~/Documents --base papers
"#
    )
}
