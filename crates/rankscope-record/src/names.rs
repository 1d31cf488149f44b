//! Names and their numbers: one table for the process, so that a call site's number is good for every recording.
//!
//! A recording gets the whole table when it begins and every new name before its number is given out, so no event ever refers
//! to a name its recording does not hold. The table is bounded; names beyond it share one number and one text that says so.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use rankscope_formats::recording::NameId;

use crate::control;
use crate::lane::quiet::{self, Quiet};
use crate::store::Store;
use crate::{Category, Scope};

/// Names there may be; the last is for all that come later.
const NAMES_MAX: u32 = NameId::MAX;

/// What those are called that found no room.
const TOO_MANY: &str = "(more names than a recording keeps)";

#[derive(Clone, PartialEq, Eq, Hash)]
struct Entry {
    text: Box<str>,
    category: Category,
    scope: Scope,
}

/// The table.
#[derive(Default)]
pub(crate) struct Names {
    ids: HashMap<Entry, u32>,
    entries: Vec<Entry>,
}

static NAMES: Mutex<Option<Names>> = Mutex::new(None);

/// The table, locked. Made at the first use: a map cannot be made at compile time.
pub(crate) fn lock() -> Quiet<'static, Option<Names>> {
    let mut names = quiet::lock(&NAMES);
    names.get_or_insert_default();
    names
}

impl Names {
    /// Writes all names to a store that begins.
    pub(crate) fn write_all(&self, store: &Store) {
        store.system(|system| {
            for (id, entry) in (1..).zip(&self.entries) {
                system.name(NameId(id), &entry.text, entry.category.number(), entry.scope as u8);
            }
        });
    }

    fn add(&mut self, entry: Entry) -> u32 {
        if let Some(id) = self.ids.get(&entry) {
            return *id;
        }
        let id = self.entries.len() as u32 + 1;
        if id > NAMES_MAX {
            return NAMES_MAX;
        }
        let last = Entry { text: TOO_MANY.into(), category: Category::USER_ANNOTATION, scope: Scope::Function };
        let entry = if id == NAMES_MAX { last } else { entry };
        if let Some(store) = control::any_store() {
            store.system(|system| system.name(NameId(id), &entry.text, entry.category.number(), entry.scope as u8));
        }
        self.entries.push(entry.clone());
        self.ids.insert(entry, id);
        id
    }
}

/// The number of a text of that category and scope. Takes a lock: for texts that are not known when a program is compiled, and
/// for those to be used in signal handlers, beforehand.
pub fn intern(text: &str, category: Category, scope: Scope) -> NameId {
    let mut names = lock();
    let entry = Entry { text: text.into(), category, scope };
    NameId(names.get_or_insert_default().add(entry))
}

/// The number of the key of an argument.
pub fn intern_key(text: &str) -> NameId {
    intern(text, Category::CPU_OP, Scope::Function)
}

/// A call site: a name that is known when the program is compiled, and its number once it was used.
#[derive(Debug)]
pub struct Site {
    name: &'static str,
    category: Category,
    scope: Scope,
    id: AtomicU32,
}

impl Site {
    /// A site of its own static.
    pub const fn new(name: &'static str, category: Category) -> Self {
        Self { name, category, scope: Scope::Function, id: AtomicU32::new(0) }
    }

    /// The same in another layer.
    pub const fn with_scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// A key of arguments.
    pub const fn key(name: &'static str) -> Self {
        Self::new(name, Category::CPU_OP)
    }

    /// Its category.
    pub const fn category(&self) -> Category {
        self.category
    }

    /// Its number, found at the first use.
    #[inline(always)]
    pub fn id(&self) -> NameId {
        let id = self.id.load(Ordering::Relaxed);
        if id == 0 { self.find() } else { NameId(id) }
    }

    #[cold]
    #[inline(never)]
    fn find(&self) -> NameId {
        let id = intern(self.name, self.category, self.scope);
        self.id.store(id.0, Ordering::Relaxed);
        id
    }
}
