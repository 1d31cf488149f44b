//! Does stamping work here, and how good is it: packets from this host to itself.
//!
//! A loopback has no wire and no queue, so what is left between the two stamps of a packet is the kernel's own path: the floor
//! under everything that is measured from this host.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rankscope_time::Span;

use super::{PacketStamp, SentId, SocketError, SocketOptions, StampedSocket, Stamping, wait};

/// What became of the packets of a self-test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopbackReport {
    /// Packets sent.
    pub sent: u32,
    /// Transmit stamps that came.
    pub stamped: u32,
    /// Packets that came back, with a stamp.
    pub received: u32,
    /// From the transmit to the receive stamp of each packet that has both, in order of size.
    pub passages_ns: Vec<i64>,
}

impl LoopbackReport {
    /// The passage that `percent` of all are not longer than.
    pub fn percentile_ns(&self, percent: usize) -> Option<i64> {
        let last = self.passages_ns.len().checked_sub(1)?;
        self.passages_ns.get(last * percent.min(100) / 100).copied()
    }
}

/// Packets between two waits.
const BURST: u32 = 16;

/// Sends `count` packets from `ip` to itself and waits at most `timeout` for what comes of them.
///
/// # Errors
/// [`SocketError`] where a socket cannot be opened, or the kernel refuses to stamp.
pub fn self_test(ip: IpAddr, stamping: Stamping, count: u32, timeout: Duration) -> Result<LoopbackReport, SocketError> {
    let options = SocketOptions { stamping, ..SocketOptions::default() };
    let mut sender = StampedSocket::bind(SocketAddr::new(ip, 0), &options)?;
    let mut receiver = StampedSocket::bind(SocketAddr::new(ip, 0), &options)?;
    let (mut sent, mut stamps, mut arrivals) = (HashMap::new(), HashMap::new(), HashMap::new());
    let deadline = Instant::now() + timeout;
    let to = receiver.local_addr();
    let mut number = 0u32;
    loop {
        for _ in 0..BURST.min(count - number) {
            sent.insert(sender.send(to, &number.to_le_bytes())?, number);
            number += 1;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let complete = stamps.len() == count as usize && arrivals.len() == count as usize;
        if complete || left.is_zero() {
            break;
        }
        wait([sender.as_fd(), receiver.as_fd()], Span::from_nanos(left.as_nanos() as i64))
            .map_err(|source| SocketError::Receive { address: sender.local_addr(), source })?;
        sender.drain_stamps(|id: SentId, stamp| {
            stamps.insert(sent.get(&id).copied(), stamp);
        })?;
        receiver.receive(|packet| {
            if let (Ok(number), Some(stamp)) = (packet.bytes.try_into().map(u32::from_le_bytes), packet.stamp) {
                arrivals.insert(number, stamp);
            }
        })?;
    }
    let mut passages_ns: Vec<i64> =
        arrivals.iter().filter_map(|(number, arrival)| passage(stamps.get(&Some(*number))?, arrival)).collect();
    passages_ns.sort_unstable();
    Ok(LoopbackReport { sent: number, stamped: stamps.len() as u32, received: arrivals.len() as u32, passages_ns })
}

fn passage(left: &PacketStamp, arrived: &PacketStamp) -> Option<i64> {
    match (left, arrived) {
        (PacketStamp::Kernel(left), PacketStamp::Kernel(arrived))
        | (PacketStamp::User(left), PacketStamp::User(arrived))
        | (PacketStamp::Hardware(left), PacketStamp::Hardware(arrived)) => Some(arrived - left),
        _ => None,
    }
}
