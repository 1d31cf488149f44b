//! How the nodes of a job find each other: through a key-value store, once, before the first probe.
//!
//! Every node writes its address. Node 0 gathers them and writes them down for all, lays out the probe graph, gives out ports, and writes
//! both under the origin's keys. So what any other node asks of the store does not grow with the job.
//! With a port for each edge, nodes try to open theirs and answer; while somebody found one taken, node 0 hands out others. A
//! meeting ends, well or with an error that says who was missing; it never hangs. A node that is alone meets nobody, and needs
//! neither store nor socket.

mod book;

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use rankscope_clock::NodeId;
use rankscope_clock::graph::{BusyPorts, PortError, PortOptions, PortPlan, ProbeGraph, Topology, TopologyError, keys};

use super::endpoints::Endpoints;
use super::minutes::Minutes;
use crate::key::{SharedKey, hexadecimal};
use crate::rendezvous::{KeyValueStore, StoreError, node_address_key, publish_address};
use crate::stamps::{SocketError, SocketOptions, StampedSocket};

/// One port for everything, or one for each end of each edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortMode {
    /// One; 0 takes any.
    Single(u16),
    /// One for each end of each edge, and one for control: the given one plus the node's number, or any where that is 0.
    PerEdge {
        /// Where blocks lie.
        blocks: PortOptions,
        /// Of node 0.
        control: u16,
    },
}

/// Who meets, and how.
#[derive(Clone, Debug)]
pub struct MeetingOptions {
    /// This node.
    pub node: NodeId,
    /// How many there are.
    pub num_nodes: u32,
    /// This node's address towards the others.
    pub ip: IpAddr,
    /// Its ports.
    pub ports: PortMode,
    /// Who probes whom. Node 0's counts.
    pub topology: Topology,
    /// Chooses among the graphs of a topology. Node 0's counts.
    pub seed: u64,
    /// The job's secret. Where there is none node 0 makes one up and writes it into the store.
    pub secret: Option<SharedKey>,
    /// How sockets are opened.
    pub socket: SocketOptions,
    /// How long to wait for each other.
    pub timeout: Duration,
}

/// What a meeting comes to.
#[derive(Debug)]
pub struct Agreement {
    /// What was agreed on.
    pub minutes: Minutes,
    /// The sockets, open.
    pub endpoints: Endpoints,
}

/// Why nodes do not meet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeetError {
    /// The store failed, or somebody did not come.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A socket does not open.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// There is no such probe graph.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// There are not enough ports.
    #[error(transparent)]
    Ports(#[from] PortError),
    /// The store holds nonsense.
    #[error("the rendezvous store holds data that this version did not write: {0}")]
    Foreign(String),
    /// No random numbers.
    #[error("this host has no random numbers for a secret: {0}. Set one with `key`")]
    Random(io::Error),
    /// Ports were taken again and again.
    #[error(
        "after {PLANS_MAX} attempts, ports are still taken by other programs; use the single-port mode or another port base"
    )]
    PortsTaken,
}

/// Under this key node 0 writes the number and the secret of the run.
const SESSION: &str = "clock_session";

/// How often node 0 hands out other ports.
const PLANS_MAX: u32 = 8;

