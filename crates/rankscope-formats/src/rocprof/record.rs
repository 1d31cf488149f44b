//! Rows of rocprofv3's lists, as far as they are looked at. Every field may be missing.

use serde::Deserialize;

/// A number in an object of its own.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Handle {
    pub(super) handle: u64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CorrelationId {
    pub(super) internal: Option<u64>,
    pub(super) external: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Dim {
    pub(super) x: u64,
    pub(super) y: u64,
    pub(super) z: u64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DispatchInfo {
    pub(super) agent_id: Option<Handle>,
    pub(super) queue_id: Option<Handle>,
    pub(super) kernel_id: Option<u64>,
    pub(super) dispatch_id: Option<u64>,
    pub(super) workgroup_size: Dim,
    pub(super) grid_size: Dim,
}

/// A row of any list of records.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    pub(super) kind: Option<u64>,
    pub(super) operation: Option<u64>,
    pub(super) thread_id: Option<u64>,
    pub(super) correlation_id: CorrelationId,
    pub(super) start_timestamp: Option<u64>,
    pub(super) end_timestamp: Option<u64>,
    /// Of dispatches.
    pub(super) dispatch_info: DispatchInfo,
    pub(super) stream_id: Option<Handle>,
    /// Of copies.
    pub(super) dst_agent_id: Option<Handle>,
    pub(super) src_agent_id: Option<Handle>,
    pub(super) bytes: Option<u64>,
    /// Of allocations.
    pub(super) allocation_size: Option<u64>,
}

/// A processor.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Agent {
    pub(super) id: Handle,
    #[serde(rename = "type")]
    pub(super) kind: u64,
    pub(super) name: String,
    pub(super) product_name: String,
    /// Its number among those of its type.
    pub(super) logical_node_type_id: Option<i64>,
    /// The same, in later releases; below 0 for a CPU.
    pub(super) gpu_index: Option<i64>,
}

impl Agent {
    /// The number of the GPU that it is.
    pub(super) fn device(&self) -> Option<i64> {
        const GPU: u64 = 2;
        let index = self.gpu_index.filter(|index| *index >= 0).or(self.logical_node_type_id);
        index.filter(|_| self.kind == GPU)
    }

    /// What it is called in a shop, or else its architecture.
    pub(super) fn product(&self) -> &str {
        if self.product_name.is_empty() { &self.name } else { &self.product_name }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Symbol {
    pub(super) kernel_id: Option<u64>,
    pub(super) kernel_name: String,
    pub(super) demangled_kernel_name: String,
    pub(super) formatted_kernel_name: String,
}

impl Symbol {
    /// The name to show: without the suffix of a kernel's descriptor.
    pub(super) fn name(&self) -> &str {
        let names = [&self.formatted_kernel_name, &self.demangled_kernel_name, &self.kernel_name];
        let name = names.into_iter().find(|name| !name.is_empty()).map_or("", String::as_str);
        name.strip_suffix(" [clone .kd]").or_else(|| name.strip_suffix(".kd")).unwrap_or(name)
    }
}

/// The operations of a kind of records, by their number.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Operations {
    pub(super) kind: String,
    pub(super) operations: Vec<String>,
}

/// The text of a marker.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Message {
    pub(super) key: u64,
    pub(super) value: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Node {
    pub(super) hostname: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) node: Node,
    pub(super) pid: Option<i64>,
}
