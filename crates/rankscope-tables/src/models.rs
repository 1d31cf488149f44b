//! How many floating-point operations an operator takes, and how many bytes it has to move, from its name and what it was called with.
//!
//! Each model is a function of the recorded inputs. The bytes are the least that the device's memory has to give and take: every
//! input once, every output once. Where an input is not recorded, was cut by the profiler, has a type or a shape that the model does
//! not know, or where a count does not fit 64 bits, there is no figure.

use serde::{Deserialize, Serialize};

mod attention;
mod conv;
mod count;
#[cfg(test)]
mod counted;
mod dtype;
mod embedding;
mod gemm;
mod grouped;
mod inputs;
mod kernel_type;
mod lists;
mod moves;
mod norm;
mod params;
mod pointwise;
mod reduce;
mod triton;

pub use dtype::Dtype;
pub use gemm::Product;
pub use inputs::Inputs;
pub(crate) use kernel_type::kernel_type;
pub use params::{Param, Params};

/// What one operator has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Work {
    /// Floating-point operations; an addition and a multiplication are two. Of integers, their operations. None where they are not
    /// known.
    pub flops: Option<u64>,
    /// Bytes read and written.
    pub bytes: u64,
    /// Which units of a device do it.
    pub engine: Engine,
    /// In which type.
    pub dtype: Dtype,
    /// Whether both figures are exact.
    pub figures: Figures,
}

/// How far the inputs of an operator tell what it has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Figures {
    /// They tell it.
    Exact,
    /// It is that much at most: some of what the shapes have room for may be unused.
    AtMost,
    /// It is that much at least.
    AtLeast,
}

impl Work {
    /// Operations on matrices of type `dtype`.
    pub(crate) fn of_matrices(dtype: Dtype, flops: u64, bytes: u64) -> Self {
        Self { flops: Some(flops), bytes, engine: Engine::Matrix, dtype, figures: Figures::Exact }
    }

    /// Operations on single elements of type `dtype`.
    pub(crate) fn of_elements(dtype: Dtype, flops: u64, bytes: u64) -> Self {
        Self { engine: Engine::Vector, ..Self::of_matrices(dtype, flops, bytes) }
    }

    fn at_most(self) -> Self {
        Self { figures: Figures::AtMost, ..self }
    }
}

/// Why there are no figures of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum NoFigures {
    /// It has no model.
    NoModel,
    /// It copies from or to another memory than the device's.
    LeavesDevice,
    /// Shapes and types of its inputs are not recorded.
    NotRecorded,
    /// The profiler cut a list of its inputs.
    Cut,
    /// The type of an input is not recorded, or none that a model knows.
    UnknownType,
    /// Its inputs are not as the model expects them, or a count does not fit 64 bits.
    Unfit,
}

impl NoFigures {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoModel => "no_model",
            Self::LeavesDevice => "leaves_device",
            Self::NotRecorded => "not_recorded",
            Self::Cut => "cut",
            Self::UnknownType => "unknown_type",
            Self::Unfit => "unfit",
        }
    }
}

impl Figures {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::AtMost => "at_most",
            Self::AtLeast => "at_least",
        }
    }
}

/// The units of a device that a model's operations run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Engine {
    /// Those that multiply matrices.
    Matrix,
    /// Those that do one operation for each element.
    Vector,
}

/// A model: which inputs are what, and what is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Model {
    /// Products of matrices.
    Gemm,
    /// Products of matrices in groups.
    GroupedGemm,
    /// Convolutions.
    ConvFwd,
    /// Gradients of convolutions.
    ConvBwd,
    /// Attention.
    AttentionFwd,
    /// Gradients of attention.
    AttentionBwd,
    /// Normalisation.
    NormFwd,
    /// Its gradients.
    NormBwd,
    /// One result for each element of one input.
    Unary,
    /// One result for each element of two inputs.
    Binary,
    /// One result for each element of three inputs.
    Ternary,
    /// Sums, means and extremes.
    Reduce,
    /// Softmax and its gradient.
    Softmax,
    /// Rows of a table, and the gradient of the table.
    Embedding,
    /// Elements moved by their numbers.
    Moves,
    /// Many tensors at once: steps of optimisers, joined tensors.
    Lists,
    /// Kernels that TorchInductor fused.
    Triton,
}

