//! Types of elements, as PyTorch's profiler names them.

use serde::{Deserialize, Serialize};

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Dtype {
    /// `double`.
    Fp64,
    /// `float`.
    Fp32,
    /// `c10::Half`.
    Fp16,
    /// `c10::BFloat16`.
    Bf16,
    /// `c10::Float8_e4m3fn` and its like.
    Fp8,
    /// `long int`.
    Int64,
    /// `int`.
    Int32,
    /// `short int`.
    Int16,
    /// `signed char`.
    Int8,
    /// `unsigned char`.
    Uint8,
    /// `bool`.
    Bool,
}

impl Dtype {
    /// The type that is recorded as `text`; none where it is no type of elements, or one that no model knows.
    pub fn of(text: &str) -> Option<Self> {
        Some(match text {
            "double" => Self::Fp64,
            "float" => Self::Fp32,
            "c10::Half" => Self::Fp16,
            "c10::BFloat16" => Self::Bf16,
            "c10::Float8_e4m3fn" | "c10::Float8_e4m3fnuz" | "c10::Float8_e5m2" | "c10::Float8_e5m2fnuz" => Self::Fp8,
            "long int" | "long" => Self::Int64,
            "int" => Self::Int32,
            "short int" | "short" => Self::Int16,
            "signed char" => Self::Int8,
            "unsigned char" => Self::Uint8,
            "bool" => Self::Bool,
            _ => return None,
        })
    }

    /// The type with the number `code` in PyTorch's `ScalarType`, as concrete inputs have it.
    pub(super) fn of_code(code: &str) -> Option<Self> {
        Some(match code {
            "0" => Self::Uint8,
            "1" => Self::Int8,
            "2" => Self::Int16,
            "3" => Self::Int32,
            "4" => Self::Int64,
            "5" => Self::Fp16,
            "6" => Self::Fp32,
            "7" => Self::Fp64,
            "11" => Self::Bool,
            "15" => Self::Bf16,
            "23" | "24" | "25" | "26" => Self::Fp8,
            _ => return None,
        })
    }

    /// Its name as that of a unit of a device.
    pub(crate) fn spec(self) -> &'static str {
        match self {
            Self::Fp64 => "fp64",
            Self::Fp32 => "fp32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
            Self::Fp8 => "fp8",
            Self::Int64 => "int64",
            Self::Int32 => "int32",
            Self::Int16 => "int16",
            Self::Int8 => "int8",
            Self::Uint8 => "uint8",
            Self::Bool => "bool",
        }
    }

    /// Its name as it is recorded; of several the first.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fp64 => "double",
            Self::Fp32 => "float",
            Self::Fp16 => "c10::Half",
            Self::Bf16 => "c10::BFloat16",
            Self::Fp8 => "c10::Float8_e4m3fn",
            Self::Int64 => "long int",
            Self::Int32 => "int",
            Self::Int16 => "short int",
            Self::Int8 => "signed char",
            Self::Uint8 => "unsigned char",
            Self::Bool => "bool",
        }
    }

    /// Bytes of one element.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Fp64 | Self::Int64 => 8,
            Self::Fp32 | Self::Int32 => 4,
            Self::Fp16 | Self::Bf16 | Self::Int16 => 2,
            Self::Fp8 | Self::Int8 | Self::Uint8 | Self::Bool => 1,
        }
    }

    /// Whether it is one of floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Fp64 | Self::Fp32 | Self::Fp16 | Self::Bf16 | Self::Fp8)
    }

    /// What PyTorch computes in where one operand is of this type and one of `other`; none where no model needs to know.
    pub(super) fn with(self, other: Self) -> Option<Self> {
        let is_half = |dtype| matches!(dtype, Self::Fp16 | Self::Bf16);
        match (self, other) {
            (a, b) if a == b => Some(a),
            (Self::Fp8, _) | (_, Self::Fp8) => None,
            (a, b) if is_half(a) && is_half(b) => Some(Self::Fp32),
            (a, b) if a.is_float() && b.is_float() => Some(if a.bytes() > b.bytes() { a } else { b }),
            (a, b) if a.is_float() || b == Self::Bool => Some(a),
            (a, b) if b.is_float() || a == Self::Bool => Some(b),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_that_pytorch_records() {
        assert_eq!(Dtype::of("c10::BFloat16").map(Dtype::bytes), Some(2));
        assert_eq!(Dtype::of("long int").map(Dtype::bytes), Some(8));
        assert_eq!(Dtype::of("c10::complex<float>"), None);
        assert_eq!(Dtype::of("Scalar"), None);
    }

    #[test]
    fn mixed_operands_are_promoted_as_pytorch_does() {
        use Dtype::*;
        for (a, b, both) in [(Bf16, Fp32, Some(Fp32)), (Bf16, Fp16, Some(Fp32)), (Int64, Fp16, Some(Fp16)), (Int8, Uint8, None)]
        {
            assert_eq!((a.with(b), b.with(a)), (both, both), "{a:?} {b:?}");
        }
    }
}
