//! The face of Kineto: the entry points, types and words of torch's profiler in Rust names (recorder specification, section 1).
//!
//! Beneath it are the core's sessions; the face adds what Kineto's users know (one profiler a process, its errors, its events
//! and their tree) and returns as a value whatever Kineto asserts, prints or keeps quiet about. What is not here: tensors, Python,
//! the legacy profiler, device libraries.

mod activity;
mod config;
mod config_values;
mod error;
mod flows;
mod state;
mod steps;
mod tree;

pub use activity::{Activities, ActivityType};
pub use config::{ExperimentalConfig, ProfilerConfig};
pub use config_values::GenericValue;
pub use error::{Fault, KinetoError, Warning};
pub use flows::{Sequenced, forward_backward};
pub use state::{ActiveProfilerType, ProfilerState, ResourceType, TraceStatus};
pub use steps::KinetoStepTracker;
pub use tree::{EventTree, NodeId, TreeBuilder};
