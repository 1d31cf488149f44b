//! Forged, damaged, foreign and repeated packets, handed to a real session: each must be counted, and none answered.

use rankscope_clock::fit::{Estimator, FitOptions};
use rankscope_clock::nodes::SolveOptions;
use rankscope_clock::session::wire::{self, Header, Kind, Reject, Value};
use rankscope_clock::session::{Input, Key, Now, Output, Session, SessionSettings, Stamp};
use rankscope_clock::{Edge, HostInstant, MonotonicInstant, NodeId, StampSource, Transport};

use super::row::Row;

const RUN: u64 = 77;
const EDGE: Edge = Edge { src: NodeId(1), dst: NodeId(0) };
const SYN: Header = Header { kind: Kind::Syn, run: RUN, edge: EDGE, sequence: 0, incarnation: 1 };

/// G8.
pub(super) fn row() -> Row {
    eprintln!("forging packets");
    let key = Key::derive(b"the job's secret");
    let mut node = Node::listening(&key);
    let opened = node.feed(&probe(&key, &SYN));
    let first = Header { kind: Kind::Pt1, ..SYN };
    let (pt1, pt2) = (probe(&key, &first), probe(&key, &Header { kind: Kind::Pt2, ..first }));
    let control = wire::seal_control(&key, &Header { kind: Kind::Control, ..SYN }, &[7; 40]);

    let mut forged: Vec<Vec<u8>> = [&pt1, &pt2, &control].into_iter().flat_map(|packet| flips(packet)).collect();
    let flipped = forged.len();
    let guess = Key::derive(b"guess");
    let foreign = |header: &Header| Header { run: RUN + 1, ..*header };
    forged.extend([probe(&guess, &first), wire::seal_control(&guess, &Header { kind: Kind::Control, ..SYN }, &[7; 40])]);
    forged.extend([probe(&key, &foreign(&first)), probe(&guess, &foreign(&first))]);
    let answers: usize = forged.iter().map(|packet| node.feed(packet)).sum();
    let rejected = node.rejected_in_all();

    // The real ones still count, and count once.
    let accepted = node.feed(&pt1) + node.feed(&pt2);
    let still_rejected = node.rejected_in_all();
    let replayed: usize = [&pt1, &pt2].into_iter().map(|packet| node.feed(packet)).sum();
    let replays = node.session.counters().rejected(Reject::Replay);
    Row::new("G8", "every bit flipped, wrong key, foreign run, replay", "all rejected, counted and unanswered")
        .figure("bit_flips", flipped)
        .figure("forged", forged.len())
        .figure("rejected", rejected)
        .figure("wrong_key_or_damaged", node.session.counters().rejected(Reject::Mac))
        .figure("foreign_run", node.session.counters().rejected(Reject::Run))
        .figure("replays_rejected", replays)
        .figure("answers", answers + replayed)
        .holds(
            opened > 0
                && accepted > 0
                && rejected == forged.len() as u64
                && still_rejected == rejected
                && (replays, answers + replayed) == (2, 0),
        )
}

fn probe(key: &Key, header: &Header) -> Vec<u8> {
    wire::seal_probe(key, header, [Value::Nothing; 2]).to_vec()
}

fn flips(packet: &[u8]) -> Vec<Vec<u8>> {
    let flip = |bit: usize| {
        let mut flipped = packet.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        flipped
    };
    (0..8 * packet.len()).map(flip).collect()
}

/// A session at one instant, so that all it sends is an answer.
struct Node {
    session: Session,
    now: Now,
}

impl Node {
    fn listening(key: &Key) -> Self {
        let (fit, solve) = (FitOptions::usual(Estimator::Band), SolveOptions::for_reference(NodeId(0)));
        let settings = SessionSettings::new(NodeId(0), vec![EDGE], RUN, key.clone(), fit, solve);
        let second = 1_000_000_000;
        let now = Now {
            monotonic: MonotonicInstant::from_nanos_since_epoch(second),
            host: HostInstant::from_nanos_since_epoch(second),
        };
        let mut node = Self { session: Session::new(settings, now), now };
        node.drain();
        node
    }

    /// Hands in a packet. Returns how many it sends for it.
    fn feed(&mut self, bytes: &[u8]) -> usize {
        let received = Some(Stamp { at: self.now.host, source: StampSource::Kernel });
        self.session.handle(self.now, Input::Packet { socket: None, over: Transport::Udp, received, bytes });
        self.drain()
    }

    fn drain(&mut self) -> usize {
        let mut sent = 0;
        loop {
            match self.session.poll() {
                Output::Transmit { .. } => sent += 1,
                Output::Wake(_) | Output::Stopped => return sent,
                Output::Window(_) | Output::Solved { .. } | Output::Clock { .. } | Output::Rerouted { .. } => {}
            }
        }
    }

    fn rejected_in_all(&self) -> u64 {
        self.session.counters().rejected_in_all()
    }
}
