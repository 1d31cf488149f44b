//! The words NCCL uses for functions, elements, algorithms and protocols, each as a number of one byte.
//!
//! Callbacks must not keep a text that is not theirs, nor allocate for one. What is not known is `Other`, which is zero everywhere; a
//! new word of NCCL's therefore costs its name and no event.

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $numbers:ident: { $($(#[$word_doc:meta])* $word:ident = $text:literal $(| $other:literal)*, $said:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub(crate) enum $name {
            /// A word that is not known, or none.
            #[default]
            Other,
            $($(#[$word_doc])* $word,)*
        }

        impl $name {
            const ALL: &[Self] = &[Self::Other, $(Self::$word,)*];

            /// The one that NCCL calls so.
            pub(crate) fn of(word: &[u8]) -> Self {
                match word {
                    $($text $(| $other)* => Self::$word,)*
                    _ => Self::Other,
                }
            }

            /// The one of a record.
            pub(crate) fn of_record(number: u8) -> Self {
                Self::ALL.get(usize::from(number)).copied().unwrap_or_default()
            }

            /// The one that version 1 numbers so.
            pub(crate) fn of_version_1(number: u8) -> Self {
                $numbers.get(usize::from(number)).copied().unwrap_or_default()
            }

            /// As recordings say it.
            pub(crate) fn said(self) -> &'static str {
                match self {
                    Self::Other => "unknown",
                    $(Self::$word => $said,)*
                }
            }
        }
    };
}

words! {
    /// What an operation does.
    Function, FUNCTIONS: {
        #[doc = "Everybody ends with the reduction of all inputs."] AllReduce = b"AllReduce", "all_reduce";
        #[doc = "Everybody ends with all inputs."] AllGather = b"AllGather", "all_gather";
        #[doc = "Everybody ends with its part of the reduction."] ReduceScatter = b"ReduceScatter", "reduce_scatter";
        #[doc = "One rank's input goes to all."] Broadcast = b"Broadcast" | b"Bcast", "broadcast";
        #[doc = "The reduction ends on one rank."] Reduce = b"Reduce", "reduce";
        #[doc = "Everybody sends a part to everybody."] AllToAll = b"AlltoAll" | b"AllToAll", "all_to_all";
        #[doc = "All inputs end on one rank."] Gather = b"Gather", "gather";
        #[doc = "One rank hands out parts."] Scatter = b"Scatter", "scatter";
        #[doc = "To one rank."] Send = b"Send", "send";
        #[doc = "From one rank."] Recv = b"Recv", "recv";
        #[doc = "Both at once."] SendRecv = b"SendRecv", "send_recv";
    }
}

/// Numbers of functions in version 1.
const FUNCTIONS: &[Function] = &[
    Function::Broadcast,
    Function::Reduce,
    Function::AllGather,
    Function::ReduceScatter,
    Function::AllReduce,
    Function::SendRecv,
    Function::Send,
    Function::Recv,
];

impl Function {
    /// Elements that a rank puts in and gets out, where NCCL counts `count` in a communicator of `ranks`; none where that takes the number
    /// of ranks, and it is not known.
    pub(crate) fn elements(self, count: u64, ranks: u32) -> (Option<u64>, Option<u64>) {
        let (one, all) = (Some(count), (ranks > 0).then(|| count.saturating_mul(u64::from(ranks))));
        match self {
            Self::AllGather | Self::Gather => (one, all),
            Self::ReduceScatter | Self::Scatter => (all, one),
            Self::AllToAll => (all, all),
            _ => (one, one),
        }
    }
}

words! {
    /// What is moved.
    Element, ELEMENTS: {
        #[doc = "One byte, signed."] Int8 = b"ncclInt8" | b"ncclChar", "int8";
        #[doc = "One byte."] Uint8 = b"ncclUint8", "uint8";
        #[doc = "Four bytes, signed."] Int32 = b"ncclInt32" | b"ncclInt", "int32";
        #[doc = "Four bytes."] Uint32 = b"ncclUint32", "uint32";
        #[doc = "Eight bytes, signed."] Int64 = b"ncclInt64", "int64";
        #[doc = "Eight bytes."] Uint64 = b"ncclUint64", "uint64";
        #[doc = "Half a float."] Float16 = b"ncclFloat16" | b"ncclHalf", "float16";
        #[doc = "A float."] Float32 = b"ncclFloat32" | b"ncclFloat", "float32";
        #[doc = "Two floats."] Float64 = b"ncclFloat64" | b"ncclDouble", "float64";
        #[doc = "Half a float with the range of a whole one."] Bfloat16 = b"ncclBfloat16", "bfloat16";
        #[doc = "One byte, with more precision."] Float8e4m3 = b"ncclFloat8e4m3", "float8e4m3";
        #[doc = "One byte, with more range."] Float8e5m2 = b"ncclFloat8e5m2", "float8e5m2";
    }
}

impl Element {
    /// Bytes of one; zero where that is not known.
    pub(crate) const fn bytes(self) -> u64 {
        match self {
            Self::Int8 | Self::Uint8 | Self::Float8e4m3 | Self::Float8e5m2 => 1,
            Self::Float16 | Self::Bfloat16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
            Self::Other => 0,
        }
    }
}

/// Numbers of element types in version 1, which are those of nccl.h.
const ELEMENTS: &[Element] = &[
    Element::Int8,
    Element::Uint8,
    Element::Int32,
    Element::Uint32,
    Element::Int64,
    Element::Uint64,
    Element::Float16,
    Element::Float32,
    Element::Float64,
    Element::Bfloat16,
    Element::Float8e4m3,
    Element::Float8e5m2,
];

words! {
    /// How ranks are tied together.
    Algorithm, ALGORITHMS: {
        #[doc = "Trees."] Tree = b"TREE", "TREE";
        #[doc = "Rings."] Ring = b"RING", "RING";
        #[doc = "Switches that compute, directly."] CollnetDirect = b"COLLNET_DIRECT", "COLLNET_DIRECT";
        #[doc = "Switches that compute, in chains."] CollnetChain = b"COLLNET_CHAIN", "COLLNET_CHAIN";
        #[doc = "NVLink's switch computes."] Nvls = b"NVLS", "NVLS";
        #[doc = "The same, with trees between nodes."] NvlsTree = b"NVLS_TREE", "NVLS_TREE";
        #[doc = "Parallel aggregated trees."] Pat = b"PAT", "PAT";
    }
}

/// Numbers of algorithms in version 1.
const ALGORITHMS: &[Algorithm] = &[
    Algorithm::Tree,
    Algorithm::Ring,
    Algorithm::CollnetDirect,
    Algorithm::CollnetChain,
    Algorithm::Nvls,
    Algorithm::NvlsTree,
    Algorithm::Pat,
];

words! {
    /// How data are put into packets.
    Protocol, PROTOCOLS: {
        #[doc = "Flags in every eight bytes."] Ll = b"LL", "LL";
        #[doc = "Flags in every 128 bytes."] Ll128 = b"LL128", "LL128";
        #[doc = "Flags beside the data."] Simple = b"SIMPLE" | b"Simple", "SIMPLE";
    }
}

/// Numbers of protocols in version 1.
const PROTOCOLS: &[Protocol] = &[Protocol::Ll, Protocol::Ll128, Protocol::Simple];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_being_a_number_in_a_record() {
        for function in Function::ALL {
            assert_eq!(Function::of_record(*function as u8), *function);
        }
        assert_eq!(Function::of(b"AllReduce"), Function::AllReduce);
        assert_eq!(Function::of(b"PutSignal"), Function::Other);
        assert_eq!((Function::of_version_1(4), Function::of_version_1(99)), (Function::AllReduce, Function::Other));
        assert_eq!(Element::of(b"ncclBfloat16").said(), "bfloat16");
        assert_eq!(Algorithm::of_record(200), Algorithm::Other);
    }

    #[test]
    fn what_a_gather_gets_out_is_what_all_put_in() {
        assert_eq!(Function::AllGather.elements(10, 8), (Some(10), Some(80)));
        assert_eq!(Function::AllGather.elements(10, 0), (Some(10), None));
        assert_eq!(Function::ReduceScatter.elements(10, 8), (Some(80), Some(10)));
        assert_eq!(Function::AllReduce.elements(10, 0), (Some(10), Some(10)));
        assert_eq!(Function::AllToAll.elements(u64::MAX, 8), (Some(u64::MAX), Some(u64::MAX)));
    }
}
