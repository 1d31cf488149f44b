//! Numbers of the names at a call site, found once in each thread.

use std::cell::RefCell;
use std::sync::Mutex;

use rustc_hash::FxHashMap;
use tracing_core::{Field, Metadata};

use super::{EVENTS, SPANS};
use crate::names::intern_site;
use crate::scope::Scope;
use rankscope_recording::{Category, NameId};

/// What a call site says, as numbers.
pub(super) struct Names {
    /// Of the span; of an event its level and target, since its own name is a place in a file.
    pub(super) name: NameId,
    /// Of the fields, by their index.
    pub(super) keys: Box<[NameId]>,
}

/// By the address of the call site's description, which lives as long as the program.
type Known = FxHashMap<usize, &'static Names>;

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

thread_local! {
    /// So that threads share no lock for what they already know.
    static KNOWN_HERE: RefCell<Known> = RefCell::new(Known::default());
}

pub(super) fn names_of(metadata: &'static Metadata<'static>) -> &'static Names {
    let site = std::ptr::from_ref(metadata).addr();
    let known = KNOWN_HERE.try_with(|known| *known.borrow_mut().entry(site).or_insert_with(|| find(site, metadata)));
    known.unwrap_or_else(|_| find(site, metadata))
}

/// Never freed: there are as many as call sites, and those are never freed either.
#[cold]
fn find(site: usize, metadata: &'static Metadata<'static>) -> &'static Names {
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    known.get_or_insert_default().entry(site).or_insert_with(|| {
        let name = if metadata.is_event() {
            let text = format!("{} {}", metadata.level(), metadata.target());
            intern_site(text.leak(), EVENTS, Scope::UserScope)
        } else {
            intern_site(metadata.name(), SPANS, Scope::UserScope)
        };
        let key = |field: Field| intern_site(field.name(), Category::CPU_OP, Scope::Function);
        Box::leak(Box::new(Names { name, keys: metadata.fields().iter().map(key).collect() }))
    })
}
