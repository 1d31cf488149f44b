//! DLPack, the C structure by which array libraries hand each other memory, in its form before version 1, which all of them take
//! and give. Layout: github.com/dmlc/dlpack, `DLManagedTensor`.
//!
//! Arrays are handed out without a copy and taken in with one: they are small, and what planning needs is lists.

#![expect(unsafe_code, reason = "DLPack is a C structure behind a pointer")]

use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use super::array::Words;

/// Kind and number of the device that the CPU is.
pub(super) const CPU: (i32, i32) = (1, 0);
/// Kinds of memory that the CPU reads: its own, and pages that were pinned for one or the other kind of GPU.
const READABLE: [i32; 3] = [1, 3, 11];
const NAME: &CStr = c"dltensor";

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: [i32; 2],
    axes: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct DlManagedTensor {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DlManagedTensor)>,
}

/// What lives as long as a tensor that was handed out: the tensor, its shape, and a hold on its values.
struct Handed {
    tensor: DlManagedTensor,
    shape: Box<[i64]>,
    _words: Words,
}

const SIGNED: u8 = 0;
const UNSIGNED: u8 = 1;
const BOOLEAN: u8 = 6;

/// A capsule with a tensor on these values.
pub(super) fn export<'py>(py: Python<'py>, shape: &[usize], words: Words) -> PyResult<Bound<'py, PyCapsule>> {
    let (_, _, signed, bits) = words.layout();
    let tensor = DlTensor {
        data: words.start().cast_mut().cast(),
        device: [CPU.0, CPU.1],
        axes: shape.len() as i32,
        code: if signed { SIGNED } else { UNSIGNED },
        bits,
        lanes: 1,
        shape: ptr::null_mut(),
        // None means that the last axis is fastest and nothing lies between rows.
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let tensor = DlManagedTensor { tensor, context: ptr::null_mut(), deleter: Some(release) };
    let shape = shape.iter().map(|axis| axis.cast_signed() as i64).collect();
    let handed = Box::into_raw(Box::new(Handed { tensor, shape, _words: words }));
    // SAFETY: `handed` is the only pointer to a live box, which nobody else knows yet.
    let pointer = unsafe {
        (*handed).tensor.tensor.shape = (*handed).shape.as_mut_ptr();
        (*handed).tensor.context = handed.cast();
        NonNull::new_unchecked(&raw mut (*handed).tensor).cast()
    };
    // SAFETY: the tensor lives until its deleter is called, which the destructor does unless a consumer took the tensor over and
    // renamed the capsule, as DLPack asks. Both may run on any thread: what they free is a box and an atomic count.
    unsafe { PyCapsule::new_with_pointer_and_destructor(py, pointer, NAME, Some(forget)) }
}

/// Frees what was handed out.
unsafe extern "C" fn release(tensor: *mut DlManagedTensor) {
    // SAFETY: `export` put the box into `context`, and a deleter is called once.
    unsafe { drop(Box::from_raw((*tensor).context.cast::<Handed>())) };
}

/// Frees a tensor that nobody took.
unsafe extern "C" fn forget(capsule: *mut ffi::PyObject) {
    // SAFETY: a destructor is given its capsule. While the name is still ours, nobody has taken the tensor, and it is that of `export`.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            release(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        }
    }
}

/// What was found in a capsule.
pub(super) enum Taken {
    /// Integers, or yes and no as 1 and 0.
    Integers(Vec<usize>, Vec<i64>),
    /// Something else than integers that fit 64 bits with sign.
    Others,
    /// Memory that the CPU cannot read.
    Elsewhere,
}

/// Whether the CPU reads memory of this kind.
pub(super) fn is_readable(kind: i32) -> bool {
    READABLE.contains(&kind)
}

/// Copies the values of the tensor in `capsule`, which stays the capsule's: it frees the tensor as if nobody had asked.
pub(super) fn take(capsule: &Bound<'_, PyCapsule>) -> PyResult<Taken> {
    let pointer = capsule.pointer_checked(Some(NAME))?.cast::<DlManagedTensor>();
    // SAFETY: a capsule of this name holds a `DlManagedTensor`, which is live while the capsule is, and nothing is kept of it.
    let tensor = unsafe { &pointer.as_ref().tensor };
    if !is_readable(tensor.device[0]) {
        return Ok(Taken::Elsewhere);
    }
    let axes = usize::try_from(tensor.axes).unwrap_or(0);
    let list = |start: *const i64| match axes {
        0 => Vec::new(),
        // SAFETY: shape and strides, where there are any, have an entry for each axis.
        _ => unsafe { std::slice::from_raw_parts(start, axes) }.to_vec(),
    };
    let shape: Vec<usize> = list(tensor.shape).iter().map(|axis| usize::try_from(*axis).unwrap_or(0)).collect();
    let strides = if tensor.strides.is_null() { dense(&shape) } else { list(tensor.strides) };
    if tensor.lanes != 1 {
        return Ok(Taken::Others);
    }
    if !matches!((tensor.code, tensor.bits), (SIGNED | UNSIGNED, 8 | 16 | 32 | 64) | (BOOLEAN, 8)) {
        return Ok(Taken::Others);
    }
    let (data, bytes) = (tensor.data.cast::<u8>().cast_const(), usize::from(tensor.bits / 8));
    let mut values = Vec::new();
    let mut index = vec![0; axes];
    for _ in 0..shape.iter().product() {
        let elements: i64 = index.iter().zip(&strides).map(|(at, stride): (&usize, &i64)| *at as i64 * stride).sum();
        let mut word = [0; 8];
        // SAFETY: every index lies within the shape, so the element lies within the tensor, whose memory the producer answers for; it
        // has at most the eight bytes of a word.
        unsafe {
            let element = data.add(tensor.byte_offset as usize).offset(elements as isize * bytes as isize);
            ptr::copy_nonoverlapping(element, word.as_mut_ptr(), bytes);
        }
        let Some(value) = number(word, tensor.code == SIGNED, tensor.bits) else { return Ok(Taken::Others) };
        values.push(value);
        advance(&mut index, &shape);
    }
    Ok(Taken::Integers(shape, values))
}

/// The integer in the low bits of a word; `None` beyond 63 bits.
fn number(word: [u8; 8], signed: bool, bits: u8) -> Option<i64> {
    let (word, unused) = (u64::from_le_bytes(word), 64 - u32::from(bits));
    if signed { Some((word << unused).cast_signed() >> unused) } else { i64::try_from(word).ok() }
}

/// The strides of an array without gaps.
fn dense(shape: &[usize]) -> Vec<i64> {
    let mut strides: Vec<i64> =
        shape.iter().rev().scan(1, |width, axis| Some(std::mem::replace(width, *width * *axis as i64))).collect();
    strides.reverse();
    strides
}

/// The next index, last axis fastest.
fn advance(index: &mut [usize], shape: &[usize]) {
    for (at, axis) in index.iter_mut().zip(shape).rev() {
        *at += 1;
        if *at < *axis {
            return;
        }
        *at = 0;
    }
}
