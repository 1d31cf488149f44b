//! [`Names`]: what kernels are called, from the moment on that their code is loaded.
//!
//! A record of a kernel has a number of its symbol, and the symbol is told of once, on the thread of the program that loads the code: long
//! before a session may begin. So names are kept for good, whether anybody records or not. This is the one lock that a callback takes:
//! loading code takes milliseconds, and whoever else has it copies a text.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Symbols that are kept; more than the largest programs have. Those beyond have no name.
const NAMES_MAX: usize = 1 << 18;

/// Names by the numbers of their symbols.
#[derive(Debug, Default)]
pub(crate) struct Names(Mutex<Option<HashMap<u64, CString>>>);

impl Names {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// A symbol is there.
    pub(crate) fn keep(&self, kernel: u64, name: &CStr) {
        let mut names = self.lock();
        let names = names.get_or_insert_default();
        if names.len() < NAMES_MAX {
            // A name that somebody was given stays where it is: a number is given once.
            names.entry(kernel).or_insert_with(|| name.to_owned());
        }
    }

    /// Where a symbol's name is, for as long as the process lasts; null where it has none.
    pub(crate) fn find(&self, kernel: u64) -> *const c_char {
        self.lock().as_ref().and_then(|names| names.get(&kernel)).map_or(std::ptr::null(), |name| name.as_ptr())
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, CString>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_where_it_is() {
        let names = Names::default();
        assert!(names.find(1).is_null());
        names.keep(1, c"gemm.kd");
        let first = names.find(1);
        names.keep(1, c"another");
        (2..1_000).for_each(|kernel| names.keep(kernel, c"more"));
        assert_eq!(names.find(1), first);
        assert!(!first.is_null() && names.find(5_000).is_null());
    }
}
