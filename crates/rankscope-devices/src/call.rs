//! Calls that a program makes into a vendor's runtime: what their names say of them, and which are recorded.
//!
//! CUDA and HIP name the same calls alike, so that one list of words is good for both, and no list of numbers has to follow their versions.

/// Which calls are recorded. Calls are what a profiler spends most time on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApiCalls {
    /// Those that give work to a device, wait for it, or manage its memory.
    #[default]
    Relevant,
    /// All of the runtime, and those of the driver that are relevant.
    All,
    /// None: work is recorded without the calls that launched it, and belongs to its spans all the same.
    None,
}

/// What a call is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSort {
    /// It gives work to a device.
    Launch,
    /// It waits, or manages memory.
    Relevant,
    /// Anything else.
    Other,
}

/// What parts of names say that a call gives work to a device.
const LAUNCHES: [&str; 5] = ["Launch", "Memcpy", "Memset", "MemPrefetch", "MemBatch"];

/// What parts of names say that a call waits for a device or manages its memory.
const OTHERS: [&str; 6] = ["Synchronize", "WaitEvent", "EventRecord", "Malloc", "MemAlloc", "Free"];

/// Calls that only describe such a call, or ask about one.
const ABOUT: [&str; 6] = ["Node", "Attribute", "Get", "Params", "Config", "Capture"];

impl CallSort {
    /// By its name.
    pub fn of(name: &str) -> Self {
        let has_one_of = |words: &[&str]| words.iter().any(|word| name.contains(word));
        match () {
            () if has_one_of(&ABOUT) => Self::Other,
            () if has_one_of(&LAUNCHES) => Self::Launch,
            () if has_one_of(&OTHERS) => Self::Relevant,
            () => Self::Other,
        }
    }
}

impl ApiCalls {
    /// Whether a call of the runtime is recorded.
    pub fn records(self, sort: CallSort) -> bool {
        match self {
            Self::None => false,
            Self::Relevant => sort != CallSort::Other,
            Self::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_of_and_recorded_by_what_their_names_say() {
        for (name, expected) in [
            ("cudaLaunchKernelExC", CallSort::Launch),
            ("cudaGraphLaunch", CallSort::Launch),
            ("cuMemcpyDtoHAsync", CallSort::Launch),
            ("hipModuleLaunchKernel", CallSort::Launch),
            ("hipMemcpyWithStream", CallSort::Launch),
            ("cudaStreamSynchronize", CallSort::Relevant),
            ("hipDeviceSynchronize", CallSort::Relevant),
            ("cudaFreeAsync", CallSort::Relevant),
            ("cudaGraphAddMemcpyNode", CallSort::Other),
            ("cudaGetDevice", CallSort::Other),
            ("hipSetDevice", CallSort::Other),
            ("cudaFuncGetAttributes", CallSort::Other),
        ] {
            assert_eq!(CallSort::of(name), expected, "{name}");
        }
    }

    #[test]
    fn whoever_wants_more_calls_has_those_of_who_wants_fewer() {
        for sort in [CallSort::Launch, CallSort::Relevant, CallSort::Other] {
            let recorded = [ApiCalls::None, ApiCalls::Relevant, ApiCalls::All].map(|which| which.records(sort));
            assert!(recorded.is_sorted(), "{sort:?}: {recorded:?}");
        }
    }
}
