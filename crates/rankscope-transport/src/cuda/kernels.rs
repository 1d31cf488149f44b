//! The kernels: where their sources are, what their entries are called.
//!
//! Every parameter of every entry is 64 bits wide, an address or a number, so that one call launches any of them.

/// A file of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// What is in it.
    pub text: &'static str,
    /// Entries it defines.
    pub kernels: &'static [Kernel],
}

/// An entry that can be launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Rows of tensors into the send buffer.
    Pack,
    /// Messages into the buffers of peers, with a signal behind each.
    Put,
    /// Until peers have reached an epoch.
    WaitFor,
    /// Rows of tensors out of the receive buffer.
    Unpack,
    /// Tells peers that the receive buffer is empty.
    Release,
    /// Adds rows of bf16.
    SumBf16,
    /// Adds rows of f16.
    SumF16,
    /// Adds rows of f32.
    SumF32,
    /// Adds rows of f64.
    SumF64,
    /// Adds rows of 8-bit integers, signed or not: they wrap alike.
    SumU8,
    /// Adds rows of 16-bit integers.
    SumU16,
    /// Adds rows of 32-bit integers.
    SumU32,
    /// Adds rows of 64-bit integers.
    SumU64,
}

impl Kernel {
    /// Its name in the compiled code.
    #[must_use]
    pub fn entry(self) -> &'static str {
        match self {
            Self::Pack => "pack",
            Self::Put => "put",
            Self::WaitFor => "wait_for",
            Self::Unpack => "unpack",
            Self::Release => "release",
            Self::SumBf16 => "sum_bf16",
            Self::SumF16 => "sum_f16",
            Self::SumF32 => "sum_f32",
            Self::SumF64 => "sum_f64",
            Self::SumU8 => "sum_u8",
            Self::SumU16 => "sum_u16",
            Self::SumU32 => "sum_u32",
            Self::SumU64 => "sum_u64",
        }
    }
}

macro_rules! source {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $name))
    };
}

/// Files that define kernels.
pub const SOURCES: [Source; 6] = [
    Source { name: "pack.cu", text: source!("pack.cu"), kernels: &[Kernel::Pack] },
    Source { name: "put.cu", text: source!("put.cu"), kernels: &[Kernel::Put] },
    Source { name: "wait.cu", text: source!("wait.cu"), kernels: &[Kernel::WaitFor] },
    Source { name: "unpack.cu", text: source!("unpack.cu"), kernels: &[Kernel::Unpack] },
    Source { name: "release.cu", text: source!("release.cu"), kernels: &[Kernel::Release] },
    Source {
        name: "sum.cu",
        text: source!("sum.cu"),
        kernels: &[
            Kernel::SumBf16,
            Kernel::SumF16,
            Kernel::SumF32,
            Kernel::SumF64,
            Kernel::SumU8,
            Kernel::SumU16,
            Kernel::SumU32,
            Kernel::SumU64,
        ],
    },
];

/// What they include, by name.
pub const HEADERS: [(&str, &str); 4] = [
    ("memory.cuh", source!("memory.cuh")),
    ("copy.cuh", source!("copy.cuh")),
    ("rows.cuh", source!("rows.cuh")),
    ("element.cuh", source!("element.cuh")),
];
