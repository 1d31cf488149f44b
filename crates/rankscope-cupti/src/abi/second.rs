//! What the second version of CUPTI's interface is told and tells: which fields of a kind are wanted, and where they lie in records.
//!
//! Each struct begins with its length. What the library hands out may be longer than ours, because later versions append; ours says how
//! long it is, so that the library reads no further.

use std::ffi::{c_char, c_int, c_void};

/// What subscribing is told.
#[repr(C)]
pub(crate) struct SubscriberParams {
    pub(crate) struct_size: usize,
    pub(crate) subscriber_name: *const c_char,
    /// Where the name of who is subscribed already goes.
    pub(crate) old_subscriber_name: *mut c_char,
    pub(crate) old_subscriber_size: usize,
    pub(crate) allow_multiple_subscribers: u8,
    pub(crate) padding: [u8; 7],
}

/// How a kind is to be recorded.
#[repr(C)]
pub(crate) struct ActivityConfig {
    pub(crate) struct_size: usize,
    pub(crate) fields: FieldSelection,
    /// For calls, an [`ApiOptions`]; null for all of them.
    pub(crate) kind_options: *const c_void,
}

/// Which fields, the kind first.
#[repr(C)]
pub(crate) struct FieldSelection {
    pub(crate) struct_size: usize,
    pub(crate) count: usize,
    pub(crate) ids: *const c_int,
}

/// What calls are recorded.
#[repr(C)]
pub(crate) struct ApiOptions {
    pub(crate) struct_size: usize,
    pub(crate) calls: *const ApiCallChoice,
}

/// Some calls by their numbers.
#[repr(C)]
pub(crate) struct ApiCallChoice {
    pub(crate) struct_size: usize,
    pub(crate) calls: *const u32,
    pub(crate) count: usize,
    /// One for these alone, zero for all but these.
    pub(crate) is_on: u8,
}

/// What a buffer comes back with.
#[repr(C)]
pub(crate) struct CompleteInfo {
    pub(crate) struct_size: usize,
    pub(crate) thread_id: u64,
    /// By kind; null for those that are not recorded so.
    pub(crate) layouts: *const *const RecordLayout,
    pub(crate) count: usize,
}

/// Records of a kind.
#[repr(C)]
pub(crate) struct RecordLayout {
    pub(crate) struct_size: usize,
    /// As far apart as the first says that it is long.
    pub(crate) fields: *const FieldLayout,
    pub(crate) count: usize,
    pub(crate) record_bytes: usize,
}

/// A field in records of a kind.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldLayout {
    pub(crate) struct_size: usize,
    pub(crate) id: c_int,
    pub(crate) at: usize,
    pub(crate) bytes: usize,
    pub(crate) alignment: usize,
}

/// What is set for a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Attribute {
    /// Records have the fields that were chosen: a byte.
    ChosenFields = 11,
    /// Which numbers threads have: an int.
    ThreadIds = 21,
}

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<SubscriberParams>() == 40 && offset_of!(SubscriberParams, old_subscriber_name) == 16);
    assert!(offset_of!(SubscriberParams, old_subscriber_size) == 24);
    assert!(offset_of!(SubscriberParams, allow_multiple_subscribers) == 32);
    assert!(size_of::<ActivityConfig>() == 40 && offset_of!(ActivityConfig, kind_options) == 32);
    assert!(size_of::<FieldSelection>() == 24 && offset_of!(FieldSelection, ids) == 16);
    assert!(size_of::<ApiOptions>() == 16 && size_of::<ApiCallChoice>() == 32 && offset_of!(ApiCallChoice, is_on) == 24);
    assert!(size_of::<CompleteInfo>() == 32 && offset_of!(CompleteInfo, layouts) == 16);
    assert!(size_of::<RecordLayout>() == 32 && offset_of!(RecordLayout, record_bytes) == 24);
    assert!(size_of::<FieldLayout>() == 40 && offset_of!(FieldLayout, id) == 8 && offset_of!(FieldLayout, bytes) == 24);
};
