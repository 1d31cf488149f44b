use std::ptr;

use super::*;

const ENTRY: usize = size_of::<FieldLayout>();

pub(crate) fn field(id: i32, at: usize, bytes: usize) -> FieldLayout {
    FieldLayout { struct_size: ENTRY, id, at, bytes, alignment: bytes }
}

/// What a library says of one kind, with entries that are `apart` bytes long.
pub(crate) struct Said {
    words: Vec<u64>,
    count: usize,
    record_bytes: usize,
}

impl Said {
    pub(crate) fn of(fields: &[FieldLayout], record_bytes: usize) -> Self {
        Self::apart(fields, record_bytes, ENTRY)
    }

    fn apart(fields: &[FieldLayout], record_bytes: usize, apart: usize) -> Self {
        let mut words = vec![u64::MAX; fields.len() * apart / 8];
        for (at, field) in fields.iter().enumerate() {
            // SAFETY: so much room there is.
            unsafe {
                words
                    .as_mut_ptr()
                    .byte_add(at * apart)
                    .cast::<FieldLayout>()
                    .write(FieldLayout { struct_size: apart, ..*field })
            };
        }
        Self { words, count: fields.len(), record_bytes }
    }

    pub(crate) fn told_to(&self, layouts: &Layouts, kind: Kind) {
        let layout = RecordLayout {
            struct_size: size_of::<RecordLayout>(),
            fields: self.words.as_ptr().cast(),
            count: self.count,
            record_bytes: self.record_bytes,
        };
        let mut of_kinds = vec![ptr::null(); kind as usize + 1];
        of_kinds[kind as usize] = &raw const layout;
        let info = CompleteInfo {
            struct_size: size_of::<CompleteInfo>(),
            thread_id: 7,
            layouts: of_kinds.as_ptr(),
            count: of_kinds.len(),
        };
        // SAFETY: what a library would give.
        unsafe { layouts.learn(&raw const info) };
    }
}

const GOOD: [(i32, usize, usize); 4] = [(0, 0, 4), (7, 8, 8), (12, 4, 2), (60, 16, 1)];

fn good() -> Vec<FieldLayout> {
    GOOD.map(|(id, at, bytes)| field(id, at, bytes)).into()
}

#[test]
fn numbers_are_read_where_and_as_long_as_they_are_said_to_be() {
    for apart in [ENTRY, ENTRY + 8, 4_096] {
        let layouts = Layouts::default();
        assert!(layouts.of(Kind::Memset).is_none());
        for _ in 0..3 {
            Said::apart(&good(), 24, apart).told_to(&layouts, Kind::Memset);
        }
        let layout = layouts.of(Kind::Memset).unwrap();
        let record: Vec<u8> = (1..=24).collect();
        let numbers = [7, 12, 60, 3, 127, 128, usize::MAX].map(|id| layout.number(&record, id));
        assert_eq!(numbers, [Some(0x100f_0e0d_0c0b_0a09), Some(0x0605), Some(17), None, None, None, None]);
        assert_eq!((layout.fits(&record), layout.fits(&record[..23])), (true, false));
        assert_eq!((layout.number(&record[..15], 7), layout.number(&[], 60)), (None, None));
        assert!(layouts.of(Kind::Memcpy).is_none(), "nothing was said of it");
    }
}

#[test]
fn what_cannot_be_is_not_believed() {
    let with = |change: &dyn Fn(&mut Vec<FieldLayout>)| {
        let mut fields = good();
        change(&mut fields);
        Said::of(&fields, 24)
    };
    let mut of_no_length = Said::of(&good(), 24);
    of_no_length.words[0] = 0;
    let cases: [(&str, Said); 13] = [
        ("no fields", with(&|fields| fields.clear())),
        ("too many", with(&|fields| *fields = vec![field(200, 0, 1); FIELDS + 1])),
        ("beyond the record", with(&|fields| fields[1].at = 24)),
        ("beyond all memory", with(&|fields| fields[1].at = usize::MAX - 7)),
        ("no bytes", with(&|fields| fields[1].bytes = 0)),
        ("three bytes", with(&|fields| fields[1].bytes = 3)),
        ("more than any number", with(&|fields| fields[1].bytes = 16)),
        ("out of the same bytes", with(&|fields| fields[1].at = 0)),
        ("twice", with(&|fields| fields[2].id = 7)),
        ("not aligned", with(&|fields| fields[1].at = 12)),
        ("the kind elsewhere", with(&|fields| (fields[0].at, fields[2].at) = (20, 0))),
        ("a record without bytes", Said::of(&good(), 0)),
        ("fields of no length", of_no_length),
    ];
    for (case, said) in cases {
        let layouts = Layouts::default();
        said.told_to(&layouts, Kind::Memset);
        assert!(layouts.of(Kind::Memset).is_none(), "{case}");
        // And nothing good is believed after it.
        Said::of(&good(), 24).told_to(&layouts, Kind::Memset);
        assert!(layouts.of(Kind::Memset).is_none(), "{case}");
    }
}

#[test]
fn who_says_otherwise_later_is_believed_no_more_until_all_is_forgotten() {
    for other in [Said::of(&good(), 32), Said::of(&[field(0, 0, 4), field(7, 16, 8)], 24)] {
        let layouts = Layouts::default();
        Said::of(&good(), 24).told_to(&layouts, Kind::Memset);
        Said::of(&good(), 24).told_to(&layouts, Kind::Memcpy);
        other.told_to(&layouts, Kind::Memset);
        assert!(layouts.of(Kind::Memset).is_none() && layouts.of(Kind::Memcpy).is_some());
        layouts.forget();
        other.told_to(&layouts, Kind::Memset);
        assert!(layouts.of(Kind::Memset).is_some());
    }
}

#[test]
fn structs_that_are_missing_or_too_short_are_not_looked_at() {
    let layouts = Layouts::default();
    let short = [31_usize, usize::MAX, usize::MAX, usize::MAX];
    let none = CompleteInfo { struct_size: size_of::<CompleteInfo>(), thread_id: 0, layouts: ptr::null(), count: usize::MAX };
    // SAFETY: null, one that says that it is too short, and one without a table.
    unsafe {
        layouts.learn(ptr::null());
        layouts.learn(short.as_ptr().cast());
        layouts.learn(&raw const none);
    }
    let of_kind = [short.as_ptr().cast::<RecordLayout>(); 64];
    let info = CompleteInfo { layouts: of_kind.as_ptr(), count: 64, ..none };
    // SAFETY: layouts that say that they are too short.
    unsafe { layouts.learn(&raw const info) };
    assert!(Kind::ALL.into_iter().all(|kind| layouts.of(kind).is_none()));
}
