//! A [`ProfilerConfig`] as a list of plain values, so that it can cross a process boundary in whatever carries such lists.
//!
//! Positions are fixed. The first three are those torch itself sends (state, report_input_shapes, profile_memory), so a list of
//! three is a whole configuration with defaults for the rest; lists may grow at the end.

use super::{ExperimentalConfig, KinetoError, ProfilerConfig, ProfilerState};

/// One value of such a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GenericValue {
    /// A whole number.
    Int(i64),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Str(String),
    /// Values.
    List(Vec<GenericValue>),
}

impl ProfilerConfig {
    /// As a list of values.
    pub fn to_values(&self) -> Vec<GenericValue> {
        let mut values = vec![GenericValue::Int(self.state.number().into())];
        let flags = [self.report_input_shapes, self.profile_memory, self.with_stack, self.with_flops, self.with_modules];
        values.extend(flags.map(GenericValue::Bool));
        values.push(GenericValue::List(self.experimental.to_values()));
        values.push(GenericValue::Str(self.trace_id.clone()));
        values
    }

    /// From a list of values.
    ///
    /// # Errors
    ///
    /// [`KinetoError::ConfigValues`] where a value is missing or of another kind than its position says.
    pub fn from_values(values: &[GenericValue]) -> Result<Self, KinetoError> {
        if values.len() < 3 {
            return Err(KinetoError::ConfigValues {
                position: values.len(),
                wanted: "state, report_input_shapes, profile_memory",
            });
        }
        let mut list = Fields { values, position: 0 };
        let state = list.int()?.unwrap_or_default();
        let state = u8::try_from(state).ok().and_then(ProfilerState::of);
        Ok(Self {
            state: state.ok_or(KinetoError::ConfigValues { position: 0, wanted: "the number of a profiler state" })?,
            report_input_shapes: list.bool()?,
            profile_memory: list.bool()?,
            with_stack: list.bool()?,
            with_flops: list.bool()?,
            with_modules: list.bool()?,
            experimental: ExperimentalConfig::from_values(list.list()?)?,
            trace_id: list.text()?,
        })
    }
}

impl ExperimentalConfig {
    fn to_values(&self) -> Vec<GenericValue> {
        let texts = |texts: &[String]| GenericValue::List(texts.iter().cloned().map(GenericValue::Str).collect());
        let mut values = vec![GenericValue::Bool(self.verbose), texts(&self.performance_events)];
        let flags = [
            self.enable_cuda_sync_events,
            self.adjust_profiler_step,
            self.disable_external_correlation,
            self.profile_all_threads,
            self.capture_overload_names,
            self.record_python_gc_info,
            self.expose_kineto_event_metadata,
        ];
        values.extend(flags.map(GenericValue::Bool));
        values.push(GenericValue::Str(self.custom_profiler_config.clone()));
        values.extend([self.adjust_timestamps, self.trace_only].map(GenericValue::Bool));
        values.push(texts(&self.profiler_metrics));
        values.push(GenericValue::Bool(self.profiler_measure_per_kernel));
        values
    }

    fn from_values(values: &[GenericValue]) -> Result<Self, KinetoError> {
        let mut list = Fields { values, position: 0 };
        Ok(Self {
            verbose: list.bool()?,
            performance_events: list.texts()?,
            enable_cuda_sync_events: list.bool()?,
            adjust_profiler_step: list.bool()?,
            disable_external_correlation: list.bool()?,
            profile_all_threads: list.bool()?,
            capture_overload_names: list.bool()?,
            record_python_gc_info: list.bool()?,
            expose_kineto_event_metadata: list.bool()?,
            custom_profiler_config: list.text()?,
            adjust_timestamps: list.bool()?,
            trace_only: list.bool()?,
            profiler_metrics: list.texts()?,
            profiler_measure_per_kernel: list.bool()?,
        })
    }
}

/// Walks a list; past its end everything is a default.
struct Fields<'a> {
    values: &'a [GenericValue],
    position: usize,
}

