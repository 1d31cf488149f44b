//! The JSON that `rocprofv3 --output-format json` writes.
//!
//! ```text
//! {"rocprofiler-sdk-tool": [{            one object a process
//!    "metadata":       {"node": {"hostname"}, "pid", ...},
//!    "agents":         [{"id": {"handle"}, "type": 1 CPU, 2 GPU, "product_name", "logical_node_type_id"}],
//!    "strings":        {"buffer_records": [{"kind", "operations": [...]}], "marker_api": [{"key", "value"}]},
//!    "kernel_symbols": [{"kernel_id", "formatted_kernel_name", ...}],
//!    "buffer_records": {"kernel_dispatch": [...], "hip_api": [...], "hsa_api": [...], "marker_api": [...], "rccl_api": [...],
//!                       "memory_copy": [...], "memory_allocation": [...], "scratch_memory": [...], ...}}]}
//! ```
//! | rocprofv3 | trace |
//! |---|---|
//! | agent that is a GPU | device, by its number among the GPUs; its product is the device's name |
//! | kernel dispatch | kernel on its stream, called as its symbol; grids are in blocks |
//! | memory copy | copy with direction and bytes, on the stream it was ordered on |
//! | HIP, HSA and RCCL call | runtime call, driver call, and an operator around both |
//! | ROCTx range, ROCTx mark | annotation, instant |
//! | allocation | span of the host |
//! | internal, external correlation id | correlation, external id |
//!
//! Stamps are nanoseconds of one clock of the host. Members may stand in any order: what records refer to by number is looked up when
//! the file has ended. Records are read one by one from a window of the text, so memory grows with what is kept. One that is damaged is
//! counted and passed over. Counters, samples and traces of single waves are left out, and counted.

mod builder;
mod cursor;
mod record;
mod walk;

#[cfg(test)]
mod tests;

use std::io::Read;

use rankscope_trace::Trace;

use crate::json::scan::skip_space;
use crate::{Error, ReadOptions};

/// The only key of such a file.
pub(crate) const KEY: &str = "rocprofiler-sdk-tool";

/// Whether a text that begins with `head` is such a file.
pub(crate) fn is_head(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let open = skip_space(text, 0);
    let quote = skip_space(text, open + 1);
    text.get(open) == Some(&b'{')
        && text.get(quote) == Some(&b'"')
        && text.get(quote + 1..).is_some_and(|rest| rest.starts_with(KEY.as_bytes()))
}

/// Reads every process in `input`, one trace each.
///
/// # Errors
/// [`Error::NotATrace`] for a file of this form that holds no records, [`Error::NoEvents`] for one that is damaged before the first,
/// and what `input` fails with.
pub fn read_all(input: impl Read, options: &ReadOptions) -> Result<Vec<Trace>, Error> {
    walk::read(input, options)
}
