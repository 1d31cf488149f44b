//! Spans: what a `with` statement records, and the two halves of it that decorators call.
//!
//! One object may be entered again and again, also inside itself and on other threads; so a loop may make its span once. What another
//! thread began is not this one's to end: the recorder ignores such ends and counts them.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};
use rankscope_record::{Category, NameId, OpenSpan, Value, begin_async, begin_raw, end_raw, is_on};

use super::names::{Sort, number, number_of};
use super::open::Open;
use super::reused;
use super::threads;
use super::values::{self, Args};

/// A range that a program names itself: what `record_function` makes.
#[pyclass(frozen, module = "rankscope", name = "Span")]
pub(crate) struct Span {
    name: Py<PyString>,
    /// The name's number once it was recorded; zero before.
    id: AtomicU32,
    args: Option<Box<Args>>,
    open: Open,
}

/// A span around a block or a function, as `torch.profiler.record_function`.
///
/// Arguments that are numbers, texts, bytes and lists of whole numbers are recorded as such; of anything else, the type.
#[pyfunction]
#[pyo3(signature = (name, args=None, /, **arguments), text_signature = "(name, args=None, /, **arguments)")]
pub(crate) fn record_function(
    name: &Bound<'_, PyString>,
    args: Option<&Bound<'_, PyAny>>,
    arguments: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<Span>> {
    if args.is_none() && arguments.is_none() && !threads::is_free_threaded() {
        return reused::span(name);
    }
    Py::new(name.py(), Span { args: said(args, arguments), ..Span::of(name) })
}

/// What there is to say beside the name.
#[cold]
fn said(args: Option<&Bound<'_, PyAny>>, arguments: Option<&Bound<'_, PyDict>>) -> Option<Box<Args>> {
    let mut all = values::kept(arguments);
    if let Some(value) = args {
        values::keep(&mut all, number_of("args", Sort::Key), value);
    }
    (!all.is_empty()).then(|| Box::new(all))
}

#[pymethods]
impl Span {
    fn __enter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        let span = this.get();
        span.open.entered(span.begin(this.py()));
        this
    }

    #[pyo3(signature = (kind, _error, _traceback, /))]
    fn __exit__(&self, kind: &Bound<'_, PyAny>, _error: &Bound<'_, PyAny>, _traceback: &Bound<'_, PyAny>) {
        let ended = self.open.left();
        if kind.is_none() { end_raw(ended, &[]) } else { end_with_exception(ended, kind) }
    }

    /// A span of no thread, which may last over any number of awaits.
    fn __aenter__(this: Bound<'_, Self>) -> Ready {
        let span = this.get();
        let args = values::lent(span.args());
        span.open.waits(begin_async(span.number(this.py()), &args));
        Ready(Some(this.into_any().unbind()))
    }

    #[pyo3(signature = (kind, _error, _traceback, /))]
    fn __aexit__(&self, kind: &Bound<'_, PyAny>, _error: &Bound<'_, PyAny>, _traceback: &Bound<'_, PyAny>) -> Ready {
        match self.open.waited() {
            Some(span) if kind.is_none() => span.end(&[]),
            Some(span) => span.end(&[(number_of("exception", Sort::Key), Value::Text(&exception_name(kind)))]),
            None => {}
        }
        Ready(None)
    }

    /// Decorates a function, a generator function or an async one.
    fn __call__<'py>(this: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("rankscope._recording.decorated")?.call_method1("decorated", (this, function))
    }

    /// Begins it for `end_call`, and returns what that wants.
    fn begin_call(&self, py: Python<'_>) -> u64 {
        let begun = self.begin(py);
        if begun != OpenSpan::NONE {
            CALLS.with_borrow_mut(|calls| calls.push(begun));
        }
        begun.correlation_id()
    }

    /// The name, as it was given.
    #[getter]
    fn name(&self, py: Python<'_>) -> Py<PyString> {
        self.name.clone_ref(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("rankscope.record_function({})", self.name.bind(py).repr()?))
    }
}

impl Span {
    fn of(name: &Bound<'_, PyString>) -> Self {
        Self { name: name.clone().unbind(), id: AtomicU32::new(0), args: None, open: Open::default() }
    }

    /// One without arguments, as an object.
    pub(super) fn new_in(py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<Py<Self>> {
        Py::new(py, Self::of(name))
    }

    /// Whether nothing of it is open.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.open.is_idle()
    }

    #[inline]
    fn begin(&self, py: Python<'_>) -> OpenSpan {
        if !is_on(Category::USER_ANNOTATION) {
            return OpenSpan::NONE;
        }
        threads::told();
        let begun = match &self.args {
            None => begin_raw(self.number(py), &[]),
            Some(args) => begin_raw(self.number(py), &values::lent(args)),
        };
        begun.unwrap_or(OpenSpan::NONE)
    }

    #[inline]
    pub(super) fn number(&self, py: Python<'_>) -> NameId {
        let known = self.id.load(Ordering::Relaxed);
        if known != 0 {
            return NameId(known);
        }
        let found = number(self.name.bind(py), Sort::Annotation);
        self.id.store(found.0, Ordering::Relaxed);
        found
    }

    pub(super) fn text(&self, py: Python<'_>) -> String {
        self.name.bind(py).to_string_lossy().into_owned()
    }

    pub(super) fn args(&self) -> &[(NameId, values::Kept)] {
        self.args.as_deref().map_or(&[], Vec::as_slice)
    }
}

thread_local! {
    /// Spans begun by `begin_call` on this thread, the outermost first.
    static CALLS: RefCell<Vec<OpenSpan>> = const { RefCell::new(Vec::new()) };
}

/// Ends what `begin_call` began. Calls end in order, but where a program switches stacks by itself (greenlets): then the span
/// is looked for.
#[pyfunction]
#[pyo3(signature = (begun, error=None, /))]
pub(crate) fn end_call(begun: u64, error: Option<&Bound<'_, PyAny>>) {
    if begun == 0 {
        return;
    }
    let open = CALLS.with_borrow_mut(|calls| {
        let at = calls.iter().rposition(|open| open.correlation_id() == begun)?;
        Some(calls.remove(at))
    });
    match (open, error) {
        (None, _) => {}
        (Some(open), None) => end_raw(open, &[]),
        (Some(open), Some(error)) => end_with_exception(open, error),
    }
}

/// Ends a span that an exception left, given it or its type.
#[cold]
pub(crate) fn end_with_exception(open: OpenSpan, error: &Bound<'_, PyAny>) {
    if open != OpenSpan::NONE {
        end_raw(open, &[(number_of("exception", Sort::Key), Value::Text(&exception_name(error)))]);
    }
}

fn exception_name(error: &Bound<'_, PyAny>) -> String {
    let name = match error.cast::<PyType>() {
        Ok(kind) => kind.name(),
        Err(_) => error.get_type().name(),
    };
    name.map_or_else(|_| "exception".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// An awaitable that is ready.
#[pyclass]
pub(crate) struct Ready(Option<Py<PyAny>>);

#[pymethods]
impl Ready {
    fn __await__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&mut self) -> PyResult<Py<PyAny>> {
        Err(PyStopIteration::new_err((self.0.take(),)))
    }
}
