//! Nodes that measure each other's clocks without a job and without a rendezvous: all are told the same addresses, and each works
//! out by itself what a rendezvous would have come to.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use rankscope_clock::graph::{PortPlan, Topology, keys};
use rankscope_clock::nodes::{NodeEstimate, Solution};
use rankscope_clock::{Edge, EdgeFit, EdgeRecord, NodeId};
use rankscope_config::ClockSettings;
use rankscope_probe::agent::{Agent, Event, MeetingOptions, Minutes, PortMode, Summary, reopen};
use rankscope_probe::key::SharedKey;
use rankscope_probe::stamps::Stamping;

use super::{Progress, key, setup, watch};
use crate::error::Error;
use crate::signals::stop_switch;

/// What every node is told alike, but for its own number.
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// This node.
    pub rank: u32,
    /// `HOST:PORT` of every node, in order.
    pub addresses: Vec<String>,
    /// Who probes whom, as [`Topology`] is written.
    pub topology: String,
    /// How long to measure.
    pub duration: Duration,
}

impl Neighbours {
    /// Checks that there are others, and that this node is one of them.
    ///
    /// # Errors
    /// [`Error::RankOutOfRange`].
    pub fn checked(self) -> Result<Self, Error> {
        let num_nodes = self.addresses.len() as u32;
        if self.rank >= num_nodes || num_nodes < 2 {
            return Err(Error::RankOutOfRange { rank: self.rank, num_nodes });
        }
        Ok(self)
    }
}

/// What was learnt, as far as this node was told.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Edges that begin here and have a line.
    pub edges: BTreeMap<Edge, MeasuredEdge>,
    /// Of this node.
    pub own: Option<NodeEstimate>,
    /// Of all nodes, where this one led.
    pub solution: Option<Solution>,
    /// What the agent did.
    pub summary: Summary,
}

/// One edge after its last window with a line.
#[derive(Clone, Debug)]
pub struct MeasuredEdge {
    /// The last line.
    pub fit: EdgeFit,
    /// The window it is of.
    pub record: EdgeRecord,
    /// How many windows had a line.
    pub windows: usize,
}

impl Measured {
    /// Clocks of nodes: of all where this one led, else of this one.
    pub fn nodes(&self) -> Vec<&NodeEstimate> {
        self.solution.as_ref().map_or_else(|| self.own.iter().collect(), |solution| solution.nodes.iter().collect())
    }

    /// Whether nobody answered.
    pub fn is_nothing(&self) -> bool {
        self.edges.is_empty() && self.solution.is_none() && self.own.is_none()
    }

    /// Takes in what the agent told next.
    fn take(&mut self, event: &Event) {
        match event {
            Event::Window(window) => {
                for record in &window.edges {
                    if let Some(fit) = record.fits.iter().flatten().last().copied() {
                        let windows = self.edges.get(&record.edge).map_or(0, |edge| edge.windows) + 1;
                        self.edges.insert(record.edge, MeasuredEdge { fit, record: record.clone(), windows });
                    }
                }
            }
            Event::Clock { estimate, .. } => self.own = Some(*estimate),
            Event::Solved { solution, .. } if !solution.nodes.is_empty() => self.solution = Some(solution.clone()),
            _ => {}
        }
    }
}

