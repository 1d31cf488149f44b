//! Keys of one start of one job.

use std::time::Duration;

use super::{KeyValueStore, StoreError};

/// A store of which only the keys of one run are seen.
#[derive(Debug)]
pub struct Scoped<S> {
    store: S,
    prefix: String,
}

impl<S: KeyValueStore> Scoped<S> {
    /// The keys of `run_id` in its start number `restart`: a launcher that restarts a failed job counts up.
    pub fn new(store: S, run_id: &str, restart: u32) -> Self {
        Self { store, prefix: format!("rankscope/{run_id}/{restart}/") }
    }

    fn scoped(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }
}

impl<S: KeyValueStore> KeyValueStore for Scoped<S> {
    fn place(&self) -> &str {
        self.store.place()
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        self.store.set(&self.scoped(key), value)
    }

    fn set_all(&mut self, texts: &[(String, String)]) -> Result<(), StoreError> {
        let scoped: Vec<_> = texts.iter().map(|(key, value)| (self.scoped(key), value.clone())).collect();
        self.store.set_all(&scoped)
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        self.store.get(&self.scoped(key))
    }

    fn wait(&mut self, key: &str, timeout: Duration) -> Result<String, StoreError> {
        self.store.wait(&self.scoped(key), timeout)
    }

    fn add(&mut self, key: &str, delta: i64) -> Result<i64, StoreError> {
        self.store.add(&self.scoped(key), delta)
    }
}
