//! [`Arg`]: an argument of an event as C hands it over, and its way into the recorder's values. Nothing is copied on the way.

use std::ffi::c_void;
use std::slice;

use rankscope_record::{NameId, Value as Recorded};

use crate::sites::{self, Site};
use crate::stats;
use crate::texts;

/// What the value of an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Type {
    /// None: the argument is left out.
    Nothing = 0,
    /// `value.i64`.
    I64 = 1,
    /// `value.u64`.
    U64 = 2,
    /// `value.f64`.
    F64 = 3,
    /// `value.u64`: 0 is no, anything else yes.
    Bool = 4,
    /// `value.pointer`: a text (UTF-8) of `count` bytes, or of as many as there are before its first zero byte if `count` is
    /// `RANKSCOPE_NUL_TERMINATED`. One that is not UTF-8 is kept as bytes.
    Text = 5,
    /// `value.pointer`: `count` bytes.
    Bytes = 6,
    /// `value.pointer`: `count` whole numbers (`int64_t`), as of a tensor's shape.
    I64List = 7,
    /// `value.pointer`: as a text, which is JSON.
    Json = 8,
}

/// A value, by the argument's type.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Value {
    /// A whole number.
    pub i64: i64,
    /// A whole number that is not negative.
    pub u64: u64,
    /// Any number.
    pub f64: f64,
    /// Where a text, bytes or a list lies. It is only lent: nothing refers to it once the call has returned.
    pub pointer: *const c_void,
}

/// An argument of an event. `rankscope_i64` and its like make one. This structure never changes; there may be more types.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Arg {
    /// Its key.
    pub key: *mut Site,
    /// A `RANKSCOPE_TYPE_`. One the library does not know is left out, and counted.
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
    /// The value.
    pub value: Value,
    /// How long it is, where it has a length.
    pub count: usize,
}

/// Up to so many arguments need no memory but the stack: few of them little of it.
const FEW: usize = 4;
const MANY: usize = 32;
/// A number of arguments beyond this is no number of arguments.
const COUNT_MAX: usize = 1 << 16;

type Pair<'a> = (NameId, Recorded<'a>);

/// Calls `record` with the arguments; none where they are no list.
///
/// # Safety
/// `args` is null, or has `count` arguments whose keys are sites and whose pointers have what they say.
#[inline]
pub(crate) unsafe fn with<T>(args: *const Arg, count: usize, record: impl FnOnce(&[Pair<'_>]) -> T) -> Option<T> {
    if count == 0 {
        return Some(record(&[]));
    }
    if args.is_null() || !args.is_aligned() || count > COUNT_MAX {
        return None;
    }
    // SAFETY: the caller says so.
    let args = unsafe { slice::from_raw_parts(args, count) };
    // SAFETY: the caller says so of each.
    let pair = |arg: &Arg| unsafe { pair(arg) };
    Some(if count <= FEW {
        record(&filled::<FEW>(args, pair)[..count])
    } else if count <= MANY {
        record(&filled::<MANY>(args, pair)[..count])
    } else {
        record(&args.iter().map(pair).collect::<Vec<_>>())
    })
}

#[inline]
fn filled<'a, const N: usize>(args: &[Arg], pair: impl Fn(&Arg) -> Pair<'a>) -> [Pair<'a>; N] {
    let mut pairs = [NOTHING; N];
    for (to, arg) in pairs.iter_mut().zip(args) {
        *to = pair(arg);
    }
    pairs
}

const NOTHING: Pair<'static> = (NameId(0), Recorded::Nothing);

/// # Safety
/// That of [`with`].
#[inline]
unsafe fn pair<'a>(arg: &Arg) -> Pair<'a> {
    // SAFETY: the caller says so.
    match unsafe { sites::id(arg.key).zip(value(arg)) } {
        Some(pair) => pair,
        None => {
            sites::refused();
            NOTHING
        }
    }
}

/// # Safety
/// That of [`with`].
#[inline]
unsafe fn value<'a>(arg: &Arg) -> Option<Recorded<'a>> {
    const I64: u32 = Type::I64 as u32;
    const U64: u32 = Type::U64 as u32;
    const F64: u32 = Type::F64 as u32;
    const BOOL: u32 = Type::Bool as u32;
    // SAFETY: any eight bytes are a number.
    Some(match arg.kind {
        0 => Recorded::Nothing,
        I64 => Recorded::I64(unsafe { arg.value.i64 }),
        U64 => Recorded::U64(unsafe { arg.value.u64 }),
        F64 => Recorded::F64(unsafe { arg.value.f64 }),
        BOOL => Recorded::Bool(unsafe { arg.value.u64 } != 0),
        // SAFETY: the caller says so.
        _ => return unsafe { lent(arg) },
    })
}

/// # Safety
/// That of [`with`].
unsafe fn lent<'a>(arg: &Arg) -> Option<Recorded<'a>> {
    // SAFETY: a value of these types is a pointer, and any eight bytes are one.
    let pointer = unsafe { arg.value.pointer };
    let known = [Type::Text, Type::Bytes, Type::I64List, Type::Json].into_iter().find(|kind| *kind as u32 == arg.kind)?;
    if known == Type::I64List {
        let numbers = pointer.cast::<i64>();
        let is_list = arg.count == 0 || !numbers.is_null() && numbers.is_aligned() && arg.count <= LIST_MAX;
        // SAFETY: the caller says that there are so many.
        return is_list
            .then(|| Recorded::I64s(if arg.count == 0 { &[] } else { unsafe { slice::from_raw_parts(numbers, arg.count) } }));
    }
    // SAFETY: the caller says so.
    let bytes = unsafe { texts::bytes("value", pointer.cast(), arg.count) }.ok()?;
    if known == Type::Bytes {
        return Some(Recorded::Bytes(bytes));
    }
    Some(match std::str::from_utf8(bytes) {
        Ok(text) if known == Type::Json => Recorded::Json(text),
        Ok(text) => Recorded::Text(text),
        Err(_) => {
            stats::not_utf8();
            Recorded::Bytes(bytes)
        }
    })
}

/// A list beyond this is none.
const LIST_MAX: usize = 1 << 27;
