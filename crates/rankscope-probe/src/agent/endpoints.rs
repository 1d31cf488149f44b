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
use rankscope_clock::{Edge, MonotonicInstant, NodeId};

use super::streams::Streams;
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

    /// None: there is nobody to talk to.
    pub(super) fn none() -> Self {
        Self { sockets: Vec::new(), routes: HashMap::new() }
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

    /// Streams to the nodes that control packets reach, listening where those of this node come in; and what is refused. None
    /// where there is nobody to talk to.
    pub(super) fn streams(&self, now: MonotonicInstant) -> (Option<Streams>, Option<String>) {
        let Some(control) = self.sockets.first() else { return (None, None) };
        let own = control.socket.local_addr();
        let address = |(to, (_, address)): (&Destination, &(usize, SocketAddr))| match to {
            Destination::Control(node) => Some((*node, *address)),
            Destination::Listener(_) | Destination::Prober(_) => None,
        };
        let (streams, refused) = Streams::new(own, self.routes.iter().filter_map(address).collect(), now);
        let refused = refused.map(|error| {
            format!(
                "cannot listen on TCP {own}: {error}; nodes whose UDP packets do not arrive here cannot be measured over TCP"
            )
        });
        (Some(streams), refused)
    }

    /// The socket for `to` and the address it has.
    pub(super) fn route(&self, to: Destination) -> Option<(usize, SocketAddr)> {
        self.routes.get(&to).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_clock::graph::EdgePorts;
    use std::net::{Ipv4Addr, UdpSocket};

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const OUT: Edge = Edge { src: NodeId(0), dst: NodeId(1) };
    const BACK: Edge = Edge { src: NodeId(1), dst: NodeId(0) };

    fn socket() -> StampedSocket {
        StampedSocket::bind(SocketAddr::new(HERE, 0), &SocketOptions::default()).unwrap()
    }

    fn addresses() -> [SocketAddr; 2] {
        ["10.0.0.1:7000".parse().unwrap(), "10.0.0.2:8000".parse().unwrap()]
    }

    #[test]
    fn one_socket_reaches_everyone() {
        let addresses = addresses();
        // Node 7 is in no list: nobody knows where it is.
        let unknown = Edge { src: NodeId(0), dst: NodeId(7) };
        let endpoints = Endpoints::single(socket(), &[OUT, BACK, unknown], &addresses);
        assert_eq!(endpoints.route(Destination::Listener(OUT)), Some((0, addresses[1])));
        assert_eq!(endpoints.route(Destination::Prober(BACK)), Some((0, addresses[1])));
        assert_eq!(endpoints.route(Destination::Control(NodeId(1))), Some((0, addresses[1])));
        assert_eq!(endpoints.route(Destination::Listener(unknown)), None);
        assert_eq!(endpoints.sockets[0].edge, None);
    }

    #[test]
    fn edges_open_all_or_none() {
        let holders = [(); 4].map(|()| UdpSocket::bind((HERE, 0)).unwrap());
        let [a, b, c, taken] = holders.each_ref().map(|holder| holder.local_addr().unwrap().port());
        let [holder_a, holder_b, holder_c, holder_taken] = holders;
        drop((holder_a, holder_b, holder_c));
        let hosts = addresses().map(|address| address.ip());
        let edges = |listen| Neighbourhood {
            out: vec![(OUT, EdgePorts { listen: 9_001, response: a })],
            back: vec![(BACK, EdgePorts { listen, response: 9_002 })],
        };
        let mut endpoints = Endpoints::control(socket(), &addresses());
        let options = SocketOptions::default();
        assert_eq!(endpoints.add_edges(HERE, &edges(taken), &hosts, &options).unwrap(), BTreeSet::from([taken]));
        assert_eq!((endpoints.sockets.len(), endpoints.route(Destination::Listener(OUT))), (1, None));
        drop(holder_taken);

        assert_eq!(endpoints.add_edges(HERE, &edges(b), &hosts, &options).unwrap(), BTreeSet::new());
        let port = |index: usize| endpoints.sockets[index].socket.local_addr().port();
        assert_eq!((port(1), endpoints.sockets[1].edge), (a, Some(OUT)), "answers come to the port that probes leave from");
        assert_eq!((port(2), endpoints.sockets[2].edge), (b, Some(BACK)));
        assert_eq!(endpoints.route(Destination::Listener(OUT)), Some((1, SocketAddr::new(hosts[1], 9_001))));
        assert_eq!(endpoints.route(Destination::Prober(BACK)), Some((2, SocketAddr::new(hosts[1], 9_002))));

        endpoints.drop_edges();
        assert_eq!((endpoints.sockets.len(), endpoints.route(Destination::Prober(BACK))), (1, None));
        assert!(endpoints.route(Destination::Control(NodeId(1))).is_some());
        assert_eq!(endpoints.add_edges(HERE, &edges(c), &hosts, &options).unwrap(), BTreeSet::new(), "ports are free again");
    }
}
