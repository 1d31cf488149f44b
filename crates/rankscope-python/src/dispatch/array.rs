//! Arrays of integers, which numpy takes by `__array_interface__` and every other library by DLPack, without a copy.
//!
//! The buffer protocol would be the third way. The stable ABI has it from Python 3.11 on only, and one wheel serves 3.10, too.
//!
//! A library that was handed the memory may write to it at any time. So the values are atomics: whatever is written there from
//! outside, reading them here is defined, and costs what reading integers costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyBufferError, PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PySlice, PyTuple};
use rankscope_dispatch::Padded;

use super::{dlpack, pickled};

/// Integers with a shape, last axis fastest. numpy.asarray and torch.from_dlpack take it without a copy.
#[pyclass(frozen, module = "rankscope.dispatch")]
pub(crate) struct Array {
    shape: Vec<usize>,
    words: Words,
}

/// The values, of one of the types that DistCA's arrays have.
#[derive(Clone)]
pub(super) enum Words {
    Int64(Arc<[AtomicI64]>),
    Int32(Arc<[AtomicI32]>),
    UInt64(Arc<[AtomicU64]>),
    UInt32(Arc<[AtomicU32]>),
}

impl Array {
    pub(super) fn int64(shape: &[usize], values: impl IntoIterator<Item = i64>) -> Self {
        Self { shape: shape.to_vec(), words: Words::Int64(values.into_iter().map(AtomicI64::new).collect()) }
    }

    pub(super) fn int32(shape: &[usize], values: impl IntoIterator<Item = i32>) -> Self {
        Self { shape: shape.to_vec(), words: Words::Int32(values.into_iter().map(AtomicI32::new).collect()) }
    }

    pub(super) fn uint64(shape: &[usize], values: impl IntoIterator<Item = u64>) -> Self {
        Self { shape: shape.to_vec(), words: Words::UInt64(values.into_iter().map(AtomicU64::new).collect()) }
    }

    pub(super) fn uint32(shape: &[usize], values: impl IntoIterator<Item = u32>) -> Self {
        Self { shape: shape.to_vec(), words: Words::UInt32(values.into_iter().map(AtomicU32::new).collect()) }
    }

    /// As the functions have it.
    pub(super) fn of(padded: &Padded) -> Self {
        Self::int64(padded.shape(), padded.values().iter().copied())
    }

    /// One axis. Rows and tokens stay below 2^63: memory ends before.
    pub(super) fn flat(values: Vec<u64>) -> Self {
        Self::int64(&[values.len()], values.into_iter().map(u64::cast_signed))
    }

    /// As the functions take it. `None` for values beyond 63 bits.
    pub(super) fn values(&self) -> Option<Vec<i64>> {
        (0..self.words.len()).map(|at| i64::try_from(self.words.at(at)).ok()).collect()
    }

    pub(super) fn axes(&self) -> &[usize] {
        &self.shape
    }

    pub(super) fn words(&self) -> &Words {
        &self.words
    }

    /// As many values as the shape says.
    pub(super) fn shaped(shape: Vec<usize>, words: Words) -> Self {
        Self { shape, words }
    }

    /// Values per index of the first axis.
    fn width(&self) -> usize {
        self.shape.iter().skip(1).product()
    }

    fn lists<'py>(&self, py: Python<'py>, axis: usize, from: usize) -> PyResult<Bound<'py, PyAny>> {
        let Some(&length) = self.shape.get(axis) else { return self.words.object(py, from) };
        let width: usize = self.shape[axis + 1..].iter().product();
        let items: Vec<_> = (0..length).map(|at| self.lists(py, axis + 1, from + at * width)).collect::<PyResult<_>>()?;
        PyList::new(py, items)?.into_bound_py_any(py)
    }
}

