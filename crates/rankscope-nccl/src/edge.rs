//! No panic gets into NCCL: it is caught where it would, said once, and nothing is recorded any more.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::process;

/// What `work` returns, or `otherwise` where it panics.
#[inline]
pub(crate) fn guarded<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        process::turn_off();
        otherwise
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_stays_on_this_side() {
        assert_eq!(guarded(3, || 4), 4);
        assert_eq!(guarded(3, || panic!("on purpose")), 3);
        assert!(process::get().is_none());
    }
}
