//! Where nodes meet before they know each other: a key-value store that all of them reach.
//!
//! Texts are set and waited for; counters are added to. The two do not share names: `add(key, 0)` reads a counter, `get` a text.
//! Keys live in a scope, one for each start of a job, so that a restarted job never reads what the one before it wrote.
//!
//! Every call ends: with an answer, or with an error that says what was waited for, where and for how long.

mod addresses;
mod directory;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
mod meeting;
mod place;
mod scope;
mod tcp;
mod torch;

use std::time::Duration;

pub use addresses::{gather_addresses, node_address_key, publish_address, publish_book, read_book};
pub use directory::DirectoryStore;
pub use error::StoreError;
#[cfg(feature = "etcd")]
pub use etcd::EtcdStore;
pub use meeting::{Meeting, MeetingOptions};
pub use place::{Place, PlaceError};
pub use scope::Scoped;
pub use tcp::{Refusal, StoreServer, TcpStore};
pub use torch::TorchStore;

/// A store that all nodes of a job reach.
pub trait KeyValueStore: Send {
    /// Where the store is, for messages.
    fn place(&self) -> &str;

    /// Writes a text; what was there is gone.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be reached or refuses.
    fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError>;

    /// Writes texts under their keys, one after the other: whoever sees one of them sees those before it. Stores that can take several at once
    /// do.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be reached or refuses; some of them may be written then.
    fn set_all(&mut self, texts: &[(String, String)]) -> Result<(), StoreError> {
        texts.iter().try_for_each(|(key, value)| self.set(key, value))
    }

    /// The text under `key`, if there is one yet.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be reached or refuses.
    fn get(&mut self, key: &str) -> Result<Option<String>, StoreError>;

    /// The text under `key`, as soon as there is one.
    ///
    /// # Errors
    /// [`StoreError::TimedOut`] where nobody wrote it in time.
    fn wait(&mut self, key: &str, timeout: Duration) -> Result<String, StoreError>;

    /// Adds to the counter under `key`, which starts at zero, and returns what it came to. No two additions are lost or counted
    /// twice.
    ///
    /// # Errors
    /// [`StoreError`] where the store cannot be reached or refuses.
    fn add(&mut self, key: &str, delta: i64) -> Result<i64, StoreError>;

    /// Returns when `count` callers have called it with this name. A name may be used again, by the same number of callers.
    ///
    /// # Errors
    /// [`StoreError::BarrierTimedOut`] says how many came. Who timed out counts as having come.
    fn barrier(&mut self, name: &str, count: u32, timeout: Duration) -> Result<(), StoreError> {
        let (arrivals, count) = (format!("barrier:{name}"), i64::from(count.max(1)));
        let arrived = self.add(&arrivals, 1)?;
        let open = format!("barrier:{name}:open:{}", (arrived - 1).div_euclid(count));
        if arrived.rem_euclid(count) == 0 {
            return self.set(&open, "");
        }
        match self.wait(&open, timeout) {
            Ok(_) => Ok(()),
            Err(StoreError::TimedOut { place, after, .. }) => {
                let arrived = (self.add(&arrivals, 0)? - 1).rem_euclid(count) + 1;
                Err(StoreError::BarrierTimedOut { name: name.to_owned(), arrived, count, place, after })
            }
            Err(other) => Err(other),
        }
    }
}

impl<S: KeyValueStore + ?Sized> KeyValueStore for Box<S> {
    fn place(&self) -> &str {
        (**self).place()
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        (**self).set(key, value)
    }

    fn set_all(&mut self, texts: &[(String, String)]) -> Result<(), StoreError> {
        (**self).set_all(texts)
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        (**self).get(key)
    }

    fn wait(&mut self, key: &str, timeout: Duration) -> Result<String, StoreError> {
        (**self).wait(key, timeout)
    }

    fn add(&mut self, key: &str, delta: i64) -> Result<i64, StoreError> {
        (**self).add(key, delta)
    }
}

/// The longest key.
pub const KEY_BYTES_MAX: usize = 512;

/// The longest text: the estimates of ten thousand nodes fit.
pub const VALUE_BYTES_MAX: usize = 1 << 20;

/// Whether a key and a text may be written.
fn check_size(key: &str, value: &str) -> Result<(), StoreError> {
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        return Err(StoreError::BadKey { key: key.chars().take(64).collect(), bytes: key.len() });
    }
    if value.len() > VALUE_BYTES_MAX {
        return Err(StoreError::TooLarge { key: key.to_owned(), bytes: value.len() });
    }
    Ok(())
}

/// Asks `get` again and again, ever more seldom, until there is a text or `timeout` is over.
fn poll_for(
    store: &mut (impl KeyValueStore + ?Sized),
    key: &str,
    timeout: Duration,
    (first, longest): (Duration, Duration),
) -> Result<String, StoreError> {
    let start = std::time::Instant::now();
    let mut pause = first;
    loop {
        if let Some(value) = store.get(key)? {
            return Ok(value);
        }
        let left = timeout.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Err(StoreError::TimedOut { key: key.to_owned(), place: store.place().to_owned(), after: timeout });
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(longest);
    }
}
