//! [`ProfilerConfig`] and [`ExperimentalConfig`]: what a user may ask for (recorder specification, sections 1.2 and 1.3).
//!
//! A field that has no effect here is accepted, and [`ProfilerConfig::warnings`] says so; nothing is ignored in silence.

use super::{ProfilerState, Warning};

/// What to profile, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProfilerConfig {
    /// Which profiler.
    pub state: ProfilerState,
    /// Record the inputs that a [`super::RecordFunction`] is given.
    pub report_input_shapes: bool,
    /// Record memory events.
    pub profile_memory: bool,
    /// Record the call stacks that a [`super::RecordFunction`] is given.
    pub with_stack: bool,
    /// Count operations of ops whose inputs are known.
    pub with_flops: bool,
    /// Record the module hierarchies that a [`super::RecordFunction`] is given.
    pub with_modules: bool,
    /// What may change between releases.
    pub experimental: ExperimentalConfig,
    /// Names the trace; may be empty.
    pub trace_id: String,
}

/// What may change between releases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExperimentalConfig {
    /// Keep strides and keyword inputs in the events.
    pub verbose: bool,
    /// Hardware counters to read around each op. Needs the host's activity.
    pub performance_events: Vec<String>,
    /// Record synchronisations on the device as activities.
    pub enable_cuda_sync_events: bool,
    /// Without effect since long.
    pub adjust_profiler_step: bool,
    /// Do not tie device work to ops.
    pub disable_external_correlation: bool,
    /// Record all threads: what happens here in any case.
    pub profile_all_threads: bool,
    /// Keep overload names.
    pub capture_overload_names: bool,
    /// Record Python's garbage collection.
    pub record_python_gc_info: bool,
    /// Attach an event's metadata to it, as JSON.
    pub expose_kineto_event_metadata: bool,
    /// Handed to plugins as it is.
    pub custom_profiler_config: String,
    /// Move children of backends without a common clock into their parents.
    pub adjust_timestamps: bool,
    /// Only save: no events, no tree. Not together with stacks.
    pub trace_only: bool,
    /// Metrics of the CUPTI range profiler, which is gone.
    pub profiler_metrics: Vec<String>,
    /// Measure those metrics for each kernel.
    pub profiler_measure_per_kernel: bool,
}

impl ProfilerConfig {
    /// A configuration with nothing else asked for.
    pub fn new(state: ProfilerState) -> Self {
        Self {
            state,
            report_input_shapes: false,
            profile_memory: false,
            with_stack: false,
            with_flops: false,
            with_modules: false,
            experimental: ExperimentalConfig::default(),
            trace_id: String::new(),
        }
    }

    /// Whether no profiler is asked for.
    pub fn disabled(&self) -> bool {
        self.state == ProfilerState::Disabled
    }

    /// Whether the profiler belongs to the process and not to who enabled it.
    pub fn global(&self) -> bool {
        self.state == ProfilerState::KinetoOnDemand
    }

    /// Whether the callbacks are those of all threads.
    pub fn push_global_callbacks(&self) -> bool {
        self.global() || self.experimental.profile_all_threads
    }

    /// What of it will have no effect.
    pub fn warnings(&self) -> Vec<Warning> {
        let experimental = &self.experimental;
        let without_effect = [
            ("adjust_profiler_step", experimental.adjust_profiler_step),
            ("profiler_metrics", !experimental.profiler_metrics.is_empty()),
            ("profiler_measure_per_kernel", experimental.profiler_measure_per_kernel),
            ("performance_events", !experimental.performance_events.is_empty()),
            ("enable_cuda_sync_events", experimental.enable_cuda_sync_events),
            ("record_python_gc_info", experimental.record_python_gc_info),
            ("custom_profiler_config", !experimental.custom_profiler_config.is_empty()),
            ("adjust_timestamps", experimental.adjust_timestamps),
        ];
        without_effect.into_iter().filter(|(_, asked)| *asked).map(|(field, _)| Warning::NoEffect { field }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_follow_the_state() {
        for state in ProfilerState::ALL {
            let mut config = ProfilerConfig::new(*state);
            assert_eq!(config.disabled(), *state == ProfilerState::Disabled);
            assert_eq!(config.global(), *state == ProfilerState::KinetoOnDemand);
            assert_eq!(config.push_global_callbacks(), config.global());
            config.experimental.profile_all_threads = true;
            assert!(config.push_global_callbacks());
        }
    }

    #[test]
    fn fields_of_the_range_profiler_are_taken_with_a_warning() {
        let mut config = ProfilerConfig::new(ProfilerState::Kineto);
        assert_eq!(config.warnings(), []);
        config.experimental.profiler_metrics.push("kineto__tensor_core_insts".into());
        config.experimental.profiler_measure_per_kernel = true;
        let fields = ["profiler_metrics", "profiler_measure_per_kernel"].map(|field| Warning::NoEffect { field });
        assert_eq!(config.warnings(), fields);
    }
}
