//! What a host has of everything that rankscope can use, as `rankscope doctor --format json` writes it, schema 1. Keys are only ever added
//! within a schema number.

use serde::{Deserialize, Serialize};

use crate::vocabulary::vocabulary;

vocabulary! {
    /// What a finding is about.
    DoctorTopic {
        /// Measuring the clocks of nodes.
        Clocks = "clocks",
        /// Recording in a program itself.
        Recorder = "recorder",
        /// NVIDIA's devices.
        Cuda = "cuda",
        /// AMD's devices.
        Rocm = "rocm",
        /// Counters of the node: processors, memory, sensors, GPUs.
        Counters = "counters",
        /// The profiler plugin of NCCL and RCCL.
        Nccl = "nccl",
        /// Profiles of torch.
        Torch = "torch",
        /// Profiles of JAX.
        Jax = "jax",
        /// Dumps of torch's flight recorder.
        FlightRecorder = "flight_recorder",
        /// Profiling a job that runs.
        OnDemand = "on_demand",
        /// Stacks of processes that hang.
        Stacks = "stacks",
        /// Programs that start jobs.
        Launchers = "launchers",
        /// The engine of `rankscope query`.
        Sql = "sql",
    }
}

vocabulary! {
    /// How it stands.
    DoctorStanding {
        /// It can be used as it is.
        Ready = "ready",
        /// It works in part, or could be better.
        Limited = "limited",
        /// It is not there.
        Absent = "absent",
    }
}

/// What a host has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorDocument {
    /// Version of this layout: 1.
    pub schema: u32,
    /// Version of the program that wrote it.
    pub rankscope_version: String,
    /// The kernel's release.
    pub kernel: String,
    /// Processors that a process may use.
    pub processors: u64,
    /// One for each topic.
    pub findings: Vec<DoctorFinding>,
}

/// One thing that can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorFinding {
    /// What it is.
    pub topic: DoctorTopic,
    /// How it stands.
    pub standing: DoctorStanding,
    /// What was found, in a sentence.
    pub says: String,
    /// What to do to have it or to use it.
    pub remedy: Option<String>,
    /// What it costs a job.
    pub cost: Option<String>,
}
