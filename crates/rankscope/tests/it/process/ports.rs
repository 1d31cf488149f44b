//! Ports of the loopback that nobody has.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::net::{TcpListener, UdpSocket};

/// UDP ports of the loopback that nobody has.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    // All at once, so that no two are the same.
    let sockets = [(); N].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    sockets.map(|socket| socket.local_addr().unwrap().port())
}

/// The same of TCP.
pub(crate) fn free_tcp_ports<const N: usize>() -> [u16; N] {
    let sockets = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    sockets.map(|socket| socket.local_addr().unwrap().port())
}

/// The first of a few hundred ports, of which those at the start of each block of a hundred are free.
pub(crate) fn free_block() -> u16 {
    let free = |base: u16| {
        (0..3)
            .flat_map(|node| (0..8).map(move |port| base + 100 * node + port))
            .all(|port| UdpSocket::bind(("127.0.0.1", port)).is_ok())
    };
    let start = 20_000 + (std::process::id() % 10) as u16 * 1_000;
    (start..start + 900).step_by(300).find(|base| free(*base)).expect("ports below those that the kernel gives out")
}

/// Addresses for `--addresses`.
pub(crate) fn addresses(nodes: usize) -> String {
    let ports = free_ports::<8>();
    ports[..nodes].iter().map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
}
