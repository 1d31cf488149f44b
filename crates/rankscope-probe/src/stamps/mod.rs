//! Datagrams with a stamp at each end: when the kernel handed a packet to the driver, and when it got one from there.
//!
//! A transmit stamp comes back over the error queue of the socket, later, and names its packet by a number that the kernel
//! counts. It is matched by that number and nothing else, so a stamp that is late, or never comes, shifts no other's.
//!
//! Stamps are handed out as the kernel gives them; [`HostTime`](crate::clocks::HostTime) puts them on the host clock. The user's
//! own clock is read in place of the kernel's only where the kernel stamps nothing, and the stamps say so.

mod batch;
mod capability;
mod control;
mod ids;
mod poll;
mod self_test;
mod socket;
mod stream;

pub(crate) use batch::PACKETS_MAX;
pub use capability::{Capability, switch_on};
pub use poll::wait;
pub use self_test::{LoopbackReport, self_test};
pub use socket::{Received, SentId, SocketError, SocketOptions, StampedSocket, Stamping};
pub use stream::{StreamReceiver, StreamSender};

/// When a packet passed, on the clock that stamped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketStamp {
    /// The clock of the network card.
    Hardware(i64),
    /// The kernel, in `CLOCK_REALTIME`.
    Kernel(i64),
    /// This program, in `CLOCK_REALTIME`, before it sent or after it received.
    User(i64),
}
