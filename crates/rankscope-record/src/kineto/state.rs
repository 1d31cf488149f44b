//! What the profiler is asked to be, and what it is: [`ProfilerState`], [`ActiveProfilerType`], [`TraceStatus`] and
//! [`ResourceType`], by torch's numbers (recorder specification, section 1.1).
//!
//! Numbers are stored by other tools, so they are never renumbered here, not even where a release of torch did.

macro_rules! numbered {
    ($(#[$outer:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $number:literal $word:literal,)* }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$doc])* $variant = $number,)*
        }

        impl $name {
            /// Every member, by number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The member with this number.
            pub const fn of(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Its number.
            pub const fn number(self) -> u8 {
                self as u8
            }

            /// The word torch prints for it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}
pub(super) use numbered;

numbered! {
    /// Which profiler [`super::enable_profiler`] starts. Before torch 2.15 the number 9 meant [`ProfilerState::KinetoOnDemand`].
    ProfilerState {
        /// None.
        Disabled = 0 "Disabled",
        /// The legacy profiler of the host; refused.
        Cpu = 1 "CPU",
        /// The legacy profiler with CUDA events; refused.
        Cuda = 2 "CUDA",
        /// Ranges of NVTX only.
        Nvtx = 3 "NVTX",
        /// Tasks of ITT only.
        Itt = 4 "ITT",
        /// Ranges of a plugged-in device only.
        PrivateUse1 = 5 "PRIVATEUSE1",
        /// A recording.
        Kineto = 6 "KINETO",
        /// A recording, device work timed by events around each op.
        KinetoGpuFallback = 7 "KINETO_GPU_FALLBACK",
        /// As before, on a plugged-in device.
        KinetoPrivateUse1Fallback = 8 "KINETO_PRIVATEUSE1_FALLBACK",
        /// A recording with a plugged-in device's own tracer.
        KinetoPrivateUse1 = 9 "KINETO_PRIVATEUSE1",
        /// A recording that somebody outside the process starts and stops.
        KinetoOnDemand = 10 "KINETO_ONDEMAND",
    }
}

numbered! {
    /// What owns the callbacks now.
    ActiveProfilerType {
        /// Nothing.
        None = 0 "NONE",
        /// The legacy profiler; never here.
        Legacy = 1 "LEGACY",
        /// A recording.
        Kineto = 2 "KINETO",
        /// NVTX.
        Nvtx = 3 "NVTX",
        /// ITT.
        Itt = 4 "ITT",
        /// A plugged-in device.
        PrivateUse1 = 5 "PRIVATEUSE1",
    }
}

numbered! {
    /// How far the session of a plugin is.
    TraceStatus {
        /// It can start.
        Ready = 0 "READY",
        /// It sets up.
        Warmup = 1 "WARMUP",
        /// It records.
        Recording = 2 "RECORDING",
        /// It turns what it recorded into events.
        Processing = 3 "PROCESSING",
        /// It failed.
        Error = 4 "ERROR",
        /// It went on, but something is missing.
        Warning = 5 "WARNING",
    }
}

numbered! {
    /// What a row of a trace stands for.
    ResourceType {
        /// Not known.
        Unknown = 0 "UNKNOWN",
        /// A thread of the host: its row is called `thread <tid> (<name>)`.
        HostThread = 1 "HOST_THREAD",
    }
}

impl ProfilerState {
    /// Whether the state records, rather than passing ranges on.
    pub const fn is_kineto(self) -> bool {
        self.number() >= Self::Kineto.number()
    }

    /// Whether [`super::prepare_profiler`] takes it (specification, section 1.4.1).
    pub const fn can_prepare(self) -> bool {
        matches!(self, Self::Kineto | Self::KinetoGpuFallback | Self::KinetoPrivateUse1Fallback)
    }

    /// What owns the callbacks while it is enabled.
    pub const fn active_type(self) -> ActiveProfilerType {
        match self {
            Self::Disabled => ActiveProfilerType::None,
            Self::Cpu | Self::Cuda => ActiveProfilerType::Legacy,
            Self::Nvtx => ActiveProfilerType::Nvtx,
            Self::Itt => ActiveProfilerType::Itt,
            Self::PrivateUse1 => ActiveProfilerType::PrivateUse1,
            _ => ActiveProfilerType::Kineto,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_torch() {
        let words: Vec<_> = ProfilerState::ALL.iter().map(|state| state.name()).collect();
        assert_eq!(
            words[6..],
            ["KINETO", "KINETO_GPU_FALLBACK", "KINETO_PRIVATEUSE1_FALLBACK", "KINETO_PRIVATEUSE1", "KINETO_ONDEMAND"]
        );
        for (number, state) in ProfilerState::ALL.iter().enumerate() {
            assert_eq!((usize::from(state.number()), ProfilerState::of(number as u8)), (number, Some(*state)));
        }
        assert_eq!(ProfilerState::of(11), None);
        assert_eq!(ActiveProfilerType::PrivateUse1.number(), 5);
        assert_eq!(TraceStatus::Warning.number(), 5);
    }

    #[test]
    fn six_states_do_not_record() {
        assert_eq!(ProfilerState::ALL.iter().filter(|state| !state.is_kineto()).count(), 6);
        assert_eq!(ProfilerState::ALL.iter().filter(|state| state.can_prepare()).count(), 3);
    }
}
