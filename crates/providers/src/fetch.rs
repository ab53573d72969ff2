//! The only way out of the house to an address that a stranger gave.
//!
//! A URL in an upload, a document or a client's metadata may point at the server's own network.
//! So a name is resolved once, every address it has is judged (see `fetch/address.rs`), and the
//! connection goes to the addresses that were judged; each redirect is a URL like the first.
//! No proxy, no credentials, no cookies, no decompression.

use std::collections::{HashMap, VecDeque};
use std::error::Error as StdError;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::dns::{Name, Resolve, Resolving};
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, ETAG, HeaderMap, IF_MODIFIED_SINCE, IF_NONE_MATCH, LOCATION,
};
use url::{Host, Url};

mod address;

pub use address::{Network, NotANetwork};

/// Longer URLs are refused before anything is asked.
const URL_BYTES: usize = 4096;

/// What the operator decides about fetching.
#[derive(Debug, Clone)]
pub struct FetchOptions {
    /// Ports that may be asked.
    pub ports: Vec<u16>,
    /// Addresses that may be asked although they are not public.
    pub networks: Vec<Network>,
    /// For one connection.
    pub connect_time: Duration,
    /// Who resolves names.
    pub names: Names,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            ports: vec![80, 443],
            networks: Vec::new(),
            connect_time: Duration::from_secs(10),
            names: Names::System,
        }
    }
}

/// Who resolves names.
#[derive(Debug, Clone)]
pub enum Names {
    /// The system.
    System,
    /// A table: each name's answers in their order, of which the last stays. For tests.
    Scripted(Arc<Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>>),
}

impl Names {
    /// A table of names, each with its answers in their order.
    pub fn scripted<'a>(names: impl IntoIterator<Item = (&'a str, Vec<Vec<IpAddr>>)>) -> Names {
        let names = names
            .into_iter()
            .map(|(name, answers)| (name.to_owned(), answers.into()));
        Names::Scripted(Arc::new(Mutex::new(names.collect())))
    }

    async fn addresses(&self, name: &str) -> Vec<IpAddr> {
        match self {
            Names::System => match tokio::net::lookup_host((name, 0)).await {
                Ok(found) => found.map(|address| address.ip()).collect(),
                Err(_) => Vec::new(),
            },
            Names::Scripted(names) => {
                let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
                match names.get_mut(name) {
                    Some(answers) if 1 < answers.len() => answers.pop_front().unwrap_or_default(),
                    Some(answers) => answers.front().cloned().unwrap_or_default(),
                    None => Vec::new(),
                }
            }
        }
    }
}

/// What one fetch may take.
#[derive(Debug, Clone)]
pub struct FetchLimits {
    /// Of the body.
    pub bytes: u64,
    /// From the first name asked to the last byte, redirects included.
    pub time: Duration,
    /// Redirects followed.
    pub redirects: u8,
    /// What the body should be; the `Accept` header.
    pub accept: &'static str,
}

impl Default for FetchLimits {
    fn default() -> Self {
        let time = Duration::from_secs(30);
        Self {
            bytes: 32 * 1024 * 1024,
            time,
            redirects: 3,
            accept: "*/*",
        }
    }
}

/// What an earlier answer said to tell its content by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Its `ETag`.
    pub etag: Option<String>,
    /// Its `Last-Modified`.
    pub last_modified: Option<String>,
}

/// An answer to somebody who may know the content.
#[derive(Debug, Clone)]
pub enum Answered {
    /// The content.
    Fetched(Fetched),
    /// It is what is known.
    NotModified,
}

/// What came.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// Where from, after redirects.
    pub url: String,
    /// Headers of the last answer.
    pub headers: HeaderMap,
    /// The body as it was sent.
    pub bytes: Bytes,
}

