//! Blobs in a bucket of an S3-compatible store.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::prefix::PrefixStore;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, ObjectStoreExt, RetryConfig};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::AsyncReadExt;

use super::failure;
use crate::StoreError;

/// A bucket, or a part of one, and how to reach it.
#[derive(Debug, Clone)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// What every key in it begins with; may be empty.
    pub prefix: String,
    /// The store's address; none for Amazon's own.
    pub endpoint: Option<String>,
    /// The region; `us-east-1` where nobody says anything.
    pub region: Option<String>,
    /// Whether the bucket is a part of the path (`https://host/bucket/key`) rather than of the
    /// name (`https://bucket.host/key`).
    pub path_style: bool,
    /// By what it is entered; none for the role that the machine has.
    pub access: Option<Access>,
    /// How long is waited and tried.
    pub patience: Patience,
}

/// An access key.
#[derive(Debug, Clone)]
pub struct Access {
    /// Its public half.
    pub id: String,
    /// Its secret half.
    pub secret: SecretString,
    /// The token that comes with a key for a while.
    pub session: Option<SecretString>,
}

/// How long is waited for a store, and how often a request is sent again.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For the next sign of life in a request.
    pub silence: Duration,
    /// Requests that fail on the way or with a fault of the store are sent again so often.
    pub retries: usize,
    /// The first pause before that; each is about twice the one before it.
    pub pause: Duration,
    /// After so long no request is sent again.
    pub retry_within: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            silence: Duration::from_secs(30),
            retries: 8,
            pause: Duration::from_millis(100),
            retry_within: Duration::from_mins(1),
        }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "s3://{}", self.name)?;
        if !self.prefix.is_empty() {
            write!(out, "/{}", self.prefix)?;
        }
        if let Some(endpoint) = &self.endpoint {
            write!(out, " at {endpoint}")?;
        }
        Ok(())
    }
}

/// The place is no bucket.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("must be `s3://bucket` or `s3://bucket/prefix`")]
pub struct NotABucket;

/// The bucket's name and the prefix in `s3://name/prefix`.
///
/// # Errors
/// If it is anything else.
pub fn split_url(url: &str) -> Result<(&str, &str), NotABucket> {
    let place = url.strip_prefix("s3://").ok_or(NotABucket)?;
    let (name, prefix) = place.split_once('/').unwrap_or((place, ""));
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    let named = (3..=63).contains(&name.len())
        && name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_'));
    let plain = prefix
        .split('/')
        .all(|part| prefix.is_empty() || (!part.is_empty() && part != "." && part != ".."))
        && !prefix.contains(['?', '#']);
    if named && plain {
        Ok((name, prefix))
    } else {
        Err(NotABucket)
    }
}

/// Bytes of an upload that are sent in one request. The store takes 10,000 parts at most, each of
/// at least 5 MiB.
const PART: u64 = 8 * 1024 * 1024;

/// Parts on their way at the same time: so many times [`PART`] is the memory that an upload takes.
const PARTS: usize = 2;

impl Bucket {
    /// The bucket as a store of objects. Nothing is sent yet.
    pub(super) fn open(&self) -> Result<PrefixStore<AmazonS3>, StoreError> {
        // Only one TLS library is built in; whoever comes first says so.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let Patience {
            connect,
            silence,
            retries,
            pause,
            retry_within,
        } = self.patience;
        let is_plain = self
            .endpoint
            .as_ref()
            .is_some_and(|endpoint| endpoint.starts_with("http://"));
        let options = ClientOptions::new()
            .with_connect_timeout(connect)
            .with_read_timeout(silence)
            .with_timeout_disabled()
            .with_allow_http(is_plain);
        let mut builder = match &self.access {
            Some(access) => {
                let builder = AmazonS3Builder::new()
                    .with_access_key_id(&access.id)
                    .with_secret_access_key(access.secret.expose_secret());
                match &access.session {
                    Some(session) => builder.with_token(session.expose_secret()),
                    None => builder,
                }
            }
            // What the machine's role is called stands in variables that are not ours.
            None => AmazonS3Builder::from_env(),
        };
        builder = builder
            .with_bucket_name(&self.name)
            .with_virtual_hosted_style_request(!self.path_style)
            .with_client_options(options)
            .with_retry(RetryConfig {
                backoff: BackoffConfig {
                    init_backoff: pause,
                    max_backoff: Duration::from_secs(5),
                    base: 2.0,
                },
                max_retries: retries,
                retry_timeout: retry_within,
            })
            // Not every store knows the request that deletes many.
            .with_disable_bulk_delete(true);
        if let Some(region) = &self.region {
            builder = builder.with_region(region);
        }
        if let Some(endpoint) = &self.endpoint {
            builder = builder.with_endpoint(self.endpoint_of(endpoint));
        }
        let store = builder
            .build()
            .map_err(|error| StoreError::failed("open the blob store", error))?;
        Ok(PrefixStore::new(store, self.prefix.as_str()))
    }

    /// The address that requests go to: the builder takes a bucket's own where the name is in it.
    fn endpoint_of(&self, endpoint: &str) -> String {
        match endpoint.split_once("://") {
            Some((scheme, host)) if !self.path_style => {
                format!("{scheme}://{}.{host}", self.name)
            }
            _ => endpoint.to_owned(),
        }
    }
}

