//! What this host has for clock synchronisation, and what to expect of it.
//!
//! [`examine`] looks: at sockets, stamps, clocks, permissions and daemons, measuring where it can be measured. [`advise`] judges
//! what was seen, and looks at nothing. Nothing on the host is changed.

mod advice;
mod document;
mod host;
mod time_of_day;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

pub use advice::{Advice, Expectation, Grade, advise, expect};
pub use document::document;
pub use host::{Permissions, TimeDaemon};

use crate::clocks::chrony::Tracking;
use crate::clocks::kernel::Steering;
use crate::clocks::phc::Phc;
use crate::clocks::ptp::Following;
use crate::clocks::{Clock, sandwich};
use crate::interfaces::Interface;
use crate::stamps::{Capability, LoopbackReport, Stamping, self_test};

/// What was seen. What could not be looked at says why.
#[derive(Clone, Debug)]
pub struct Examination {
    /// The kernel's release.
    pub kernel: String,
    /// The interfaces that are up.
    pub interfaces: Vec<InterfaceFacts>,
    /// Packets from this host to itself, for IP versions 4 and 6.
    pub loopback: Vec<(IpAddr, Result<LoopbackReport, String>)>,
    /// What this process may do.
    pub permissions: Permissions,
    /// What the kernel's clocks are made of.
    pub clocksource: Option<String>,
    /// What they could be made of.
    pub clocksources: Vec<String>,
    /// The processor's counter runs at one rate whatever the processor does. None where that cannot be told.
    pub tsc_invariant: Option<bool>,
    /// Widths of readings of two clocks at once.
    pub sandwich_ns: Spread,
    /// The step in which `CLOCK_REALTIME` counts.
    pub resolution_ns: i64,
    /// How `CLOCK_REALTIME` is steered.
    pub steering: Result<Steering, String>,
    /// What chronyd says of the clock, where it answers.
    pub chrony: Option<Tracking>,
    /// What ptp4l says of the clock that it steers, where it answers.
    pub ptp: Option<Following>,
    /// Daemons that steer clocks, as far as this process can see.
    pub daemons: Vec<TimeDaemon>,
    /// The hypervisor or container engine that this host is inside of.
    pub virtualisation: Option<String>,
}

/// What an interface has.
#[derive(Clone, Debug)]
pub struct InterfaceFacts {
    /// Name and addresses.
    pub interface: Interface,
    /// What its driver can stamp.
    pub capability: Result<Capability, String>,
    /// Whether the clock of the card can be read, if it has one.
    pub phc: Option<Result<(), String>>,
    /// Whether a socket can be bound to its first address.
    pub bound: Result<(), String>,
}

/// A distribution in five numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// The least.
    pub min: i64,
    /// The median.
    pub p50: i64,
    /// What all but one in a hundred are not above.
    pub p99: i64,
    /// The greatest.
    pub max: i64,
}

impl Spread {
    /// Of `values`, in any order; all zero where there are none.
    pub fn of(mut values: Vec<i64>) -> Self {
        values.sort_unstable();
        let at = |percent: usize| values.get(values.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0);
        Self { min: at(0), p50: at(50), p99: at(99), max: at(100) }
    }
}

const PACKETS: u32 = 1_000;
const PATIENCE: Duration = Duration::from_secs(3);
/// They are on this host and do nothing else meanwhile.
const DAEMON_PATIENCE: Duration = Duration::from_millis(300);
const SANDWICHES: usize = 10_000;

/// Looks at everything. Takes a tenth of a second, and some seconds where packets get lost.
pub fn examine() -> Examination {
    let loopbacks = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    Examination {
        kernel: host::kernel(),
        interfaces: Interface::all().unwrap_or_default().into_iter().map(InterfaceFacts::of).collect(),
        loopback: loopbacks
            .map(|ip| (ip, self_test(ip, Stamping::Kernel, PACKETS, PATIENCE).map_err(|error| error.to_string())))
            .into(),
        permissions: host::permissions(),
        clocksource: host::clocksource(),
        clocksources: host::clocksources(),
        tsc_invariant: host::tsc_invariant(),
        sandwich_ns: Spread::of((0..SANDWICHES).map(|_| width_ns()).collect()),
        resolution_ns: Clock::Realtime.resolution_ns(),
        steering: Steering::now().map_err(|error| error.to_string()),
        chrony: Tracking::now(DAEMON_PATIENCE).ok(),
        ptp: Following::now(DAEMON_PATIENCE).ok(),
        daemons: host::time_daemons(),
        virtualisation: host::virtualisation(),
    }
}

fn width_ns() -> i64 {
    let half = sandwich(Clock::MonotonicRaw, Clock::Realtime, 1).half_width_ns;
    i64::try_from(half.saturating_mul(2)).unwrap_or(i64::MAX)
}

impl InterfaceFacts {
    fn of(interface: Interface) -> Self {
        let capability = Capability::of(&interface.name).map_err(|error| error.to_string());
        let phc = capability.as_ref().ok().and_then(|capability| capability.phc);
        let readable = |index| Phc::open(index).and_then(|mut phc| phc.cross_stamp()).map(|_| ());
        Self {
            phc: phc.map(|index| readable(index).map_err(|error| error.to_string())),
            bound: bound(&interface),
            capability,
            interface,
        }
    }

    /// The best stamps that can be had here.
    pub fn stamping(&self) -> Stamping {
        match (&self.capability, &self.phc) {
            (Ok(capability), Some(Ok(()))) => Stamping::best(capability),
            (Ok(capability), _) => Stamping::best(&Capability { phc: None, ..*capability }),
            (Err(_), _) => Stamping::User,
        }
    }
}

/// Link-local addresses only bind with a scope, so they do not count.
fn bound(interface: &Interface) -> Result<(), String> {
    let global = |address: &&IpAddr| !matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
    match interface.addresses.iter().find(global) {
        Some(address) => {
            UdpSocket::bind(SocketAddr::new(*address, 0)).map(|_| ()).map_err(|error| format!("{address}: {error}"))
        }
        None => Err("no address that other hosts can reach".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_can_be_examined() {
        let seen = examine();
        assert!(!seen.kernel.is_empty() && seen.resolution_ns >= 1);
        assert!(seen.sandwich_ns.min > 0 && seen.sandwich_ns.min <= seen.sandwich_ns.p50);
        let (_, v4) = &seen.loopback[0];
        assert_eq!(v4.as_ref().unwrap().stamped, PACKETS);
        assert!(seen.interfaces.iter().any(|facts| facts.interface.loopback));
        assert!(!advise(&seen).is_empty());
    }

    #[test]
    fn a_spread_is_in_order() {
        assert_eq!(Spread::of((0..=100).rev().collect()), Spread { min: 0, p50: 50, p99: 99, max: 100 });
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }
}
