//! The head of a request, from its bytes. Refuses bodies: nothing that is served here is asked for with one.

use crate::response::Refusal;
use crate::target::Target;

/// A head that is longer than this is refused; browsers send a tenth of it.
pub const HEAD_BYTES_MAX: usize = 16 << 10;

/// Headers that are looked at, of however many there are; with more the request is refused.
const HEADERS_MAX: usize = 64;

/// What may be done with what is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Have it.
    Get,
    /// Have what is said about it.
    Head,
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// How.
    pub method: Method,
    /// What.
    pub target: Target,
    /// Whom it takes us for.
    pub host: Option<String>,
    /// What it says to be let in.
    pub authorization: Option<String>,
    /// Cookies, as they were sent.
    pub cookie: Option<String>,
    /// The page whose script asks, where another one's does.
    pub origin: Option<String>,
    /// The part of a file that is wanted.
    pub range: Option<String>,
    /// A version of the file that the part is wanted of. No versions are told here, so none is that.
    pub if_range: bool,
}

impl Request {
    /// Parses `head`, up to and with the empty line.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn parse(head: &[u8]) -> Result<Self, Refusal> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(head) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Err(Refusal::CutOff),
            Err(httparse::Error::TooManyHeaders) => return Err(Refusal::HeadTooLarge),
            Err(_) => return Err(Refusal::NoRequest),
        }
        let method = match parsed.method {
            Some("GET") => Method::Get,
            Some("HEAD") => Method::Head,
            _ => return Err(Refusal::Method),
        };
        let mut hosts = parsed.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
        if hosts.next().is_some() && hosts.next().is_some() {
            return Err(Refusal::NoRequest);
        }
        let text = |name: &str| {
            let header = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
            std::str::from_utf8(header.value).ok().map(str::to_owned)
        };
        let has_body = text("transfer-encoding").is_some() || text("content-length").is_some_and(|length| length.trim() != "0");
        if has_body {
            return Err(Refusal::Body);
        }
        Ok(Self {
            method,
            target: Target::parse(parsed.path.unwrap_or_default())?,
            host: text("host"),
            authorization: text("authorization"),
            cookie: text("cookie"),
            origin: text("origin"),
            range: text("range"),
            if_range: text("if-range").is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reads_is_a_request() {
        let parse = |text: &str| Request::parse(text.as_bytes());
        assert!(parse("GET / HTTP/1.1\r\nHost: a\r\n\r\n").is_ok());
        assert_eq!(parse("POST / HTTP/1.1\r\n\r\n"), Err(Refusal::Method));
        assert_eq!(parse("OPTIONS / HTTP/1.1\r\n\r\n"), Err(Refusal::Method));
        assert_eq!(parse("GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\n"), Err(Refusal::Body));
        assert_eq!(parse("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), Err(Refusal::Body));
        assert_eq!(parse("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), Err(Refusal::NoRequest));
        assert_eq!(parse("GET / HTTP/1.1\r\nHost: a"), Err(Refusal::CutOff));
        assert_eq!(parse("\u{16}\u{3}\u{1}"), Err(Refusal::NoRequest));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65));
        assert_eq!(parse(&many), Err(Refusal::HeadTooLarge));
    }
}
