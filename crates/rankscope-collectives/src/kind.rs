//! The operations, whatever a library calls them.

use std::fmt;

use crate::ExpertKernel;

/// What a collective does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Everybody ends with the reduction of all inputs.
    AllReduce,
    /// Everybody ends with all inputs.
    AllGather,
    /// Everybody ends with its part of the reduction.
    ReduceScatter,
    /// Everybody sends a part to everybody.
    AllToAll,
    /// One rank's input goes to all.
    Broadcast,
    /// The reduction ends on one rank.
    Reduce,
    /// All inputs end on one rank.
    Gather,
    /// One rank hands out parts.
    Scatter,
    /// Nobody leaves before everybody came.
    Barrier,
    /// To one rank.
    Send,
    /// From one rank.
    Recv,
    /// Grouped sends and receives whose ends are not recorded.
    SendRecv,
    /// A kernel of an expert-parallel library.
    Expert(ExpertKernel),
    /// A kernel that does any of these and does not say which.
    Unknown,
}

impl Kind {
    /// The kind a recorded collective name stands for: `allreduce`, `_allgather_base`, `all_to_allv`, `nccl:reduce_scatter`.
    pub fn of_name(name: &str) -> Self {
        let plain: String = name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect();
        // Longer words first: "allreduce" holds "reduce", "reducescatter" holds both "reduce" and "scatter".
        const WORDS: [(&str, Kind); 17] = [
            // vLLM's own all-reduce.
            ("crossdevicereduce", Kind::AllReduce),
            ("reducescatter", Kind::ReduceScatter),
            ("allreduce", Kind::AllReduce),
            ("allgather", Kind::AllGather),
            ("alltoall", Kind::AllToAll),
            ("alltoallv", Kind::AllToAll),
            ("collectivepermute", Kind::SendRecv),
            ("sendrecv", Kind::SendRecv),
            ("broadcast", Kind::Broadcast),
            ("bcast", Kind::Broadcast),
            ("barrier", Kind::Barrier),
            ("reduce", Kind::Reduce),
            ("gather", Kind::Gather),
            ("scatter", Kind::Scatter),
            ("send", Kind::Send),
            ("recv", Kind::Recv),
            ("receive", Kind::Recv),
        ];
        WORDS.iter().find(|(word, _)| plain.contains(word)).map_or(Self::Unknown, |(_, kind)| *kind)
    }

    /// The kind a kernel's own name tells. Libraries put it behind their name: `ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)`.
    pub fn of_kernel(name: &str) -> Self {
        let function = name.split(['(', '<']).next().unwrap_or(name);
        ExpertKernel::of_name(name).map_or_else(|| Self::of_name(function), Self::Expert)
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "all_to_all",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Barrier => "barrier",
            Self::Send => "send",
            Self::Recv => "recv",
            Self::SendRecv => "send_recv",
            Self::Expert(kernel) => kernel.op.name(),
            Self::Unknown => "unknown",
        }
    }

    /// Whether no rank can finish before every rank has started. Only then do the stays of all ranks overlap.
    pub fn needs_all(self) -> bool {
        match self {
            Self::Expert(kernel) => kernel.needs_all(),
            _ => matches!(self, Self::AllReduce | Self::AllGather | Self::ReduceScatter | Self::AllToAll | Self::Barrier),
        }
    }

    /// Whether it is between two ranks.
    pub fn is_point_to_point(self) -> bool {
        matches!(self, Self::Send | Self::Recv)
    }

    /// Whether it is a message: from one rank to another, or both ways at once.
    pub fn is_message(self) -> bool {
        self.is_point_to_point() || self == Self::SendRecv
    }

    /// Whether every rank gives the same number of elements, so that a different number means a different collective.
    pub(crate) fn has_equal_inputs(self) -> bool {
        matches!(self, Self::AllReduce | Self::ReduceScatter | Self::Broadcast | Self::Reduce)
    }

    /// Bus bandwidth over algorithm bandwidth in a group of `ranks`: what part of the data crosses a rank's link, as
    /// nccl-tests defines it (doc/PERFORMANCE.md there). A group of one moves nothing.
    pub fn bus_factor(self, ranks: u32) -> f64 {
        let n = f64::from(ranks.max(1));
        match self {
            Self::AllReduce => 2.0 * (n - 1.0) / n,
            Self::ReduceScatter | Self::AllGather | Self::AllToAll | Self::Gather | Self::Scatter => (n - 1.0) / n,
            Self::Broadcast | Self::Reduce | Self::Send | Self::Recv | Self::SendRecv | Self::Barrier => 1.0,
            Self::Expert(_) | Self::Unknown => 1.0,
        }
    }

    /// Elements the bandwidth counts: the whole buffer, which for an all-gather is what comes out.
    pub fn counted_elements(self, in_elements: Option<u64>, out_elements: Option<u64>, ranks: u32) -> Option<u64> {
        match self {
            Self::AllGather => match (out_elements, in_elements) {
                (Some(out), _) if out > 0 => Some(out),
                (_, Some(input)) => input.checked_mul(u64::from(ranks)),
                _ => None,
            },
            Self::Recv => out_elements.or(in_elements),
            Self::Barrier => None,
            _ => in_elements.filter(|elements| *elements > 0).or(out_elements),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expert(kernel) => kernel.fmt(f),
            _ => self.name().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_library_are_understood() {
        for (name, kind) in [
            ("cross_device_reduce_1stage", Kind::AllReduce),
            ("allreduce", Kind::AllReduce),
            ("all_reduce", Kind::AllReduce),
            ("allreduce_coalesced", Kind::AllReduce),
            ("_allgather_base", Kind::AllGather),
            ("_reduce_scatter_base", Kind::ReduceScatter),
            ("reduce_scatter_tensor_coalesced", Kind::ReduceScatter),
            ("all_to_allv", Kind::AllToAll),
            ("broadcast", Kind::Broadcast),
            ("_reduce_oop", Kind::Reduce),
            ("gather", Kind::Gather),
            ("scatter", Kind::Scatter),
            ("barrier", Kind::Barrier),
            ("send", Kind::Send),
            ("recv", Kind::Recv),
            ("collective-permute", Kind::SendRecv),
            ("frobnicate", Kind::Unknown),
        ] {
            assert_eq!(Kind::of_name(name), kind, "{name}");
        }
        assert_eq!(
            Kind::of_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
            Kind::AllReduce
        );
        assert_eq!(Kind::of_kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)"), Kind::SendRecv);
        assert_eq!(Kind::of_kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"), Kind::Unknown);
    }

    #[test]
    fn factors_are_those_of_nccl_tests() {
        assert_eq!(Kind::AllReduce.bus_factor(8), 1.75);
        assert_eq!(Kind::AllGather.bus_factor(8), 0.875);
        assert_eq!(Kind::Broadcast.bus_factor(8), 1.0);
        assert_eq!(Kind::AllReduce.bus_factor(1), 0.0);
    }

    #[test]
    fn an_all_gather_counts_what_comes_out() {
        assert_eq!(Kind::AllGather.counted_elements(Some(10), Some(80), 8), Some(80));
        assert_eq!(Kind::AllGather.counted_elements(Some(10), None, 8), Some(80));
        assert_eq!(Kind::ReduceScatter.counted_elements(Some(80), Some(10), 8), Some(80));
        assert_eq!(Kind::Barrier.counted_elements(Some(1), None, 8), None);
    }
}
