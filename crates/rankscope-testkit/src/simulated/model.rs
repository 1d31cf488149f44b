//! What a layer is made of: its operators with their kernels, forward and back, as torch names them.

/// One operator of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Of what attention reads.
    NormBefore,
    /// Queries, keys and values.
    Qkv,
    /// Attention itself.
    Attention,
    /// What attention writes.
    Projection,
    /// To what was there before.
    AddAttention,
    /// Of what the network after it reads.
    NormAfter,
    /// The wide linear layer.
    Up,
    /// The nonlinearity.
    Gelu,
    /// The linear layer back.
    Down,
    /// To what was there before.
    AddNetwork,
}

/// An operator, its kernel, and how long that takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Described {
    /// The module around it.
    pub(super) module: &'static str,
    pub(super) outer: &'static str,
    pub(super) inner: &'static str,
    pub(super) kernel: &'static str,
    pub(super) ns: i64,
    pub(super) dims: &'static str,
    /// The node of its backward pass, and the operators it runs.
    pub(super) node: &'static str,
    pub(super) backward: &'static [Backward],
}

/// One operator of a backward pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backward {
    pub(super) operator: &'static str,
    pub(super) kernel: &'static str,
    pub(super) ns: i64,
}

impl Part {
    /// In the order of the forward pass.
    pub(super) const ALL: [Self; 10] = [
        Self::NormBefore,
        Self::Qkv,
        Self::Attention,
        Self::Projection,
        Self::AddAttention,
        Self::NormAfter,
        Self::Up,
        Self::Gelu,
        Self::Down,
        Self::AddNetwork,
    ];

    /// The names under which a trace shows it: operators, kernel, module.
    pub fn names(self) -> Vec<&'static str> {
        let described = self.described();
        vec![described.outer, described.inner, described.kernel, described.module]
    }

    pub(super) fn described(self) -> Described {
        match self {
            Self::NormBefore => norm("nn.Module: LayerNorm_0"),
            Self::NormAfter => norm("nn.Module: LayerNorm_1"),
            Self::AddAttention | Self::AddNetwork => ADD,
            Self::Gelu => GELU,
            Self::Attention => ATTENTION,
            Self::Qkv => linear("nn.Module: Linear_qkv", "[[4096, 1024], [1024, 3072]]", GEMM_TALL, 180_000, &QKV_BACKWARD),
            Self::Projection => {
                linear("nn.Module: Linear_out", "[[4096, 1024], [1024, 1024]]", GEMM_SQUARE, 70_000, &OUT_BACKWARD)
            }
            Self::Up => linear("nn.Module: Linear_up", "[[4096, 1024], [1024, 4096]]", GEMM_TALL, 240_000, &MLP_BACKWARD),
            Self::Down => linear("nn.Module: Linear_down", "[[4096, 4096], [4096, 1024]]", GEMM_WIDE, 240_000, &MLP_BACKWARD),
        }
    }
}

fn norm(module: &'static str) -> Described {
    Described {
        module,
        outer: "aten::layer_norm",
        inner: "aten::native_layer_norm",
        kernel: "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float)",
        ns: 25_000,
        dims: "[[8, 512, 1024], [], [1024], [1024], []]",
        node: "NativeLayerNormBackward0",
        backward: &NORM_BACKWARD,
    }
}

fn linear(module: &'static str, dims: &'static str, kernel: &'static str, ns: i64, backward: &'static [Backward]) -> Described {
    Described { module, outer: "aten::linear", inner: "aten::mm", kernel, ns, dims, node: "MmBackward0", backward }
}

const ADD: Described = Described {
    module: "nn.Module: Residual_0",
    outer: "aten::add",
    inner: "aten::add",
    kernel: ELEMENTWISE,
    ns: 20_000,
    dims: "[[8, 512, 1024], [8, 512, 1024], []]",
    node: "AddBackward0",
    backward: &[],
};

