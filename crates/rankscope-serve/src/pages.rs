//! Pages of ours: the list of runs, and what of one run is asked for piece by piece. They hold no data; their script fetches it and puts it
//! in as text, so that no name in a trace is ever markup.

use crate::response::{Refusal, Response};

/// Pages may run our own script, and fetch from us alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn home() -> Response {
    page(include_str!("../web/home.html"))
}

pub(crate) fn run() -> Response {
    page(include_str!("../web/run.html"))
}

fn page(text: &str) -> Response {
    Response::bytes("text/html; charset=utf-8", text).with("Content-Security-Policy", POLICY)
}

/// What pages are made of.
pub(crate) fn asset(name: &str) -> Result<Response, Refusal> {
    let script = |text: &str| Response::bytes("text/javascript; charset=utf-8", text);
    match name {
        "home.js" => Ok(script(include_str!("../web/home.js"))),
        "run.js" => Ok(script(include_str!("../web/run.js"))),
        "calls.js" => Ok(script(include_str!("../web/calls.js"))),
        "tree.js" => Ok(script(include_str!("../web/tree.js"))),
        "tree_rows.js" => Ok(script(include_str!("../web/tree_rows.js"))),
        "perfetto.js" => Ok(script(include_str!("../web/perfetto.js"))),
        "dom.js" => Ok(script(include_str!("../web/dom.js"))),
        "serve.css" => Ok(Response::bytes("text/css; charset=utf-8", include_str!("../web/serve.css"))),
        _ => Err(Refusal::NotThere),
    }
}
