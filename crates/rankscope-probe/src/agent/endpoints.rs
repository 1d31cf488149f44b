//! The sockets of one node, and where every packet goes.
//!
//! In single-port mode one socket does everything and packets name their edge. With a port for each edge, every end of an edge
//! has a socket of its own, and a control socket serves the rounds; a packet that names another edge than its socket's is
//! then known to be stray.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};

use rankscope_clock::graph::keys::Neighbourhood;
use rankscope_clock::session::Destination;
use rankscope_clock::{Edge, NodeId};

use crate::stamps::{SocketError, SocketOptions, StampedSocket};

/// One socket, and the edge it serves if it serves one alone.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) socket: StampedSocket,
    pub(super) edge: Option<Edge>,
}

/// All sockets of a node.
#[derive(Debug)]
pub struct Endpoints {
    pub(super) sockets: Vec<Endpoint>,
    /// Which socket to use, and the address to send to.
    routes: HashMap<Destination, (usize, SocketAddr)>,
}

impl Endpoints {
    /// One socket, already open, for everything. `addresses` are those of all nodes, by node.
    pub fn single(socket: StampedSocket, edges: &[Edge], addresses: &[SocketAddr]) -> Self {
        let mut endpoints = Self::control(socket, addresses);
        let at = |node: NodeId| addresses.get(node.0 as usize).map(|address| (0, *address));
        for edge in edges {
            endpoints.routes.extend(at(edge.dst).map(|route| (Destination::Listener(*edge), route)));
            endpoints.routes.extend(at(edge.src).map(|route| (Destination::Prober(*edge), route)));
        }
        endpoints
    }

    /// A socket for control, already open, to which one for each edge is to be [added](Self::add_edges).
    pub(super) fn control(socket: StampedSocket, addresses: &[SocketAddr]) -> Self {
        let nodes = (0..).map(NodeId).zip(addresses);
        let routes = nodes.map(|(node, address)| (Destination::Control(node), (0, *address))).collect();
        Self { sockets: vec![Endpoint { socket, edge: None }], routes }
    }

    /// Opens the sockets of `edges` on `ip`; `hosts` are the addresses of all nodes. Where ports are taken, nothing is kept and
    /// they are returned.
    ///
    /// # Errors
    /// Whatever else keeps a socket from opening.
    pub(super) fn add_edges(
        &mut self,
        ip: IpAddr,
        edges: &Neighbourhood,
        hosts: &[IpAddr],
        options: &SocketOptions,
    ) -> Result<BTreeSet<u16>, SocketError> {
        let (mut opened, mut busy) = (Vec::new(), BTreeSet::new());
        // What probes leaves from the port where answers come in, and the other way round.
        let probing = edges.out.iter().map(|(edge, ports)| (*edge, ports.response, edge.dst, ports.listen));
        let answering = edges.back.iter().map(|(edge, ports)| (*edge, ports.listen, edge.src, ports.response));
        for (edge, here, peer, there) in probing.chain(answering) {
            match StampedSocket::bind(SocketAddr::new(ip, here), options) {
                Ok(socket) => opened.push((edge, socket, peer, there)),
                Err(SocketError::Bind { source, .. }) if source.kind() == io::ErrorKind::AddrInUse => {
                    busy.insert(here);
                }
                Err(other) => return Err(other),
            }
        }
        if busy.is_empty() {
            for (edge, socket, peer, port) in opened {
                let to = if peer == edge.dst { Destination::Listener(edge) } else { Destination::Prober(edge) };
                if let Some(host) = hosts.get(peer.0 as usize) {
                    self.routes.insert(to, (self.sockets.len(), SocketAddr::new(*host, port)));
                }
                self.sockets.push(Endpoint { socket, edge: Some(edge) });
            }
        }
        Ok(busy)
    }

    /// Closes all sockets but the one for control.
    pub(super) fn drop_edges(&mut self) {
        self.sockets.truncate(1);
        self.routes.retain(|_, (socket, _)| *socket == 0);
    }

    /// The socket for `to` and the address it has.
    pub(super) fn route(&self, to: Destination) -> Option<(usize, SocketAddr)> {
        self.routes.get(&to).copied()
    }
}
