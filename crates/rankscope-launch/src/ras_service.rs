//! NCCL's RAS service of a job, as NCCL's own variables say where it is. What it is asked, and when, is not known here.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use rankscope_witness::{ras, sockets, tree};

/// Where a job's service is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// Where the job was told to have it.
    Told(String),
    /// On the usual port, which the jobs of a host share.
    Usual,
}

impl Service {
    /// That of jobs in this environment; none where it is turned off.
    pub(crate) fn of_environment() -> Option<Self> {
        Self::of(|name| std::env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        if variable("NCCL_RAS_ENABLE").as_deref() == Some("0") {
            return None;
        }
        Some(variable("NCCL_RAS_ADDR").filter(|address| !address.is_empty()).map_or(Self::Usual, Self::Told))
    }

    pub(crate) fn address(&self) -> &str {
        match self {
            Self::Told(address) => address,
            Self::Usual => ras::ADDRESS,
        }
    }

    /// Whether it is there, and that of a job whose processes were started as `processes`.
    pub(crate) fn is_of(&self, processes: &[u32]) -> bool {
        match self {
            Self::Told(_) => self.answers(),
            Self::Usual => {
                let all: Vec<u32> = processes.iter().flat_map(|pid| tree::all_below(*pid)).collect();
                ras::ADDRESS
                    .rsplit_once(':')
                    .and_then(|(_, port)| port.parse().ok())
                    .is_some_and(|port| sockets::listens(&all, port))
            }
        }
    }

    /// Whether anybody can be reached there.
    pub(crate) fn answers(&self) -> bool {
        let places = self.address().to_socket_addrs().into_iter().flatten();
        places.into_iter().any(|place| TcpStream::connect_timeout(&place, Duration::from_millis(200)).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_where_the_job_was_told_to_have_it_or_not_at_all() {
        let of = |variables: &'static [(&str, &str)]| {
            Service::of(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(of(&[]), Some(Service::Usual));
        assert_eq!(of(&[("NCCL_RAS_ADDR", "")]), Some(Service::Usual));
        assert_eq!(of(&[("NCCL_RAS_ADDR", "node0:4000")]), Some(Service::Told("node0:4000".to_owned())));
        assert_eq!(of(&[("NCCL_RAS_ADDR", "node0:4000"), ("NCCL_RAS_ENABLE", "0")]), None);
    }
}
