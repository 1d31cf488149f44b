//! Where a trace came from and what its file says about itself.

use std::fmt;

use rankscope_time::Rank;

use crate::{Problems, rank_of_name};

/// The format that a trace was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SourceFormat {
    /// None: the trace was made in memory. Its name is empty.
    #[default]
    Memory,
    /// Chrome's JSON trace format, in the dialects Kineto and others write.
    Kineto,
    /// Perfetto's protobuf.
    Perfetto,
    /// The recorder's own.
    Recording,
    /// XLA's protobuf.
    XSpace,
    /// What rocprofv3 writes as JSON.
    Rocprof,
    /// The database of ROCm's profilers.
    Rocpd,
    /// The database that Nsight Systems exports.
    Nsys,
    /// The lines of NCCL's Inspector.
    Inspector,
}

impl SourceFormat {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Memory,
        Self::Kineto,
        Self::Perfetto,
        Self::Recording,
        Self::XSpace,
        Self::Rocprof,
        Self::Rocpd,
        Self::Nsys,
        Self::Inspector,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "",
            Self::Kineto => "kineto",
            Self::Perfetto => "perfetto",
            Self::Recording => "recording",
            Self::XSpace => "xspace",
            Self::Rocprof => "rocprofv3",
            Self::Rocpd => "rocpd",
            Self::Nsys => "nsys",
            Self::Inspector => "nccl_inspector",
        }
    }
}

impl fmt::Display for SourceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What told us the rank of a file, from strongest to weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RankSource {
    /// The file's header names it.
    Header,
    /// The events name it (`record_param_comms` says `Rank`).
    Events,
    /// The name of the file, or of the folder or archive member it lies in.
    FileName,
    /// Nothing did; it was numbered by position among the inputs.
    Order,
}

/// A device as the header describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Index on its host.
    pub index: i64,
    /// Marketing name: `AMD Instinct MI300X`.
    pub name: String,
}

/// A process group as the header describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessGroup {
    /// Its name, as collectives refer to it.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Backends by device type: `cpu:gloo,cuda:nccl`.
    pub backend: String,
    /// How many ranks it has, where said.
    pub size: Option<u32>,
    /// Its global ranks; may be fewer than `size` where the file cut the list short.
    pub ranks: Vec<Rank>,
}

/// A clock of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostClock {
    /// `CLOCK_MONOTONIC_RAW`: never stepped, never slewed.
    MonotonicRaw,
    /// `CLOCK_MONOTONIC`: slewed.
    Monotonic,
    /// `CLOCK_REALTIME`: stepped and slewed; nanoseconds since the Unix epoch.
    Realtime,
    /// `CLOCK_BOOTTIME`: as monotonic, suspension included.
    Boottime,
    /// Another one, by its number in the file.
    Other(u32),
}

/// The trace's own clock and one of the host's, read at one moment: what aligning with other traces can start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// Which clock.
    pub clock: HostClock,
    /// The trace's time, as its spans have it.
    pub trace_ns: i64,
    /// The clock's.
    pub ns: i64,
    /// How far apart the two readings may be, in nanoseconds of the trace.
    pub width_ns: u64,
}

/// One reading of a tracer's clock between two of its host's: simultaneous to within the width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotPair {
    /// What the tracer's clock showed.
    pub tracer_ns: i64,
    /// What the host's clock showed, in the middle between the readings around it.
    pub host_ns: i64,
    /// How far `host_ns` may be off, in either direction: half the distance of the readings around it.
    pub half_width_ns: u64,
}

/// Which events a tracer's clock stamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClockScope {
    /// Those of devices, as a GPU's profiler does; the host's own are on the host's clock already.
    Devices,
    /// All of them.
    Everything,
}

/// A clock of a tracer, and its readings against the host's wall clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracerClock {
    /// What reads it: `rocprofiler`, `cupti`, `ticks`.
    pub name: String,
    /// What it stamped.
    pub scope: ClockScope,
    /// In order of time.
    pub pairs: Vec<SnapshotPair>,
}

/// Everything a file says about itself, and what was wrong with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// Path, and archive member, the bytes came from.
    pub file: String,
    /// Format the file turned out to have.
    pub format: SourceFormat,
    /// The rank, and what told us.
    pub rank: Option<(Rank, RankSource)>,
    /// Ranks in the job.
    pub world_size: Option<u32>,
    /// Host the trace was recorded on.
    pub host: Option<String>,
    /// Communication backend of the job: `nccl`, `gloo`.
    pub backend: Option<String>,
    /// What the file's own stamps are relative to, in nanoseconds since the Unix epoch. The model's stamps already include it.
    pub clock_base_ns: Option<i64>,
    /// Readings of the host's clocks beside the trace's own, in order of time.
    pub clock_readings: Vec<ClockReading>,
    /// Clocks of tracers other than the trace's own, with their readings.
    pub tracer_clocks: Vec<TracerClock>,
    /// Identity of the recording.
    pub trace_id: Option<String>,
    /// Devices of the host.
    pub devices: Vec<DeviceInfo>,
    /// Process groups of the job.
    pub process_groups: Vec<ProcessGroup>,
    /// Everything else in the header: key and JSON text, in file order.
    pub header: Vec<(String, String)>,
    /// Bytes of the file after decompression.
    pub bytes: u64,
    /// What was wrong.
    pub problems: Problems,
}

impl Provenance {
    /// The rank that the file itself tells, else the one that its name does.
    pub fn own_rank(&self) -> Option<Rank> {
        self.rank.map(|(rank, _)| rank).or_else(|| rank_of_name(&self.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_formats_is_whole() {
        use SourceFormat as K;
        // A new one does not compile until it is named here; name it in the list, too.
        let is_named = |kind| match kind {
            K::Memory | K::Kineto | K::Perfetto | K::Recording | K::XSpace => true,
            K::Rocprof | K::Rocpd | K::Nsys | K::Inspector => true,
        };
        assert!(K::ALL.into_iter().all(is_named));
        assert!(K::ALL.is_sorted_by(|a, b| a < b), "each once");
    }
}
