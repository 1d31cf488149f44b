//! How wide an element is, by the names profilers use.

/// Bytes of one element of type `name` (`BFloat16`, `Float8_e4m3fn`, `float`, `c10::Half`), or `None` for a type not known.
pub fn element_bytes(name: &str) -> Option<u64> {
    let plain = name.rsplit("::").next().unwrap_or(name).to_ascii_lowercase();
    Some(match plain.as_str() {
        "double" | "float64" | "f64" | "long" | "long int" | "int64" | "int64_t" | "s64" | "u64" | "uint64"
        | "complexfloat" | "c64" => 8,
        "complexdouble" | "c128" => 16,
        "float" | "float32" | "f32" | "int" | "int32" | "int32_t" | "s32" | "u32" | "uint32" | "complexhalf" => 4,
        "half" | "float16" | "f16" | "bfloat16" | "bf16" | "short" | "int16" | "s16" | "u16" | "uint16" => 2,
        "byte" | "char" | "unsigned char" | "signed char" | "bool" | "pred" | "int8" | "uint8" | "s8" | "u8" | "int8_t"
        | "uint8_t" => 1,
        other if other.starts_with("float8") || other.starts_with("f8e") => 1,
        other if other.starts_with("fp8") => 1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_widths() {
        for (name, bytes) in [("BFloat16", 2), ("Float", 4), ("c10::Half", 2), ("Float8_e4m3fn", 1), ("Long", 8), ("Byte", 1)] {
            assert_eq!(element_bytes(name), Some(bytes), "{name}");
        }
        assert_eq!(element_bytes("TensorList"), None);
    }
}