/// Meets the other nodes in `store`.
///
/// # Errors
/// [`MeetError`] says who is missing or what is wrong.
pub fn meet(store: &mut dyn KeyValueStore, options: &MeetingOptions) -> Result<Agreement, MeetError> {
    let socket = first_socket(store, options)?;
    let own = SocketAddr::new(options.ip, socket.local_addr().port());
    publish_address(store, options.node, own)?;
    let leads = options.node == NodeId(0);
    let (addresses, (run, secret)) = if leads {
        (book::written(store, options)?, session(store, options)?)
    } else {
        // It is written after the book.
        let session = session(store, options).map_err(|error| book::who_is_missing(store, options, error))?;
        (book::read(store, options)?, session)
    };
    let graph = if leads { Some(options.topology.graph(options.num_nodes, options.seed)?) } else { None };
    let PortMode::PerEdge { blocks, .. } = options.ports else {
        if let Some(graph) = &graph {
            let plan = PortPlan::single(graph, |node| addresses.get(node.0 as usize).map_or(0, SocketAddr::port));
            publish(store, graph, &plan)?;
        }
        store.wait(keys::READY, options.timeout)?;
        let edges = neighbourhood(store, options.node)?;
        let minutes = Minutes { run, secret, addresses, edges, per_edge: false };
        let endpoints = Endpoints::single(socket, &minutes.plain_edges(), &minutes.addresses);
        return Ok(Agreement { minutes, endpoints });
    };
    let hosts: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
    let mut endpoints = Endpoints::control(socket, &addresses);
    let plan = |graph: ProbeGraph| PortPlan::new(&graph, blocks, &BusyPorts::new()).map(|plan| (graph, plan));
    let mut plan = graph.map(plan).transpose()?;
    for version in 0..PLANS_MAX {
        if let Some((graph, plan)) = &plan {
            publish(store, graph, plan)?;
            store.set(&format!("port_plan:{version}"), "proposed")?;
        }
        store.wait(&format!("port_plan:{version}"), options.timeout)?;
        let edges = neighbourhood(store, options.node)?;
        let busy = endpoints.add_edges(options.ip, &edges, &hosts, &options.socket)?;
        store.set(&answer_key(version, options.node), &text(&busy))?;
        if let Some((_, plan)) = &mut plan {
            let busy = answers(store, version, options)?;
            let verdict = if busy.is_empty() { SETTLED } else { "again" };
            if !busy.is_empty() {
                *plan = plan.avoiding(&busy)?;
            }
            store.set(&verdict_key(version), verdict)?;
        }
        if store.wait(&verdict_key(version), options.timeout)? == SETTLED {
            return Ok(Agreement { minutes: Minutes { run, secret, addresses, edges, per_edge: true }, endpoints });
        }
        endpoints.drop_edges();
    }
    Err(MeetError::PortsTaken)
}

/// What the one node of a job agrees on with itself.
///
/// # Errors
/// [`MeetError::Random`] where this host has no random numbers.
pub fn alone() -> Result<Agreement, MeetError> {
    let (run, secret) = drawn()?;
    // Nobody asks for its address, but it counts as one node.
    let addresses = vec![SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)];
    let edges = keys::Neighbourhood { out: Vec::new(), back: Vec::new() };
    Ok(Agreement { minutes: Minutes { run, secret, addresses, edges, per_edge: false }, endpoints: Endpoints::none() })
}

/// Opens the sockets that `minutes` tell of, again.
///
/// # Errors
/// [`MeetError::Socket`] where one of the ports has been taken since.
pub fn reopen(minutes: Minutes, options: &MeetingOptions) -> Result<Agreement, MeetError> {
    let port = minutes.addresses.get(options.node.0 as usize).map_or(0, SocketAddr::port);
    let socket = StampedSocket::bind(SocketAddr::new(options.ip, port), &options.socket)?;
    if !minutes.per_edge {
        let endpoints = Endpoints::single(socket, &minutes.plain_edges(), &minutes.addresses);
        return Ok(Agreement { minutes, endpoints });
    }
    let hosts: Vec<IpAddr> = minutes.addresses.iter().map(SocketAddr::ip).collect();
    let mut endpoints = Endpoints::control(socket, &minutes.addresses);
    let busy = endpoints.add_edges(options.ip, &minutes.edges, &hosts, &options.socket)?;
    if busy.is_empty() { Ok(Agreement { minutes, endpoints }) } else { Err(MeetError::PortsTaken) }
}

