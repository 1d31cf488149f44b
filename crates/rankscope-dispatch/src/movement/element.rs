//! What an element of a row is, for the sums of gradients. Values are little-endian.

use std::fmt;
use std::ops::Range;

use half::{bf16, f16};

/// How the bytes of a row are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// IEEE double precision.
    F64,
    /// IEEE single precision.
    F32,
    /// IEEE half precision; summed in single precision and rounded once, to nearest even.
    F16,
    /// The upper half of a single; summed in single precision and rounded once, to nearest even.
    Bf16,
    /// Two's complement, wrapping.
    I64,
    /// Two's complement, wrapping.
    I32,
    /// Two's complement, wrapping.
    I16,
    /// Two's complement, wrapping.
    I8,
    /// Wrapping.
    U8,
}

impl ElementType {
    /// All of them.
    pub const ALL: [Self; 9] =
        [Self::F64, Self::F32, Self::F16, Self::Bf16, Self::I64, Self::I32, Self::I16, Self::I8, Self::U8];

    /// Bytes of one element.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 | Self::I16 => 2,
            Self::I8 | Self::U8 => 1,
        }
    }

    /// The name for people and for files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::I16 => "i16",
            Self::I8 => "i8",
            Self::U8 => "u8",
        }
    }

    /// The type that goes by this name: ours, or those of torch and numpy, in any letters and after `torch.` or without.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase();
        Some(match name.strip_prefix("torch.").unwrap_or(&name) {
            "f64" | "float64" | "double" => Self::F64,
            "f32" | "float32" | "float" => Self::F32,
            "f16" | "float16" | "half" => Self::F16,
            "bf16" | "bfloat16" => Self::Bf16,
            "i64" | "int64" | "long" => Self::I64,
            "i32" | "int32" | "int" => Self::I32,
            "i16" | "int16" | "short" => Self::I16,
            "i8" | "int8" => Self::I8,
            "u8" | "uint8" => Self::U8,
            _ => return None,
        })
    }

    /// A count as an element: rounded to nearest where it is not exact, cut to the width of an integer.
    #[must_use]
    pub fn encode(self, count: u32) -> Vec<u8> {
        match self {
            Self::F64 => f64::from(count).to_le_bytes().to_vec(),
            Self::F32 => (count as f32).to_le_bytes().to_vec(),
            Self::F16 => f16::from_f64(count.into()).to_le_bytes().to_vec(),
            Self::Bf16 => bf16::from_f64(count.into()).to_le_bytes().to_vec(),
            _ => u64::from(count).to_le_bytes()[..self.bytes() as usize].to_vec(),
        }
    }

    /// The largest count up to which sums of ones are exact, however often they are rounded between. Integers wrap and are
    /// always exact.
    #[must_use]
    pub fn exact_to(self) -> u64 {
        match self {
            Self::F64 => 1 << f64::MANTISSA_DIGITS,
            Self::F32 => 1 << f32::MANTISSA_DIGITS,
            Self::F16 => 1 << f16::MANTISSA_DIGITS,
            Self::Bf16 => 1 << bf16::MANTISSA_DIGITS,
            _ => u64::MAX,
        }
    }

    /// Adds the second range of each pair to the first, pair after pair. Ranges lie inside, have whole elements, and those of a
    /// pair are apart and equally long.
    pub(super) fn add(self, bytes: &mut [u8], pairs: &[(Range<usize>, Range<usize>)]) {
        match self {
            _ if pairs.is_empty() => {}
            Self::F64 => in_place(bytes, pairs, |a, b| (f64::from_le_bytes(a) + f64::from_le_bytes(b)).to_le_bytes()),
            Self::F32 => in_place(bytes, pairs, |a, b| (f32::from_le_bytes(a) + f32::from_le_bytes(b)).to_le_bytes()),
            Self::F16 => widened(bytes, pairs, |a| f16::from_le_bytes(a).to_f32(), |sum| f16::from_f32(sum).to_le_bytes()),
            Self::Bf16 => widened(bytes, pairs, |a| bf16::from_le_bytes(a).to_f32(), |sum| bf16::from_f32(sum).to_le_bytes()),
            Self::I64 => in_place(bytes, pairs, |a, b| i64::from_le_bytes(a).wrapping_add(i64::from_le_bytes(b)).to_le_bytes()),
            Self::I32 => in_place(bytes, pairs, |a, b| i32::from_le_bytes(a).wrapping_add(i32::from_le_bytes(b)).to_le_bytes()),
            Self::I16 => in_place(bytes, pairs, |a, b| i16::from_le_bytes(a).wrapping_add(i16::from_le_bytes(b)).to_le_bytes()),
            Self::I8 | Self::U8 => in_place(bytes, pairs, |[a]: [u8; 1], [b]| [a.wrapping_add(b)]),
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn in_place<const N: usize>(
    bytes: &mut [u8],
    pairs: &[(Range<usize>, Range<usize>)],
    add: impl Fn([u8; N], [u8; N]) -> [u8; N],
) {
    for (into, from) in pairs {
        let (into, from) = apart(bytes, into, from);
        for (into, from) in into.as_chunks_mut::<N>().0.iter_mut().zip(from.as_chunks::<N>().0) {
            *into = add(*into, *from);
        }
    }
}

/// Sums in single precision. A row may take part in several sums, so the whole tensor stays wide until the last.
fn widened(
    bytes: &mut [u8],
    pairs: &[(Range<usize>, Range<usize>)],
    widen: impl Fn([u8; 2]) -> f32,
    narrow: impl Fn(f32) -> [u8; 2],
) {
    let mut wide: Vec<f32> = bytes.as_chunks::<2>().0.iter().map(|element| widen(*element)).collect();
    for (into, from) in pairs {
        let elements = |range: &Range<usize>| range.start / 2..range.end / 2;
        let (into, from) = apart(&mut wide, &elements(into), &elements(from));
        into.iter_mut().zip(from).for_each(|(into, from)| *into += *from);
    }
    for (into, _) in pairs {
        let narrowed = bytes[into.clone()].as_chunks_mut::<2>().0;
        for (element, wide) in narrowed.iter_mut().zip(&wide[into.start / 2..into.end / 2]) {
            *element = narrow(*wide);
        }
    }
}

/// Two ranges of one slice that do not overlap.
fn apart<'a, T>(all: &'a mut [T], into: &Range<usize>, from: &Range<usize>) -> (&'a mut [T], &'a [T]) {
    if into.end <= from.start {
        let (low, high) = all.split_at_mut(from.start);
        (&mut low[into.clone()], &high[..from.len()])
    } else {
        let (low, high) = all.split_at_mut(into.start);
        (&mut high[..into.len()], &low[from.clone()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_types_are_rounded_once() {
        // 256 + 1 is not a bf16 and rounds down to even; rounding after each sum would never leave 256.
        let mut bytes: Vec<u8> = [256.0, 1.0, 1.0].iter().flat_map(|value| bf16::from_f32(*value).to_le_bytes()).collect();
        ElementType::Bf16.add(&mut bytes, &[(0..2, 2..4), (0..2, 4..6)]);
        assert_eq!(bf16::from_le_bytes([bytes[0], bytes[1]]).to_f32(), 258.0);
        let mut bytes: Vec<u8> = [2048.0, 1.0, 1.0].iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect();
        ElementType::F16.add(&mut bytes, &[(0..2, 2..4), (0..2, 4..6)]);
        assert_eq!(f16::from_le_bytes([bytes[0], bytes[1]]).to_f32(), 2050.0);
    }

    #[test]
    fn a_type_goes_by_several_names_and_is_called_by_one() {
        for element in ElementType::ALL {
            assert_eq!(ElementType::named(element.as_str()), Some(element));
        }
        for (name, element) in
            [("bfloat16", ElementType::Bf16), ("torch.float32", ElementType::F32), ("INT64", ElementType::I64)]
        {
            assert_eq!(ElementType::named(name), Some(element));
        }
        assert_eq!(ElementType::named("f8"), None);
    }

    #[test]
    fn every_type_adds_in_both_directions_of_the_tensor() {
        for element in ElementType::ALL {
            let width = element.bytes() as usize;
            let one = element.encode(1);
            let mut bytes = one.repeat(3);
            element.add(&mut bytes, &[(width..2 * width, 0..width), (width..2 * width, 2 * width..3 * width)]);
            assert_eq!(bytes, [one.clone(), element.encode(3), one].concat(), "{element}");
        }
    }
}
