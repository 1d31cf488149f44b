//! The type of the tensors in a list, by the name of the kernel that works on them: a template names it.
//!
//! Only kernels whose template is known are looked at: `multi_tensor_apply_kernel<..., SomeFunctor<float, ...>>` and
//! `CatArrayBatchedCopy<float, ...>`. What is only moved may be named by its size, `OpaqueType<2u>`: then it is a type of as many bytes.

use super::Dtype;

/// The type of elements that the kernel called `kernel` works on.
pub(crate) fn kernel_type(kernel: &str) -> Option<Dtype> {
    let after = |part: &str| kernel.split_once(part).map(|(_, after)| after);
    let named = if kernel.contains("multi_tensor_apply_kernel<") {
        after("Functor<")
    } else {
        after("CatArrayBatchedCopy").and_then(|name| Some(name.split_once('<')?.1))
    };
    let named = named?;
    if let Some(size) = named.split_once("OpaqueType<").filter(|(before, _)| !before.contains(',')) {
        return match size.1.split_once('u')?.0 {
            "1" => Some(Dtype::Uint8),
            "2" => Some(Dtype::Int16),
            "4" => Some(Dtype::Int32),
            "8" => Some(Dtype::Int64),
            _ => None,
        };
    }
    match named.split([',', '>']).next()?.trim() {
        "at::Half" => Some(Dtype::Fp16),
        "at::BFloat16" => Some(Dtype::Bf16),
        "long" => Some(Dtype::Int64),
        other => Dtype::of(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_name_the_type() {
        let apply = |functor: &str| {
            let list = "at::native::(anonymous namespace)::TensorListMetadata<2>";
            format!(
                "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<{list}, {functor}, std::plus<float>, float>(int)"
            )
        };
        let of = |functor: &str| kernel_type(&apply(functor));
        assert_eq!(of("at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<float, 2, 2, 0>"), Some(Dtype::Fp32));
        assert_eq!(of("at::native::(anonymous namespace)::ZeroFunctor<c10::BFloat16>"), Some(Dtype::Bf16));
        assert_eq!(of("at::native::FusedAdamMathFunctor<double, 4, (at::native::ADAM_MODE)0, false>"), Some(Dtype::Fp64));
        assert_eq!(of("at::native::SomethingElse<float>"), None);
        let cat = |what: &str| {
            kernel_type(&format!("void at::native::(anonymous namespace)::CatArrayBatchedCopy{what}, unsigned int, 4>(int)"))
        };
        assert_eq!(cat("<at::native::(anonymous namespace)::OpaqueType<2u>"), Some(Dtype::Int16));
        assert_eq!(cat("_aligned16_contig<float"), Some(Dtype::Fp32));
        assert_eq!(kernel_type("void at::native::vectorized_elementwise_kernel<4, FillFunctor<float>>(int)"), None);
    }
}
