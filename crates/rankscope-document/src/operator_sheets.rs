//! The rows of `unified_perf_summary` by sort, one sheet each, as TraceLens has them: which models belong to which.

/// Operators whose models name their parameters alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperatorSheet {
    /// Products of matrices.
    Gemm,
    /// Products of matrices in groups.
    GroupedGemm,
    /// Convolutions and their gradients.
    Conv,
    /// Attention and its gradients.
    Attention,
    /// Normalisation and its gradients.
    Norm,
    /// Functions of elements.
    Elementwise,
    /// Sums, means and extremes.
    Reduce,
    /// Softmax and its gradient.
    Softmax,
    /// Rows of tables, and their gradients; elements moved by their numbers.
    Embedding,
    /// Many tensors at once: steps of optimisers, joined tensors.
    Lists,
    /// Kernels that TorchInductor fused.
    Triton,
}

impl OperatorSheet {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Gemm,
        Self::GroupedGemm,
        Self::Conv,
        Self::Attention,
        Self::Norm,
        Self::Elementwise,
        Self::Reduce,
        Self::Softmax,
        Self::Embedding,
        Self::Lists,
        Self::Triton,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gemm => "gemm",
            Self::GroupedGemm => "grouped_gemm",
            Self::Conv => "conv",
            Self::Attention => "attention",
            Self::Norm => "norm",
            Self::Elementwise => "elementwise",
            Self::Reduce => "reduce",
            Self::Softmax => "softmax",
            Self::Embedding => "embedding",
            Self::Lists => "lists",
            Self::Triton => "triton",
        }
    }

    /// The sheet called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sheet| sheet.name() == name)
    }

    /// The values of `model` in `unified_perf_summary` whose rows it has.
    pub fn models(self) -> &'static [&'static str] {
        match self {
            Self::Gemm => &["gemm"],
            Self::GroupedGemm => &["grouped_gemm"],
            Self::Conv => &["conv_fwd", "conv_bwd"],
            Self::Attention => &["attention_fwd", "attention_bwd"],
            Self::Norm => &["norm_fwd", "norm_bwd"],
            Self::Elementwise => &["unary", "binary", "ternary"],
            Self::Reduce => &["reduce"],
            Self::Softmax => &["softmax"],
            Self::Embedding => &["embedding", "moves"],
            Self::Lists => &["lists"],
            Self::Triton => &["triton"],
        }
    }
}
