//! Where figures go, and how often: from a URL, and from the variables that exporters of OpenTelemetry read.
//!
//! Of two variables the one that is about metrics holds, and of a URL and a variable the URL. A URL is a collector's, and metrics go to
//! `v1/metrics` below it; only `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT` is taken as it is, as OpenTelemetry has it.

use std::fmt;
use std::time::Duration;

use ureq::http::uri::Scheme;
use ureq::http::{HeaderName, HeaderValue, Uri};

use crate::error::Error;
use crate::pairs::pairs;

/// The place that means: as the environment says.
pub const ENVIRONMENT: &str = "env";

const METRICS: &str = "v1/metrics";
/// Where a collector listens unless anybody says otherwise.
const USUAL: &str = "http://localhost:4318";
const INTERVAL: Duration = Duration::from_secs(10);
const INTERVAL_MIN: Duration = Duration::from_millis(100);
/// For one answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A collector, and how it wants to be told.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// Where requests go.
    pub(crate) url: Uri,
    /// What they carry, perhaps secrets.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// How bodies are packed.
    pub compression: Compression,
    /// From one push to the next.
    pub interval: Duration,
    /// For one answer.
    pub timeout: Duration,
    /// What the user says of where figures come from.
    pub attributes: Vec<(String, String)>,
}

/// How a body is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// As it is.
    None,
    /// With gzip.
    Gzip,
}

impl Target {
    /// The collector at `place`, a URL or [`ENVIRONMENT`]; `variable` looks up the environment.
    ///
    /// # Errors
    /// [`Error`] with what is wrong with the place or a variable.
    pub fn new(place: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let variables = Variables(&variable);
        let url = if place == ENVIRONMENT { variables.url()? } else { url(&below(place), place)? };
        Ok(Self {
            url,
            headers: variables.headers()?,
            compression: variables.compression()?,
            interval: variables.duration(&["OTEL_METRIC_EXPORT_INTERVAL"])?.unwrap_or(INTERVAL).max(INTERVAL_MIN),
            timeout: variables
                .duration(&["OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"])?
                .unwrap_or(TIMEOUT),
            attributes: variables.attributes()?,
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.url)
    }
}

/// Without the values of headers.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Target").field("url", &self.url).field("headers", &headers).finish_non_exhaustive()
    }
}

struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    /// The first that says anything: an empty one is none.
    fn first(&self, names: &[&'static str]) -> Option<(&'static str, String)> {
        names.iter().find_map(|name| Some((*name, (self.0)(name).filter(|value| !value.trim().is_empty())?)))
    }

    fn url(&self) -> Result<Uri, Error> {
        if let Some((_, place)) = self.first(&["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"]) {
            return url(place.trim(), &place);
        }
        let place = self.first(&["OTEL_EXPORTER_OTLP_ENDPOINT"]).map_or_else(|| USUAL.to_owned(), |(_, place)| place);
        url(&below(place.trim()), &place)
    }

    fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, Error> {
        let names = ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
        let Some((name, text)) = self.first(&names) else { return Ok(Vec::new()) };
        let wrong = |problem| Error::Variable { name, problem };
        let header = |(key, value): (String, String)| {
            let key = HeaderName::try_from(key).map_err(|_| wrong("a key of it is no name of a header"))?;
            let mut value = HeaderValue::try_from(value).map_err(|_| wrong("a value of it cannot be in a header"))?;
            value.set_sensitive(true);
            Ok((key, value))
        };
        pairs(&text).map_err(wrong)?.into_iter().map(header).collect()
    }

    fn compression(&self) -> Result<Compression, Error> {
        let names = ["OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"];
        match self.first(&names) {
            None => Ok(Compression::None),
            Some((name, text)) => match text.trim() {
                "none" => Ok(Compression::None),
                "gzip" => Ok(Compression::Gzip),
                _ => Err(Error::Variable { name, problem: "give gzip or none" }),
            },
        }
    }

    fn duration(&self, names: &[&'static str]) -> Result<Option<Duration>, Error> {
        let Some((name, text)) = self.first(names) else { return Ok(None) };
        match text.trim().parse() {
            Ok(ms @ 1..=MS_MAX) => Ok(Some(Duration::from_millis(ms))),
            _ => Err(Error::Variable { name, problem: "give milliseconds, from 1 to those of a day" }),
        }
    }

    /// The name of the service is said last, so that it holds.
    fn attributes(&self) -> Result<Vec<(String, String)>, Error> {
        let mut attributes = Vec::new();
        if let Some((name, text)) = self.first(&["OTEL_RESOURCE_ATTRIBUTES"]) {
            attributes = pairs(&text).map_err(|problem| Error::Variable { name, problem })?;
        }
        attributes.extend(self.first(&["OTEL_SERVICE_NAME"]).map(|(_, service)| ("service.name".to_owned(), service)));
        Ok(attributes)
    }
}

/// Of a day.
const MS_MAX: u64 = 86_400_000;

/// Where metrics go below a collector's `place`.
fn below(place: &str) -> String {
    let base = place.trim_end_matches('/');
    if base.ends_with(&format!("/{METRICS}")) { base.to_owned() } else { format!("{base}/{METRICS}") }
}

/// `text` as a URL; it comes from `place`.
fn url(text: &str, place: &str) -> Result<Uri, Error> {
    // Before anything of it is repeated.
    if text.split_once("://").is_some_and(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default().contains('@')) {
        return Err(Error::Credentials);
    }
    let no_url = || Error::NoUrl { place: place.to_owned() };
    let url: Uri = text.parse().map_err(|_| no_url())?;
    let has_host = url.host().is_some_and(|host| !host.is_empty());
    match url.scheme() {
        Some(scheme) if has_host && *scheme == Scheme::HTTP => Ok(url),
        Some(scheme) if has_host && *scheme == Scheme::HTTPS && cfg!(feature = "tls") => Ok(url),
        Some(scheme) if has_host && *scheme == Scheme::HTTPS => Err(Error::NoTls { place: place.to_owned() }),
        _ => Err(no_url()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(place: &str, variables: &[(&str, &str)]) -> Result<Target, Error> {
        Target::new(place, |name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    fn url_of(place: &str, variables: &[(&str, &str)]) -> String {
        target(place, variables).unwrap().to_string()
    }

    #[test]
    fn metrics_go_below_a_collector_and_a_place_of_metrics_is_taken_as_it_is() {
        for place in ["http://c:4318", "http://c:4318/", "http://c:4318/v1/metrics", "http://c:4318/v1/metrics/"] {
            assert_eq!(url_of(place, &[]), "http://c:4318/v1/metrics");
        }
        assert_eq!(url_of("http://p/api/v1/otlp", &[]), "http://p/api/v1/otlp/v1/metrics");
        assert_eq!(url_of("env", &[]), "http://localhost:4318/v1/metrics");
        let general = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://general:1/");
        assert_eq!(url_of("env", &[general]), "http://general:1/v1/metrics");
        assert_eq!(url_of("env", &[general, ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m/in")]), "http://m/in");
        assert_eq!(url_of("env", &[general, ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "")]), "http://general:1/v1/metrics");
        assert_eq!(url_of("http://said", &[general]), "http://said/v1/metrics", "what is said holds");
    }

    #[test]
    fn what_is_no_collector_is_refused_and_secrets_are_not_repeated() {
        for place in ["collector:4318", "http://", "grpc://c:4317", "/v1/metrics", "", "http:// c"] {
            assert!(matches!(target(place, &[]), Err(Error::NoUrl { .. })), "{place:?}");
        }
        let error = target("http://me:secret@c:4318", &[]).unwrap_err();
        assert!(error == Error::Credentials && !error.to_string().contains("secret"), "{error}");
        let target = target("http://c", &[("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret")]).unwrap();
        assert!(!format!("{target:?} {target}").contains("secret"), "{target:?}");
        assert_eq!(target.headers[0].1, "secret");
    }

    #[test]
    fn without_what_encrypts_https_is_refused_with_a_way_out() {
        let said = target("https://c", &[]);
        assert_eq!(said.is_ok(), cfg!(feature = "tls"), "{said:?}");
    }

    #[test]
    fn variables_about_metrics_hold_and_what_they_cannot_mean_is_named() {
        let both = [
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "5000"),
            ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "250"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,team=b%20c"),
            ("OTEL_SERVICE_NAME", "d"),
        ];
        let target = target("env", &both).unwrap();
        assert_eq!((target.timeout.as_millis(), target.interval), (250, INTERVAL_MIN));
        assert_eq!(target.compression, Compression::Gzip);
        let attribute = |at: usize| (target.attributes[at].0.as_str(), target.attributes[at].1.as_str());
        assert_eq!((attribute(1), attribute(2)), (("team", "b c"), ("service.name", "d")));
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
            ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "soon"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "-5"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=c%0d%0aHost: x"),
            ("OTEL_RESOURCE_ATTRIBUTES", "nothing"),
        ] {
            let error = super::tests::target("env", &[(name, value)]).unwrap_err();
            assert!(error.to_string().starts_with(name), "{error}");
        }
    }
}
