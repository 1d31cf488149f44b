//! [`Layouts`]: where the fields of records lie, as the library says when it gives a buffer back.
//!
//! The fields that are chosen never change, so where they lie does not either: what is said first is kept, and whoever says otherwise
//! later makes no sense, and records of that kind are not read any more. Nothing is believed that would read beyond a record, two fields
//! out of the same bytes, or a number of a length that no number has. A callback learns, and so does nothing but compare words.
#![expect(unsafe_code, reason = "the library describes records by structs of its own")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::abi::{CompleteInfo, FieldLayout, Kind, RecordLayout};

/// Fields that a kind may have: more than twice those of a kernel in CUDA 13.5, of which we choose nine.
const FIELDS: usize = 128;

/// Longer than any record. Those of kernels have some 250 bytes with all their fields.
const RECORD_BYTES_MAX: usize = 1 << 16;

/// Those of all kinds that are read.
#[derive(Debug)]
pub(crate) struct Layouts([Layout; Kind::ALL.len()]);

/// That of a kind.
#[derive(Debug)]
pub(crate) struct Layout {
    /// How long a record is; zero before anything was said.
    record_bytes: AtomicU64,
    makes_no_sense: AtomicBool,
    /// By the id of a field, where it begins and how long it is; zero for those that there are not.
    fields: [AtomicU64; FIELDS],
}

impl Default for Layouts {
    /// Nothing was said yet.
    fn default() -> Self {
        Self([const { Layout::new() }; Kind::ALL.len()])
    }
}

impl Layouts {
    /// That of a kind, if its records can be read.
    pub(crate) fn of(&self, kind: Kind) -> Option<&Layout> {
        let layout = self.place(kind);
        let is_known = layout.record_bytes.load(Ordering::Acquire) > 0 && !layout.makes_no_sense.load(Ordering::Relaxed);
        is_known.then_some(layout)
    }

    fn place(&self, kind: Kind) -> &Layout {
        &self.0[kind.place()]
    }

    /// Another session may choose other fields.
    pub(crate) fn forget(&self) {
        for layout in &self.0 {
            layout.record_bytes.store(0, Ordering::Relaxed);
            layout.makes_no_sense.store(false, Ordering::Relaxed);
            layout.fields.iter().for_each(|field| field.store(0, Ordering::Relaxed));
        }
    }

    /// Takes what a buffer came back with.
    ///
    /// # Safety
    /// `info` is null or what CUPTI gives a callback, structs that begin with their lengths.
    pub(crate) unsafe fn learn(&self, info: *const CompleteInfo) {
        // SAFETY: the caller says so; nothing is looked at behind what a struct says that it has.
        let Some(info) = (unsafe { sized(info) }) else { return };
        if info.layouts.is_null() {
            return;
        }
        for kind in Kind::ALL.into_iter().filter(|kind| (*kind as usize) < info.count) {
            // SAFETY: so many pointers there are, and each is null or leads to a layout.
            if let Some(layout) = unsafe { sized(*info.layouts.add(kind as usize)) } {
                self.place(kind).learn(layout);
            }
        }
    }
}

/// # Safety
/// `at` is null or leads to a struct that begins with its length.
unsafe fn sized<'a, T>(at: *const T) -> Option<&'a T> {
    if at.is_null() || !at.is_aligned() {
        return None;
    }
    // SAFETY: the caller says so, and all of ours begin so.
    let bytes = unsafe { at.cast::<usize>().read() };
    // SAFETY: it is as long as ours at least.
    (bytes >= size_of::<T>()).then(|| unsafe { &*at })
}

impl Layout {
    const fn new() -> Self {
        Self {
            record_bytes: AtomicU64::new(0),
            makes_no_sense: AtomicBool::new(false),
            fields: [const { AtomicU64::new(0) }; FIELDS],
        }
    }

    fn learn(&self, said: &RecordLayout) {
        if self.take(said).is_none() {
            self.makes_no_sense.store(true, Ordering::Relaxed);
        }
    }

    /// None where it makes no sense, or none together with what was said before.
    fn take(&self, said: &RecordLayout) -> Option<()> {
        let fields = fields_of(said)?;
        for (before, field) in fields.clone().enumerate() {
            let others = fields.clone().take(before);
            is_possible(&field, said.record_bytes, others).then_some(())?;
            if let Some(place) = usize::try_from(field.id).ok().and_then(|id| self.fields.get(id)) {
                keep(place, (field.at as u64) << 8 | field.bytes as u64)?;
            }
        }
        keep(&self.record_bytes, said.record_bytes as u64)
    }

    /// The number in the field `id` of a record. One of eight bytes where ours has four keeps its lower half, which for ids is what the
    /// first version of records has of them.
    pub(crate) fn number(&self, record: &[u8], id: usize) -> Option<u64> {
        let field = self.fields.get(id)?.load(Ordering::Relaxed);
        let (at, bytes) = ((field >> 8) as usize, (field & 0xff) as usize);
        let found = record.get(at..at.checked_add(bytes)?).filter(|found| !found.is_empty())?;
        let mut number = [0; 8];
        number.get_mut(..bytes)?.copy_from_slice(found);
        // CUPTI is for machines whose lowest byte comes first.
        Some(u64::from_le_bytes(number))
    }

    /// Whether a record is as long as it was said to be.
    pub(crate) fn fits(&self, record: &[u8]) -> bool {
        record.len() as u64 >= self.record_bytes.load(Ordering::Relaxed)
    }
}

/// Puts a word where none was, or finds the same there.
fn keep(place: &AtomicU64, word: u64) -> Option<()> {
    match place.compare_exchange(0, word, Ordering::Release, Ordering::Acquire) {
        Ok(_) => Some(()),
        Err(known) => (known == word).then_some(()),
    }
}

/// The fields of a layout; none where there cannot be so many, or it does not say how far apart they are.
fn fields_of(said: &RecordLayout) -> Option<impl Iterator<Item = FieldLayout> + Clone> {
    let (first, count) = (said.fields, said.count);
    if first.is_null() || !first.is_aligned() || count == 0 || count > FIELDS {
        return None;
    }
    // SAFETY: there is a first one, which begins with its length, and so do all.
    let apart = unsafe { first.cast::<usize>().read() };
    if apart < size_of::<FieldLayout>() || apart > 4_096 || !apart.is_multiple_of(align_of::<FieldLayout>()) {
        return None;
    }
    // SAFETY: so many there are, each as long as the first.
    Some((0..count).map(move |at| unsafe { first.byte_add(at * apart).read() }))
}

/// Whether a field can be where it is said to be, beside others.
fn is_possible(field: &FieldLayout, record_bytes: usize, mut others: impl Iterator<Item = FieldLayout>) -> bool {
    let Some(end) = field.at.checked_add(field.bytes).filter(|end| *end <= record_bytes.min(RECORD_BYTES_MAX)) else {
        return false;
    };
    // The kind is found without a layout, so it is where every record has it.
    let is_kind_in_place = field.id != 0 || (field.at, field.bytes) == (0, 4);
    let is_number = matches!(field.bytes, 1 | 2 | 4 | 8) && field.at.is_multiple_of(field.bytes);
    is_kind_in_place
        && is_number
        && others.all(|other| other.id != field.id && (other.at >= end || other.at + other.bytes <= field.at))
}

#[cfg(test)]
pub(crate) mod tests;