const GELU: Described = Described {
    module: "nn.Module: GELU_0",
    outer: "aten::gelu",
    inner: "aten::gelu",
    kernel: "void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl>(int)",
    ns: 30_000,
    dims: "[[8, 512, 4096], []]",
    node: "GeluBackward0",
    backward: &GELU_BACKWARD,
};

const ATTENTION: Described = Described {
    module: "nn.Module: Attention_0",
    outer: "aten::_scaled_dot_product_flash_attention",
    inner: "aten::_flash_attention_forward",
    kernel: "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>(Flash_fwd_params)",
    ns: 220_000,
    dims: "[[8, 16, 512, 64], [8, 16, 512, 64], [8, 16, 512, 64]]",
    node: "ScaledDotProductFlashAttentionBackward0",
    backward: &ATTENTION_BACKWARD,
};

/// The operator that starts the backward kernel of attention.
pub(super) const ATTENTION_BACKWARD_OPERATOR: &str = "aten::_flash_attention_backward";

const ATTENTION_BACKWARD: [Backward; 1] = [Backward {
    operator: ATTENTION_BACKWARD_OPERATOR,
    kernel: "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<pytorch_flash::Flash_bwd_kernel_traits<64, 128, 128, 8>>(Flash_bwd_params)",
    ns: 520_000,
}];
const NORM_BACKWARD: [Backward; 1] = [Backward {
    operator: "aten::native_layer_norm_backward",
    kernel: "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>(int)",
    ns: 40_000,
}];
const GELU_BACKWARD: [Backward; 1] = [Backward { operator: "aten::gelu_backward", kernel: ELEMENTWISE, ns: 40_000 }];
const QKV_BACKWARD: [Backward; 2] = products(180_000);
const OUT_BACKWARD: [Backward; 2] = products(70_000);
const MLP_BACKWARD: [Backward; 2] = products(240_000);

/// Gradients of what goes into a linear layer and of its weights.
const fn products(ns: i64) -> [Backward; 2] {
    [Backward { operator: "aten::mm", kernel: GEMM_INPUT, ns }, Backward { operator: "aten::mm", kernel: GEMM_WEIGHT, ns }]
}

/// The first operator of the model.
pub(super) const EMBEDDING: Described = Described {
    module: "nn.Module: Embedding_0",
    outer: "aten::embedding",
    inner: "aten::index_select",
    kernel: "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long>(TensorInfo)",
    ns: 14_000,
    dims: "[[32000, 1024], [8, 512]]",
    node: "EmbeddingBackward0",
    backward: &[Backward { operator: "aten::embedding_dense_backward", kernel: ELEMENTWISE, ns: 18_000 }],
};

/// The last one.
pub(super) const LOSS: Described = Described {
    module: "nn.Module: CrossEntropyLoss_0",
    outer: "aten::cross_entropy_loss",
    inner: "aten::nll_loss_forward",
    kernel: "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float>(float*)",
    ns: 14_000,
    dims: "[[4096, 32000], [4096]]",
    node: "NllLossBackward0",
    backward: &[Backward { operator: "aten::nll_loss_backward", kernel: ELEMENTWISE, ns: 18_000 }],
};

/// The optimizer's only one: kernel and how long it takes.
pub(super) const OPTIMIZER: (&str, &str, i64) = (
    "aten::_fused_adamw_",
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>>(float)",
    150_000,
);

/// One of many where somebody wrote a formula term by term.
pub(super) const TINY: (&str, &str, i64) = (
    "aten::mul",
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<at::native::BinaryFunctor<float>>>(int)",
    1_500,
);

const ELEMENTWISE: &str = "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>>(int)";
const GEMM_TALL: &str = "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT";
const GEMM_WIDE: &str = "nvjet_hsh_256x128_64x4_2x1_v_bz_coopA_TNT";
const GEMM_SQUARE: &str = "nvjet_hsh_128x128_64x6_2x1_v_bz_TNT";
const GEMM_INPUT: &str = "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT";
const GEMM_WEIGHT: &str = "nvjet_hsh_256x128_64x4_2x1_v_bz_coopB_NTT";
