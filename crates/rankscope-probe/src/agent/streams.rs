//! The streams of one node, for peers that datagrams do not reach.
//!
//! A stream has one direction: who has something to send connects, and only writes; who is connected to only reads. So nobody has to
//! prove who is at the other end of a connection: packets are signed one by one, as datagrams are. A stream whose first packet is not
//! of this run is closed, one that never brings any is given up, and of those that count the oldest goes where there are too many.
//!
//! Streams listen on the address and the number of the node's UDP port, which the others know already.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};

use rankscope_clock::session::Destination;
use rankscope_clock::{MonotonicInstant, NodeId};
use rankscope_time::Span;

use crate::stamps::{PacketStamp, StreamReceiver, StreamSender};

/// Connections that have not brought a packet of this run.
const STRANGERS_MAX: usize = 64;

/// How long one may take to bring the first.
const GREETING: Span = Span::from_nanos(5_000_000_000);

/// Connections that a node which was started again may have left behind, for each node there is.
const PER_NODE: usize = 4;

/// A peer that cannot be connected to is tried this often.
const AGAIN: Span = Span::from_nanos(1_000_000_000);

/// How often somebody who connects is let in.
const ACCEPT_EVERY: Span = Span::from_nanos(200_000_000);

/// All streams.
#[derive(Debug)]
pub(super) struct Streams {
    listener: Option<TcpListener>,
    addresses: HashMap<NodeId, SocketAddr>,
    outgoing: HashMap<NodeId, Outgoing>,
    /// Oldest first.
    incoming: Vec<Incoming>,
    accept_due: MonotonicInstant,
}

#[derive(Debug)]
struct Outgoing {
    sender: Option<StreamSender>,
    opened: MonotonicInstant,
}

#[derive(Debug)]
struct Incoming {
    receiver: StreamReceiver,
    since: MonotonicInstant,
    /// Has brought a packet of this run.
    proved: bool,
}

impl Streams {
    /// Streams to `addresses`; returns what keeps others from connecting to `own`, too.
    pub(super) fn new(
        own: SocketAddr,
        addresses: HashMap<NodeId, SocketAddr>,
        now: MonotonicInstant,
    ) -> (Self, Option<io::Error>) {
        let listening = TcpListener::bind(own).and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        let (listener, refused) = match listening {
            Ok(listener) => (Some(listener), None),
            Err(error) => (None, Some(error)),
        };
        (Self { listener, addresses, outgoing: HashMap::new(), incoming: Vec::new(), accept_due: now }, refused)
    }

    /// Sends a packet. Returns when it left; none where it did not.
    pub(super) fn send(&mut self, now: MonotonicInstant, to: Destination, packet: &[u8]) -> Option<PacketStamp> {
        let node = match to {
            Destination::Listener(edge) => edge.dst,
            Destination::Prober(edge) => edge.src,
            Destination::Control(node) => node,
        };
        let address = *self.addresses.get(&node)?;
        let outgoing = self.outgoing.entry(node).or_insert(Outgoing { sender: None, opened: now - AGAIN });
        if outgoing.sender.is_none() && now - outgoing.opened >= AGAIN {
            *outgoing = Outgoing { sender: StreamSender::open(address).ok(), opened: now };
        }
        let sent = outgoing.sender.as_mut()?.send(packet);
        if sent.is_err() {
            outgoing.sender = None;
        }
        sent.ok().flatten()
    }

    /// Hands out what has come. `take` is told whether the stream has brought a packet of this run before, and says whether this
    /// is one.
    pub(super) fn receive(&mut self, now: MonotonicInstant, mut take: impl FnMut(&[u8], PacketStamp, bool) -> bool) {
        if self.accept_due <= now {
            self.accept_due = now + ACCEPT_EVERY;
            self.accept(now);
            self.incoming.retain(|incoming| incoming.proved || now - incoming.since < GREETING);
        }
        self.incoming.retain_mut(|Incoming { receiver, proved, .. }| {
            let goes_on = receiver.receive(|packet, stamp| {
                let counts = take(packet, stamp, *proved);
                *proved |= counts;
                *proved
            });
            goes_on.unwrap_or(false)
        });
        let surplus = self.proved().saturating_sub(PER_NODE * self.addresses.len());
        let mut left = surplus;
        self.incoming.retain(|incoming| {
            let goes = incoming.proved && left > 0;
            left -= usize::from(goes);
            !goes
        });
    }

