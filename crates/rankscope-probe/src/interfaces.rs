//! Which of this host's addresses the other nodes should send to.
//!
//! Users already told NCCL or Gloo, so their syntax is taken: a comma list of name prefixes, `=` for whole names, `^` for all but
//! these. Who said nothing gets the address from which this host reaches node 0, or the first that is not virtual.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

/// A network interface that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// As the kernel calls it.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// It leads to this host alone.
    pub loopback: bool,
}

impl Interface {
    /// The interfaces of this host that are up and have an address, in the kernel's order.
    ///
    /// # Errors
    /// Whatever the kernel answers.
    pub fn all() -> io::Result<Vec<Self>> {
        let mut found: Vec<Self> = Vec::new();
        for entry in getifaddrs()? {
            let storage = entry.address;
            let v4 = storage.and_then(|it| it.as_sockaddr_in().map(|it| IpAddr::V4(it.ip())));
            let v6 = storage.and_then(|it| it.as_sockaddr_in6().map(|it| IpAddr::V6(it.ip())));
            let Some(address) = v4.or(v6).filter(|_| entry.flags.contains(InterfaceFlags::IFF_UP)) else { continue };
            match found.iter_mut().find(|interface| interface.name == entry.interface_name) {
                Some(interface) => interface.addresses.push(address),
                None => found.push(Self {
                    name: entry.interface_name,
                    addresses: vec![address],
                    loopback: entry.flags.contains(InterfaceFlags::IFF_LOOPBACK),
                }),
            }
        }
        Ok(found)
    }

    /// Whether it is a container's or a virtual machine's inside of this host, by its name.
    pub fn is_virtual(&self) -> bool {
        VIRTUAL.iter().any(|prefix| self.name.starts_with(prefix))
    }
}

/// What container engines and hypervisors call their interfaces.
const VIRTUAL: [&str; 9] = ["docker", "br-", "veth", "virbr", "cni", "flannel", "cali", "podman", "lxc"];

/// Which interfaces may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceFilter {
    names: Vec<String>,
    exclude: bool,
    exact: bool,
}

impl InterfaceFilter {
    /// As in `NCCL_SOCKET_IFNAME`: `eth,ib` for prefixes, `=eth0` for whole names, `^docker,lo` and `^=docker0` for all but these.
    pub fn parse(text: &str) -> Self {
        let (exclude, text) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
        let (exact, text) = text.strip_prefix('=').map_or((false, text), |rest| (true, rest));
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Self { names, exclude, exact }
    }

    fn named(&self, interface: &Interface) -> Option<usize> {
        let name = interface.name.as_str();
        self.names.iter().position(|wanted| if self.exact { name == wanted } else { name.starts_with(wanted.as_str()) })
    }

    fn allows(&self, interface: &Interface) -> bool {
        self.named(interface).is_some() != self.exclude
    }
}

impl fmt::Display for InterfaceFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |on, sign| if on { sign } else { "" };
        write!(f, "{}{}{}", sign(self.exclude, "^"), sign(self.exact, "="), self.names.join(","))
    }
}

/// What decides between addresses.
#[derive(Clone, Debug, Default)]
pub struct Preference {
    /// What the user said, and in which variable.
    pub filter: Option<(String, InterfaceFilter)>,
    /// The address from which this host reaches node 0.
    pub toward_master: Option<IpAddr>,
    /// Addresses of version 6 only, or of version 4 only.
    pub ipv6: Option<bool>,
}

/// No address can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The user's filter leaves none.
    #[error("{variable}={filter} matches no interface of this host that has {family}. It has: {there}. Name one of these")]
    Filtered {
        /// The variable that the filter came from.
        variable: String,
        /// As given.
        filter: InterfaceFilter,
        /// What kind of address was asked for.
        family: &'static str,
        /// The interfaces there are.
        there: String,
    },
    /// There is none.
    #[error("no interface of this host is up and has {family}. It has: {there}")]
    None {
        /// What kind of address was asked for.
        family: &'static str,
        /// The interfaces there are.
        there: String,
    },
}

