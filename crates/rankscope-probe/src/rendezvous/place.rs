//! Which store, as users write it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::tcp::is_loopback;

/// Where the rendezvous is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The store that node 0 hosts.
    Tcp {
        /// Name or address of node 0's host.
        host: String,
        /// Its port.
        port: u16,
    },
    /// A directory on a file system that all nodes share.
    Directory(PathBuf),
    /// An etcd cluster, as `host:port` of its members.
    Etcd(Vec<String>),
    /// The TCPStore that torch.distributed hosts for the job.
    Torch {
        /// Name or address of its host.
        host: String,
        /// Its port.
        port: u16,
    },
}

impl Place {
    /// Whether whoever reaches the place over a network may meet there, if no key keeps strangers out: a directory has its
    /// permissions, and the loopback leads to this host alone.
    pub fn is_open_to_others(&self) -> bool {
        let leads_here = |member: &String| split(member).is_some_and(|(host, _)| is_loopback(host));
        match self {
            Self::Tcp { host, .. } | Self::Torch { host, .. } => !is_loopback(host),
            Self::Directory(_) => false,
            Self::Etcd(members) => !members.iter().all(leads_here),
        }
    }
}

/// Not a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no store. Write host:port for the one that node 0 hosts, file:///path for a shared directory, etcd://host:port, or torch://host:port for torch's TCPStore"
)]
pub struct PlaceError(String);

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let bad = || PlaceError(text.to_owned());
        if let Some(path) =
            text.strip_prefix("file://").or_else(|| text.strip_prefix("dir://")).or(text.starts_with('/').then_some(text))
        {
            return if path.starts_with('/') { Ok(Self::Directory(path.into())) } else { Err(bad()) };
        }
        if let Some(members) = text.strip_prefix("etcd://") {
            let members: Vec<String> = members.split(',').map(str::to_owned).collect();
            return if members.iter().all(|member| split(member).is_some()) { Ok(Self::Etcd(members)) } else { Err(bad()) };
        }
        if let Some(text) = text.strip_prefix("torch://") {
            let (host, port) = split(text).ok_or_else(bad)?;
            return Ok(Self::Torch { host: host.to_owned(), port });
        }
        let (host, port) = split(text.strip_prefix("tcp://").unwrap_or(text)).ok_or_else(bad)?;
        Ok(Self::Tcp { host: host.to_owned(), port })
    }
}

/// `host:port`, an IPv6 host in brackets, which are taken off.
fn split(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = bare.unwrap_or(host);
    let plausible = !host.is_empty() && !host.contains(['/', '[', ']']) && (bare.is_some() || !host.contains(':'));
    plausible.then_some((host, port.parse().ok()?))
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "tcp://[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "tcp://{host}:{port}"),
            Self::Torch { host, port } if host.contains(':') => write!(f, "torch://[{host}]:{port}"),
            Self::Torch { host, port } => write!(f, "torch://{host}:{port}"),
            Self::Directory(path) => write!(f, "file://{}", path.display()),
            Self::Etcd(members) => write!(f, "etcd://{}", members.join(",")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written_alike() {
        let tcp = |host: &str, port| Place::Tcp { host: host.to_owned(), port };
        let table = [
            ("node0:29401", tcp("node0", 29401), "tcp://node0:29401"),
            ("tcp://10.0.0.1:1", tcp("10.0.0.1", 1), "tcp://10.0.0.1:1"),
            ("[fd00::1]:29401", tcp("fd00::1", 29401), "tcp://[fd00::1]:29401"),
            ("file:///scratch/job 7", Place::Directory("/scratch/job 7".into()), "file:///scratch/job 7"),
            ("/scratch", Place::Directory("/scratch".into()), "file:///scratch"),
            ("torch://node0:29500", Place::Torch { host: "node0".into(), port: 29500 }, "torch://node0:29500"),
            ("torch://[fd00::1]:1", Place::Torch { host: "fd00::1".into(), port: 1 }, "torch://[fd00::1]:1"),
            ("etcd://a:2379,b:2379", Place::Etcd(vec!["a:2379".into(), "b:2379".into()]), "etcd://a:2379,b:2379"),
        ];
        for (text, place, written) in table {
            assert_eq!(text.parse(), Ok(place.clone()), "{text}");
            assert_eq!(place.to_string(), written);
            assert_eq!(written.parse(), Ok(place), "{written}");
        }
    }

    #[test]
    fn others_come_where_a_network_leads() {
        for (text, open) in [
            ("127.0.0.1:1", false),
            ("localhost:1", false),
            ("[::1]:1", false),
            ("/scratch", false),
            ("etcd://localhost:1,127.0.0.1:2", false),
            ("torch://localhost:1", false),
            ("torch://node0:1", true),
            ("10.0.0.1:1", true),
            ("0.0.0.0:1", true),
            ("node0:1", true),
            ("etcd://localhost:1,node0:2", true),
        ] {
            assert_eq!(text.parse::<Place>().unwrap().is_open_to_others(), open, "{text}");
        }
    }

    #[test]
    fn what_is_no_place_is_refused_with_the_ways_to_write_one() {
        for text in [
            "",
            "node0",
            ":1",
            "node0:",
            "node0:99999",
            "fd00::1:1",
            "file://relative",
            "etcd://",
            "torch://a",
            "http://a:1",
            "[a:1",
        ] {
            let error = text.parse::<Place>().unwrap_err().to_string();
            assert!(error.contains("host:port"), "{text}: {error}");
        }
    }
}
