//! Who this node is, and by which address and ports the others find it: settings first, then what the launcher left.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use rankscope_clock::NodeId;
use rankscope_config::ClockSettings;
use rankscope_probe::agent::{MeetingOptions, PortMode};
use rankscope_probe::clocks::phc::Phc;
use rankscope_probe::interfaces::{Interface, Preference};
use rankscope_probe::key::SharedKey;
use rankscope_probe::launch::{Launch, Source, launch};
use rankscope_probe::rendezvous::Place;

use super::{MEET_WITHIN, setup};
use crate::error::Error;

/// Who this node is. `place` is the flag, which takes every way to write a place.
pub(super) fn identity(settings: &ClockSettings, place: Option<&str>) -> Result<Launch, Error> {
    let launched = launch(|name| std::env::var(name).ok());
    let mut who = match (settings.rank, settings.num_nodes, launched) {
        (Some(node), Some(num_nodes), launched) => {
            let (place, run_id, restart) =
                launched.map_or((None, "default".to_owned(), 0), |it| (it.place, it.run_id, it.restart));
            Launch { node: NodeId(node), num_nodes, local_rank: 0, place, run_id, restart, source: Source::Explicit }
        }
        (rank, num_nodes, Ok(launched)) => {
            Launch { node: rank.map_or(launched.node, NodeId), num_nodes: num_nodes.unwrap_or(launched.num_nodes), ..launched }
        }
        (_, _, Err(error)) => return Err(Error::NodeUnknown(error)),
    };
    if who.node.0 >= who.num_nodes {
        return Err(Error::NodeOutOfRange { node: who.node, num_nodes: who.num_nodes });
    }
    if let Some(text) = place.or(settings.rendezvous.as_deref()) {
        who.place = Some(text.parse().map_err(|reason| Error::Place { text: text.to_owned(), reason })?);
    }
    if let Some(run_id) = &settings.run_id {
        who.run_id = run_id.clone();
    }
    Ok(who)
}

/// Whether minutes can be told from those of another run: only where somebody named the run.
pub(super) fn resumable(settings: &ClockSettings, who: &Launch) -> bool {
    settings.run_id.is_some() || who.run_id != "default"
}

/// How this node meets the others, where they meet at `place`, and its network card's clock where that stamps packets.
pub(super) fn meeting(
    settings: &ClockSettings,
    who: &Launch,
    place: Option<&Place>,
    secret: Option<SharedKey>,
) -> Result<(MeetingOptions, Option<Phc>), Error> {
    let toward = match place {
        Some(Place::Tcp { host, port } | Place::Torch { host, port }) => {
            (host.as_str(), *port).to_socket_addrs().ok().and_then(|mut found| found.next())
        }
        _ => None,
    };
    let (ip, interface) = own_address(settings, toward)?;
    let (stamping, card) = setup::stamping(&interface);
    let options = MeetingOptions {
        node: who.node,
        num_nodes: who.num_nodes,
        ip,
        ports: setup::ports(settings),
        topology: setup::topology(settings),
        seed: setup::GRAPH_SEED,
        secret,
        socket: setup::sockets(settings, stamping),
        timeout: MEET_WITHIN,
    };
    if let PortMode::PerEdge { blocks, .. } = options.ports
        && who.num_nodes > u32::from((u16::MAX - blocks.base) / blocks.per_node)
    {
        return Err(Error::PortsDoNotFit { num_nodes: who.num_nodes, per_node: blocks.per_node, base: blocks.base });
    }
    Ok((options, card))
}

fn own_address(settings: &ClockSettings, toward: Option<SocketAddr>) -> Result<(IpAddr, String), Error> {
    let look_up = |name: &str| match name {
        // The setting already took in the variables of NCCL and Gloo.
        "RANKSCOPE_SOCKET_IFNAME" if !settings.interfaces.is_empty() => Some(settings.interfaces.clone()),
        _ => std::env::var(name).ok(),
    };
    let interfaces = Interface::all().map_err(Error::Interfaces)?;
    let (interface, ip) = Preference::of(look_up, toward).choose(&interfaces)?;
    Ok((ip, interface.name.clone()))
}
