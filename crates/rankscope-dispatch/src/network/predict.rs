//! Every message laid on its links, and the time of the slowest.

use std::collections::BTreeMap;

use rankscope_time::{Rank, Span};

use super::link::Link;
use super::size_table::SizeTable;
use super::topology::{Level, Topology};
use crate::{Error, Traffic};

/// What messages cost at one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelCost {
    /// What every message costs before its first byte.
    pub alpha: Span,
    /// What a port of this level carries.
    pub bytes_per_second: u64,
    /// Takes the place of both for the bytes of a port that lie below its last point; its times are those of whole exchanges.
    pub small: SizeTable,
}

/// A network as a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Who sits where.
    pub topology: Topology,
    /// What an exchange costs before its first message: a launch, a rendezvous.
    pub base: Span,
    /// Within a node.
    pub node: LevelCost,
    /// Through one leaf switch.
    pub rail: LevelCost,
    /// Over the spine.
    pub spine: LevelCost,
}

/// What an exchange takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The slowest link.
    pub total: Span,
    /// Which one that is; none where nothing leaves its rank.
    pub bottleneck: Option<Link>,
    /// Every rank of the job.
    pub ranks: Vec<RankTime>,
    /// Links that carry anything, in their order.
    pub links: Vec<LinkTime>,
}

/// One rank's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankTime {
    /// Bytes to others.
    pub send_bytes: u64,
    /// Bytes from others.
    pub receive_bytes: u64,
    /// Its slowest own port or card, sending.
    pub send: Span,
    /// The same, receiving.
    pub receive: Span,
    /// Its slowest link of any sort: what it stays, once everybody it talks to is there.
    pub stay: Span,
}

/// One link's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkTime {
    /// Which link.
    pub link: Link,
    /// Messages over it.
    pub messages: u64,
    /// Bytes over it.
    pub bytes: u64,
    /// How long it is busy.
    pub time: Span,
}

/// Messages and bytes of each level on one link.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    messages: [u64; 3],
    bytes: [u64; 3],
}

impl Network {
    /// # Errors
    /// [`Error::BadNetwork`] names the field.
    pub fn validate(&self) -> Result<(), Error> {
        self.topology.validate()?;
        if self.base < Span::ZERO || Level::ALL.iter().any(|level| self.cost(*level).alpha < Span::ZERO) {
            return Err(Error::BadNetwork { field: "alpha", what: "a message cannot take less than no time" });
        }
        if Level::ALL.iter().any(|level| self.cost(*level).bytes_per_second == 0) {
            return Err(Error::BadNetwork { field: "bytes_per_second", what: "a link that carries nothing never ends" });
        }
        Ok(())
    }

    /// The cost at a level.
    #[must_use]
    pub fn cost(&self, level: Level) -> &LevelCost {
        match level {
            Level::Node => &self.node,
            Level::Rail => &self.rail,
            Level::Spine => &self.spine,
        }
    }

    /// What one message between two ranks takes alone: activations from stage to stage, say.
    #[must_use]
    pub fn message(&self, from: Rank, to: Rank, bytes: u64) -> Span {
        if from == to {
            return Span::ZERO;
        }
        let level = self.topology.level(from, to);
        let mut load = Load::default();
        load.add(level, bytes);
        self.port_time(&load)
    }

    /// What `traffic` takes. What ranks keep for themselves crosses no network and costs nothing here.
    ///
    /// # Errors
    /// [`Error::BadNetwork`]; [`Error::Overflow`].
    pub fn predict(&self, traffic: &Traffic) -> Result<Prediction, Error> {
        self.validate()?;
        let loads = self.loads(traffic)?;
        let links: Vec<LinkTime> = loads.iter().map(|(link, load)| self.link_time(*link, load)).collect();
        // Of equally slow links the first one is named.
        let slowest = links.iter().fold(None, |slowest: Option<&LinkTime>, link| match slowest {
            Some(known) if known.time >= link.time => slowest,
            _ => Some(link),
        });
        let (total, bottleneck) = slowest.map_or((Span::ZERO, None), |slowest| (slowest.time, Some(slowest.link)));
        let ranks = self.ranks(traffic, &links);
        Ok(Prediction { total, bottleneck, ranks, links })
    }