/// Sends a staged file to the store, part by part if it is large. When this returns the store has
/// it; sent again it replaces itself.
pub(super) async fn upload(
    store: &dyn ObjectStore,
    key: &str,
    (file, size): (&Path, u64),
) -> Result<(), StoreError> {
    let read = |error| failure("read an upload", error);
    let mut file = tokio::fs::File::open(file).await.map_err(read)?;
    let place = object_store::path::Path::from(key);
    if size <= PART {
        let bytes = part(&mut file, size).await.map_err(read)?;
        let put = store.put(&place, bytes.into()).await;
        return put
            .map(drop)
            .map_err(|error| refusal("keep an upload", error));
    }
    let kept = |error| refusal("keep an upload", error);
    let mut upload = store.put_multipart(&place).await.map_err(kept)?;
    let sent = async {
        let mut under_way = FuturesUnordered::new();
        loop {
            let bytes = part(&mut file, PART).await.map_err(read)?;
            if bytes.is_empty() {
                break;
            }
            under_way.push(upload.put_part(bytes.into()));
            if PARTS <= under_way.len()
                && let Some(done) = under_way.next().await
            {
                done.map_err(kept)?;
            }
        }
        while let Some(done) = under_way.next().await {
            done.map_err(kept)?;
        }
        upload.complete().await.map(drop).map_err(kept)
    };
    let sent = sent.await;
    if sent.is_err() {
        // Parts that stay behind cost room; whoever runs the store lets them expire.
        let _ = upload.abort().await;
    }
    sent
}

/// The next bytes of a file, `size` unless it ends before.
async fn part(file: &mut tokio::fs::File, size: u64) -> std::io::Result<Bytes> {
    let mut bytes = BytesMut::with_capacity(usize::try_from(size).unwrap_or(0));
    while (bytes.len() as u64) < size {
        let left = size - bytes.len() as u64;
        if (&mut *file).take(left).read_buf(&mut bytes).await? == 0 {
            break;
        }
    }
    Ok(bytes.freeze())
}

/// What went wrong, by whom it can be mended: a store that is away or overcharged, or one that
/// refuses.
pub(super) fn refusal(what: &str, error: object_store::Error) -> StoreError {
    match &error {
        object_store::Error::Generic { .. } | object_store::Error::JoinError { .. } => {
            StoreError::Unreachable(format!("could not {what}: {}", explain(&error)))
        }
        _ => StoreError::failed(what, format!("the blob store refuses: {}", explain(&error))),
    }
}

/// An error of the store in a sentence: the store's own word for it, and what to look at.
pub(super) fn explain(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    let code = text
        .split_once("<Code>")
        .and_then(|(_, rest)| rest.split_once("</Code>"))
        .map(|(code, _)| code.to_owned());
    let hint = match code.as_deref() {
        Some("NoSuchBucket") => "there is no bucket of that name",
        Some("InvalidAccessKeyId") => "it does not know the access key",
        Some("SignatureDoesNotMatch") => "the secret access key is wrong",
        Some("AccessDenied" | "AllAccessDisabled") => "the access key may not do that",
        Some("ExpiredToken" | "InvalidToken") => "the session token is no longer good",
        Some("AuthorizationHeaderMalformed" | "PermanentRedirect") => {
            "the bucket is in another region; say which with `blobs.region`"
        }
        Some("RequestTimeTooSkewed") => "the clocks of the two machines differ",
        Some(code) => return format!("it answers `{code}`"),
        None if matches!(error, object_store::Error::Unauthenticated { .. }) => {
            "it does not accept the access key"
        }
        None if matches!(error, object_store::Error::PermissionDenied { .. }) => {
            "the access key may not do that"
        }
        None => {
            // The whole answer of a proxy is of no use to anybody.
            return text.chars().take(300).collect();
        }
    };
    match code {
        Some(code) => format!("{hint} (`{code}`)"),
        None => hint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_named_with_or_without_a_prefix() {
        assert_eq!(split_url("s3://papers"), Ok(("papers", "")));
        assert_eq!(split_url("s3://papers/"), Ok(("papers", "")));
        assert_eq!(split_url("s3://pa.pers/a/b/"), Ok(("pa.pers", "a/b")));
        for url in [
            "papers",
            "s3://",
            "s3://ab",
            "s3://user:secret@papers",
            "s3://papers/../other",
            "s3://papers//other",
            "http://papers/a",
        ] {
            assert_eq!(split_url(url), Err(NotABucket), "{url}");
        }
    }
}
