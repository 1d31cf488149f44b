//! What records without a name are called, in the words of CUDA's profilers, so that tools recognise them.

/// A copy, by rocprofiler's number of its direction.
pub(crate) fn copy(direction: i32) -> &'static str {
    match direction {
        1 => "Memcpy HtoH (Host -> Host)",
        2 => "Memcpy HtoD (Host -> Device)",
        3 => "Memcpy DtoH (Device -> Host)",
        4 => "Memcpy DtoD (Device -> Device)",
        _ => "Memcpy Unknown (Unknown -> Unknown)",
    }
}

/// A copy between devices.
pub(crate) fn peer_copy(from_device: u32, to_device: u32) -> String {
    format!("Memcpy PtoP (Device {from_device} -> Device {to_device})")
}

/// A kernel, by the name of its symbol, which ends in what the linker marks descriptors of kernels with.
pub(crate) fn kernel(symbol: &str) -> &str {
    symbol.strip_suffix(".kd").unwrap_or(symbol)
}

/// What the runtime does about scratch memory, by rocprofiler's number.
pub(crate) fn scratch(operation: i32) -> Option<&'static str> {
    match operation {
        1 => Some("Scratch memory allocation"),
        2 => Some("Scratch memory free"),
        3 => Some("Scratch memory reclaim"),
        _ => None,
    }
}
