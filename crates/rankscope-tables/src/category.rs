//! What sort of work an operator does, by its name, and where that says nothing by its first kernel's.

use serde::{Deserialize, Serialize};

use std::fmt;

use rankscope_analyze::ClassMode;

use crate::Model;

/// A sort of operators. Names are those of TraceLens where it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Category {
    /// Products of matrices.
    Gemm,
    /// Convolutions.
    ConvFwd,
    /// Gradients of convolutions.
    ConvBwd,
    /// Attention.
    SdpaFwd,
    /// Gradients of attention.
    SdpaBwd,
    /// Attention over a cache of keys and values, as inference engines do it.
    InferenceAttention,
    /// Normalisation: batch, layer, group, RMS.
    NormFwd,
    /// Its gradients.
    NormBwd,
    /// One result for each element.
    Elementwise,
    /// Sums, means, norms and the like.
    Reduce,
    /// Many tensors at once, as optimisers do it.
    MultiTensor,
    /// Kernels that were compiled from Triton.
    Triton,
    /// Collectives.
    Communication,
    /// Anything else.
    #[default]
    Other,
}

impl Category {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gemm => "GEMM",
            Self::ConvFwd => "CONV_fwd",
            Self::ConvBwd => "CONV_bwd",
            Self::SdpaFwd => "SDPA_fwd",
            Self::SdpaBwd => "SDPA_bwd",
            Self::InferenceAttention => "InferenceAttention",
            Self::NormFwd => "NORM_fwd",
            Self::NormBwd => "NORM_bwd",
            Self::Elementwise => "elementwise",
            Self::Reduce => "reduce",
            Self::MultiTensor => "multi_tensor_apply",
            Self::Triton => "triton",
            Self::Communication => "record_param_comms",
            Self::Other => "other",
        }
    }

    /// The sort of the operator called `operator`, whose first kernel is called `kernel`.
    pub fn of(operator: &str, kernel: &str) -> Self {
        Self::of_operator(operator).unwrap_or_else(|| Self::of_kernel(kernel))
    }

    /// The sort of the HLO instruction called `name`, whose first kernel is called `kernel`.
    pub(crate) fn of_instruction(name: &str, kernel: &str) -> Self {
        const COLLECTIVES: [&str; 6] =
            ["all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-", "ragged-all-to-all"];
        let name = name.strip_prefix('%').unwrap_or(name);
        let starts = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        if starts(&COLLECTIVES) {
            Self::Communication
        } else if starts(&["dot", "gemm", "cublas-gemm", "triton_gemm"]) {
            Self::Gemm
        } else if starts(&["cudnn-conv-bw"]) {
            Self::ConvBwd
        } else if starts(&["convolution", "cudnn-conv"]) {
            Self::ConvFwd
        } else if starts(&["reduce", "input_reduce_fusion"]) {
            Self::Reduce
        } else {
            Self::of_kernel(kernel)
        }
    }

    /// The same by the classes of `mode`.
    pub(crate) fn by(mode: ClassMode, operator: &str, kernel: &str) -> Self {
        if mode == ClassMode::Tracelens { Self::in_tracelens(operator, kernel) } else { Self::of(operator, kernel) }
    }

    /// The same as TraceLens has it, which knows fewer operators and kernels.
    fn in_tracelens(operator: &str, kernel: &str) -> Self {
        let is_other = match operator {
            "_C::rms_norm" | "_C::fused_add_rms_norm" | "aten::_flash_attention_forward" => true,
            _ => Self::of_operator(operator).is_none() && kernel.contains("elementwise_kernel_with_index"),
        };
        if is_other { Self::Other } else { Self::of(operator, kernel) }
    }

    fn of_operator(operator: &str) -> Option<Self> {
        if operator == "record_param_comms" || operator.starts_with("c10d::") || operator.starts_with("nccl:") {
            return Some(Self::Communication);
        }
        if operator.starts_with("triton") {
            return Some(Self::Triton);
        }
        if matches!(
            operator,
            "vllm::unified_attention_with_output" | "vllm::unified_attention" | "_C_cache_ops::reshape_and_cache_flash"
        ) {
            return Some(Self::InferenceAttention);
        }
        let name = operator.strip_prefix("aten::").unwrap_or(operator);
        let has = |part: &str| name.contains(part);
        let is_backward = has("backward") || has("Backward") || has("_bwd");
        if matches!(Model::of(operator), Some(Model::Gemm | Model::GroupedGemm)) {
            return Some(Self::Gemm);
        }
        Some(match name {
            "addbmm" => Self::Gemm,
            _ if has("convolution") || has("conv1d") || has("conv2d") || has("conv3d") || has("conv_depthwise") => {
                if is_backward {
                    Self::ConvBwd
                } else {
                    Self::ConvFwd
                }
            }
            _ if has("scaled_dot_product")
                || has("flash_attention")
                || has("efficient_attention")
                || has("flash_attn")
                || has("fmha") =>
            {
                if is_backward {
                    Self::SdpaBwd
                } else {
                    Self::SdpaFwd
                }
            }
            _ if has("batch_norm") || has("layer_norm") || has("group_norm") || has("rms_norm") || has("instance_norm") => {
                if is_backward {
                    Self::NormBwd
                } else {
                    Self::NormFwd
                }
            }
            "copy_" | "fill_" | "zero_" => Self::Elementwise,
            _ if name.starts_with("_foreach") || name.starts_with("_fused_adam") || name.starts_with("_fused_sgd") => {
                Self::MultiTensor
            }
            _ => return None,
        })
    }

    fn of_kernel(kernel: &str) -> Self {
        let has = |part: &str| kernel.contains(part);
        if kernel.starts_with("triton") {
            Self::Triton
        } else if has("multi_tensor_apply") {
            Self::MultiTensor
        } else if has("::reduce_kernel<") {
            Self::Reduce
        } else if has("elementwise_kernel") {
            Self::Elementwise
        } else {
            Self::Other
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_known_by_name_and_others_by_their_kernel() {
        let elementwise = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>(int)";
        let of = |operator, kernel| Category::of(operator, kernel).name();
        assert_eq!(of("aten::mm", "Cijk_Ailk"), "GEMM");
        assert_eq!(of("aten::_grouped_mm", "cutlass"), "GEMM");
        assert_eq!(of("aten::convolution_backward", ""), "CONV_bwd");
        assert_eq!(of("aten::miopen_convolution", ""), "CONV_fwd");
        assert_eq!(of("aten::_flash_attention_backward", ""), "SDPA_bwd");
        assert_eq!(of("aten::cudnn_batch_norm", ""), "NORM_fwd");
        assert_eq!(of("aten::mul", elementwise), "elementwise");
        assert_eq!(of("aten::sum", "void at::native::reduce_kernel<512, 1>(int)"), "reduce");
        assert_eq!(of("aten::copy_", "Memcpy DtoD"), "elementwise");
        // It reduces over ranks.
        assert_eq!(of("symm_mem::multimem_all_reduce_", "void multimem_all_reduce_kernel<float>(int)"), "other");
        assert_eq!(of("aten::_flash_attention_forward", "flash"), "SDPA_fwd");
        assert_eq!(Category::in_tracelens("aten::_flash_attention_forward", "flash").name(), "other");
        assert_eq!(of("aten::_foreach_add_", "multi_tensor_apply_kernel"), "multi_tensor_apply");
        assert_eq!(of("triton_poi_fused_add_0", ""), "triton");
        assert_eq!(of("my::operator", "my_kernel"), "other");
    }
}