impl Fetched {
    /// A page for [`Fetcher::scripted`].
    ///
    /// # Panics
    /// If the content type cannot be a header.
    pub fn page(url: &str, content_type: &str, bytes: impl Into<Bytes>) -> Fetched {
        let content_type = content_type
            .parse()
            .expect("a content type is visible ASCII");
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, content_type)]);
        Fetched {
            url: url.into(),
            headers,
            bytes: bytes.into(),
        }
    }

    /// What the answer said to tell its content by.
    pub fn known(&self) -> Known {
        let text = |name: &str| self.header(name).map(str::to_owned);
        Known {
            etag: text(ETAG.as_str()),
            last_modified: text("last-modified"),
        }
    }

    /// A header of the last answer, if it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Why nothing was fetched. Never shows a URL's path or query, which may be secret.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// It cannot be read as a URL.
    #[error("the address is no URL ({0}); write it as `https://example.org/page`")]
    NotAUrl(String),
    /// Only the web is fetched.
    #[error("the URL's scheme is `{0}`; only `http` and `https` are fetched")]
    Scheme(String),
    /// They would be sent to whoever answers.
    #[error("the URL holds a user name or password; leave it out")]
    Credentials,
    /// Other ports are other services.
    #[error("the URL's port is {port}; only {} may be asked", list(allowed))]
    Port {
        /// The URL's.
        port: u16,
        /// The operator's.
        allowed: Vec<u16>,
    },
    /// The host is not on the public internet.
    #[error("`{host}` {why}; only public addresses are fetched")]
    Address {
        /// The URL's.
        host: String,
        /// What the address is.
        why: &'static str,
    },
    /// The host has no address.
    #[error("`{0}` has no address")]
    NoAddress(String),
    /// It leads on and on.
    #[error("the URL redirects more than {0} times")]
    TooManyRedirects(u8),
    /// The body is too long.
    #[error("the content is longer than {0} bytes")]
    TooLarge(u64),
    /// Time is up.
    #[error("fetching took longer than {} s", .0.as_secs())]
    TooLong(Duration),
    /// The server's refusal.
    #[error("`{host}` answered {status}")]
    Status {
        /// Who.
        host: String,
        /// HTTP status.
        status: u16,
    },
    /// The connection failed.
    #[error("`{host}` could not be reached or broke off")]
    Failed {
        /// Who.
        host: String,
        /// The cause, without the URL.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The client cannot be set up.
    #[error("the HTTP client cannot be set up")]
    Client(#[source] Box<dyn StdError + Send + Sync>),
}

fn list(ports: &[u16]) -> String {
    ports
        .iter()
        .map(u16::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A URL as it is asked for: whole, without a fragment, and nothing in it that is refused at first
/// sight. Whether its port and address may be asked is found out when they are.
///
/// # Errors
/// If it is none, or not of the web, or holds credentials.
pub fn normal(url: &str) -> Result<String, FetchError> {
    let mut url = parsed(url)?;
    well_meant(&url)?;
    url.set_fragment(None);
    Ok(url.into())
}

/// The URL that a link on the page at `page` leads to; none if it leads to nothing of the web.
pub fn linked(page: &str, link: &str) -> Option<String> {
    let target = Url::parse(page).ok()?.join(link.trim()).ok()?;
    normal(target.as_str()).ok()
}

/// Whether two URLs name one host.
pub fn same_host(one: &str, other: &str) -> bool {
    let host = |url: &str| Url::parse(url).ok()?.host_str().map(str::to_owned);
    host(one).is_some_and(|name| Some(name) == host(other))
}

fn parsed(url: &str) -> Result<Url, FetchError> {
    if URL_BYTES < url.len() {
        let why = format!("it is longer than {URL_BYTES} bytes");
        return Err(FetchError::NotAUrl(why));
    }
    Url::parse(url).map_err(|error| FetchError::NotAUrl(error.to_string()))
}

/// Refuses other schemes than the web's, and credentials.
fn well_meant(url: &Url) -> Result<(), FetchError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(FetchError::Scheme(url.scheme().into()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(FetchError::Credentials);
    }
    Ok(())
}

/// Fetches what strangers' URLs point at. Clones share their connections' settings.
#[derive(Debug, Clone)]
pub struct Fetcher {
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Guarded {
        client: reqwest::Client,
        ports: Vec<u16>,
        networks: Arc<[Network]>,
    },
    Scripted(Arc<HashMap<String, Fetched>>),
}

impl Fetcher {
    /// The one that goes out.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn new(options: FetchOptions) -> Result<Fetcher, FetchError> {
        let networks: Arc<[Network]> = options.networks.into();
        let guard = Guard {
            names: options.names,
            networks: networks.clone(),
        };
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls()?)
            .dns_resolver(guard)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .connect_timeout(options.connect_time)
            // A kept connection would outlive the judgement of its address.
            .pool_max_idle_per_host(0)
            .user_agent(concat!("quipu/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| FetchError::Client(error.into()))?;
        Ok(Fetcher {
            kind: Kind::Guarded {
                client,
                ports: options.ports,
                networks,
            },
        })
    }

    /// One that knows some URLs and asks nobody; every other host has no address.
    pub fn scripted(pages: impl IntoIterator<Item = Fetched>) -> Fetcher {
        let pages = pages
            .into_iter()
            .map(|page| (page.url.clone(), page))
            .collect();
        Fetcher {
            kind: Kind::Scripted(Arc::new(pages)),
        }
    }

    /// What stands at a URL, if its address is public and its answer a success.
    pub async fn get(&self, url: &str, limits: &FetchLimits) -> Result<Fetched, FetchError> {
        match self.ask(url, &Known::default(), limits).await? {
            Answered::Fetched(fetched) => Ok(fetched),
            Answered::NotModified => Err(FetchError::Status {
                host: Url::parse(url).map(|url| host(&url)).unwrap_or_default(),
                status: StatusCode::NOT_MODIFIED.as_u16(),
            }),
        }
    }

    /// The same, for somebody who has what an earlier answer gave.
    pub async fn ask(
        &self,
        url: &str,
        known: &Known,
        limits: &FetchLimits,
    ) -> Result<Answered, FetchError> {
        let url = parsed(url)?;
        match &self.kind {
            Kind::Guarded {
                client,
                ports,
                networks,
            } => {
                let followed = follow(client, (ports, networks), url, known, limits);
                match tokio::time::timeout(limits.time, followed).await {
                    Ok(fetched) => fetched,
                    Err(_) => Err(FetchError::TooLong(limits.time)),
                }
            }
            Kind::Scripted(pages) => match pages.get(url.as_str()) {
                Some(page)
                    if known.etag.is_some() && known.etag.as_deref() == page.header("etag") =>
                {
                    Ok(Answered::NotModified)
                }
                Some(page) if page.bytes.len() as u64 <= limits.bytes => {
                    Ok(Answered::Fetched(page.clone()))
                }
                Some(_) => Err(FetchError::TooLarge(limits.bytes)),
                None => Err(FetchError::NoAddress(host(&url))),
            },
        }
    }
}

/// The roots stand in the program, so that it verifies the same on every machine; there is no
/// proxy whose own root a machine would have to add.
pub(crate) fn tls() -> Result<rustls::ClientConfig, FetchError> {
    let roots = rustls::RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| FetchError::Client(error.into()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

async fn follow(
    client: &reqwest::Client,
    (ports, networks): (&[u16], &[Network]),
    mut url: Url,
    known: &Known,
    limits: &FetchLimits,
) -> Result<Answered, FetchError> {
    for _ in 0..=limits.redirects {
        judge(&url, ports, networks)?;
        url.set_fragment(None);
        let mut request = client.get(url.clone()).header(ACCEPT, limits.accept);
        if let Some(etag) = &known.etag {
            request = request.header(IF_NONE_MATCH, etag);
        }
        if let Some(date) = &known.last_modified {
            request = request.header(IF_MODIFIED_SINCE, date);
        }
        let response = request.send().await.map_err(|error| failure(error, &url))?;

        let status = response.status();
        if status == StatusCode::NOT_MODIFIED && *known != Known::default() {
            return Ok(Answered::NotModified);
        }
        let next = response
            .headers()
            .get(LOCATION)
            .filter(|_| status.is_redirection());
        if let Some(next) = next {
            let next = next
                .to_str()
                .map_err(|_| wrong_redirect("it is not ASCII".into()))?;
            url = url
                .join(next)
                .map_err(|error| wrong_redirect(error.to_string()))?;
            continue;
        }
        if !status.is_success() {
            return Err(FetchError::Status {
                host: host(&url),
                status: status.as_u16(),
            });
        }
        let headers = response.headers().clone();
        let bytes = body(response, limits.bytes, &url).await?;
        return Ok(Answered::Fetched(Fetched {
            url: url.into(),
            headers,
            bytes,
        }));
    }
    Err(FetchError::TooManyRedirects(limits.redirects))
}

fn wrong_redirect(why: String) -> FetchError {
    FetchError::NotAUrl(format!("it redirects to something else: {why}"))
}

/// Refuses a URL for what can be seen in it. A name's addresses are judged by the [`Guard`].
fn judge(url: &Url, ports: &[u16], networks: &[Network]) -> Result<(), FetchError> {
    well_meant(url)?;
    let port = url
        .port_or_known_default()
        .expect("http and https have a default port");
    if !ports.contains(&port) {
        return Err(FetchError::Port {
            port,
            allowed: ports.to_vec(),
        });
    }
    let literal = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        Some(Host::Domain(_)) | None => None,
    };
    match literal.and_then(|address| refusal(address, networks)) {
        Some(why) => Err(FetchError::Address {
            host: host(url),
            why,
        }),
        None => Ok(()),
    }
}

fn refusal(address: IpAddr, networks: &[Network]) -> Option<&'static str> {
    if networks.iter().any(|network| network.contains(address)) {
        return None;
    }
    address::refusal(address)
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// The body, given up as soon as it is too long.
async fn body(mut response: reqwest::Response, most: u64, url: &Url) -> Result<Bytes, FetchError> {
    let announced = response.content_length().unwrap_or(0);
    if most < announced {
        return Err(FetchError::TooLarge(most));
    }
    let mut bytes = Vec::with_capacity(announced.min(1024 * 1024) as usize);
    while let Some(piece) = response
        .chunk()
        .await
        .map_err(|error| failure(error, url))?
    {
        if most < (bytes.len() + piece.len()) as u64 {
            return Err(FetchError::TooLarge(most));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.into())
}

/// The refusal that the [`Guard`] gave inside the client, or a failed connection.
fn failure(error: reqwest::Error, url: &Url) -> FetchError {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(&error);
    while let Some(found) = cause {
        if let Some(refused) = found.downcast_ref::<Refused>() {
            return match *refused {
                Refused::NoAddress => FetchError::NoAddress(host(url)),
                Refused::Address(why) => FetchError::Address {
                    host: host(url),
                    why,
                },
            };
        }
        cause = found.source();
    }
    FetchError::Failed {
        host: host(url),
        source: error.without_url().into(),
    }
}

/// Resolves a name for the client: all its addresses are allowed, or it has none.
///
/// One bad address spoils a name: whoever mixes a private one in hopes that it is tried.
struct Guard {
    names: Names,
    networks: Arc<[Network]>,
}

#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("the name has no address")]
    NoAddress,
    #[error("an address of the name {0}")]
    Address(&'static str),
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let (names, networks) = (self.names.clone(), self.networks.clone());
        Box::pin(async move {
            let addresses = names.addresses(name.as_str()).await;
            if addresses.is_empty() {
                return Err(Refused::NoAddress.into());
            }
            if let Some(why) = addresses
                .iter()
                .find_map(|address| refusal(*address, &networks))
            {
                return Err(Refused::Address(why).into());
            }
            // Port 0 stands for the URL's.
            let addresses = addresses
                .into_iter()
                .map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Box<dyn Iterator<Item = SocketAddr> + Send>)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(url: &str) -> Result<(), FetchError> {
        judge(&Url::parse(url).unwrap(), &[80, 443], &[])
    }

    #[test]
    fn odd_spellings_of_an_address_are_judged_as_the_address() {
        let odd = [
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://0/",
            "http://127.0.0.1./",
            "http://１２７.0.0.1/",
            "http://127。0。0。1/",
            "http://%31%32%37.0.0.1/",
            "http://[::ffff:7f00:1]/",
            "http://[0:0:0:0:0:0:0:1]/",
            "http://169.254.169.254/latest/meta-data/",
            "http://[64:ff9b::7f00:1]/",
            "https://0xA9FEA9FE/",
        ];
        for url in odd {
            assert!(
                matches!(judged(url), Err(FetchError::Address { .. })),
                "{url}"
            );
        }
    }

    #[test]
    fn a_link_leads_to_a_whole_url_of_the_web_or_nowhere() {
        let page = "https://example.org/a/b?c#d";
        let led = |link| linked(page, link);
        assert_eq!(led("../x#part").as_deref(), Some("https://example.org/x"));
        assert_eq!(led("//other.org").as_deref(), Some("https://other.org/"));
        for link in [
            "mailto:a@example.org",
            "javascript:x()",
            "https://a:b@example.org/",
        ] {
            assert_eq!(led(link), None, "{link}");
        }
        assert!(same_host(page, "http://EXAMPLE.org:80/"));
        assert!(!same_host(page, "https://www.example.org/"));
    }

    #[test]
    fn a_zone_makes_no_url() {
        assert!(Url::parse("http://[fe80::1%25eth0]/").is_err());
    }

    #[test]
    fn other_schemes_ports_and_credentials_are_refused() {
        assert!(matches!(
            judged("ftp://example.org/"),
            Err(FetchError::Scheme(_))
        ));
        assert!(matches!(
            judged("file:///etc/passwd"),
            Err(FetchError::Scheme(_))
        ));
        assert!(matches!(
            judged("http://example.org:22/"),
            Err(FetchError::Port { port: 22, .. })
        ));
        assert!(matches!(
            judged("http://a@example.org/"),
            Err(FetchError::Credentials)
        ));
        assert!(matches!(
            judged("http://:b@example.org/"),
            Err(FetchError::Credentials)
        ));
        assert!(judged("https://example.org/").is_ok());
        assert!(judged("http://example.org:443/").is_ok());
    }
}