/// Variables that name interfaces, the strongest first.
pub const FILTER_VARIABLES: [&str; 3] = ["RANKSCOPE_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"];

impl Preference {
    /// What the environment says; `toward` is where node 0 is.
    pub fn of(get: impl Fn(&str) -> Option<String>, toward: Option<SocketAddr>) -> Self {
        let set = |variable: &&str| get(variable).filter(|value| !value.is_empty()).map(|value| (variable.to_string(), value));
        let filter = FILTER_VARIABLES.iter().find_map(set);
        let ipv6 = match get("NCCL_SOCKET_FAMILY").as_deref() {
            Some("AF_INET") => Some(false),
            Some("AF_INET6") => Some(true),
            _ => None,
        };
        let filter = filter.map(|(variable, value)| (variable, InterfaceFilter::parse(&value)));
        Self { filter, toward_master: toward.and_then(source_toward), ipv6 }
    }

    /// The address among those of `interfaces` that fits best, and whose it is.
    ///
    /// # Errors
    /// [`AddressError`] lists what there is.
    pub fn choose<'a>(&self, interfaces: &'a [Interface]) -> Result<(&'a Interface, IpAddr), AddressError> {
        let allowed = |interface: &&Interface| self.filter.as_ref().is_none_or(|(_, filter)| filter.allows(interface));
        let addresses = |interface: &'a Interface| interface.addresses.iter().map(move |address| (interface, *address));
        let usable = interfaces.iter().filter(allowed).flat_map(addresses).filter(|(_, address)| self.of_family(*address));
        usable.min_by_key(|(interface, address)| self.rank(interface, *address)).ok_or_else(|| self.nothing_in(interfaces))
    }

    fn of_family(&self, address: IpAddr) -> bool {
        self.ipv6.is_none_or(|ipv6| address.is_ipv6() == ipv6)
    }

    /// Smaller is better. What the user named stands in the user's order; a link-local address only works with a scope.
    fn rank(&self, interface: &Interface, address: IpAddr) -> impl Ord + use<> {
        let link_local = matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
        let named = self.filter.as_ref().filter(|(_, filter)| !filter.exclude).and_then(|(_, filter)| filter.named(interface));
        let toward = self.toward_master == Some(address);
        (named, link_local, !toward, interface.loopback, interface.is_virtual(), address.is_ipv6())
    }

    fn nothing_in(&self, interfaces: &[Interface]) -> AddressError {
        let describe = |interface: &Interface| {
            let addresses: Vec<String> = interface.addresses.iter().map(IpAddr::to_string).collect();
            format!("{} ({})", interface.name, addresses.join(", "))
        };
        let there: Vec<String> = interfaces.iter().map(describe).collect();
        let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
        let family = match self.ipv6 {
            None => "an IP address",
            Some(false) => "an IPv4 address",
            Some(true) => "an IPv6 address",
        };
        match self.filter.clone() {
            Some((variable, filter)) => AddressError::Filtered { variable, filter, family, there },
            None => AddressError::None { family, there },
        }
    }
}