impl Model {
    /// The model of the operator called `operator`, if there is one.
    pub fn of(operator: &str) -> Option<Self> {
        if attention::is_forward(operator) {
            return Some(Self::AttentionFwd);
        }
        if attention::is_backward(operator) {
            return Some(Self::AttentionBwd);
        }
        if grouped::is_known(operator) {
            return Some(Self::GroupedGemm);
        }
        if triton::is_known(operator) {
            return Some(Self::Triton);
        }
        if norm::is_of_vllm(operator) {
            return Some(Self::NormFwd);
        }
        let name = operator.strip_prefix("aten::")?;
        Some(if gemm::is_known(name) {
            Self::Gemm
        } else if name == "convolution" {
            Self::ConvFwd
        } else if name == "convolution_backward" {
            Self::ConvBwd
        } else if norm::is_forward(name) {
            Self::NormFwd
        } else if norm::is_backward(name) {
            Self::NormBwd
        } else if reduce::is_softmax(name) {
            Self::Softmax
        } else if reduce::is_reduction(name) {
            Self::Reduce
        } else if embedding::is_known(name) {
            Self::Embedding
        } else if moves::is_known(name) {
            Self::Moves
        } else if lists::is_known(name) {
            Self::Lists
        } else if pointwise::is_unary(name) {
            Self::Unary
        } else if pointwise::is_binary(name) {
            Self::Binary
        } else if pointwise::is_ternary(name) {
            Self::Ternary
        } else {
            return None;
        })
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gemm => "gemm",
            Self::GroupedGemm => "grouped_gemm",
            Self::ConvFwd => "conv_fwd",
            Self::ConvBwd => "conv_bwd",
            Self::AttentionFwd => "attention_fwd",
            Self::AttentionBwd => "attention_bwd",
            Self::NormFwd => "norm_fwd",
            Self::NormBwd => "norm_bwd",
            Self::Unary => "unary",
            Self::Binary => "binary",
            Self::Ternary => "ternary",
            Self::Reduce => "reduce",
            Self::Softmax => "softmax",
            Self::Embedding => "embedding",
            Self::Moves => "moves",
            Self::Lists => "lists",
            Self::Triton => "triton",
        }
    }

    /// Whether the inputs of `operator` do not tell the type of its tensors, and the name of its kernel does.
    pub(crate) fn takes_kernel_type(self) -> bool {
        self == Self::Lists
    }

    /// What `operator`, which has this model, does with `inputs`; none where they do not tell.
    pub fn work(self, operator: &str, inputs: &Inputs) -> Option<Work> {
        let name = bare(operator);
        match self {
            Self::Gemm => gemm::work(name, inputs),
            Self::GroupedGemm => grouped::work(operator, inputs),
            Self::ConvFwd => conv::forward(inputs),
            Self::ConvBwd => conv::backward(inputs),
            Self::AttentionFwd => attention::forward(operator, inputs),
            Self::AttentionBwd => attention::backward(operator, inputs),
            Self::NormFwd => norm::forward(name, inputs),
            Self::NormBwd => norm::backward(name, inputs),
            Self::Unary => pointwise::unary(name, inputs),
            Self::Binary => pointwise::binary(name, inputs),
            Self::Ternary => pointwise::ternary(name, inputs),
            Self::Reduce => reduce::reduction(name, inputs),
            Self::Softmax => reduce::softmax(name, inputs),
            Self::Embedding => embedding::work(name, inputs),
            Self::Moves => moves::work(name, inputs),
            Self::Lists => lists::work(name, inputs),
            Self::Triton => triton::work(operator, inputs),
        }
    }

    /// What `operator`, which has this model, was called with; empty where the inputs do not tell.
    pub fn params(self, operator: &str, inputs: &Inputs) -> Params {
        let name = bare(operator);
        let params = match self {
            Self::Gemm => gemm::params(name, inputs),
            Self::GroupedGemm => grouped::params(operator, inputs),
            Self::ConvFwd | Self::ConvBwd => conv::params(name, inputs),
            Self::AttentionFwd | Self::AttentionBwd => attention::params(operator, inputs),
            Self::NormFwd | Self::NormBwd => norm::params(name, inputs),
            Self::Unary | Self::Binary | Self::Ternary => pointwise::params(name, inputs),
            Self::Reduce | Self::Softmax => reduce::params(name, inputs),
            Self::Embedding => embedding::params(name, inputs),
            Self::Moves => moves::params(inputs),
            Self::Lists => lists::params(name, inputs),
            Self::Triton => triton::params(operator, inputs),
        };
        params.unwrap_or_default()
    }

    /// The product of matrices that `operator` is with `inputs`; none where it is none or they do not tell.
    pub fn product(self, operator: &str, inputs: &Inputs) -> Option<Product> {
        (self == Self::Gemm).then(|| gemm::product(bare(operator), inputs))?
    }

    /// Whether work that other operators launch on behalf of `operator` is its work too: a convolution's changes of layout are.
    /// `aten::linear` is left to the product that it calls, and functions of elements to those that they call.
    pub(crate) fn encloses(operator: &str) -> bool {
        let is_whole = |model| {
            let is_part = matches!(model, Self::Unary | Self::Binary | Self::Ternary | Self::Reduce | Self::Softmax);
            !is_part && !matches!(model, Self::Moves | Self::Lists | Self::Triton)
        };
        operator != "aten::linear" && Self::of(operator).is_some_and(is_whole)
    }
}

/// The name of an operator of PyTorch's own, without where it is from.
fn bare(operator: &str) -> &str {
    operator.strip_prefix("aten::").unwrap_or(operator)
}
