//! Where ranks meet: nobody leaves a collective before all of its group have come, nobody has a message before it was sent. A
//! sender waits for nobody.

use std::collections::HashMap;

use crate::Rng;

use super::Job;
use super::cause::Cause;
use super::network::Network;
use super::program::{Exchange, Operation};

/// The end of a piece of device work of one rank.
pub(super) struct End {
    pub(super) rank: u32,
    pub(super) node: usize,
    pub(super) end_ns: i64,
}

/// All exchanges of a job that somebody has come to.
pub(super) struct Meetings<'a> {
    job: &'a Job,
    network: Network<'a>,
    open: HashMap<Key, Vec<Arrival>>,
    /// Ends found and not yet handed out.
    pub(super) ends: Vec<End>,
}

/// Which exchange it is: the first rank of its group, or sender and receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Collective(super::Dimension, u32, u32),
    Message(u32, u32, u32),
}

struct Arrival {
    rank: u32,
    node: usize,
    at_ns: i64,
}

impl<'a> Meetings<'a> {
    pub(super) fn new(job: &'a Job) -> Self {
        let network = Network::new(&job.layout, job.cause.as_ref());
        Self { job, network, open: HashMap::new(), ends: Vec::new() }
    }

    /// `rank` comes to `exchange` at `at_ns` with its piece of work `node`.
    pub(super) fn arrive(&mut self, rank: u32, node: usize, exchange: &Exchange, at_ns: i64) {
        let (key, members) = self.who(rank, exchange);
        let transfer_ns = self.transfer_ns(key, exchange, &members);
        if exchange.operation == Operation::Send {
            self.ends.push(End { rank, node, end_ns: at_ns + transfer_ns });
        }
        let arrivals = self.open.entry(key).or_default();
        arrivals.push(Arrival { rank, node, at_ns });
        if arrivals.len() < members.len() {
            return;
        }
        let arrivals = self.open.remove(&key).unwrap_or_default();
        let last = arrivals.iter().map(|arrival| arrival.at_ns).max().unwrap_or(at_ns);
        let mut rng = self.numbers(key, 1);
        for arrival in arrivals {
            if matches!(key, Key::Message(sender, ..) if sender == arrival.rank) {
                continue;
            }
            let transfer_ns = (transfer_ns as f64 * self.lateness(arrival.rank)) as i64;
            let end_ns = last + transfer_ns + rng.below(TIE_NS) as i64;
            self.ends.push(End { rank: arrival.rank, node: arrival.node, end_ns });
        }
    }

    /// Whether everybody has come to everything.
    pub(super) fn all_over(&self) -> bool {
        self.open.is_empty()
    }

    fn who(&self, rank: u32, exchange: &Exchange) -> (Key, Vec<u32>) {
        match exchange.peer {
            Some(peer) => {
                let (from, to) = if exchange.operation == Operation::Send { (rank, peer) } else { (peer, rank) };
                (Key::Message(from, to, exchange.ordinal), vec![from, to])
            }
            None => {
                let members = self.job.layout.group(rank, exchange.dimension);
                (Key::Collective(exchange.dimension, members[0], exchange.ordinal), members)
            }
        }
    }

    /// How many times as long as the others what is sent takes to reach `rank`.
    fn lateness(&self, rank: u32) -> f64 {
        match self.job.cause {
            Some(Cause::LateReceiver { rank: late, factor }) if late == rank => factor,
            _ => 1.0,
        }
    }

    fn transfer_ns(&self, key: Key, exchange: &Exchange, members: &[u32]) -> i64 {
        let mean_ns = self.network.transfer_ns(exchange.operation, 2 * exchange.elements, members);
        self.numbers(key, 0).around(mean_ns, 2)
    }

    fn numbers(&self, key: Key, purpose: u64) -> Rng {
        let lane = match key {
            Key::Collective(dimension, first, ordinal) => {
                (dimension as u64 + 1) << 60 | u64::from(first) << 32 | u64::from(ordinal)
            }
            Key::Message(from, to, ordinal) => 8 << 60 | u64::from(from) << 44 | u64::from(to) << 28 | u64::from(ordinal),
        };
        Rng::lane(self.job.seed ^ LANES, lane << 1 | purpose)
    }
}

/// How far apart ranks leave what they leave together.
const TIE_NS: u64 = 400;
/// Sets these numbers apart from those of the ranks.
const LANES: u64 = 0x6d65_6574_696e_6773;