/// The address from which this host sends to `to`. Nothing is sent: connecting a UDP socket only looks up the route.
fn source_toward(to: SocketAddr) -> Option<IpAddr> {
    let any: SocketAddr = if to.is_ipv6() { "[::]:0".parse().ok()? } else { "0.0.0.0:0".parse().ok()? };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(to).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Vec<Interface> {
        let interface = |name: &str, addresses: &[&str]| Interface {
            name: name.to_owned(),
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            loopback: name == "lo",
        };
        vec![
            interface("lo", &["127.0.0.1", "::1"]),
            interface("docker0", &["172.17.0.1"]),
            interface("eth0", &["fe80::1", "10.0.0.1", "fd00::1"]),
            interface("eth1", &["10.1.0.1"]),
            interface("ib0", &["192.168.0.1"]),
            interface("eth10", &["10.10.0.1"]),
        ]
    }

    fn chosen(filter: &str, toward: Option<&str>, ipv6: Option<bool>) -> Result<String, AddressError> {
        let filter = (!filter.is_empty()).then(|| ("NCCL_SOCKET_IFNAME".to_owned(), InterfaceFilter::parse(filter)));
        let toward_master = toward.map(|address| address.parse().unwrap());
        let preference = Preference { filter, toward_master, ipv6 };
        preference.choose(&host()).map(|(interface, address)| format!("{} {address}", interface.name))
    }

    #[test]
    fn the_address_is_the_one_that_users_mean() {
        let table = [
            ("", None, None, "eth0 10.0.0.1"),
            ("", None, Some(true), "eth0 fd00::1"),
            ("", Some("10.1.0.1"), None, "eth1 10.1.0.1"),
            ("", Some("127.0.0.1"), None, "lo 127.0.0.1"),
            ("", Some("172.17.0.1"), None, "docker0 172.17.0.1"),
            ("eth1", None, None, "eth1 10.1.0.1"),
            ("=eth1", Some("10.10.0.1"), None, "eth1 10.1.0.1"),
            ("eth1", Some("10.10.0.1"), None, "eth10 10.10.0.1"),
            ("ib,eth", Some("10.0.0.1"), None, "ib0 192.168.0.1"),
            (" eth1 , ib0", None, None, "eth1 10.1.0.1"),
            ("^eth,docker,lo", None, None, "ib0 192.168.0.1"),
            ("^=eth0,lo", None, None, "eth1 10.1.0.1"),
            ("^eth,ib,lo", None, None, "docker0 172.17.0.1"),
            ("lo", None, None, "lo 127.0.0.1"),
        ];
        for (filter, toward, ipv6, expected) in table {
            assert_eq!(chosen(filter, toward, ipv6).as_deref(), Ok(expected), "{filter:?} toward {toward:?}");
        }
    }

    #[test]
    fn what_matches_nothing_lists_what_there_is() {
        let error = chosen("=eth", None, None).unwrap_err().to_string();
        assert!(error.contains("NCCL_SOCKET_IFNAME==eth matches no interface"), "{error}");
        assert!(error.contains("eth1 (10.1.0.1)"), "{error}");
        let error = chosen("ib0", None, Some(true)).unwrap_err().to_string();
        assert!(error.contains("has an IPv6 address"), "{error}");
        assert!(matches!(Preference::default().choose(&[]), Err(AddressError::None { .. })));
    }

    #[test]
    fn the_strongest_variable_counts_and_an_empty_one_does_not() {
        let env = |name: &str| match name {
            "RANKSCOPE_SOCKET_IFNAME" => Some(String::new()),
            "NCCL_SOCKET_IFNAME" => Some("^=lo".to_owned()),
            "GLOO_SOCKET_IFNAME" => Some("eth0".to_owned()),
            "NCCL_SOCKET_FAMILY" => Some("AF_INET6".to_owned()),
            _ => None,
        };
        let preference = Preference::of(env, Some("127.0.0.1:1".parse().unwrap()));
        let (variable, filter) = preference.filter.unwrap();
        assert_eq!((variable.as_str(), filter.to_string().as_str()), ("NCCL_SOCKET_IFNAME", "^=lo"));
        assert_eq!((preference.ipv6, preference.toward_master), (Some(true), Some("127.0.0.1".parse().unwrap())));
    }

    #[test]
    fn this_host_has_a_loopback() {
        let all = Interface::all().unwrap();
        let lo = all.iter().find(|interface| interface.loopback).unwrap();
        assert!(lo.addresses.iter().all(IpAddr::is_loopback), "{lo:?}");
    }
}
