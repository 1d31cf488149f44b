//! The kernels of expert-parallel libraries: DeepEP and what was made of it.
//!
//! Tokens are dispatched to the ranks of their experts and combined afterwards; a notification before either tells everybody how
//! much will come. Nothing but a kernel's name says which it is and how far it reaches, and kernels of different sorts never
//! meet, so each sort is an operation of its own. `get_dispatch_layout` is none: it counts tokens on one device and talks to
//! nobody.

use std::fmt;

/// A kernel of an expert-parallel library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExpertKernel {
    /// What it does.
    pub op: ExpertOp,
    /// How far.
    pub reach: Reach,
}

/// What a kernel of an expert-parallel library does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ExpertOp {
    /// Sends tokens to their experts.
    Dispatch,
    /// Brings their results back.
    Combine,
    /// Tells everybody how many tokens will come.
    NotifyDispatch,
    /// The same of a layout that is known already.
    CachedNotify,
    /// The same before a dispatch.
    CachedNotifyDispatch,
    /// The same before a combine.
    CachedNotifyCombine,
    /// Clears the buffers of the low-latency form.
    CleanBuffer,
}

/// Between which ranks a kernel moves tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reach {
    /// Those of one node.
    Intranode,
    /// All of them.
    Internode,
    /// All of them, in the form for few tokens.
    LowLatency,
    /// The name does not say.
    Unsaid,
}

/// Parts of names that are of these libraries, in lower case.
pub(crate) const LIBRARIES: [&str; 5] = ["deep_ep", "deepep", "dpsk::ep", "intranode::", "internode"];

/// The kernel that belongs to them and does not communicate.
pub(crate) const LAYOUT: &str = "get_dispatch_layout";

impl ExpertKernel {
    /// The kernel of this name; none if it is of no such library, or does nothing known.
    pub fn of_name(name: &str) -> Option<Self> {
        let lower = name.split(['(', '<']).next().unwrap_or(name).to_ascii_lowercase();
        if !LIBRARIES.iter().any(|library| lower.contains(library)) || lower.contains(LAYOUT) {
            return None;
        }
        // Longer words first: "notify_dispatch" holds "dispatch".
        const OPS: [(&str, ExpertOp); 7] = [
            ("cached_notify_dispatch", ExpertOp::CachedNotifyDispatch),
            ("cached_notify_combine", ExpertOp::CachedNotifyCombine),
            ("cached_notify", ExpertOp::CachedNotify),
            ("notify_dispatch", ExpertOp::NotifyDispatch),
            ("clean_low_latency_buffer", ExpertOp::CleanBuffer),
            ("dispatch", ExpertOp::Dispatch),
            ("combine", ExpertOp::Combine),
        ];
        let (_, op) = OPS.iter().find(|(word, _)| lower.contains(word))?;
        let reach = match () {
            () if lower.contains("_ll") || lower.contains("low_latency") => Reach::LowLatency,
            () if lower.contains("intranode") => Reach::Intranode,
            () if lower.contains("internode") => Reach::Internode,
            () => Reach::Unsaid,
        };
        Some(Self { op: *op, reach })
    }

    /// Whether no rank can finish before every rank has started. Notifications hold a barrier. A dispatch or combine waits for the
    /// ranks it gets tokens from, which need not be all.
    pub fn needs_all(self) -> bool {
        !matches!(self.op, ExpertOp::Dispatch | ExpertOp::Combine | ExpertOp::CleanBuffer)
    }
}

impl ExpertOp {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Dispatch,
        Self::Combine,
        Self::NotifyDispatch,
        Self::CachedNotify,
        Self::CachedNotifyDispatch,
        Self::CachedNotifyCombine,
        Self::CleanBuffer,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dispatch => "dispatch",
            Self::Combine => "combine",
            Self::NotifyDispatch => "notify_dispatch",
            Self::CachedNotify => "cached_notify",
            Self::CachedNotifyDispatch => "cached_notify_dispatch",
            Self::CachedNotifyCombine => "cached_notify_combine",
            Self::CleanBuffer => "clean_low_latency_buffer",
        }
    }
}

impl Reach {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Intranode, Self::Internode, Self::LowLatency, Self::Unsaid];
}

impl fmt::Display for ExpertKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reach = match self.reach {
            Reach::Intranode => "intranode ",
            Reach::Internode => "internode ",
            Reach::LowLatency => "low-latency ",
            Reach::Unsaid => "",
        };
        write!(f, "{reach}{}", self.op.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_operations_is_whole() {
        use ExpertOp as K;
        // A new one does not compile until it is named here; name it in the list, too.
        let is_named = |kind| match kind {
            K::Dispatch
            | K::Combine
            | K::NotifyDispatch
            | K::CachedNotify
            | K::CachedNotifyDispatch
            | K::CachedNotifyCombine
            | K::CleanBuffer => true,
        };
        assert!(K::ALL.into_iter().all(is_named));
        assert!(K::ALL.is_sorted_by(|a, b| a < b), "each once");
    }

    #[test]
    fn the_list_of_reaches_is_whole() {
        use Reach as K;
        // A new one does not compile until it is named here; name it in the list, too.
        let is_named = |kind| match kind {
            K::Intranode | K::Internode | K::LowLatency | K::Unsaid => true,
        };
        assert!(K::ALL.into_iter().all(is_named));
        assert!(K::ALL.is_sorted_by(|a, b| a < b), "each once");
    }

    #[test]
    fn every_kernel_is_an_operation_of_its_own() {
        for (name, says) in [
            ("void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)", "intranode dispatch"),
            ("void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>(__nv_bfloat16*)", "intranode combine"),
            ("void deep_ep::intranode::notify_dispatch<8>(int const*)", "intranode notify_dispatch"),
            ("void deep_ep::intranode::cached_notify_dispatch<8>(int const*)", "intranode cached_notify_dispatch"),
            ("void deep_ep::intranode::cached_notify_combine<8>(void**)", "intranode cached_notify_combine"),
            ("void dpsk::ep::internode::dispatch<false, 4, false, 8192>(int4*)", "internode dispatch"),
            ("void deep_ep::internode::notify_dispatch<false, 4>(int const*)", "internode notify_dispatch"),
            ("void deep_ep::internode::cached_notify<false>(int)", "internode cached_notify"),
            ("void deep_ep::internode_ll::dispatch<true, 7168>(void*)", "low-latency dispatch"),
            ("void dpsk::ep::internode::combine_ll<7168>(void*)", "low-latency combine"),
            ("deep_ep::internode_ll::clean_low_latency_buffer(int*, int)", "low-latency clean_low_latency_buffer"),
        ] {
            assert_eq!(ExpertKernel::of_name(name).map(|kernel| kernel.to_string()).as_deref(), Some(says), "{name}");
        }
        for name in [
            "void deep_ep::layout::get_dispatch_layout<256, 32>(long const*)",
            "void flash::flash_fwd_splitkv_combine_kernel<>()",
            "void deep_ep::intranode::barrier<8>(int**)",
        ] {
            assert_eq!(ExpertKernel::of_name(name), None, "{name}");
        }
    }
}
