//! How wide an element is, by the names profilers use.

/// Bytes of one element of type `name` (`BFloat16`, `Float8_e4m3fn`, `float`, `c10::complex<double>`, `ncclBfloat16`), or `None` for a type
/// not known.
pub fn element_bytes(name: &str) -> Option<u64> {
    let lower = name.to_ascii_lowercase();
    if let Some(inner) = lower.split_once("complex<").and_then(|(_, inner)| inner.strip_suffix('>')) {
        return Some(2 * element_bytes(inner)?);
    }
    let plain = lower.rsplit("::").next().unwrap_or(&lower);
    let plain = plain.strip_prefix("torch.").unwrap_or(plain);
    let plain = plain.strip_prefix("nccl").unwrap_or(plain).trim_start_matches('_');
    Some(match plain {
        "complexdouble" | "complex128" | "c128" => 16,
        "double" | "float64" | "f64" | "long" | "long int" | "long long" | "unsigned long" | "int64" | "int64_t" | "uint64"
        | "uint64_t" | "s64" | "u64" | "complexfloat" | "complex64" | "c64" => 8,
        "float" | "float32" | "f32" | "int" | "unsigned int" | "int32" | "int32_t" | "uint32" | "uint32_t" | "s32" | "u32"
        | "qint32" | "complexhalf" | "complex32" => 4,
        "half" | "float16" | "f16" | "bfloat16" | "bf16" | "nv_bfloat16" | "hip_bfloat16" | "short" | "int16" | "int16_t"
        | "uint16" | "uint16_t" | "s16" | "u16" | "bits16" => 2,
        "byte" | "char" | "unsigned char" | "signed char" | "bool" | "boolean" | "pred" | "int8" | "uint8" | "s8" | "u8"
        | "int8_t" | "uint8_t" | "qint8" | "quint8" | "bits8" => 1,
        // A byte holds two of them, and is what is counted.
        "float4_e2m1fn_x2" => 1,
        other if ["float8", "f8e", "fp8"].iter().any(|eighth| other.starts_with(eighth)) => 1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_widths() {
        for (name, bytes) in [("BFloat16", 2), ("Float", 4), ("c10::Half", 2), ("Float8_e4m3fn", 1), ("Long", 8), ("Byte", 1)]
            .into_iter()
            .chain([
                ("Float8_e5m2fnuz", 1),
                ("ncclFloat8e4m3", 1),
                ("fp8_e4m3", 1),
                ("Char", 1),
                ("int8", 1),
                ("Bool", 1),
                ("bool", 1),
            ])
            .chain([
                ("ComplexFloat", 8),
                ("c10::complex<double>", 16),
                ("complex<float>", 8),
                ("ComplexHalf", 4),
                ("UInt16", 2),
            ])
            .chain([("__nv_bfloat16", 2), ("ncclBfloat16", 2), ("torch.int8", 1)])
        {
            assert_eq!(element_bytes(name), Some(bytes), "{name}");
        }
        assert_eq!(element_bytes("TensorList"), None);
    }
}
