//! [`KinetoEvent`]: one event as Kineto's users know it (recorder specification, section 1.5).
//!
//! What only some events have lies aside, so that a plain span stays small.

use std::sync::Arc;

use serde_json::Value as Json;

use super::state::numbered;

numbered! {
    /// What a node of the tree is, by torch's numbers.
    EventType {
        /// An op or an annotation.
        TorchOp = 0 "TorchOp",
        /// What a backend reported.
        Backend = 1 "Backend",
        /// A shader of Vulkan; never here.
        Vulkan = 2 "Vulkan",
        /// Memory taken or given back.
        Allocation = 3 "Allocation",
        /// Memory that was not there.
        OutOfMemory = 4 "OutOfMemory",
        /// A function of Python.
        PyCall = 5 "PyCall",
        /// A function Python calls in C.
        PyCCall = 6 "PyCCall",
        /// Anything else.
        Kineto = 7 "Kineto",
        /// A collection of Python's garbage.
        PythonGc = 8 "PythonGC",
    }
}

numbered! {
    /// What an arrow means.
    FlowType {
        /// No arrow.
        None = 0 "none",
        /// From a forward op to the backward op it caused.
        ForwardBackward = 1 "fwdbwd",
        /// From a launch to work on the device.
        AsyncCpuGpu = 2 "ac2g",
    }
}

/// A point of an arrow at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Ties both ends together.
    pub id: u64,
    /// What it means.
    pub flow_type: FlowType,
    /// Whether it starts here.
    pub starts: bool,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Metadata {
    /// A whole number.
    I64(i64),
    /// A whole number beyond that.
    U64(u64),
    /// Any number.
    F64(f64),
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(String),
    /// Whole numbers.
    I64s(Vec<i64>),
    /// JSON text.
    Json(String),
}

impl Metadata {
    /// As a number that counts or names something.
    pub(super) fn as_i64(&self) -> Option<i64> {
        match *self {
            Self::I64(value) => Some(value),
            Self::U64(value) => i64::try_from(value).ok(),
            _ => None,
        }
    }

    pub(super) fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::U64(value) => Some(value),
            Self::I64(value) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    pub(super) fn into_text(self) -> String {
        match self {
            Self::Text(text) | Self::Json(text) => text,
            other => other.to_json().to_string(),
        }
    }

    /// As JSON; numbers that JSON does not have become texts.
    pub fn to_json(&self) -> Json {
        match self {
            Self::I64(value) => (*value).into(),
            Self::U64(value) => (*value).into(),
            Self::F64(value) if value.is_finite() => (*value).into(),
            Self::F64(value) => value.to_string().into(),
            Self::Bool(value) => (*value).into(),
            Self::Text(text) => text.as_str().into(),
            Self::I64s(values) => values.as_slice().into(),
            Self::Json(text) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
        }
    }
}

/// The shape of one input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A tensor's; empty for what is no tensor.
    Tensor(Vec<i64>),
    /// A list of tensors'.
    TensorList(Vec<Vec<i64>>),
}

/// One event.
#[derive(Clone, Debug)]
pub struct KinetoEvent {
    pub(super) name: Arc<str>,
    pub(super) kind: EventType,
    pub(super) category: u8,
    pub(super) scope: u8,
    pub(super) unfinished: bool,
    pub(super) crosses_toggle: bool,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) start_tid: u64,
    pub(super) end_tid: u64,
    pub(super) correlation_id: u64,
    pub(super) linked_correlation_id: u64,
    pub(super) flow: Option<Flow>,
    pub(super) details: Option<Box<Details>>,
}

/// What few events have.
#[derive(Clone, Debug)]
pub(super) struct Details {
    pub(super) overload_name: String,
    pub(super) external_id: Option<u64>,
    pub(super) record_function_id: u64,
    pub(super) sequence_nr: i64,
    pub(super) fwd_thread_id: u64,
    pub(super) debug_handle: i64,
    pub(super) device: Option<(u8, i16)>,
    pub(super) resource_id: Option<i64>,
    pub(super) shapes: Vec<Shape>,
    pub(super) strides: Vec<Shape>,
    pub(super) dtypes: Vec<String>,
    pub(super) concrete_inputs: Vec<String>,
    pub(super) stack: Vec<String>,
    pub(super) module_hierarchy: Vec<String>,
    pub(super) backend: String,
    pub(super) python: [i64; 3],
    pub(super) flops: u64,
    pub(super) bytes: i64,
    pub(super) extra: Vec<(Arc<str>, Metadata)>,
    pub(super) keeps_kwinputs: bool,
}

impl Default for Details {
    fn default() -> Self {
        Self {
            overload_name: String::new(),
            external_id: None,
            record_function_id: 0,
            sequence_nr: -1,
            fwd_thread_id: 0,
            debug_handle: -1,
            device: None,
            resource_id: None,
            shapes: Vec::new(),
            strides: Vec::new(),
            dtypes: Vec::new(),
            concrete_inputs: Vec::new(),
            stack: Vec::new(),
            module_hierarchy: Vec::new(),
            backend: String::new(),
            python: [-1; 3],
            flops: 0,
            bytes: 0,
            extra: Vec::new(),
            keeps_kwinputs: false,
        }
    }
}

impl KinetoEvent {
    pub(super) fn details(&self) -> Option<&Details> {
        self.details.as_deref()
    }

    pub(super) fn details_mut(&mut self) -> &mut Details {
        self.details.get_or_insert_default()
    }
}