    /// What to wait for.
    pub(super) fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let listener = self.listener.iter().map(AsFd::as_fd);
        listener.chain(self.incoming.iter().map(|incoming| incoming.receiver.as_fd()))
    }

    fn proved(&self) -> usize {
        self.incoming.iter().filter(|incoming| incoming.proved).count()
    }

    fn accept(&mut self, now: MonotonicInstant) {
        let Some(listener) = &self.listener else { return };
        let mut strangers = self.incoming.len() - self.proved();
        loop {
            match listener.accept() {
                // Who comes in a crowd of strangers is sent away at once.
                Ok((stream, _)) if strangers < STRANGERS_MAX => {
                    if let Ok(receiver) = StreamReceiver::new(stream) {
                        self.incoming.push(Incoming { receiver, since: now, proved: false });
                        strangers += 1;
                    }
                }
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpStream;
    use std::time::{Duration, Instant};

    const HERE: &str = "127.0.0.1:0";

    fn at(ms: i64) -> MonotonicInstant {
        MonotonicInstant::from_nanos_since_epoch(ms * 1_000_000)
    }

    /// A node that listens, and where.
    fn listening(nodes: u32) -> (Streams, SocketAddr) {
        let addresses = (0..nodes).map(|node| (NodeId(node), HERE.parse().unwrap())).collect();
        let (streams, refused) = Streams::new(HERE.parse().unwrap(), addresses, at(0));
        assert!(refused.is_none());
        let address = streams.listener.as_ref().unwrap().local_addr().unwrap();
        (streams, address)
    }

    /// Reads until `done`; packets count that begin with a 7.
    fn read(streams: &mut Streams, from_ms: i64, mut done: impl FnMut(&Streams, &[Vec<u8>]) -> bool) -> Vec<Vec<u8>> {
        let (mut packets, mut now_ms, begun) = (Vec::new(), from_ms, Instant::now());
        while !done(streams, &packets) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{packets:?}");
            now_ms += 100;
            streams.receive(at(now_ms), |packet, _, _| {
                packets.push(packet.to_vec());
                packet.first() == Some(&7)
            });
        }
        packets
    }

    #[test]
    fn packets_arrive_in_order_after_a_connection_that_was_not_there_at_first() {
        let (mut to, address) = listening(2);
        let (mut from, _) = listening(2);
        from.addresses.insert(NodeId(1), address);
        let control = Destination::Control(NodeId(1));
        let (mut sent, mut ms) = (0, 0);
        while sent < 20 {
            ms += 1;
            sent += u8::from(from.send(at(ms), control, &[7, sent]).is_some());
        }
        let packets = read(&mut to, 0, |_, packets| packets.len() == 20);
        assert!(packets.iter().zip(0..).all(|(packet, number)| *packet == [7, number]));
        assert_eq!(from.send(at(ms), Destination::Control(NodeId(9)), &[7]), None, "nobody knows where node 9 is");
    }

    #[test]
    fn strangers_are_shown_out_and_are_never_many() {
        let (mut streams, address) = listening(2);
        let mut stranger = TcpStream::connect(address).unwrap();
        stranger.write_all(&[1, 0, 9]).unwrap();
        read(&mut streams, 0, |streams, packets| packets == [[9]] && streams.incoming.is_empty());
        let _silent: Vec<_> = (0..2 * STRANGERS_MAX).map(|_| TcpStream::connect(address).unwrap()).collect();
        streams.receive(at(1_000_000), |_, _, _| false);
        assert_eq!(streams.incoming.len(), STRANGERS_MAX);
        streams.receive(at(1_010_000), |_, _, _| false);
        assert!(
            streams.incoming.len() <= STRANGERS_MAX && streams.incoming.iter().all(|incoming| incoming.since > at(1_000_000))
        );
    }

    #[test]
    fn of_too_many_that_count_the_oldest_go() {
        let (mut streams, address) = listening(2);
        let mut connections = Vec::new();
        for number in 0..3 * PER_NODE as u8 {
            let mut connection = TcpStream::connect(address).unwrap();
            connection.write_all(&[2, 0, 7, number]).unwrap();
            connections.push(connection);
            read(&mut streams, i64::from(number) * 100_000, |_, packets| packets == [[7, number]]);
        }
        assert_eq!(streams.incoming.len(), 2 * PER_NODE);
        for (connection, number) in connections.iter_mut().zip(0..).skip(PER_NODE) {
            connection.write_all(&[2, 0, 7, number]).unwrap();
            read(&mut streams, 10_000_000, |_, packets| packets == [[7, number]]);
        }
    }
}
