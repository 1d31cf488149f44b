//! One request over HTTP. All of it, from the name of the host to the end of the answer, has one bound of time.

use std::io::{self, Write as _};

use flate2::write::GzEncoder;
use ureq::Agent;
use ureq::http::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};

use crate::answer::{Answer, Outcome, Trouble, shown};
use crate::target::{Compression, Target};

/// Of an answer that is read.
const BODY_MAX: u64 = 64 << 10;

/// Whoever sends to a collector, with the connection that is kept to it.
pub(crate) struct Post {
    agent: Agent,
    target: Target,
}

impl Post {
    pub(crate) fn new(target: Target) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(target.timeout))
            .http_status_as_error(false)
            // Headers may hold secrets, which are for one host.
            .max_redirects(0)
            .user_agent(concat!("rankscope/", env!("CARGO_PKG_VERSION")));
        #[cfg(feature = "tls")]
        let config = config.tls_config(encrypted());
        Self { agent: config.build().new_agent(), target }
    }

    /// Sends `message`.
    pub(crate) fn send(&self, message: &[u8]) -> Outcome {
        match self.try_send(message) {
            Ok(answer) => Outcome::of(&answer),
            Err(error) => Outcome::Later(Trouble::Unreachable(shown(&error.to_string())), None),
        }
    }

    fn try_send(&self, message: &[u8]) -> Result<Answer, ureq::Error> {
        let mut request = self.agent.post(self.target.url.clone()).header(CONTENT_TYPE, "application/x-protobuf");
        for (name, value) in &self.target.headers {
            request = request.header(name, value);
        }
        let response = match self.target.compression {
            Compression::None => request.send(message)?,
            Compression::Gzip => request.header(CONTENT_ENCODING, "gzip").send(&packed(message)?[..])?,
        };
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (status, retry_after, content_type) = (response.status().as_u16(), header(RETRY_AFTER), header(CONTENT_TYPE));
        // The status has decided; of a body that is too long or breaks off nothing is needed.
        let body = response.into_body().into_with_config().limit(BODY_MAX).read_to_vec().unwrap_or_default();
        Ok(Answer { status, retry_after, content_type, body })
    }
}

fn packed(message: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(message)?;
    encoder.finish()
}

/// Certificates are those that the system trusts, or of `SSL_CERT_FILE`.
#[cfg(feature = "tls")]
fn encrypted() -> ureq::tls::TlsConfig {
    use ureq::tls::{RootCerts, TlsConfig};
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).unversioned_rustls_crypto_provider(provider).build()
}
