//! The daemon that unmodified torch processes ask every few seconds whether to profile, as dynolog is one.
//!
//! A process that has `KINETO_USE_DAEMON=1` sends datagrams to the abstract socket `dynolog`, and takes an answer within 90 ms for a
//! configuration of its profiler. The codecs ([`datagram`], [`rpc`]), what a configuration may say ([`Plan`], [`refuse_outside`]), who is
//! there and what each is to get ([`Desk`]) and at which time of its own clock a node begins ([`wall_ns`]) are pure; [`Daemon`] is the
//! sockets. Whoever claims to be a process that it is not is refused, and nobody can have a file written outside of the run.

pub mod datagram;
mod desk;
mod driver;
mod instant;
mod owner;
mod plan;
pub mod rpc;

pub use desk::{Desk, Placed, Wanted};
pub use driver::{Daemon, DaemonError, Options, Refusals};
pub use instant::wall_ns;
pub use plan::{Outside, Plan, refuse_outside};
