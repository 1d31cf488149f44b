//! Every accessor of a [`KinetoEvent`], by the recorder specification's section 1.5.
//!
//! For events that do not have a field, its accessor gives the default torch gives: an absent number is −1, an absent id 0.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::event::{EventType, FlowType, KinetoEvent, Metadata, Shape};
use crate::scope::Scope;
use rankscope_recording::Category;

/// Identity and time.
impl KinetoEvent {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which overload of the op; empty if unknown.
    pub fn overload_name(&self) -> &str {
        self.details().map_or("", |details| &details.overload_name)
    }

    /// What sort of node it is.
    pub fn event_type(&self) -> EventType {
        self.kind
    }

    /// When it started, in nanoseconds since 1970.
    pub fn start_ns(&self) -> i64 {
        self.start_ns
    }

    /// When it ended.
    pub fn end_ns(&self) -> i64 {
        self.end_ns
    }

    /// How long it took.
    pub fn duration_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }

    /// Whether it ended on another thread than it started on.
    pub fn is_async(&self) -> bool {
        self.start_tid != self.end_tid
    }

    /// Whether its end was not recorded.
    pub fn is_unfinished(&self) -> bool {
        self.unfinished
    }

    /// Whether its activity was toggled off while it was open.
    pub fn crosses_toggle(&self) -> bool {
        self.crosses_toggle
    }

    /// The thread it started on.
    pub fn start_thread_id(&self) -> u64 {
        self.start_tid
    }

    /// The thread it ended on.
    pub fn end_thread_id(&self) -> u64 {
        self.end_tid
    }

    /// Its activity, by libkineto's number: [`Category::of`].
    pub fn activity_type(&self) -> u8 {
        self.category
    }

    /// Its activity, if libkineto knows it.
    pub fn category(&self) -> Option<Category> {
        Category::of(self.category)
    }

    /// Its scope, by torch's number: [`Scope::of`].
    pub fn scope(&self) -> u8 {
        self.scope
    }

    /// Its scope, if torch knows it.
    pub fn record_scope(&self) -> Option<Scope> {
        Scope::of(self.scope)
    }

    /// Kind of device it ran on or is about: 0 host, 1 CUDA.
    pub fn device_type(&self) -> u8 {
        self.details().and_then(|details| details.device).map_or(0, |device| device.0)
    }

    /// Which of them; −1 for the host.
    pub fn device_index(&self) -> i16 {
        self.details().and_then(|details| details.device).map_or(-1, |device| device.1)
    }

    /// The stream or, on the host, the thread it ran on.
    pub fn device_resource_id(&self) -> i64 {
        self.details().and_then(|details| details.resource_id).unwrap_or(self.start_tid as i64)
    }
}

/// Links.
impl KinetoEvent {
    /// A number no other event has; zero for none.
    pub fn correlation_id(&self) -> u64 {
        self.correlation_id
    }

    /// That of its parent.
    pub fn linked_correlation_id(&self) -> u64 {
        self.linked_correlation_id
    }

    /// What a trace calls "External id": the number of the op it belongs to, else its own.
    pub fn external_id(&self) -> u64 {
        self.details().and_then(|details| details.external_id).unwrap_or(self.correlation_id)
    }

    /// The handle that callbacks know it by; zero for none.
    pub fn record_function_id(&self) -> u64 {
        self.details().map_or(0, |details| details.record_function_id)
    }

    /// Its arrow; zero for none.
    pub fn flow_id(&self) -> u64 {
        self.flow.map_or(0, |flow| flow.id)
    }

    /// What the arrow means.
    pub fn flow_type(&self) -> FlowType {
        self.flow.map_or(FlowType::None, |flow| flow.flow_type)
    }

    /// Whether the arrow starts here.
    pub fn flow_start(&self) -> bool {
        self.flow.is_some_and(|flow| flow.starts)
    }

    /// The thread its forward op ran on; zero for none.
    pub fn fwd_thread_id(&self) -> u64 {
        self.details().map_or(0, |details| details.fwd_thread_id)
    }

    /// What autograd numbers it with; −1 for none.
    pub fn sequence_nr(&self) -> i64 {
        self.details().map_or(-1, |details| details.sequence_nr)
    }

    /// What a mobile runtime resolves; −1 for none.
    pub fn debug_handle(&self) -> i64 {
        self.details().map_or(-1, |details| details.debug_handle)
    }
}

/// Inputs.
impl KinetoEvent {
    /// Whether shapes are known.
    pub fn has_shapes(&self) -> bool {
        !self.structured_input_shapes().is_empty()
    }

