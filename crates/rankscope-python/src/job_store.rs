//! A key-value store that Python has, behind the trait by which agents meet.
//!
//! The object has `place()`, `set(key, text)`, `get(key)`, which gives a text or None, and `add(key, number)`; `rankscope._rendezvous`
//! makes such of torch's stores and of JAX's client. An exception becomes a refusal with its text. Nothing waits inside Python: a text
//! that is waited for is asked for again and again, so that the interpreter is free meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use rankscope_probe::rendezvous::{KeyValueStore, StoreError};

/// Between two looks at a key.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));

pub(crate) struct JobStore {
    object: Py<PyAny>,
    place: String,
    /// Set when nobody wants to meet any more.
    stop: Arc<AtomicBool>,
}

impl JobStore {
    /// # Errors
    /// Where the object does not say what it is.
    pub(crate) fn new(object: &Bound<'_, PyAny>, stop: Arc<AtomicBool>) -> PyResult<Self> {
        Ok(Self { place: object.call_method0("place")?.extract()?, object: object.clone().unbind(), stop })
    }

    fn call<T>(&self, ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T, StoreError> {
        Python::attach(|py| ask(self.object.bind(py)).map_err(|error| error.to_string()))
            .map_err(|reason| StoreError::Refused { place: self.place.clone(), reason })
    }
}

impl KeyValueStore for JobStore {
    fn place(&self) -> &str {
        &self.place
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        self.call(|object| object.call_method1("set", (key, value)).map(|_| ()))
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        self.call(|object| object.call_method1("get", (key,))?.extract())
    }

    fn wait(&mut self, key: &str, timeout: Duration) -> Result<String, StoreError> {
        let start = Instant::now();
        let (mut pause, longest) = PAUSES;
        loop {
            if let Some(value) = self.get(key)? {
                return Ok(value);
            }
            if self.stop.load(Ordering::Relaxed) {
                let reason = format!("stopped while waiting for {key}");
                return Err(StoreError::Refused { place: self.place.clone(), reason });
            }
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(StoreError::TimedOut { key: key.to_owned(), place: self.place.clone(), after: timeout });
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(longest);
        }
    }

    fn add(&mut self, key: &str, delta: i64) -> Result<i64, StoreError> {
        self.call(|object| object.call_method1("add", (key, delta))?.extract())
    }
}
