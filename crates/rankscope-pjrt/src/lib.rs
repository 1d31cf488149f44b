//! A profiler of PJRT, the interface of JAX's back ends: `librankscope_pjrt.so`, which `rankscope.jax.install()` registers.
//!
//! ```text
//!  jaxlib ──► GetPjrtApi ──► table: create, start, stop, collect, destroy
//!                              │
//!                           session ──► anchors at start, each second and at stop ──► plane /rankscope:clock of the XSpace
//! ```
//!
//! An anchor is the wall clock, which stamps JAX's traces, beside `CLOCK_MONOTONIC_RAW`, which nobody sets, and how wide the reading
//! was. So a trace brings along what its alignment needs, whatever became of the files beside it. There is no back end here and no
//! device: a PJRT_Api with nothing but the profiler's extension, of which jaxlib may have several. Where `RANKSCOPE_PJRT_FORWARD` names
//! a plugin of a vendor, it is that plugin's table with our profiler before its own, and the vendor's profiler runs along with ours.
//!
//! The library is loaded into somebody else's job. What it is called with is numbers to look up and never places to trust; what makes
//! no sense is answered by an error object, a panic as well, and a child of a fork begins anew.

mod about;
mod anchors;
mod calls;
mod edge;
mod failure;
mod forwarded;
mod handles;
pub mod layout;
mod profiler;
mod profilers;
mod session;
mod space;
mod unforwarded;
mod vendor;
mod wire;

pub use about::About;
pub use calls::GetPjrtApi;
/// The wall clock, which stamps JAX's events, beside the raw one.
pub use rankscope_record::WallReading as Anchor;
pub use space::encode;

/// Says something on the standard error output, where people look whose traces lack something.
#[expect(clippy::print_stderr, reason = "a library in somebody else's job has nowhere else to say it")]
fn say(what: &str) {
    eprintln!("rankscope: {what}");
}