    /// Shapes, one vector an input; a list of tensors is flattened into one.
    pub fn shapes(&self) -> Vec<Vec<i64>> {
        let flat = |shape: &Shape| match shape {
            Shape::Tensor(sizes) => sizes.clone(),
            Shape::TensorList(tensors) => tensors.concat(),
        };
        self.structured_input_shapes().iter().map(flat).collect()
    }

    /// Shapes, with lists of tensors told from tensors.
    pub fn structured_input_shapes(&self) -> &[Shape] {
        self.details().map_or(&[], |details| &details.shapes)
    }

    /// Strides likewise; only with `verbose`.
    pub fn structured_input_strides(&self) -> &[Shape] {
        self.details().map_or(&[], |details| &details.strides)
    }

    /// Whether types are known.
    pub fn has_types(&self) -> bool {
        !self.dtypes().is_empty()
    }

    /// Types, one an input.
    pub fn dtypes(&self) -> &[String] {
        self.details().map_or(&[], |details| &details.dtypes)
    }

    /// Whether small values are known.
    pub fn has_concrete_inputs(&self) -> bool {
        !self.concrete_inputs().is_empty()
    }

    /// Small values, one an input; empty texts for tensors.
    pub fn concrete_inputs(&self) -> &[String] {
        self.details().map_or(&[], |details| &details.concrete_inputs)
    }

    /// Whether keyword inputs are kept and there are any.
    pub fn has_kwinputs(&self) -> bool {
        !self.kwinputs().is_empty()
    }

    /// Inputs by keyword, and with them all arguments of an op that are the program's own; only with `verbose`.
    pub fn kwinputs(&self) -> &[(Arc<str>, Metadata)] {
        self.details().filter(|details| details.keeps_kwinputs).map_or(&[], |details| &details.extra)
    }

    /// Whether viewers hide it: never.
    pub fn is_hidden_event(&self) -> bool {
        false
    }
}

/// Context.
impl KinetoEvent {
    /// Whether there is a call stack.
    pub fn has_stack(&self) -> bool {
        !self.stack().is_empty()
    }

    /// Frames around it, the innermost last.
    pub fn stack(&self) -> &[String] {
        self.details().map_or(&[], |details| &details.stack)
    }

    /// Whether modules are known.
    pub fn has_module_hierarchy(&self) -> bool {
        !self.module_hierarchy().is_empty()
    }

    /// Modules around it, the outermost first.
    pub fn module_hierarchy(&self) -> &[String] {
        self.details().map_or(&[], |details| &details.module_hierarchy)
    }

    /// Whether it is a call of Python's.
    pub fn is_python_function(&self) -> bool {
        matches!(self.kind, EventType::PyCall | EventType::PyCCall)
    }

    /// That call's number; −1 for none.
    pub fn python_id(&self) -> i64 {
        self.details().map_or(-1, |details| details.python[0])
    }

    /// The number of the call around it; −1 for none.
    pub fn python_parent_id(&self) -> i64 {
        self.details().map_or(-1, |details| details.python[1])
    }

    /// Which instance of its class the module is; −1 for none.
    pub fn python_module_id(&self) -> i64 {
        self.details().map_or(-1, |details| details.python[2])
    }

    /// Who ran it; empty for the framework itself.
    pub fn backend(&self) -> &str {
        self.details().map_or("", |details| &details.backend)
    }
}

/// Cost.
impl KinetoEvent {
    /// Operations, of ops whose count follows from their shapes; else zero.
    pub fn flops(&self) -> u64 {
        self.details().map_or(0, |details| details.flops)
    }

    /// Bytes taken (positive) or given back, of memory events; else zero.
    pub fn n_bytes(&self) -> i64 {
        self.details().map_or(0, |details| details.bytes)
    }

    /// Time between events on the device: −1, since no device times ops here.
    pub fn cuda_elapsed_us(&self) -> i64 {
        -1
    }

    /// As [`Self::cuda_elapsed_us`], on a plugged-in device.
    pub fn privateuse1_elapsed_us(&self) -> i64 {
        -1
    }

    /// Hardware counters read around it: none, as a warning says when they are asked for.
    pub fn perf_event_counters(&self) -> &[u64] {
        &[]
    }
}

/// Metadata.
impl KinetoEvent {
    /// Arguments that have no accessor of their own, as texts.
    pub fn extra_meta(&self) -> impl Iterator<Item = (&str, String)> {
        self.typed_metadata().iter().map(|(key, value)| (&**key, value.clone().into_text()))
    }

    /// The same with their types.
    pub fn typed_metadata(&self) -> &[(Arc<str>, Metadata)] {
        self.details().map_or(&[], |details| &details.extra)
    }

    /// The same as one JSON object.
    pub fn metadata_json(&self) -> String {
        let object: Map<String, Json> =
            self.typed_metadata().iter().map(|(key, value)| (key.to_string(), value.to_json())).collect();
        Json::Object(object).to_string()
    }
}
