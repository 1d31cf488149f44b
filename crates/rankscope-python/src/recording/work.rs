//! [`Work`]: a coroutine or generator that is recorded as it runs.
//!
//! A span that stayed open while a coroutine waits would lie over whatever else its thread does meanwhile. So what a decorated
//! function returns is driven through this: each time it runs is a slice of the thread, the slices are tied by an arrow, and
//! the whole is an asynchronous span. The recorder does that for futures of Rust, and one step of a coroutine is made to look
//! like a poll of one.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rankscope_record::{InSpan, KeptArgs, SpanFuture};

use super::span::Span;
use super::threads;
use super::values;

/// What is driven: anything with `send`, `throw` and `close`.
#[pyclass(frozen, module = "rankscope._native")]
pub(crate) struct Work {
    driven: Py<PyAny>,
    exchange: Arc<Mutex<Exchange>>,
    /// None once it has ended.
    future: Mutex<Option<Driven>>,
}

type Driven = Pin<Box<SpanFuture<Step>>>;

/// What goes in with a step, and what comes out.
#[derive(Default)]
struct Exchange {
    method: Method,
    arguments: Option<Py<PyTuple>>,
    yielded: Option<Py<PyAny>>,
}

#[derive(Clone, Copy, Default)]
enum Method {
    #[default]
    Send,
    Throw,
}

struct Step {
    driven: Py<PyAny>,
    exchange: Arc<Mutex<Exchange>>,
}

impl Future for Step {
    /// How it ended: always an exception, of which StopIteration is the good one.
    type Output = PyErr;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<PyErr> {
        Python::attach(|py| match self.run(py) {
            Ok(yielded) => {
                lock(&self.exchange).yielded = Some(yielded);
                Poll::Pending
            }
            Err(ended) => Poll::Ready(ended),
        })
    }
}

impl Step {
    fn run(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let (method, arguments) = {
            let mut exchange = lock(&self.exchange);
            (exchange.method, exchange.arguments.take())
        };
        let arguments = arguments.ok_or_else(|| PyRuntimeError::new_err("a step without a word"))?;
        let name = match method {
            Method::Send => intern!(py, "send"),
            Method::Throw => intern!(py, "throw"),
        };
        Ok(self.driven.bind(py).call_method1(name, arguments.bind(py))?.unbind())
    }
}

#[pymethods]
impl Work {
    #[new]
    fn new(py: Python<'_>, span: &Span, driven: Py<PyAny>) -> Self {
        let exchange = Arc::new(Mutex::new(Exchange::default()));
        let step = Step { driven: driven.clone_ref(py), exchange: exchange.clone() };
        let name = span.text(py);
        let future = step.in_span(name).with_args(KeptArgs::of(&values::lent(span.args())));
        Self { driven, exchange, future: Mutex::new(Some(Box::pin(future))) }
    }

    fn __await__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.step(py, Method::Send, PyTuple::new(py, [py.None()])?)
    }

    fn send(&self, py: Python<'_>, value: Py<PyAny>) -> PyResult<Py<PyAny>> {
        self.step(py, Method::Send, PyTuple::new(py, [value])?)
    }

    #[pyo3(signature = (*error))]
    fn throw(&self, py: Python<'_>, error: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        self.step(py, Method::Throw, error.clone())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let closed = self.driven.bind(py).call_method0(intern!(py, "close"));
        // Afterwards, so that what it does while it is closed is still its own.
        let ended = self.future.try_lock().ok().and_then(|mut future| future.take());
        drop(ended);
        closed.map(drop)
    }
}

impl Work {
    fn step(&self, py: Python<'_>, method: Method, arguments: Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        // Held while the program's code runs: who comes here meanwhile is told what Python tells them.
        let mut future = match self.future.try_lock() {
            Ok(future) => future,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(std::sync::TryLockError::WouldBlock) => return Err(PyValueError::new_err("it is already executing")),
        };
        let Some(driven) = future.as_mut() else {
            return Err(PyRuntimeError::new_err("cannot go on with what has ended"));
        };
        threads::told();
        {
            let mut exchange = lock(&self.exchange);
            (exchange.method, exchange.arguments) = (method, Some(arguments.unbind()));
        }
        match driven.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Ok(lock(&self.exchange).yielded.take().unwrap_or_else(|| py.None())),
            Poll::Ready(ended) => {
                *future = None;
                Err(ended)
            }
        }
    }
}

fn lock(exchange: &Mutex<Exchange>) -> std::sync::MutexGuard<'_, Exchange> {
    exchange.lock().unwrap_or_else(PoisonError::into_inner)
}
