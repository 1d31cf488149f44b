//! What the rig breaks, and how it mends it.

use anyhow::{Context, Result};

use super::agents::Agents;
use super::network::Network;

/// What goes wrong in the middle third of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// The highest node is killed with -9, and not started again.
    KillNode,
    /// Node 0, the master, is killed with -9, and not started again.
    KillMaster,
    /// The highest node is killed with -9 and started again.
    Restart,
    /// The highest node can neither send nor receive.
    Partition,
    /// Every node loses 30 % of the control packets that come in.
    DropControl,
    /// No UDP comes in at any node.
    FilterUdp,
}

impl Fault {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::KillNode => "kill-node",
            Self::KillMaster => "kill-master",
            Self::Restart => "restart",
            Self::Partition => "partition",
            Self::DropControl => "drop-control",
            Self::FilterUdp => "filter-udp",
        }
    }

    /// The program that does it, where that is not always needed.
    pub(crate) fn tool(self) -> Option<&'static str> {
        match self {
            Self::None | Self::KillNode | Self::KillMaster | Self::Restart | Self::FilterUdp => None,
            Self::Partition | Self::DropControl => Some("nft"),
        }
    }

    /// Tries whether it can be done here, and leaves everything as it is.
    pub(crate) fn try_out(self) -> Result<()> {
        if self.tool().is_none() {
            return Ok(());
        }
        filter(0, "accept")
            .and_then(|()| unfilter(0))
            .context("this kernel does not filter packets, so the fault cannot be made")
    }

    /// Breaks it.
    pub(crate) fn strike(self, network: &Network, agents: &mut Agents) -> Result<()> {
        let last = network.nodes - 1;
        match self {
            Self::None => Ok(()),
            Self::KillNode | Self::Restart => agents.kill(last),
            Self::KillMaster => agents.kill(0),
            Self::Partition => filter(last, "drop"),
            Self::DropControl => (0..network.nodes).try_for_each(|node| filter(node, CONTROL_DROP)),
            Self::FilterUdp => (0..network.nodes).try_for_each(lose_udp),
        }
    }

    /// Takes it away again, where that can be.
    pub(crate) fn mend(self, network: &Network, agents: &mut Agents) -> Result<()> {
        let last = network.nodes - 1;
        match self {
            Self::None | Self::KillNode | Self::KillMaster => Ok(()),
            Self::Restart => agents.begin(last),
            Self::Partition => unfilter(last),
            Self::DropControl => (0..network.nodes).try_for_each(unfilter),
            Self::FilterUdp => (0..network.nodes).try_for_each(|node| Network::within(node, "ip rule del pref 1").map(drop)),
        }
    }
}

/// Probes are 64 bytes of payload, 72 with the UDP header. Whatever is longer is control.
const CONTROL_DROP: &str = "udp length > 72 numgen random mod 100 < 30 drop";

fn filter(node: u32, rule: &str) -> Result<()> {
    Network::within(node, "nft add table inet rig")?;
    Network::within(node, "nft add chain inet rig in { type filter hook input priority 0 ; }")?;
    Network::within(node, "nft add chain inet rig out { type filter hook output priority 0 ; }")?;
    Network::within(node, &format!("nft add rule inet rig in {rule}"))?;
    if rule == "drop" {
        Network::within(node, "nft add rule inet rig out drop")?;
    }
    Ok(())
}

/// Routes all UDP that comes in to nowhere, which needs no firewall: before the rule that delivers, which is moved behind it.
fn lose_udp(node: u32) -> Result<()> {
    Network::within(node, "ip rule add pref 2 lookup local")?;
    Network::within(node, "ip rule del pref 0")?;
    Network::within(node, "ip rule add pref 1 iif eth0 ipproto udp blackhole").map(drop)
}

fn unfilter(node: u32) -> Result<()> {
    Network::within(node, "nft delete table inet rig").map(drop)
}