/// The socket whose address the others are told. A node that was there before takes the port it had, so that they find it.
fn first_socket(store: &mut dyn KeyValueStore, options: &MeetingOptions) -> Result<StampedSocket, MeetError> {
    let wanted = match options.ports {
        PortMode::Single(port) => port,
        PortMode::PerEdge { control: 0, .. } => 0,
        PortMode::PerEdge { control, .. } => u16::try_from(u32::from(control) + options.node.0).unwrap_or(0),
    };
    let before: Option<SocketAddr> = match store.get(&node_address_key(options.node))? {
        Some(text) if wanted == 0 => text.parse().ok(),
        _ => None,
    };
    if let Some(before) = before.filter(|before| before.ip() == options.ip)
        && let Ok(socket) = StampedSocket::bind(before, &options.socket)
    {
        return Ok(socket);
    }
    Ok(StampedSocket::bind(SocketAddr::new(options.ip, wanted), &options.socket)?)
}

/// The number and the secret of the run: node 0 makes them up, unless it did so in an earlier life.
fn session(store: &mut dyn KeyValueStore, options: &MeetingOptions) -> Result<(u64, SharedKey), MeetError> {
    if options.node == NodeId(0) && store.get(SESSION)?.is_none() {
        let (run, secret) = drawn()?;
        // A secret that all nodes have is not written down.
        let shared = if options.secret.is_some() { &[] } else { secret.reveal() };
        store.set(SESSION, &hexadecimal(&[&run.to_le_bytes(), shared].concat()))?;
    }
    let text = store.wait(SESSION, options.timeout)?;
    let bytes: Option<Vec<u8>> =
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect();
    let foreign = || MeetError::Foreign(format!("key `{SESSION}` is not a hexadecimal number"));
    let bytes = bytes.ok_or_else(foreign)?;
    let (run, shared) = bytes.split_first_chunk::<8>().ok_or_else(foreign)?;
    let unkeyed =
        || MeetError::Foreign(format!("key `{SESSION}` holds no secret; node 0 was given a key and this node was not"));
    let secret = options.secret.clone().or_else(|| SharedKey::new(shared)).ok_or_else(unkeyed)?;
    Ok((u64::from_le_bytes(*run), secret))
}

/// A number for a run, and a secret.
fn drawn() -> Result<(u64, SharedKey), MeetError> {
    let mut run = [0; 8];
    getrandom::fill(&mut run).map_err(|error| MeetError::Random(error.into()))?;
    Ok((u64::from_le_bytes(run), SharedKey::random().map_err(MeetError::Random)?))
}

fn publish(store: &mut dyn KeyValueStore, graph: &ProbeGraph, plan: &PortPlan) -> Result<(), StoreError> {
    store.set_all(&keys::publish(graph, plan))
}

fn neighbourhood(store: &mut dyn KeyValueStore, node: NodeId) -> Result<keys::Neighbourhood, MeetError> {
    let mut failed = None;
    let read = keys::read(node, |key| {
        store.get(key).unwrap_or_else(|error| {
            failed = Some(error);
            None
        })
    });
    match failed {
        Some(error) => Err(error.into()),
        None => read.map_err(|error| MeetError::Foreign(error.to_string())),
    }
}

const SETTLED: &str = "settled";

fn verdict_key(version: u32) -> String {
    format!("port_plan:{version}:verdict")
}

fn answer_key(version: u32, node: NodeId) -> String {
    format!("port_plan:{version}:taken:{node}")
}

fn text(ports: &BTreeSet<u16>) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}

/// Which ports the nodes found taken.
fn answers(store: &mut dyn KeyValueStore, version: u32, options: &MeetingOptions) -> Result<BusyPorts, MeetError> {
    let mut busy = BusyPorts::new();
    for node in (0..options.num_nodes).map(NodeId) {
        let answer = store.wait(&answer_key(version, node), options.timeout)?;
        let ports: BTreeSet<u16> = answer.split(',').filter_map(|port| port.parse().ok()).collect();
        if !ports.is_empty() {
            busy.insert(node, ports);
        }
    }
    Ok(busy)
}

#[cfg(test)]
mod tests;
