//! Which span the work of devices belongs to that this thread launches.

use rankscope_record::{current_correlation, pop_correlation, push_correlation};

use crate::guard::{counted, guarded};

/// From here on, device work that this thread launches belongs to the span with this correlation id (`span.id`), which may be of
/// another thread, instead of to the innermost open span of this one. Plugins ask for it.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_correlation_push(id: u64) {
    counted((), || push_correlation(id).then_some(()));
}

/// Takes back the last push of this thread. One too many is counted.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_correlation_pop() {
    counted((), || pop_correlation().then_some(()));
}

/// What device work belongs to that this thread launches now; zero where it is nothing that is recorded.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_correlation_current() -> u64 {
    guarded(0, || current_correlation().unwrap_or(0))
}
