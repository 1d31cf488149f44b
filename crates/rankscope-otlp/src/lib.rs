//! Figures of a running job, pushed to a collector of OpenTelemetry: OTLP over HTTP, one protobuf message for each look.
//!
//! Pushing is a thread of its own with room for one look. A collector that is slow, refuses or is gone holds up nobody and takes no memory: the
//! look that waits is replaced by the next one, which has newer gauges and counters that include the older ones, and what a collector
//! therefore never saw is counted ([`Tally`]). What is wrong is told once for each kind of trouble, not once for each push.
//!
//! What goes where is [`Target`], from a URL or from the variables that every exporter of OpenTelemetry reads. [`request`] makes the message,
//! [`Outcome`] is what an answer means, [`Backoff`] when to try again: none of these knows a socket or a clock.
//!
//! It refuses credentials in URLs, follows no redirection (headers may hold secrets), and reads no more of an answer than it shows.

mod answer;
mod backoff;
mod error;
mod exporter;
mod message;
mod pairs;
mod post;
mod target;

pub use answer::{Answer, Outcome, Trouble};
pub use backoff::Backoff;
pub use error::Error;
pub use exporter::{Exporter, Look, Tally};
pub use message::{Resource, request};
pub use target::{Compression, ENVIRONMENT, Target};
