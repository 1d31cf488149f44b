//! One HTTP request and its answer, as small servers inside of a job speak it.

use std::time::Instant;

use crate::error::Error;
use crate::wire::{BYTES_MAX, Wire};

/// Headers of an answer, at most.
const HEADERS_MAX: usize = 64;

/// The largest head.
const HEAD_MAX: usize = 64 << 10;

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Asks `address` for `path`, before `deadline`.
pub(crate) fn request(address: &str, method: &str, path: &str, deadline: Instant) -> Result<Answer, Error> {
    let question = format!("{method} {path}");
    let mut wire = Wire::connect(address, deadline)?;
    let asked = format!("{question} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    wire.send(asked.as_bytes(), &question)?;
    let mut came = Vec::new();
    let head = loop {
        if let Some(head) = head(&came).ok_or_else(|| strange(address, &question, &came))? {
            break head;
        }
        let more = wire.some(&question)?;
        if more.is_empty() {
            return Err(wire.hung_up(&question, came.len()));
        }
        came.extend(more);
        if came.len() > HEAD_MAX + BYTES_MAX {
            return Err(wire.too_large(&question, HEAD_MAX));
        }
    };
    let mut body = came.split_off(head.bytes);
    if head.length.is_some_and(|length| length > BYTES_MAX) {
        return Err(wire.too_large(&question, BYTES_MAX));
    }
    body.extend(wire.rest(&question, head.length.map(|length| length.saturating_sub(body.len())))?);
    match head.length {
        Some(length) if body.len() < length => return Err(wire.hung_up(&question, body.len())),
        Some(length) => body.truncate(length),
        None => {}
    }
    Ok(Answer { status: head.status, body })
}

struct Head {
    status: u16,
    bytes: usize,
    length: Option<usize>,
}

/// The head at the front of `bytes`: the inner nothing where it is not whole, the outer where it is none.
fn head(bytes: &[u8]) -> Option<Option<Head>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Complete(end)) => {
            let header = |name: &str| response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
            if header("transfer-encoding").is_some() {
                return None;
            }
            let length = header("content-length").map(|header| std::str::from_utf8(header.value).ok()?.trim().parse().ok());
            // A length that is none.
            if length == Some(None) {
                return None;
            }
            Some(Some(Head { status: response.code?, bytes: end, length: length.flatten() }))
        }
        Ok(httparse::Status::Partial) if bytes.len() > HEAD_MAX => None,
        Ok(httparse::Status::Partial) => Some(None),
        Err(_) => None,
    }
}

fn strange(address: &str, question: &str, came: &[u8]) -> Error {
    let reply = String::from_utf8_lossy(&came[..came.len().min(200)]).into_owned();
    Error::Refused { address: address.to_owned(), question: question.to_owned(), reply }
}
