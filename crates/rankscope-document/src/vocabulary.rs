//! The closed vocabularies of the documents: in JSON a word, here an enum.
//!
//! A file may be of a newer version than its reader, so every vocabulary takes a word it does not know and gives it back as it was
//! written: `Other`. Where views only choose among a few cases, and a word has no use of its own, the enum is a plain one whose
//! `serde(other)` variant stands for what is not known (see [`NoteLevel`](crate::NoteLevel), [`CautionKind`](crate::CautionKind)).

/// An enum of words. Each stands beside its variant, once, and everything that spells it comes from there.
macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            /// A word that this version does not know, as it was written; empty where nothing was said.
            Other(String),
        }

        impl $name {
            /// All words of this version.
            pub const WORDS: &[&str] = &[$($word),+];

            /// The word, as in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)+
                    _ => Self::Other(word.to_owned()),
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::Other(String::new())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                Ok(Self::from(&*word))
            }
        }
    };
}

pub(crate) use vocabulary;

vocabulary! {
    /// How the clock of a rank, or those of a job by and large, is known.
    ClockMethod {
        /// By packets between hosts.
        Measured = "measured",
        /// By packets for some ranks, and in a weaker way for others.
        PartlyMeasured = "partly_measured",
        /// All ranks share the clock of one host.
        OneHost = "one_host",
        /// Estimated from the collectives of the traces, and applied.
        Collectives = "collectives",
        /// By the rows of a file of offsets that the user gave.
        Offsets = "offsets",
        /// Nothing is known of it; time stamps are as recorded.
        AsRecorded = "as_recorded",
    }
}

vocabulary! {
    /// How events were sorted into classes.
    Classes {
        /// As rankscope does.
        Default = "default",
        /// As TraceLens does, for comparison with it.
        Tracelens = "tracelens",
    }
}

vocabulary! {
    /// What told us the rank of a file.
    RankSource {
        /// The file's header.
        Header = "header",
        /// Its events.
        Events = "events",
        /// Its name.
        FileName = "file_name",
        /// Nothing did: it is the file's place among the others.
        Order = "order",
    }
}

vocabulary! {
    /// The format of a trace.
    Format {
        /// Kineto's or Chrome's JSON.
        Kineto = "kineto",
        /// XLA's XSpace.
        Xspace = "xspace",
        /// Perfetto's protobuf.
        Perfetto = "perfetto",
        /// A recording of rankscope's own recorder.
        Recording = "recording",
        /// rocprofv3's JSON.
        Rocprof = "rocprofv3",
        /// The database of ROCm's profilers.
        Rocpd = "rocpd",
        /// The database that Nsight Systems exports.
        Nsys = "nsys",
        /// The lines of NCCL's Inspector.
        NcclInspector = "nccl_inspector",
    }
}

vocabulary! {
    /// A kind of damage in a file.
    ProblemKind {
        /// The compressed stream ends before its end mark.
        TruncatedCompression = "truncated_compression",
        /// The compressed stream is damaged.
        CorruptCompression = "corrupt_compression",
        /// The text or message ends in the middle of something.
        Truncated = "truncated",
        /// An event that cannot be read; it was left out.
        MalformedEvent = "malformed_event",
        /// A quote inside a string was not escaped.
        UnescapedQuote = "unescaped_quote",
        /// A raw control character inside a string.
        ControlCharacter = "control_character",
        /// Bytes that are not UTF-8.
        InvalidUtf8 = "invalid_utf8",
        /// A span that ends before it starts.
        NegativeDuration = "negative_duration",
        /// A duration no profiler can have measured.
        OverflowedDuration = "overflowed_duration",
        /// An event without a time stamp; it was left out.
        MissingTimestamp = "missing_timestamp",
        /// A number that is none, or out of range.
        BadNumber = "bad_number",
        /// An end without a begin, or a begin without an end.
        UnbalancedSpan = "unbalanced_span",
        /// Data after the end of the trace.
        TrailingData = "trailing_data",
        /// A part of an unknown kind; it was left out.
        Unsupported = "unsupported",
        /// An event larger than any that a profiler writes; it was left out.
        TooLong = "too_long",
        /// A reference to a name that is missing.
        MissingInterned = "missing_interned",
        /// Packets that the profiler reports as lost.
        LostPackets = "lost_packets",
        /// A damaged part of a recording; it was left out.
        DamagedBlock = "damaged_block",
        /// An error or warning that the profiler wrote into the file.
        ProfilerMessage = "profiler_message",
        /// Places of the file that disagree on its rank.
        RankDisagreement = "rank_disagreement",
        /// A list of ranks that is cut short in the file.
        TruncatedRankList = "truncated_rank_list",
        /// A wait for an event that the times of the work contradict; it was left out.
        ContradictedWait = "contradicted_wait",
    }
}

