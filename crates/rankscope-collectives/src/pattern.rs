//! Which kernels communicate, by name.
//!
//! The built-in list knows the libraries in use; a user adds patterns for their own. `tracelens` asks exactly what TraceLens
//! asks (specs: name holds `nccl`, `rccl` or `cross_device_reduce`, any case), for numbers that compare.

use regex_lite::Regex;

use crate::expert::{LAYOUT, LIBRARIES};

/// A user's pattern that is none.
#[derive(Debug, thiserror::Error)]
#[error("`{pattern}` is not a regular expression: {reason}")]
pub struct PatternError {
    /// The pattern as given.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Names of kernels that communicate.
#[derive(Clone, Debug)]
pub struct CommPatterns {
    words: &'static [&'static str],
    /// Libraries of which all kernels but one communicate.
    libraries: &'static [&'static str],
    user: Vec<Regex>,
}

/// Lower-case parts of kernel names. Each is specific enough that no compute kernel seen carries it.
const BUILT_IN: [&str; 24] = [
    "nccl",
    "rccl",
    // vLLM's and TensorRT-LLM's own all-reduces.
    "cross_device_reduce",
    "quick_reduce",
    "quickreduce",
    "two_shot_all_reduce",
    "one_shot_all_reduce",
    "oneshotallreduce",
    "twoshotallreduce",
    "allreduce_fusion_kernel",
    "custom_all_reduce",
    "customallreduce",
    "multimem_all_reduce",
    "multimem_all_gather",
    "symm_mem_all",
    // NVSHMEM and ROCm's equivalent.
    "nvshmem",
    "rocshmem",
    // MSCCL and MSCCL++.
    "mscclkernel",
    "mscclpp",
    "msccl_",
    // oneCCL, Habana, Huawei.
    "oneccl",
    "hccl",
    "_mori_",
    "flashinfer::trtllm_allreduce",
];

const TRACELENS: [&str; 3] = ["nccl", "rccl", "cross_device_reduce"];

impl CommPatterns {
    /// The built-in list and a user's regular expressions.
    ///
    /// # Errors
    /// Names the first pattern that cannot be understood.
    pub fn with_user(user: &[String]) -> Result<Self, PatternError> {
        let compile = |pattern: &String| {
            Regex::new(pattern).map_err(|error| PatternError { pattern: pattern.clone(), reason: error.to_string() })
        };
        Ok(Self { words: &BUILT_IN, libraries: &LIBRARIES, user: user.iter().map(compile).collect::<Result<_, _>>()? })
    }

    /// What TraceLens takes for communication, no more and no less.
    pub fn tracelens() -> Self {
        Self { words: &TRACELENS, libraries: &[], user: Vec::new() }
    }

    /// Whether a kernel of this name communicates.
    pub fn matches(&self, kernel: &str) -> bool {
        let lower = kernel.to_ascii_lowercase();
        let of_experts = || self.libraries.iter().any(|word| lower.contains(word)) && !lower.contains(LAYOUT);
        self.words.iter().any(|word| lower.contains(word))
            || of_experts()
            || self.user.iter().any(|pattern| pattern.is_match(kernel))
    }
}

impl Default for CommPatterns {
    fn default() -> Self {
        Self { words: &BUILT_IN, libraries: &LIBRARIES, user: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_their_kernels() {
        let patterns = CommPatterns::default();
        for kernel in [
            "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
            "void deep_ep::intranode::dispatch<8, 768>(int4*, float*)",
            "void vllm::cross_device_reduce_1stage<__half, 8>(RankData*)",
            "void dpsk::ep::internode::combine_ll<7168>(void*)",
            "nvshmemi_transfer_kernel",
        ] {
            assert!(patterns.matches(kernel), "{kernel}");
        }
        for kernel in [
            "ampere_sgemm_128x64_nn",
            "void at::native::reduce_kernel<512, 1>",
            "flash_fwd_splitkv_combine_kernel",
            "void deep_ep::layout::get_dispatch_layout<256, 32>(long const*)",
            "void dpsk::ep::internode::get_dispatch_layout<32>()",
        ] {
            assert!(!patterns.matches(kernel), "{kernel}");
        }
        assert!(!CommPatterns::tracelens().matches("void deep_ep::intranode::combine<8>()"));
    }

    #[test]
    fn users_add_their_own() {
        let patterns = CommPatterns::with_user(&["^my_ring_".to_owned()]).unwrap();
        assert!(patterns.matches("my_ring_exchange"));
        assert!(!patterns.matches("not_my_ring_exchange"));
        assert!(CommPatterns::with_user(&["(".to_owned()]).is_err());
    }
}
