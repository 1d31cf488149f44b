//! The drivers of clock synchronisation: sockets, kernel time stamps, clock snapshots, rendezvous, and the agent of one node.
//!
//! The one idea: everything that decides lives in `rankscope-clock` and takes `now` as an argument; this crate only moves
//! bytes and reads clocks. It is the only home of unsafe code for clock synchronisation.
//!
//! Stamps and clocks are Linux's; elsewhere the rendezvous and what a launcher says are all there is.

#[cfg(target_os = "linux")]
pub mod agent;
#[cfg(target_os = "linux")]
pub mod clocks;
#[cfg(target_os = "linux")]
pub mod doctor;
pub mod interfaces;
pub mod key;
pub mod launch;
pub mod private;
pub mod rendezvous;
#[cfg(target_os = "linux")]
pub mod stamps;

/// Seconds and nanoseconds as nanoseconds, in integers: a float would round an instant of today to 256 ns.
#[cfg(target_os = "linux")]
fn nanos(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}
