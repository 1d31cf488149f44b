//! [`DynamicName`]: what a macro's call site keeps where the name is not known when the program is compiled.
//!
//! Interning takes a lock, so a site remembers the first few names it met, for good. A site that meets more pays for the lock
//! each time, and the process's table of names is bounded: names are kinds of work; numbers of requests belong into arguments.

use std::hash::BuildHasher;
use std::sync::OnceLock;

use rustc_hash::FxBuildHasher;

use crate::names::intern;
use crate::scope::Scope;
use crate::span::{SpanGuard, begin_named};
use crate::value::Value;
use rankscope_recording::{Category, NameId};

/// Names a site remembers.
const REMEMBERED: usize = 16;

/// The names of one call site.
#[derive(Debug)]
pub struct DynamicName {
    category: Category,
    scope: Scope,
    /// By the hash of the name; each place is for the name that comes first.
    known: [OnceLock<(Box<str>, NameId)>; REMEMBERED],
}

impl DynamicName {
    /// A site of its own static.
    pub const fn new(category: Category, scope: Scope) -> Self {
        Self { category, scope, known: [const { OnceLock::new() }; REMEMBERED] }
    }

    /// Its category.
    pub const fn category(&self) -> Category {
        self.category
    }

    /// The number of `name`.
    pub fn id(&self, name: &str) -> NameId {
        let place = &self.known[place(name)];
        match place.get() {
            Some((known, id)) if **known == *name => *id,
            Some(_) => intern(name, self.category, self.scope),
            None => {
                let id = intern(name, self.category, self.scope);
                // Another thread may have been first; then that is remembered.
                let _ = place.set((name.into(), id));
                id
            }
        }
    }
}

/// Begins a span of the macros' that is called `name`.
pub fn begin_dynamic(site: &'static DynamicName, name: &str, args: &[(NameId, Value<'_>)]) -> SpanGuard {
    begin_named(site.id(name), args)
}

fn place(name: &str) -> usize {
    FxBuildHasher.hash_one(name) as usize % REMEMBERED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_gives_every_name_the_number_that_interning_gives_it() {
        static SITE: DynamicName = DynamicName::new(Category::CPU_OP, Scope::Function);
        for round in 0..2 {
            for at in 0..100 {
                let name = format!("dynamic name {at}");
                assert_eq!(SITE.id(&name), intern(&name, Category::CPU_OP, Scope::Function), "round {round}");
            }
        }
    }
}
