//! From the bytes of a request to its response.

use serde_json::json;

use crate::access::Access;
use crate::pages;
use crate::range::{ByteRange, OutOfFile, range_of};
use crate::request::{Method, Request};
use crate::response::{Body, Refusal, Response, Status};
use crate::route::Route;
use crate::shelf::{Fault, KernelQuery, NameQuery, Opened, Shelf};
use crate::target::Target;

/// Perfetto's UI, whose script may read timelines here.
const PERFETTO: &str = "https://ui.perfetto.dev";

/// A site over a shelf.
#[derive(Clone, Debug)]
pub struct Site {
    access: Access,
}

impl Site {
    /// A site that lets in whom `access` does.
    pub fn new(access: Access) -> Self {
        Self { access }
    }

    /// The response to the request whose head is `head`, about what is on `shelf`.
    pub fn answer(&self, head: &[u8], shelf: &dyn Shelf) -> Response {
        let request = match Request::parse(head) {
            Ok(request) => request,
            Err(refusal) => return Response::refused(refusal),
        };
        let mut response = match self.access.admit(&request) {
            Ok(()) => self.found(&request, shelf).unwrap_or_else(Response::refused),
            Err(refusal) => Response::refused(refusal),
        };
        response.sends_body = request.method == Method::Get;
        match self.access.cookie(&request) {
            Some(cookie) => response.with("Set-Cookie", cookie),
            None => response,
        }
    }

    fn found(&self, request: &Request, shelf: &dyn Shelf) -> Result<Response, Refusal> {
        let target = &request.target;
        Ok(match Route::of(target)? {
            Route::Home => pages::home(),
            Route::Run => pages::run(),
            Route::Asset(name) => pages::asset(name)?,
            Route::RunWithoutSlash(run) => Response { status: Status::SeeOther, ..Response::bytes(TEXT, "") }
                .with("Location", format!("/runs/{}/", encoded(run))),
            Route::File(run, path) => {
                let response = or_fault(shelf.open(run, &path), |opened| file(request, &path, opened, FILES))?;
                let is_timeline = path.last().is_some_and(|name| name.ends_with(".pftrace"));
                if is_timeline && request.origin.as_deref() == Some(PERFETTO) {
                    return Ok(response.with("Access-Control-Allow-Origin", PERFETTO).with("Vary", "Origin"));
                }
                response
            }
            Route::Viewer(path) => or_fault(shelf.viewer(&path), |opened| file(request, &path, opened, VIEWER))?,
            Route::Runs => or_fault(shelf.runs(), |runs| {
                Ok(Response::json(&json!({ "runs": runs, "port": self.access.port(), "viewer": shelf.has_viewer() })))
            })?,
            Route::Files(run) => or_fault(shelf.files(run), |files| Ok(Response::json(&json!({ "files": files }))))?,
            Route::Kernels(run) => {
                let kernels = kernel_query(target).and_then(|query| shelf.kernels(run, &query));
                or_fault(kernels, |kernels| Ok(Response::json(&kernels)))?
            }
            Route::Names(run) => {
                let names = name_query(target).and_then(|query| shelf.names(run, &query));
                or_fault(names, |names| Ok(Response::json(&names)))?
            }
        })
    }
}

fn or_fault<T>(found: Result<T, Fault>, response: impl FnOnce(T) -> Result<Response, Refusal>) -> Result<Response, Refusal> {
    match found {
        Ok(found) => response(found),
        Err(fault) => Ok(Response::fault(&fault)),
    }
}

/// Kernels in one answer.
const KERNELS_MAX: usize = 10_000;
const KERNELS_DEFAULT: usize = 2_000;
/// Names in one answer.
const NAMES_MAX: usize = 1_000;
const NAMES_DEFAULT: usize = 100;

fn kernel_query(target: &Target) -> Result<KernelQuery, Fault> {
    let step = target.value("step").filter(|text| !text.is_empty()).map(|text| number(Some(text), "step", "a whole number"));
    Ok(KernelQuery {
        rank: rank(target)?,
        step: step.transpose()?,
        name: target.value("name").unwrap_or_default().to_owned(),
        limit: limit(target, KERNELS_DEFAULT, KERNELS_MAX)?,
    })
}

fn name_query(target: &Target) -> Result<NameQuery, Fault> {
    let text = target.value("q").unwrap_or_default().to_owned();
    Ok(NameQuery { rank: rank(target)?, text, limit: limit(target, NAMES_DEFAULT, NAMES_MAX)? })
}

fn rank(target: &Target) -> Result<u32, Fault> {
    number(target.value("rank"), "rank", "the number of a rank")
}

fn limit(target: &Target, default: usize, most: usize) -> Result<usize, Fault> {
    let limit = target.value("limit").map(|text| number::<usize>(Some(text), "limit", "a number of rows"));
    Ok(limit.transpose()?.unwrap_or(default).min(most))
}

fn number<N: std::str::FromStr>(text: Option<&str>, key: &'static str, takes: &'static str) -> Result<N, Fault> {
    text.and_then(|text| text.parse().ok()).ok_or(Fault::BadQuery { key, takes })
}

/// Pages of runs have their scripts in them, and fetch nothing.
const FILES: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Perfetto's UI compiles its engine, and runs it beside itself; it gets what it needs from us alone.
const VIEWER: &str = "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; worker-src 'self' blob:; frame-ancestors 'self'";

fn file(request: &Request, path: &[&str], opened: Opened, policy: &'static str) -> Result<Response, Refusal> {
    let name = path.last().copied().unwrap_or_default();
    let wanted = request.range.as_deref().filter(|_| !request.if_range);
    let range = range_of(wanted, opened.bytes).map_err(|OutOfFile| Refusal::Range { bytes: opened.bytes })?;
    let whole = ByteRange { start: 0, length: opened.bytes };
    let part = range.unwrap_or(whole);
    let response = Response {
        status: if range.is_some() { Status::PartialContent } else { Status::Ok },
        headers: vec![("Content-Type", kind(name).to_owned()), ("Accept-Ranges", "bytes".to_owned())],
        body: Body::Part { file: opened.file, range: part },
        sends_body: true,
    };
    let last = part.start + part.length.saturating_sub(1);
    let ranged = range.map(|_| format!("bytes {}-{last}/{}", part.start, opened.bytes));
    let response = response.with("Content-Security-Policy", policy);
    Ok(match ranged {
        Some(ranged) => response.with("Content-Range", ranged),
        None => response,
    })
}

const TEXT: &str = "text/plain; charset=utf-8";

/// What a file is, by its name; what is not known is bytes, which no browser runs.
fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, suffix)| suffix) {
        "html" => "text/html; charset=utf-8",
        "json" => "application/json; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "md" | "txt" | "csv" | "toml" | "jsonl" => TEXT,
        "wasm" => "application/wasm",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "woff2" => "font/woff2",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _ => "application/octet-stream",
    }
}

/// `name` as a segment of a path.
fn encoded(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC).to_string()
}