    fn loads(&self, traffic: &Traffic) -> Result<BTreeMap<Link, Load>, Error> {
        let mut loads: BTreeMap<Link, Load> = BTreeMap::new();
        let mut all = 0_u64;
        for &(from, to, bytes) in traffic.pairs().iter().filter(|pair| pair.0 != pair.1) {
            // No link and no rank carries more than all together.
            all = all.checked_add(bytes).ok_or(Error::Overflow { what: "the bytes of one exchange" })?;
            let (level, path) = Link::path(&self.topology, from, to);
            for link in path.into_iter().flatten() {
                loads.entry(link).or_default().add(level, bytes);
            }
        }
        Ok(loads)
    }

    fn link_time(&self, link: Link, load: &Load) -> LinkTime {
        let (messages, bytes) = (load.messages.iter().sum(), load.bytes.iter().sum());
        let time = if link.is_uplink() { self.uplink_time(bytes) } else { self.port_time(load) };
        LinkTime { link, messages, bytes, time }
    }

    /// One message after the other. A level with a table for so few bytes takes its time from there, start included.
    fn port_time(&self, load: &Load) -> Span {
        let (mut time, mut started) = (Span::ZERO, Span::ZERO);
        for (at, level) in Level::ALL.into_iter().enumerate().filter(|(at, _)| load.messages[*at] > 0) {
            let cost = self.cost(level);
            if let Some(small) = cost.small.time(load.bytes[at]) {
                time = time + small;
                continue;
            }
            let alphas = times(cost.alpha, load.messages[at]);
            time = time + (alphas + transfer(load.bytes[at], cost.bytes_per_second)).max(cost.small.floor());
            started = self.base;
        }
        started + time
    }

    /// Many ranks feed an uplink, so their messages overlap: it waits for one, and carries all.
    fn uplink_time(&self, bytes: u64) -> Span {
        let rate = self.uplink_bytes_per_second();
        self.base + self.spine.alpha + transfer(bytes, rate)
    }

    /// Bytes per second of the uplinks of one leaf in one direction.
    #[must_use]
    pub fn uplink_bytes_per_second(&self) -> u64 {
        self.topology.uplink_bytes_per_second(self.spine.bytes_per_second)
    }

    fn ranks(&self, traffic: &Traffic, links: &[LinkTime]) -> Vec<RankTime> {
        let idle = RankTime { send_bytes: 0, receive_bytes: 0, send: Span::ZERO, receive: Span::ZERO, stay: Span::ZERO };
        let mut ranks = vec![idle; traffic.world_size() as usize];
        let time = |link: Link| links.binary_search_by_key(&link, |known| known.link).map_or(Span::ZERO, |at| links[at].time);
        for &(from, to, bytes) in traffic.pairs().iter().filter(|pair| pair.0 != pair.1) {
            let (_, path) = Link::path(&self.topology, from, to);
            let slowest = path.iter().flatten().map(|link| time(*link)).max().unwrap_or_default();
            let sender = &mut ranks[from.0 as usize];
            sender.send_bytes += bytes;
            sender.send = sender.send.max(path[0].map(time).unwrap_or_default());
            sender.stay = sender.stay.max(slowest);
            let receiver = &mut ranks[to.0 as usize];
            receiver.receive_bytes += bytes;
            receiver.receive = receiver.receive.max(path[3].map(time).unwrap_or_default());
            receiver.stay = receiver.stay.max(slowest);
        }
        ranks
    }
}

impl Load {
    fn add(&mut self, level: Level, bytes: u64) {
        self.messages[level as usize] += 1;
        self.bytes[level as usize] += bytes;
    }
}

/// `bytes` at a rate, rounded up to the nanosecond, pinned to the end of time.
pub(crate) fn transfer(bytes: u64, bytes_per_second: u64) -> Span {
    let nanos = (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(bytes_per_second.max(1)));
    Span::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

fn times(span: Span, count: u64) -> Span {
    Span::from_nanos(i64::try_from(count).map_or(i64::MAX, |count| span.as_nanos().saturating_mul(count)))
}
