//! What records without a name are called, in the words that other profilers of CUDA use, so that tools recognise them.

/// A copy, by CUPTI's numbers of its direction and of the memory at either end.
pub(crate) fn copy(direction: u8, from: u8, to: u8) -> String {
    let direction = match direction {
        1 => "HtoD",
        2 => "DtoH",
        3 => "HtoA",
        4 => "AtoH",
        5 => "AtoA",
        6 => "AtoD",
        7 => "DtoA",
        8 => "DtoD",
        9 => "HtoH",
        10 => "PtoP",
        _ => "Unknown",
    };
    format!("Memcpy {direction} ({} -> {})", memory(from.into()), memory(to.into()))
}

/// A copy between devices.
pub(crate) fn peer_copy(from_device: u32, to_device: u32) -> String {
    format!("Memcpy PtoP (Device {from_device} -> Device {to_device})")
}

/// A fill of that memory.
pub(crate) fn fill(kind: u16) -> String {
    format!("Memset ({})", memory(kind))
}

/// Memory, by CUPTI's number.
fn memory(kind: u16) -> &'static str {
    match kind {
        1 => "Pageable",
        2 => "Pinned",
        3 => "Device",
        4 => "Array",
        5 => "Managed",
        6 => "Device Static",
        7 => "Managed Static",
        _ => "Unknown",
    }
}

/// A wait, by CUPTI's number.
pub(crate) fn wait(sort: i32) -> &'static str {
    match sort {
        1 => "Event Sync",
        2 => "Stream Wait Event",
        3 => "Stream Sync",
        4 => "Context Sync",
        _ => "Unknown Sync",
    }
}

/// Time of the profiler's own, by CUPTI's number.
pub(crate) fn overhead(sort: i32) -> &'static str {
    match sort {
        1 => "driver compiler",
        0x1_0000 => "buffer flush",
        0x2_0000 => "instrumentation",
        0x3_0000 => "resource",
        0x4_0000 => "module loading",
        0x5_0000 => "lazy function loading",
        0x6_0000 => "command buffer full",
        0x7_0000 => "buffer request",
        0x8_0000 => "unified memory",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_say_from_where_to_where() {
        assert_eq!(copy(1, 1, 3), "Memcpy HtoD (Pageable -> Device)");
        assert_eq!(copy(77, 0, 99), "Memcpy Unknown (Unknown -> Unknown)");
        assert_eq!((peer_copy(0, 3).as_str(), fill(3).as_str()), ("Memcpy PtoP (Device 0 -> Device 3)", "Memset (Device)"));
    }
}
