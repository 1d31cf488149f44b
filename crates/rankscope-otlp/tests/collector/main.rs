//! A collector on this machine, played over real sockets: what it gets, read by OpenTelemetry's own definitions, and what becomes of looks when it is
//! busy, refuses, talks nonsense, is slow or is not there.
#![expect(clippy::unwrap_used, reason = "a test of what is sent")]

mod message;
mod pushed;
mod server;
