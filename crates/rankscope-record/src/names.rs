//! Names and their numbers: one table for the process, so that a call site's number is good for every recording.
//!
//! A recording gets the whole table when it begins and every new name before its number is given out, so no event ever refers
//! to a name its recording does not hold. The table is bounded. Names that a program makes up while it runs may not take all of
//! it: those of its call sites are few, known when it is compiled, and always find room. What finds none shares one number and
//! one text that says so, and is counted.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use rankscope_recording::NameId;
use rankscope_recording::keys::NAMES_FULL;

use crate::control;
use crate::quiet::{self, Quiet};
use crate::scope::Scope;
use crate::store::Store;
use rankscope_recording::Category;

/// Names there may be, but for the two that are needed to say that there are more.
const NAMES_MAX: usize = NameId::MAX as usize - 2;

/// Of these, so many are for call sites alone.
const FOR_SITES: usize = 1 << 16;

/// What names made up at run time may take, all together: they stay as long as the process does.
const MADE_UP_BYTES_MAX: usize = 64 << 20;

/// What those are called that found no room.
const TOO_MANY: &str = "(more names than a recording keeps)";

/// How many times a name found no room, and the number of the key under which that is said.
static FULL: (AtomicU64, AtomicU32) = (AtomicU64::new(0), AtomicU32::new(0));

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Entry<'t> {
    text: &'t str,
    category: Category,
    scope: Scope,
}

/// The table.
#[derive(Default)]
pub(crate) struct Names {
    ids: HashMap<Entry<'static>, u32>,
    entries: Vec<Entry<'static>>,
    /// How many of them were made up at run time, and their bytes.
    made_up: usize,
    made_up_bytes: usize,
    too_many: Option<u32>,
}

static NAMES: Mutex<Option<Names>> = Mutex::new(None);

/// The category of every name, for who has its number alone. Pages that no name has reached take no memory.
static CATEGORIES: [AtomicU8; NameId::MAX as usize + 1] = [const { AtomicU8::new(0) }; NameId::MAX as usize + 1];

/// The category `name` was interned with, as its bit.
#[inline(always)]
pub(crate) fn category_bit(name: NameId) -> u32 {
    1_u32.wrapping_shl(CATEGORIES[(name.0 & NameId::MAX) as usize].load(Ordering::Relaxed).into())
}

/// The table, locked. Made at the first use: a map cannot be made at compile time.
pub(crate) fn lock() -> Quiet<'static, Option<Names>> {
    let mut names = quiet::lock(&NAMES);
    names.get_or_insert_default();
    names
}

/// How many times a name of this process found no room, and the number of the key for that; none if all did.
pub(crate) fn full() -> Option<(u64, NameId)> {
    let count = FULL.0.load(Ordering::Acquire);
    (count > 0).then(|| (count, NameId(FULL.1.load(Ordering::Relaxed))))
}

impl Names {
    /// Writes all names to a store that begins.
    pub(crate) fn write_all(&self, store: &Store) {
        store.system(|system| {
            for (id, entry) in (1..).zip(&self.entries) {
                system.name(NameId(id), entry.text, entry.category.number(), entry.scope as u8);
            }
        });
    }

    fn find(&self, entry: Entry<'_>) -> Option<u32> {
        let ids: &HashMap<Entry<'_>, u32> = &self.ids;
        ids.get(&entry).copied()
    }

    fn of_site(&mut self, entry: Entry<'static>) -> u32 {
        let is_full = self.entries.len() >= NAMES_MAX;
        self.find(entry).unwrap_or_else(|| if is_full { self.one_too_many() } else { self.push(entry) })
    }

    fn made_up(&mut self, entry: Entry<'_>) -> u32 {
        if let Some(id) = self.find(entry) {
            return id;
        }
        let is_full = self.entries.len() >= NAMES_MAX || self.made_up >= NAMES_MAX - FOR_SITES;
        if is_full || self.made_up_bytes + entry.text.len() > MADE_UP_BYTES_MAX {
            return self.one_too_many();
        }
        self.made_up += 1;
        self.made_up_bytes += entry.text.len();
        self.push(Entry { text: String::from(entry.text).leak(), ..entry })
    }

    fn push(&mut self, entry: Entry<'static>) -> u32 {
        let id = self.entries.len() as u32 + 1;
        if let Some(store) = control::any_store() {
            store.system(|system| system.name(NameId(id), entry.text, entry.category.number(), entry.scope as u8));
        }
        CATEGORIES[id as usize].store(entry.category.number(), Ordering::Relaxed);
        self.entries.push(entry);
        self.ids.insert(entry, id);
        id
    }

    /// Counts a name that finds no room; the number that all of these share.
    fn one_too_many(&mut self) -> u32 {
        let id = self.too_many.unwrap_or_else(|| {
            let key = self.push(Entry { text: NAMES_FULL, category: Category::CPU_OP, scope: Scope::Function });
            FULL.1.store(key, Ordering::Relaxed);
            self.push(Entry { text: TOO_MANY, category: Category::USER_ANNOTATION, scope: Scope::Function })
        });
        self.too_many = Some(id);
        FULL.0.fetch_add(1, Ordering::Release);
        id
    }
}

/// The number of a text of that category and scope. Takes a lock: for texts that are not known when a program is compiled, and
/// for those to be used in signal handlers, beforehand.
///
/// A process may make up 196,605 names, of 64 MiB together, and they stay for as long as it runs: what differs from call to
/// call (a request, a path) belongs into an argument. Further ones share one number; the report of a session says how many
/// times that happened ([`Report::names_full`](crate::Report::names_full)).
pub fn intern(text: &str, category: Category, scope: Scope) -> NameId {
    let mut names = lock();
    NameId(names.get_or_insert_default().made_up(Entry { text, category, scope }))
}

/// As [`intern`], of a text that belongs to a call site and finds the room that is kept for such.
pub(crate) fn intern_site(text: &'static str, category: Category, scope: Scope) -> NameId {
    let mut names = lock();
    NameId(names.get_or_insert_default().of_site(Entry { text, category, scope }))
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
        let id = intern_site(self.name, self.category, self.scope);
        self.id.store(id.0, Ordering::Relaxed);
        id
    }
}
