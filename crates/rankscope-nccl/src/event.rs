//! [`Start`]: what starts, in the words of version 7, whatever version it was said in.

use crate::words::{Algorithm, Element, Function, Protocol};

/// The sorts of events, by the number of their bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Sort {
    /// A group of operations is enqueued.
    Group = 0,
    /// A collective is enqueued.
    Coll = 1,
    /// A message is enqueued.
    P2p = 2,
    /// A proxy works for an operation.
    ProxyOp = 3,
    /// A step of that.
    ProxyStep = 4,
    /// A proxy is idle, or is woken.
    ProxyCtrl = 5,
    /// A channel of a kernel runs on the GPU.
    KernelCh = 6,
    /// What a network's plugin says.
    NetPlugin = 7,
    /// The application's group of calls.
    GroupApi = 8,
    /// The application's call of a collective.
    CollApi = 9,
    /// The application's call of a message.
    P2pApi = 10,
    /// A kernel is launched.
    KernelLaunch = 11,
    /// A copy engine carries out a collective.
    CeColl = 12,
    /// It waits for others.
    CeSync = 13,
    /// It carries out several copies.
    CeBatch = 14,
    /// A phase of a kernel; RCCL's version 6 has the diagnosis of a proxy in its place.
    KernelPhase = 15,
}

impl Sort {
    const ALL: [Self; 16] = [
        Self::Group,
        Self::Coll,
        Self::P2p,
        Self::ProxyOp,
        Self::ProxyStep,
        Self::ProxyCtrl,
        Self::KernelCh,
        Self::NetPlugin,
        Self::GroupApi,
        Self::CollApi,
        Self::P2pApi,
        Self::KernelLaunch,
        Self::CeColl,
        Self::CeSync,
        Self::CeBatch,
        Self::KernelPhase,
    ];

    /// The sort of an event whose kind has this one bit; none of a kind that nobody knows.
    pub(crate) fn of_kind(kind: u64) -> Option<Self> {
        kind.is_power_of_two().then(|| Self::of_number(kind.trailing_zeros() as u8)).flatten()
    }

    /// The sort with this number.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Whether anything is made of it. Others come along because those below them are asked for.
    #[inline]
    pub(crate) const fn is_kept(self) -> bool {
        !matches!(
            self,
            Self::Group
                | Self::GroupApi
                | Self::ProxyStep
                | Self::ProxyCtrl
                | Self::NetPlugin
                | Self::CeSync
                | Self::CeBatch
                | Self::KernelPhase
        )
    }

    /// Its bit in a mask.
    pub(crate) const fn bit(self) -> i32 {
        1 << self as u8
    }
}

/// A channel of a kernel has stopped, and when by the GPU's clock.
pub(crate) const KERNEL_CH_STOP: i32 = 22;

/// Something starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Start {
    /// Which sort.
    pub(crate) sort: Sort,
    /// The handle of what it belongs to; zero for none.
    pub(crate) parent: u64,
    /// The rank within the communicator.
    pub(crate) rank: i32,
    /// The communicator's hash, from versions that say it with every operation.
    pub(crate) comm_hash: Option<u64>,
    /// What else is said.
    pub(crate) what: What,
}

/// What is said of an event that starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    /// An operation that is enqueued.
    Operation(Operation),
    /// A call of the application.
    Call {
        /// It is captured into a graph, and runs when that does.
        graph_captured: bool,
    },
    /// Work of a proxy, which is of the process with this number.
    Proxy {
        /// Which process.
        pid: i32,
        /// The channel.
        channel: u8,
    },
    /// A channel of a kernel.
    Channel {
        /// Which.
        channel: u8,
        /// The GPU's clock; zero where the version does not say.
        gpu_ns: u64,
    },
    /// Nothing that is kept.
    Nothing,
}

/// An operation that is enqueued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operation {
    /// What it does.
    pub(crate) function: Function,
    /// The how many-th of this function in its communicator; messages have none.
    pub(crate) sequence: u64,
    /// Elements, as NCCL counts them.
    pub(crate) count: u64,
    /// What is moved.
    pub(crate) element: Element,
    /// The root of a collective, or the other end of a message, within the communicator.
    pub(crate) peer: i32,
    /// Channels that work on it.
    pub(crate) channels: u8,
    /// Warps of each.
    pub(crate) warps: u8,
    /// How ranks are tied together.
    pub(crate) algorithm: Algorithm,
    /// How data are put into packets.
    pub(crate) protocol: Protocol,
    /// The application's own number; zero for none.
    pub(crate) user_tag: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_one_bit() {
        assert_eq!(Sort::of_kind(1 << 6), Some(Sort::KernelCh));
        assert_eq!(Sort::of_kind(Sort::KernelPhase.bit() as u64), Some(Sort::KernelPhase));
        for wrong in [0, 3, 1 << 16, u64::MAX] {
            assert_eq!(Sort::of_kind(wrong), None, "{wrong}");
        }
    }
}
