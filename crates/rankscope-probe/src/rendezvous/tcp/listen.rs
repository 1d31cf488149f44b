//! Where a store listens: at the addresses that its place names, and nowhere else if that can be.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};

/// Sockets that listen at `host`, on one port; port 0 lets the kernel choose.
///
/// A name often leads to this host by a way that is not its own: its `/etc/hosts` names the loopback, where no other host comes
/// in, or what it names is translated on the way. Then there is no address to choose, and the sockets listen on all.
pub(super) fn listeners(host: &str, port: u16) -> io::Result<Vec<TcpListener>> {
    let named = named(host);
    let mut found: Vec<TcpListener> = Vec::new();
    for address in &named {
        let port = found.first().map_or(Ok(port), |first| first.local_addr().map(|address| address.port()))?;
        match TcpListener::bind(SocketAddr::new(*address, port)) {
            Ok(listener) => found.push(listener),
            Err(error) if is_elsewhere(&error) => {}
            Err(error) => return Err(error),
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    if is_loopback(host) {
        return Err(ErrorKind::AddrNotAvailable.into());
    }
    let all = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))?;
    Ok(vec![all])
}

/// Whether a host is this one by any reading, so that nobody else can come.
pub(crate) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
}

fn named(host: &str) -> Vec<IpAddr> {
    if host == "localhost" {
        return vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    if let Ok(address) = host.parse() {
        return vec![address];
    }
    let found = (host, 0).to_socket_addrs().into_iter().flatten().map(|address| address.ip());
    let mut found: Vec<IpAddr> = found.filter(|address| !address.is_loopback()).collect();
    found.sort();
    found.dedup();
    found
}

/// The address is not one of this host, or of a family that it does not speak.
fn is_elsewhere(error: &io::Error) -> bool {
    error.kind() == ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(nix::libc::EAFNOSUPPORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(host: &str) -> Vec<IpAddr> {
        let listeners = listeners(host, 0).unwrap();
        let ports: Vec<u16> = listeners.iter().map(|it| it.local_addr().unwrap().port()).collect();
        assert!(ports.iter().all(|port| *port == ports[0]), "{host}: one port for all");
        listeners.iter().map(|it| it.local_addr().unwrap().ip()).collect()
    }

    #[test]
    fn a_place_on_this_host_is_open_to_no_other() {
        for host in ["127.0.0.1", "localhost", "127.0.0.7"] {
            assert!(is_loopback(host), "{host}");
            let addresses = addresses(host);
            assert!(!addresses.is_empty() && addresses.iter().all(IpAddr::is_loopback), "{host}: {addresses:?}");
        }
        for host in ["::1", "::ffff:127.0.0.1"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["10.0.0.1", "node0", "localhost.example", "0.0.0.0", "::"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn an_address_of_this_host_is_listened_at_alone() {
        let all = crate::interfaces::Interface::all().unwrap();
        let own = all.iter().filter(|interface| !interface.loopback).flat_map(|interface| &interface.addresses);
        for address in own.filter(|address| address.is_ipv4()) {
            assert_eq!(addresses(&address.to_string()), [*address]);
        }
    }

    #[test]
    fn an_address_that_is_translated_on_the_way_is_listened_for_everywhere() {
        // From a block that is for documentation, so nobody's own.
        assert!(addresses("203.0.113.1")[0].is_unspecified());
    }

    #[test]
    fn a_port_that_is_taken_is_an_error() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = listeners("127.0.0.1", taken.local_addr().unwrap().port()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    }
}
