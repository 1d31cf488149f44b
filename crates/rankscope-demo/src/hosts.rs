//! Where the demo's processes run: all on the loopback of this machine, or each in a network namespace of its own.
//!
//! The second is for `cargo xtask rig --demo`, which puts a bridge with real queues between the hosts. What the demo does and how
//! it is judged stays the same.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::str::FromStr;

use crate::error::Error;

/// Where the processes of one rank run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The network namespace; none is this process's own.
    namespace: Option<String>,
    pub(crate) interface: String,
    pub(crate) address: IpAddr,
}

impl Host {
    /// This machine.
    pub(crate) fn loopback() -> Self {
        Self { namespace: None, interface: "lo".to_owned(), address: Ipv4Addr::LOCALHOST.into() }
    }

    /// A command that runs `program` there.
    pub(crate) fn command(&self, program: &OsStr) -> Command {
        match &self.namespace {
            None => Command::new(program),
            Some(namespace) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", namespace]).arg(program);
                command
            }
        }
    }
}

impl FromStr for Host {
    type Err = Error;

    /// `node0,eth0,10.9.0.1`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let parts: Vec<&str> = text.split(',').collect();
        let [namespace, interface, address] = parts[..] else {
            return Err(Error::Host { text: text.to_owned() });
        };
        Ok(Self { namespace: Some(namespace.to_owned()), interface: interface.to_owned(), address: address.parse()? })
    }
}

/// What the host of a rank is called.
pub(crate) fn host_name(rank: u32) -> String {
    format!("demo-host-{rank}")
}

/// One for each of `ranks`.
pub(crate) fn hosts(given: &[Host], ranks: u32) -> Result<Vec<Host>, Error> {
    if given.is_empty() {
        return Ok(vec![Host::loopback(); ranks as usize]);
    }
    if given.len() != ranks as usize {
        return Err(Error::Hosts { hosts: given.len(), ranks });
    }
    Ok(given.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read() {
        let host: Host = "node3,eth0,10.9.0.4".parse().unwrap();
        assert_eq!((host.interface.as_str(), host.address), ("eth0", IpAddr::from([10, 9, 0, 4])));
        let command = host.command(OsStr::new("x"));
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["netns", "exec", "node3", "x"]);
        assert!("node3,eth0".parse::<Host>().is_err() && "a,b,c".parse::<Host>().is_err());
        assert!(hosts(&[host], 2).is_err());
        assert_eq!(hosts(&[], 2).unwrap(), [Host::loopback(), Host::loopback()]);
    }
}
