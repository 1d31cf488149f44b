//! From the bytes of a request to its response.

use serde_json::json;

use crate::access::Access;
use crate::pages;
use crate::query::{kernel_query, name_query, operator_query, tree_query};
use crate::range::{ByteRange, OutOfFile, range_of};
use crate::request::{Method, Request};
use crate::response::{Body, Refusal, Response, Status};
use crate::route::Route;
use crate::shelf::{Fault, Opened, Shelf};

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
            Route::RunWithoutSlash(run) => elsewhere(format!("/runs/{}/", encoded(run))),
            Route::Report(run) => or_fault(shelf.runs(), |runs| {
                let page = runs.iter().find(|card| card.name == run).and_then(|card| card.page.as_deref());
                Ok(elsewhere(page.map_or_else(
                    // Its own page says what there is.
                    || format!("/runs/{}/", encoded(run)),
                    |page| format!("/runs/{}/files/{page}", encoded(run)),
                )))
            })?,
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
            Route::Operators(run) => {
                let operators = operator_query(target).and_then(|query| shelf.operators(run, &query));
                or_fault(operators, |operators| Ok(Response::json(&operators)))?
            }
            Route::Tree(run) => {
                let tree = tree_query(target).and_then(|query| shelf.tree(run, &query));
                or_fault(tree, |tree| Ok(Response::json(&tree)))?
            }
        })
    }
}

fn elsewhere(path: String) -> Response {
    Response { status: Status::SeeOther, ..Response::bytes(TEXT, "") }.with("Location", path)
}

fn or_fault<T>(found: Result<T, Fault>, response: impl FnOnce(T) -> Result<Response, Refusal>) -> Result<Response, Refusal> {
    match found {
        Ok(found) => response(found),
        Err(fault) => Ok(Response::fault(&fault)),
    }
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
