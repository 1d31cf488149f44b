//! What a client gets: a status, headers, and a body that is bytes or a part of a file. Every response closes its connection.

use std::fmt::Write as _;

use serde_json::json;

use crate::range::ByteRange;
use crate::shelf::{Fault, Reading};

/// Why a request is not answered with what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its bytes are no request.
    NoRequest,
    /// The connection ended before the request did.
    CutOff,
    /// Its head is longer than any browser's.
    HeadTooLarge,
    /// Something else than to be read is asked for.
    Method,
    /// It comes with a body.
    Body,
    /// Its path leads elsewhere, or is no path.
    Path,
    /// Its query is none.
    Query,
    /// It takes us for somebody else.
    Host,
    /// It has not the token.
    Token,
    /// There is nothing of that name.
    NotThere,
    /// The file has no such bytes, but so many.
    Range {
        /// Bytes of the file.
        bytes: u64,
    },
    /// Others are being answered.
    Busy,
}

impl Refusal {
    fn told(self) -> (Status, &'static str, &'static str) {
        use Status::*;
        match self {
            Self::NoRequest => (BadRequest, "no_request", "These bytes are no request of HTTP/1.1."),
            Self::CutOff => (Timeout, "cut_off", "The request did not come to an end. Send it again."),
            Self::HeadTooLarge => {
                (HeadTooLarge, "head_too_large", "The head of the request is too long. Leave out cookies and headers.")
            }
            Self::Method => (Method, "method", "Only GET and HEAD are answered: nothing can be changed here."),
            Self::Body => (BadRequest, "body", "A request with a body is not answered. Send none."),
            Self::Path => (BadRequest, "path", "The path names nothing below the folder that is served. Start at /."),
            Self::Query => (BadRequest, "query", "The query cannot be read: pairs of key=value, at most 16, in UTF-8."),
            Self::Host => (
                Forbidden,
                "host",
                "The request names another host. Open the address that rankscope printed, with 127.0.0.1 or localhost in it.",
            ),
            Self::Token => (
                Unauthorized,
                "token",
                "A token is needed: open the address that rankscope printed, or send it as Authorization: Bearer.",
            ),
            Self::NotThere => (NotFound, "not_there", "There is nothing of this name. / lists the runs."),
            Self::Range { .. } => (RangeNotSatisfiable, "range", "The file has no such bytes."),
            Self::Busy => (Unavailable, "busy", "As many requests as are answered at a time are being answered. Ask again."),
        }
    }
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are called as HTTP calls them")]
pub enum Status {
    Ok,
    PartialContent,
    SeeOther,
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    Method,
    Timeout,
    RangeNotSatisfiable,
    HeadTooLarge,
    Failed,
    Unavailable,
}

impl Status {
    /// Its number.
    pub fn code(self) -> u16 {
        self.line().0
    }

    fn line(self) -> (u16, &'static str) {
        match self {
            Self::Ok => (200, "OK"),
            Self::PartialContent => (206, "Partial Content"),
            Self::SeeOther => (303, "See Other"),
            Self::BadRequest => (400, "Bad Request"),
            Self::Unauthorized => (401, "Unauthorized"),
            Self::Forbidden => (403, "Forbidden"),
            Self::NotFound => (404, "Not Found"),
            Self::Method => (405, "Method Not Allowed"),
            Self::Timeout => (408, "Request Timeout"),
            Self::RangeNotSatisfiable => (416, "Range Not Satisfiable"),
            Self::HeadTooLarge => (431, "Request Header Fields Too Large"),
            Self::Failed => (500, "Internal Server Error"),
            Self::Unavailable => (503, "Service Unavailable"),
        }
    }
}

/// What follows the headers.
pub enum Body {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Bytes of what is open here.
    Part {
        /// The file.
        file: Box<dyn Reading>,
        /// Which of it.
        range: ByteRange,
    },
}

/// A response.
pub struct Response {
    /// How it went.
    pub status: Status,
    /// Its headers, without what is in every response.
    pub headers: Vec<(&'static str, String)>,
    /// The body; of an answer to HEAD what its length is told from, and which is not sent.
    pub body: Body,
    /// Whether the body is sent.
    pub sends_body: bool,
}

/// Headers of every response.
const ALWAYS: &str =
    "Connection: close\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n";

impl Response {
    pub(crate) fn bytes(kind: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type", kind.to_owned())];
        Self { status: Status::Ok, headers, body: Body::Bytes(bytes.into()), sends_body: true }
    }

    /// Figures in Prometheus' text format.
    pub fn metrics(text: String) -> Self {
        Self::bytes("text/plain; version=0.0.4; charset=utf-8", text)
    }

    pub(crate) fn json(value: &impl serde::Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(bytes) => Self::bytes(JSON, bytes),
            Err(error) => Self::error(Status::Failed, "unwritten", &error.to_string()),
        }
    }

    pub(crate) fn error(status: Status, error: &str, reason: &str) -> Self {
        let body = json!({ "error": error, "reason": reason }).to_string();
        Self { status, ..Self::bytes(JSON, body) }
    }

    /// The response to what is refused.
    pub fn refused(refusal: Refusal) -> Self {
        let (status, error, reason) = refusal.told();
        let response = Self::error(status, error, reason);
        match refusal {
            Refusal::Method => response.with("Allow", "GET, HEAD"),
            Refusal::Token => response.with("WWW-Authenticate", "Bearer"),
            Refusal::Range { bytes } => response.with("Content-Range", format!("bytes */{bytes}")),
            Refusal::Busy => response.with("Retry-After", "1"),
            _ => response,
        }
    }

    pub(crate) fn fault(fault: &Fault) -> Self {
        let status = match fault {
            Fault::NoRun
            | Fault::NoFile
            | Fault::NoTraces { .. }
            | Fault::NoRank { .. }
            | Fault::NoStep { .. }
            | Fault::NoOperator { .. } => Status::NotFound,
            Fault::BadQuery { .. } => Status::BadRequest,
            Fault::NobodyWaits => Status::Unavailable,
            Fault::Unreadable { .. } => Status::Failed,
        };
        Self::error(status, fault.name(), &fault.to_string())
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The value of the header called `name`.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Bytes of the body, sent or not.
    pub fn length(&self) -> u64 {
        match &self.body {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::Part { range, .. } => range.length,
        }
    }

    /// Everything before the body, as it is sent.
    pub fn head(&self) -> String {
        let (code, words) = self.status.line();
        let mut head = format!("HTTP/1.1 {code} {words}\r\n{ALWAYS}Content-Length: {}\r\n", self.length());
        for (name, value) in &self.headers {
            // No name of a file ends a header and begins another.
            let value: String = value.chars().filter(|c| !c.is_control()).collect();
            // A String takes any write.
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if self.header("Content-Security-Policy").is_none() {
            head += "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n";
        }
        head + "\r\n"
    }
}

const JSON: &str = "application/json; charset=utf-8";
