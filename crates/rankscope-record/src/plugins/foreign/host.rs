//! What plugins may ask at any time, and how structures and texts of theirs are read.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::panic::catch_unwind;
use std::{ptr, slice};

use rankscope_recording::ClockId;

use super::abi::{Host, PLUGIN_ABI_VERSION};
use crate::correlation::current_correlation;
use crate::{anchors, ticks};

/// The table that every plugin is given.
pub(super) static HOST: Host = Host {
    struct_size: size_of::<Host>() as u32,
    abi_version: PLUGIN_ABI_VERSION,
    current_correlation: Some(correlation),
    clock_ns: Some(clock_ns),
};

unsafe extern "C" fn correlation() -> u64 {
    catch_unwind(|| current_correlation().unwrap_or(0)).unwrap_or(0)
}

unsafe extern "C" fn clock_ns(clock: u32) -> i64 {
    anchors::CLOCKS.iter().find(|(id, _)| *id == ClockId(clock)).map_or(0, |(_, clock)| ticks::clock_ns(*clock))
}

/// A structure of a plugin that has at least `least` bytes; what it lacks of ours is zero.
///
/// # Safety
/// `from` is null or points to a `u32` that says how many bytes there are; zeros are a `T`, and so is whatever a plugin puts there.
pub(super) unsafe fn copied<T: Copy>(from: *const T, least: u32) -> Option<T> {
    if from.is_null() || !from.is_aligned() {
        return None;
    }
    // SAFETY: it begins with its size.
    let found = unsafe { from.cast::<u32>().read() };
    if found < least {
        return None;
    }
    let mut read = MaybeUninit::<T>::zeroed();
    // SAFETY: both have as many bytes, and do not overlap.
    unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), read.as_mut_ptr().cast::<u8>(), size_of::<T>().min(found as usize)) };
    // SAFETY: the caller says that zeros, and what plugins put there, are one.
    Some(unsafe { read.assume_init() })
}

/// No name or JSON text of a plugin is longer; a length beyond is none.
const BYTES_MAX: usize = 1 << 24;

/// A text of a plugin; what is not UTF-8 in it is replaced. None where it is null or cannot be so long.
///
/// # Safety
/// `text` is null, or has `bytes` bytes.
pub(super) unsafe fn text(text: *const c_char, bytes: usize) -> Option<String> {
    if text.is_null() || bytes > BYTES_MAX {
        return None;
    }
    // SAFETY: the caller says so.
    Some(String::from_utf8_lossy(unsafe { slice::from_raw_parts(text.cast::<u8>(), bytes) }).into_owned())
}
