//! Object stores: what [`rankscope_run`] asks of them, answered by Amazon's protocol, Google's, Microsoft's, and plain HTTP.
//!
//! Readers of formats wait for bytes as they do for a disk; here a few threads of their own wait for the network, and hand over what
//! comes in chunks. Credentials are taken from the environment alone, and nothing that is said to anybody repeats them.
//!
//! The program registers this once; nothing else knows that stores exist:
//!
//! ```
//! use rankscope_run::register_stores;
//! use rankscope_store::ObjectStores;
//!
//! register_stores(Box::new(ObjectStores::default()));
//! ```

mod clients;
mod environment;
mod faults;
mod object;
mod upload;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use rankscope_run::{ListedObject, ObjectIdentity, ObjectUrl, Piece, Put, Scheme, StoreFault, StoredObject, Stores};
use tokio::runtime::{Builder, Runtime};

use crate::faults::fault;
use crate::object::Object;

/// Threads that wait for the network. They copy bytes and encrypt; what takes time is done by those who read.
const THREADS: usize = 2;

/// All stores that are read from and written to. Its threads begin with the first question.
#[derive(Debug, Default)]
pub struct ObjectStores {
    runtime: OnceLock<io::Result<Arc<Runtime>>>,
    /// By the part of a URL that names the store.
    clients: Mutex<BTreeMap<String, Arc<dyn ObjectStore>>>,
}

/// An object at its store.
#[derive(Clone, Debug)]
struct Place {
    store: Arc<dyn ObjectStore>,
    path: Path,
    url: ObjectUrl,
}

impl ObjectStores {
    fn runtime(&self) -> Result<&Arc<Runtime>, StoreFault> {
        let start = || {
            clients::use_ring();
            Builder::new_multi_thread()
                .worker_threads(THREADS)
                .thread_name("rankscope-store")
                .enable_all()
                .build()
                .map(Arc::new)
        };
        let started = self.runtime.get_or_init(start).as_ref();
        started.map_err(|error| StoreFault::Failed { reason: format!("this system starts no threads: {error}") })
    }

    fn place(&self, url: &ObjectUrl) -> Result<Place, StoreFault> {
        let (root, path) = clients::split(url)?;
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let store = match clients.get(&root) {
            Some(store) => Arc::clone(store),
            None => {
                // Connecting wants the threads at hand.
                let _entered = self.runtime()?.enter();
                let store = clients::client(url, &root)?;
                clients.insert(root, Arc::clone(&store));
                store
            }
        };
        Ok(Place { store, path, url: url.clone() })
    }
}

impl Stores for ObjectStores {
    fn open(&self, url: &ObjectUrl) -> Result<Box<dyn StoredObject>, StoreFault> {
        let object = Object::open(self.place(url)?, Arc::clone(self.runtime()?))?;
        Ok(Box::new(object))
    }

    fn piece(&self, url: &ObjectUrl, range: Range<u64>, of: Option<&ObjectIdentity>) -> Result<Piece, StoreFault> {
        Object::piece(self.place(url)?, Arc::clone(self.runtime()?), range, of)
    }

    fn about(&self, url: &ObjectUrl) -> Result<Option<ObjectIdentity>, StoreFault> {
        let place = self.place(url)?;
        match self.runtime()?.block_on(place.store.head(&place.path)) {
            Ok(meta) => Ok(Some(identity(meta))),
            Err(error) => match fault(&error, url) {
                StoreFault::NoSuchObject => Ok(None),
                other => Err(other),
            },
        }
    }

    fn list(&self, folder: &ObjectUrl) -> Result<Vec<ListedObject>, StoreFault> {
        if folder.scheme() == Scheme::Http {
            return Err(StoreFault::CannotList);
        }
        let place = self.place(folder)?;
        let prefix = (!place.path.as_ref().is_empty()).then_some(&place.path);
        let listed = self.runtime()?.block_on(place.store.list(prefix).try_collect::<Vec<ObjectMeta>>());
        let listed = listed.map_err(|error| fault(&error, folder))?;
        let below = prefix.map_or_else(String::new, |prefix| format!("{prefix}/"));
        let own = |meta: ObjectMeta| {
            let key = meta.location.as_ref().strip_prefix(&below)?.to_owned();
            Some(ListedObject { key, identity: identity(meta) })
        };
        let mut objects: Vec<ListedObject> = listed.into_iter().filter_map(own).collect();
        objects.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(objects)
    }

    fn put(&self, url: &ObjectUrl, content: &mut File, put: Put) -> Result<(), StoreFault> {
        if url.scheme() == Scheme::Http {
            return Err(StoreFault::CannotWrite);
        }
        let place = self.place(url)?;
        self.runtime()?.block_on(upload::put(&place, content, put))
    }

    fn remove(&self, url: &ObjectUrl) -> Result<(), StoreFault> {
        if url.scheme() == Scheme::Http {
            return Err(StoreFault::CannotWrite);
        }
        let place = self.place(url)?;
        match self.runtime()?.block_on(place.store.delete(&place.path)).map_err(|error| fault(&error, url)) {
            Err(StoreFault::NoSuchObject) => Ok(()),
            done => done,
        }
    }
}

fn identity(meta: ObjectMeta) -> ObjectIdentity {
    let modified_ns = meta.last_modified.timestamp_nanos_opt().and_then(|ns| u128::try_from(ns).ok()).unwrap_or(0);
    ObjectIdentity { bytes: meta.size, etag: meta.e_tag, modified_ns }
}