/// Measures until the duration is over or a signal comes.
///
/// # Errors
/// Where addresses cannot be used, strangers could join, or this node cannot measure. That nobody answered is a result.
pub fn standalone(
    settings: &ClockSettings,
    neighbours: &Neighbours,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<Measured, Error> {
    let stop = stop_switch()?;
    let node = NodeId(neighbours.rank);
    let addresses = neighbours.addresses.iter().map(|text| resolve(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some((node, address)) = addresses.iter().enumerate().find(|(at, address)| addresses[..*at].contains(address)) {
        return Err(Error::AddressTwice { address: *address, node });
    }
    let key = key::given(settings, Duration::ZERO, tell)?;
    let open = addresses.iter().find(|address| !address.ip().to_canonical().is_loopback()).map(ToString::to_string);
    key::demand(settings, key.as_ref(), open.as_deref())?;
    let minutes = minutes(&neighbours.addresses, addresses, node, &neighbours.topology, key)?;
    let options = MeetingOptions {
        node,
        num_nodes: minutes.addresses.len() as u32,
        ip: minutes.addresses[neighbours.rank as usize].ip(),
        ports: PortMode::Single(0),
        topology: Topology::default(),
        seed: setup::GRAPH_SEED,
        secret: None,
        socket: setup::sockets(settings, Stamping::Kernel),
        timeout: Duration::ZERO,
    };
    let num_nodes = options.num_nodes;
    let session = setup::session(settings, node, &minutes);
    let (outgoing, incoming) = (minutes.edges.out.len(), minutes.edges.back.len());
    let agreement = reopen(minutes, &options)?;
    let agent = Agent::start(session, agreement.endpoints, setup::agent(settings, &stop)?)?;
    tell(Progress::Measuring { node, num_nodes, outgoing, incoming, window: settings.probe_window });
    let mut measured = Measured::default();
    let mut take = |progress: Progress<'_>| {
        if let Progress::Event(event) = progress {
            measured.take(event);
        }
        tell(progress);
    };
    let summary = watch::until_stopped(agent, &stop, Some(neighbours.duration), &mut take)?;
    Ok(Measured { summary, ..measured })
}

fn resolve(text: &str) -> Result<SocketAddr, Error> {
    let mut found = text.to_socket_addrs().map_err(|reason| Error::Unresolved { text: text.to_owned(), reason })?;
    found.next().ok_or_else(|| Error::NoAddress { text: text.to_owned() })
}

/// What a rendezvous would have come to, from what all nodes were told alike.
fn minutes(
    texts: &[String],
    addresses: Vec<SocketAddr>,
    node: NodeId,
    topology: &str,
    key: Option<SharedKey>,
) -> Result<Minutes, Error> {
    let graph = topology.parse::<Topology>()?.graph(addresses.len() as u32, setup::GRAPH_SEED)?;
    let plan = PortPlan::single(&graph, |node| addresses[node.0 as usize].port());
    let published: BTreeMap<String, String> = keys::publish(&graph, &plan).into_iter().collect();
    let edges = keys::read(node, |key| published.get(key).cloned())?;
    // Without a key packets are only told from those of other runs.
    let secret = key.or_else(|| SharedKey::new(texts.join(","))).ok_or(Error::NoAddresses)?;
    // Whoever has the same addresses is in the same run; a number is all that is needed, so a plain sum of powers will do.
    let run = texts.join(",").bytes().fold(0u64, |run, byte| run.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(byte)));
    Ok(Minutes { run, secret, addresses, edges, per_edge: false })
}

#[cfg(test)]
mod tests {
    use rankscope_clock::{HostInstant, Interval, NodeWindow};
    use rankscope_time::Span;

    use super::*;

    const EDGE: Edge = Edge { src: NodeId(0), dst: NodeId(1) };

    fn window(at: i64) -> NodeWindow {
        let (instant, span) = (|ns| HostInstant::from_nanos_since_epoch(at * 1_000 + ns), Span::from_nanos);
        let fit = EdgeFit {
            start: instant(1),
            end: instant(999),
            mid: instant(500),
            offset: span(at),
            skew_ppb: 0.0,
            bound: Interval { lo: span(at - 1), hi: span(at + 1) },
            skew_bound_ppb: (-1.0, 1.0),
            sigma_ns: 1.0,
            rtt_min: span(1),
            points_forward: 9,
            points_reverse: 9,
            degraded: false,
        };
        let (id, edges) = (at as u64, vec![EdgeRecord::new(EDGE, vec![Ok(fit)])]);
        NodeWindow { node: NodeId(0), window_id: id, round: Some(id), start: instant(0), end: instant(1_000), edges }
    }

    /// Three days of windows; a list of what was told would have been full long before.
    #[test]
    fn of_however_long_a_run_the_last_counts_and_only_that_is_kept() {
        let mut measured = Measured::default();
        const WINDOWS: i64 = 70_000;
        for at in 0..WINDOWS {
            measured.take(&Event::Window(window(at)));
            measured.take(&Event::Solved { round: at as u64, solution: Solution::default() });
        }
        let edge = &measured.edges[&EDGE];
        assert_eq!((edge.windows, edge.fit.offset), (WINDOWS as usize, Span::from_nanos(WINDOWS - 1)));
        assert_eq!(edge.record.fits.len(), 1);
        assert!(measured.solution.is_none(), "a round of nobody says nothing");
    }
}