macro_rules! field {
    ($name:ident, $variant:ident -> $type:ty, $wanted:literal) => {
        fn $name(&mut self) -> Result<Option<$type>, KinetoError> {
            match self.next() {
                None => Ok(None),
                Some(GenericValue::$variant(value)) => Ok(Some(value)),
                Some(_) => Err(KinetoError::ConfigValues { position: self.position - 1, wanted: $wanted }),
            }
        }
    };
}

impl<'a> Fields<'a> {
    fn next(&mut self) -> Option<&'a GenericValue> {
        self.position += 1;
        self.values.get(self.position - 1)
    }

    field!(optional_int, Int -> &'a i64, "a whole number");
    field!(optional_bool, Bool -> &'a bool, "yes or no");
    field!(optional_text, Str -> &'a String, "a text");
    field!(optional_list, List -> &'a Vec<GenericValue>, "a list");

    fn int(&mut self) -> Result<Option<i64>, KinetoError> {
        Ok(self.optional_int()?.copied())
    }

    fn bool(&mut self) -> Result<bool, KinetoError> {
        Ok(self.optional_bool()?.copied().unwrap_or_default())
    }

    fn text(&mut self) -> Result<String, KinetoError> {
        Ok(self.optional_text()?.cloned().unwrap_or_default())
    }

    fn list(&mut self) -> Result<&'a [GenericValue], KinetoError> {
        Ok(self.optional_list()?.map_or(&[], Vec::as_slice))
    }

    fn texts(&mut self) -> Result<Vec<String>, KinetoError> {
        let mut inner = Fields { values: self.list()?, position: 0 };
        (0..inner.values.len()).map(|_| inner.text()).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn configs() -> impl Strategy<Value = ProfilerConfig> {
        (0_u8..11, any::<[bool; 15]>(), vec(".{0,8}", 0..3), vec(".{0,8}", 0..3), ".{0,8}", ".{0,8}").prop_map(
            |(state, flags, events, metrics, custom, trace_id)| ProfilerConfig {
                state: ProfilerState::of(state).unwrap(),
                report_input_shapes: flags[0],
                profile_memory: flags[1],
                with_stack: flags[2],
                with_flops: flags[3],
                with_modules: flags[4],
                experimental: ExperimentalConfig {
                    verbose: flags[5],
                    performance_events: events,
                    enable_cuda_sync_events: flags[6],
                    adjust_profiler_step: flags[7],
                    disable_external_correlation: flags[8],
                    profile_all_threads: flags[9],
                    capture_overload_names: flags[10],
                    record_python_gc_info: flags[11],
                    expose_kineto_event_metadata: flags[12],
                    custom_profiler_config: custom,
                    adjust_timestamps: flags[13],
                    trace_only: flags[14],
                    profiler_metrics: metrics,
                    profiler_measure_per_kernel: flags[0] ^ flags[14],
                },
                trace_id,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_sent_arrives(config in configs()) {
            prop_assert_eq!(ProfilerConfig::from_values(&config.to_values()).unwrap(), config);
        }

        #[test]
        fn a_list_cut_short_is_the_same_with_defaults_behind(config in configs(), length in 3_usize..8) {
            let short = ProfilerConfig::from_values(&config.to_values()[..length]).unwrap();
            prop_assert_eq!(&short.to_values()[..length], &config.to_values()[..length]);
        }
    }

    #[test]
    fn three_values_are_enough_and_two_are_not() {
        let three = [GenericValue::Int(6), GenericValue::Bool(true), GenericValue::Bool(false)];
        let config = ProfilerConfig::from_values(&three).unwrap();
        assert_eq!(config, ProfilerConfig { report_input_shapes: true, ..ProfilerConfig::new(ProfilerState::Kineto) });
        assert!(ProfilerConfig::from_values(&three[..2]).is_err());
    }

    #[test]
    fn a_wrong_kind_is_named_by_its_position() {
        let values = [GenericValue::Int(6), GenericValue::Int(1), GenericValue::Bool(false)];
        let error = ProfilerConfig::from_values(&values).unwrap_err();
        assert!(matches!(error, KinetoError::ConfigValues { position: 1, .. }), "{error}");
        assert!(ProfilerConfig::from_values(&[GenericValue::Int(11), values[2].clone(), values[2].clone()]).is_err());
    }
}