#[pymethods]
impl Array {
    /// Lengths of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The type of the values, by numpy's name.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.words.layout().0
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Nested lists of integers; an integer of an array without axes.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.lists(py, 0, 0)
    }

    /// The values, lowest byte first.
    fn tobytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.words.bytes())
    }

    /// What numpy.asarray reads: where the values are.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("shape", self.shape(py)?)?;
        dict.set_item("typestr", self.words.layout().1)?;
        dict.set_item("data", (self.words.start().expose_provenance(), false))?;
        dict.set_item("version", 3)?;
        Ok(dict)
    }

    /// The array for any library that speaks DLPack. There is nothing to wait for, so a stream is of no concern.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<Bound<'py, PyAny>>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = (stream, max_version);
        // All of it as one row.
        let words = if copy == Some(true) { self.words.picked(&[0], self.words.len()) } else { self.words.clone() };
        match dl_device {
            None | Some(dlpack::CPU) => dlpack::export(py, &self.shape, words),
            Some(_) => Err(PyBufferError::new_err("the array is in the memory of the CPU")),
        }
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        dlpack::CPU
    }

    fn __len__(&self) -> PyResult<usize> {
        self.shape.first().copied().ok_or_else(|| PyTypeError::new_err("an array without axes has no length"))
    }

    /// One row, or a copy of several.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.__len__()?;
        let part = |shape: Vec<usize>, words| Self { shape, words }.into_bound_py_any(py);
        if let Ok(slice) = key.cast::<PySlice>() {
            let range = slice.indices(rows.cast_signed())?;
            let picked: Vec<usize> =
                (0..range.slicelength).map(|at| (range.start + at.cast_signed() * range.step).cast_unsigned()).collect();
            let shape = [&[picked.len()], &self.shape[1..]].concat();
            return part(shape, self.words.picked(&picked, self.width()));
        }
        let index: isize = key.extract()?;
        let row = if index < 0 { index + rows.cast_signed() } else { index };
        let row = usize::try_from(row).ok().filter(|row| *row < rows);
        let row = row.ok_or_else(|| PyIndexError::new_err(format!("row {index} of {rows}")))?;
        match self.shape.len() {
            1 => self.words.object(py, row),
            _ => part(self.shape[1..].to_vec(), self.words.picked(&[row], self.width())),
        }
    }

    /// Whether shape and values are the same; the type does not matter.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Self>() {
            Ok(other) => {
                let other = other.get();
                let same = |at| self.words.at(at) == other.words.at(at);
                Ok(self.shape == other.shape && (0..self.words.len()).all(same))
            }
            Err(_) => self.tolist(other.py())?.eq(other),
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        pickled::reduced(py, self)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let dtype = self.dtype();
        Ok(match self.words.len() {
            0..=MOST_VALUES_SHOWN => format!("Array({}, dtype='{dtype}')", self.tolist(py)?.repr()?),
            _ => format!("Array(shape={}, dtype='{dtype}')", self.shape(py)?.repr()?),
        })
    }
}

/// As many as fit on a few lines.
const MOST_VALUES_SHOWN: usize = 64;

impl Words {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Int64(words) => words.len(),
            Self::Int32(words) => words.len(),
            Self::UInt64(words) => words.len(),
            Self::UInt32(words) => words.len(),
        }
    }

    fn at(&self, at: usize) -> i128 {
        match self {
            Self::Int64(words) => words[at].load(Ordering::Relaxed).into(),
            Self::Int32(words) => words[at].load(Ordering::Relaxed).into(),
            Self::UInt64(words) => words[at].load(Ordering::Relaxed).into(),
            Self::UInt32(words) => words[at].load(Ordering::Relaxed).into(),
        }
    }

    fn object<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Int64(words) => words[at].load(Ordering::Relaxed).into_bound_py_any(py),
            Self::Int32(words) => words[at].load(Ordering::Relaxed).into_bound_py_any(py),
            Self::UInt64(words) => words[at].load(Ordering::Relaxed).into_bound_py_any(py),
            Self::UInt32(words) => words[at].load(Ordering::Relaxed).into_bound_py_any(py),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Int64(words) => words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect(),
            Self::Int32(words) => words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect(),
            Self::UInt64(words) => words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect(),
            Self::UInt32(words) => words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect(),
        }
    }

    /// Whole rows of so many values.
    fn picked(&self, rows: &[usize], width: usize) -> Self {
        let places = || rows.iter().flat_map(|row| row * width..(row + 1) * width);
        match self {
            Self::Int64(words) => Self::Int64(places().map(|at| words[at].load(Ordering::Relaxed).into()).collect()),
            Self::Int32(words) => Self::Int32(places().map(|at| words[at].load(Ordering::Relaxed).into()).collect()),
            Self::UInt64(words) => Self::UInt64(places().map(|at| words[at].load(Ordering::Relaxed).into()).collect()),
            Self::UInt32(words) => Self::UInt32(places().map(|at| words[at].load(Ordering::Relaxed).into()).collect()),
        }
    }

    /// numpy's name of the type, its code, whether it has a sign, and its bits.
    pub(super) fn layout(&self) -> (&'static str, &'static str, bool, u8) {
        match self {
            Self::Int64(_) => ("int64", "<i8", true, 64),
            Self::Int32(_) => ("int32", "<i4", true, 32),
            Self::UInt64(_) => ("uint64", "<u8", false, 64),
            Self::UInt32(_) => ("uint32", "<u4", false, 32),
        }
    }

    /// Where the values begin. They may be written through it: they are atomics.
    pub(super) fn start(&self) -> *const u8 {
        match self {
            Self::Int64(words) => words.as_ptr().cast(),
            Self::Int32(words) => words.as_ptr().cast(),
            Self::UInt64(words) => words.as_ptr().cast(),
            Self::UInt32(words) => words.as_ptr().cast(),
        }
    }
}
