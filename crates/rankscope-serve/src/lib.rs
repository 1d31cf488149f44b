//! Requests in, responses out: the pages of runs over HTTP.
//!
//! A request is the bytes of its head, a response is a status, headers and a body; between them stands [`Site::answer`], which knows neither
//! sockets nor files. What it serves is a [`Shelf`], which the program puts up over a folder. So everything that a client can say is tried
//! in tests without a network, and what a shelf is asked for has passed [`Target`]: names of one segment each, none of which leads anywhere else.
//!
//! ```
//! use rankscope_serve::{Access, Empty, Site};
//!
//! let site = Site::new(Access::loopback(9001));
//! let response = site.answer(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:9001\r\n\r\n", &Empty);
//! assert_eq!(response.status.code(), 200);
//! let response = site.answer(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", &Empty);
//! assert_eq!(response.status.code(), 403);
//! ```

mod access;
mod calls;
mod pages;
mod query;
mod range;
mod request;
mod response;
mod route;
mod shelf;
mod site;
mod target;
mod timeline;

pub use access::{Access, Token};
pub use calls::{LeftOut, OperatorQuery, OperatorRow, Operators, Tree, TreeQuery, TreeRow};
pub use range::{ByteRange, OutOfFile, range_of};
pub use request::{HEAD_BYTES_MAX, Method, Request};
pub use response::{Body, Refusal, Response, Status};
pub use shelf::{
    Empty, Fault, FileCard, KernelQuery, KernelRow, Kernels, NameQuery, NameRow, Names, Opened, Reading, RunCard, Shelf,
};
pub use site::Site;
pub use target::Target;
pub use timeline::TimelinePlace;
