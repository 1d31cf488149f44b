//! Does stamping work here, and how good is it: packets from this host to itself.
//!
//! A loopback has no wire and no queue, so what is left between the two stamps of a packet is the kernel's own path: the floor
//! under everything that is measured from this host.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

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

/// The number in packets that do not count.
const WARM_UP: u32 = u32::MAX;

/// How long after one packet without a stamp the next is sent, while the kernel switches stamping on.
const WARM_UP_PAUSE: Duration = Duration::from_millis(1);

/// Sends `count` packets from `ip` to itself and waits at most `timeout` for what comes of them.
///
/// # Errors
/// [`SocketError`] where a socket cannot be opened, or the kernel refuses to stamp.
pub fn self_test(ip: IpAddr, stamping: Stamping, count: u32, timeout: Duration) -> Result<LoopbackReport, SocketError> {
    let mut bench = Bench::open(ip, stamping, Instant::now() + timeout)?;
    bench.warm_up()?;
    let mut number = 0;
    while counted(&bench.stamps) < count || counted(&bench.arrivals) < count {
        for _ in 0..BURST.min(count - number) {
            bench.send(number)?;
            number += 1;
        }
        if !bench.collect(Duration::MAX)? {
            break;
        }
    }
    Ok(bench.report(number))
}

/// Two sockets of this host, and what became of the packets between them, by number.
struct Bench {
    sender: StampedSocket,
    receiver: StampedSocket,
    deadline: Instant,
    sent: HashMap<SentId, u32>,
    stamps: HashMap<u32, PacketStamp>,
    arrivals: HashMap<u32, PacketStamp>,
}

impl Bench {
    fn open(ip: IpAddr, stamping: Stamping, deadline: Instant) -> Result<Self, SocketError> {
        let open = || StampedSocket::bind(SocketAddr::new(ip, 0), &SocketOptions::stamped(stamping));
        let (sender, receiver) = (open()?, open()?);
        let (sent, stamps, arrivals) = (HashMap::new(), HashMap::new(), HashMap::new());
        Ok(Self { sender, receiver, deadline, sent, stamps, arrivals })
    }

    /// The kernel begins to stamp what it receives some milliseconds after the first socket asks for it.
    fn warm_up(&mut self) -> Result<(), SocketError> {
        while !self.arrivals.contains_key(&WARM_UP) {
            self.send(WARM_UP)?;
            let pause = Instant::now() + WARM_UP_PAUSE;
            while let left = pause.saturating_duration_since(Instant::now())
                && !left.is_zero()
            {
                if !self.collect(left)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, number: u32) -> Result<(), SocketError> {
        let id = self.sender.send(self.receiver.local_addr(), &number.to_le_bytes())?;
        self.sent.insert(id, number);
        Ok(())
    }

    /// Takes what comes within `patience`; false when time is over.
    fn collect(&mut self, patience: Duration) -> Result<bool, SocketError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let Self { sender, receiver, sent, stamps, arrivals, .. } = self;
        wait([sender.as_fd(), receiver.as_fd()], left.min(patience))
            .map_err(|source| SocketError::Receive { address: sender.local_addr(), source })?;
        sender.drain_stamps(|id, stamp| {
            if let Some(number) = sent.remove(&id) {
                stamps.insert(number, stamp);
            }
        })?;
        receiver.receive(|packet| {
            if let (Ok(number), Some(stamp)) = (packet.bytes.try_into().map(u32::from_le_bytes), packet.stamp) {
                arrivals.insert(number, stamp);
            }
        })?;
        Ok(true)
    }

    fn report(mut self, sent: u32) -> LoopbackReport {
        self.arrivals.remove(&WARM_UP);
        let passages = self.arrivals.iter().filter_map(|(number, arrival)| passage(self.stamps.get(number)?, arrival));
        let mut passages_ns: Vec<i64> = passages.collect();
        passages_ns.sort_unstable();
        LoopbackReport { sent, stamped: counted(&self.stamps), received: counted(&self.arrivals), passages_ns }
    }
}

/// Packets that count, among those that have a stamp.
fn counted(stamps: &HashMap<u32, PacketStamp>) -> u32 {
    let all = stamps.len() - usize::from(stamps.contains_key(&WARM_UP));
    u32::try_from(all).unwrap_or(u32::MAX)
}

fn passage(left: &PacketStamp, arrived: &PacketStamp) -> Option<i64> {
    match (left, arrived) {
        (PacketStamp::Kernel(left), PacketStamp::Kernel(arrived))
        | (PacketStamp::User(left), PacketStamp::User(arrived))
        | (PacketStamp::Hardware(left), PacketStamp::Hardware(arrived)) => Some(arrived - left),
        _ => None,
    }
}