vocabulary! {
    /// Whose time is accounted.
    AccountingSide {
        /// The device's.
        Device = "device",
        /// The host's: the trace shows no device work.
        Host = "host",
    }
}

vocabulary! {
    /// What told us the steps of a rank.
    StepSource {
        /// Annotations on the device.
        DeviceAnnotations = "device_annotations",
        /// Launches within the host's markers.
        Launches = "launches",
        /// The host's markers themselves.
        HostAnnotations = "host_annotations",
        /// There are no steps.
        None = "none",
    }
}

vocabulary! {
    /// The class of a kernel, copy or operator.
    KernelClass {
        /// Computes.
        Compute = "compute",
        /// Communicates with other ranks.
        Communication = "communication",
        /// Copies.
        Memcpy = "memcpy",
        /// Fills.
        Memset = "memset",
    }
}

vocabulary! {
    /// Whom a rank waits for in a collective.
    WaitsFor {
        /// Every rank for the last to come.
        Last = "last",
        /// The receiver of a message for its sender, and perhaps the sender for the receiver.
        Peer = "peer",
        /// Some for some: a root decides, or the operation is not known.
        Some = "some",
    }
}

vocabulary! {
    /// How far ranks are from each other.
    Link {
        /// It is one rank.
        OneRank = "one_rank",
        /// All are on one node.
        IntraNode = "intra_node",
        /// Some are on different nodes.
        InterNode = "inter_node",
        /// The node of at least one is not known.
        Unknown = "unknown",
    }
}

vocabulary! {
    /// How a line was laid through transfer times, or why there is none.
    LineFit {
        /// The median of the slopes of all pairs of sizes, and then of what is left.
        TheilSen = "theil_sen",
        /// That would leave less than nothing for no bytes: the line begins at zero, with the median of time over bytes.
        ThroughZero = "through_zero",
        /// Fewer than three different sizes.
        TooFewSizes = "too_few_sizes",
        /// Larger ones do not take longer.
        NoGrowth = "no_growth",
    }
}

vocabulary! {
    /// The operation of a collective.
    CollectiveKind {
        /// Every rank ends with the reduction of all inputs.
        AllReduce = "all_reduce",
        /// Every rank ends with all inputs.
        AllGather = "all_gather",
        /// Every rank ends with its part of the reduction.
        ReduceScatter = "reduce_scatter",
        /// Every rank sends a part to every rank.
        AllToAll = "all_to_all",
        /// One rank's input goes to all.
        Broadcast = "broadcast",
        /// The reduction ends on one rank.
        Reduce = "reduce",
        /// All inputs end on one rank.
        Gather = "gather",
        /// One rank hands out parts.
        Scatter = "scatter",
        /// No rank leaves before every rank has entered.
        Barrier = "barrier",
        /// To one rank.
        Send = "send",
        /// From one rank.
        Recv = "recv",
        /// Grouped sends and receives whose ends are not recorded.
        SendRecv = "send_recv",
        /// Tokens go to the ranks of their experts.
        Dispatch = "dispatch",
        /// The experts' results come back.
        Combine = "combine",
        /// Ranks tell each other the sizes of a dispatch.
        NotifyDispatch = "notify_dispatch",
        /// The same from a layout that is known already.
        CachedNotify = "cached_notify",
        /// The same, before a dispatch.
        CachedNotifyDispatch = "cached_notify_dispatch",
        /// The same, before a combine.
        CachedNotifyCombine = "cached_notify_combine",
        /// A low-latency buffer is cleaned.
        CleanBuffer = "clean_low_latency_buffer",
        /// One of these; the kernel does not say which.
        Unknown = "unknown",
    }
}

vocabulary! {
    /// What has rows of its own in a table of spans.
    SpansBy {
        /// A name, over all threads and processes.
        Name = "name",
        /// A name on a thread.
        Thread = "thread",
        /// A name in a process.
        Process = "process",
    }
}

vocabulary! {
    /// What the rows of a table of spans are sorted by.
    SpansSort {
        /// Self time; asynchronous spans by their total.
        SelfTime = "self",
        /// Time in all.
        Total = "total",
        /// How many spans there are.
        Count = "count",
        /// The longest span.
        Max = "max",
        /// The 99th percentile.
        P99 = "p99",
        /// The name.
        Name = "name",
    }
}

vocabulary! {
    /// One stage of a rank's way to the reference clock.
    AlignmentStage {
        /// Readings of the raw clock by the recorder.
        Readings = "readings",
        /// Pairs of a tracer's clock and the host's.
        Snapshots = "snapshots",
        /// Measured offsets between hosts.
        Offsets = "offsets",
        /// The clock of the host that all ranks share.
        OneHost = "one host",
        /// What the collectives bound and suggest.
        Collectives = "collectives",
    }
}
