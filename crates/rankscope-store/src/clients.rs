//! One client a store, set up by the environment and by what every request here needs: no limit to how long a large object takes, an
//! early word where nothing comes any more, and bodies as they are stored, never decompressed on the way.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, HeaderMap, HeaderValue, ObjectStore, RetryConfig};
use rankscope_run::{ObjectUrl, Scheme, StoreFault};
use reqwest::header::ACCEPT_ENCODING;

use crate::environment::{has_only_profile, is_true, remedy, wants_plain_http};
use crate::faults::fault;

/// A stream that gives nothing for so long is broken; it is asked for again from there.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// What a whole object may take at the most.
const WHOLE_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// How often a request is repeated, and for how long, before a user is told.
fn retries() -> RetryConfig {
    let backoff = BackoffConfig { init_backoff: Duration::from_millis(100), max_backoff: Duration::from_secs(5), base: 2.0 };
    RetryConfig { backoff, max_retries: 5, retry_timeout: Duration::from_secs(60) }
}

/// Makes ring the library that encrypts; there is one in this program, and it has to be said.
pub(crate) fn use_ring() {
    // An error says that it was made so before.
    let _again = rustls::crypto::ring::default_provider().install_default();
}

/// The part of `url` that names its store, and the key in it.
pub(crate) fn split(url: &ObjectUrl) -> Result<(String, Path), StoreFault> {
    let text = url.as_str();
    let host_at = text.find("://").map_or(0, |at| at + 3);
    let (root, key) = match text[host_at..].find('/') {
        Some(slash) => (&text[..host_at + slash], &text[host_at + slash + 1..]),
        None => (text, ""),
    };
    // Keys are what they are; addresses of web servers are written in percent signs.
    let path = if url.scheme() == Scheme::Http { Path::from_url_path(key) } else { Path::parse(key) };
    let path = path.map_err(|error| StoreFault::Failed { reason: format!("the key is none that a store takes: {error}") })?;
    Ok((root.to_owned(), path))
}

/// The client of the store that `root` names, of which `url` is.
pub(crate) fn client(url: &ObjectUrl, root: &str) -> Result<Arc<dyn ObjectStore>, StoreFault> {
    if let Some(variable) = wants_plain_http(url.scheme()) {
        return Err(StoreFault::PlainHttp { variable });
    }
    let host = root.split("://").nth(1).unwrap_or_default();
    let built: object_store::Result<Arc<dyn ObjectStore>> = match url.scheme() {
        Scheme::S3 if has_only_profile() => return Err(StoreFault::NoCredentials { remedy: remedy(Scheme::S3) }),
        Scheme::S3 => s3(host).build().map(|store| Arc::new(store) as _),
        Scheme::Gcs => gcs(host).build().map(|store| Arc::new(store) as _),
        Scheme::Azure => azure(root).build().map(|store| Arc::new(store) as _),
        _ => web(root).build().map(|store| Arc::new(store) as _),
    };
    built.map_err(|error| match fault(&error, url) {
        StoreFault::Failed { reason } => StoreFault::Settings { reason },
        other => other,
    })
}

fn s3(bucket: &str) -> AmazonS3Builder {
    let client = AmazonS3ConfigKey::Client;
    AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_retry(retries())
        .with_config(client(ClientConfigKey::Timeout), seconds(WHOLE_MAX))
        .with_config(client(ClientConfigKey::ReadTimeout), seconds(SILENCE_MAX))
}

fn gcs(bucket: &str) -> GoogleCloudStorageBuilder {
    // Who does not take gzip is given it inflated, and then no part of it can be asked for.
    let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("gzip"))]);
    let options = options().with_default_headers(headers).with_allow_http(is_true("GOOGLE_ALLOW_HTTP"));
    GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).with_client_options(options).with_retry(retries())
}

fn azure(root: &str) -> MicrosoftAzureBuilder {
    let client = AzureConfigKey::Client;
    MicrosoftAzureBuilder::from_env()
        .with_url(root)
        .with_retry(retries())
        .with_config(client(ClientConfigKey::Timeout), seconds(WHOLE_MAX))
        .with_config(client(ClientConfigKey::ReadTimeout), seconds(SILENCE_MAX))
}

fn web(root: &str) -> HttpBuilder {
    // Whoever writes http:// means it, and no credentials go there.
    HttpBuilder::new().with_url(root).with_client_options(options().with_allow_http(true)).with_retry(retries())
}

/// A time as the clients' settings are written.
fn seconds(time: Duration) -> String {
    format!("{} seconds", time.as_secs())
}

fn options() -> ClientOptions {
    ClientOptions::new().with_timeout(WHOLE_MAX).with_read_timeout(SILENCE_MAX)
}
