//! What CUPTI tells of calls while they are made, and how one asks to be told.

use std::ffi::{c_char, c_int, c_void};

/// Whose calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Domain {
    Driver = 1,
    Runtime = 2,
}

impl Domain {
    pub(crate) const BOTH: [Self; 2] = [Self::Driver, Self::Runtime];
}

/// Which end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApiSite {
    Enter,
    Exit,
}

impl ApiSite {
    pub(crate) fn of(number: c_int) -> Option<Self> {
        match number {
            0 => Some(Self::Enter),
            1 => Some(Self::Exit),
            _ => None,
        }
    }
}

/// What is told of a call.
#[repr(C)]
pub(crate) struct CallbackData {
    pub(crate) site: c_int,
    pub(crate) function_name: *const c_char,
    pub(crate) function_params: *const c_void,
    pub(crate) function_return_value: *mut c_void,
    pub(crate) symbol_name: *const c_char,
    pub(crate) context: *mut c_void,
    pub(crate) context_uid: u32,
    /// A word that both ends of one call share, zero at first.
    pub(crate) correlation_data: *mut u64,
    pub(crate) correlation_id: u32,
}

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<CallbackData>() == 72 && offset_of!(CallbackData, function_name) == 8);
    assert!(offset_of!(CallbackData, symbol_name) == 32 && offset_of!(CallbackData, context) == 40);
    assert!(offset_of!(CallbackData, context_uid) == 48 && offset_of!(CallbackData, correlation_data) == 56);
    assert!(offset_of!(CallbackData, correlation_id) == 64);
};
