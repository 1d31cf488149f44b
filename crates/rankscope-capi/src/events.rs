//! Moments, values and arrows.

use rankscope_record::{FlowStage, counter_f64, counter_i64, flow, instant};

use crate::arguments::{self, Arg};
use crate::guard::counted;
use crate::sites::{self, Site};

/// Records a moment. Use `rankscope_instant`.
///
/// # Safety
/// `site` is null or a site, and `args` has `count` arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_instant_at(site: *mut Site, args: *const Arg, count: usize) {
    counted((), || {
        // SAFETY: the caller says so.
        let id = unsafe { sites::id(site) }?;
        // SAFETY: the caller says so.
        unsafe { arguments::with(args, count, |args| instant(id, args)) }
    });
}

/// Records a whole number. Use `rankscope_counter_i64`.
///
/// # Safety
/// `site` is null or a site.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_counter_i64_at(site: *mut Site, value: i64) {
    counted((), || {
        // SAFETY: the caller says so.
        unsafe { sites::id(site) }.map(|id| counter_i64(id, value))
    });
}

/// Records a number. Use `rankscope_counter_f64`.
///
/// # Safety
/// `site` is null or a site.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_counter_f64_at(site: *mut Site, value: f64) {
    counted((), || {
        // SAFETY: the caller says so.
        unsafe { sites::id(site) }.map(|id| counter_f64(id, value))
    });
}

/// Records a point of the arrow `id`, in the innermost open span of the thread. Use `rankscope_flow_begin` and its like.
///
/// # Safety
/// `site` is null or a site.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_flow_at(site: *mut Site, id: u64, stage: u32) {
    counted((), || {
        let stage = [FlowStage::Start, FlowStage::Step, FlowStage::End].get(stage as usize).copied()?;
        // SAFETY: the caller says so.
        unsafe { sites::id(site) }.map(|name| flow(name, id, stage))
    });
}
