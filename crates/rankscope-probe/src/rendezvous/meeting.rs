//! From a place to a store, with whatever has to run for it.

use std::time::Duration;

use super::{DirectoryStore, KeyValueStore, Place, Scoped, StoreError, StoreServer, TcpStore};
use crate::key::SharedKey;

/// A store, and the server behind it where this node hosts it.
pub struct Meeting {
    /// The keys of this start of this run.
    pub store: Box<dyn KeyValueStore>,
    /// To be kept for as long as any node may have a question.
    pub server: Option<StoreServer>,
}

/// Who meets, and how.
#[derive(Clone, Debug)]
pub struct MeetingOptions {
    /// Tells this run from others.
    pub run_id: String,
    /// How often it was started again.
    pub restart: u32,
    /// What all nodes share; only a hosted store asks for it, the others have permissions of their own. None lets everybody in
    /// who reaches the store.
    pub key: Option<SharedKey>,
    /// How long a store may be silent.
    pub patience: Duration,
    /// This is node 0, which hosts the store where none is there already.
    pub host: bool,
}

impl Meeting {
    /// Opens the store at `place`.
    ///
    /// # Errors
    /// [`StoreError`] where it cannot be hosted or used.
    pub fn at(place: &Place, options: MeetingOptions) -> Result<Self, StoreError> {
        let MeetingOptions { run_id, restart, key, patience, host } = options;
        let mut server = None;
        let store: Box<dyn KeyValueStore> = match place {
            Place::Directory(root) => Box::new(DirectoryStore::open(root)?),
            Place::Tcp { host: name, port } if host => {
                let hosted = StoreServer::start(name, *port, key.clone())?;
                // Where the store listens, because this host's own name may lead elsewhere.
                let at = hosted.address();
                let here = if at.ip().is_unspecified() { "localhost".to_owned() } else { at.ip().to_string() };
                let client = TcpStore::new(&here, at.port(), key, patience)?;
                server = Some(hosted);
                Box::new(client)
            }
            Place::Tcp { host: name, port } => Box::new(TcpStore::new(name, *port, key, patience)?),
            Place::Torch { host: name, port } => Box::new(super::TorchStore::new(name, *port, patience)),
            #[cfg(feature = "etcd")]
            Place::Etcd(members) => Box::new(super::EtcdStore::new(members.clone(), patience)),
            #[cfg(not(feature = "etcd"))]
            Place::Etcd(_) => {
                let reason = "this build of rankscope has no etcd support; build it with the feature etcd".to_owned();
                return Err(StoreError::Refused { place: place.to_string(), reason });
            }
        };
        Ok(Self { store: Box::new(Scoped::new(store, &run_id, restart)), server })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(host: bool) -> MeetingOptions {
        let (run_id, key) = ("run".to_owned(), SharedKey::new("k"));
        MeetingOptions { run_id, restart: 0, key, patience: Duration::from_secs(20), host }
    }

    #[test]
    fn node_0_hosts_and_the_others_find_it() {
        let mut first = Meeting::at(&"localhost:0".parse().unwrap(), options(true)).unwrap();
        let port = first.server.as_ref().unwrap().address().port();
        let mut other = Meeting::at(&Place::Tcp { host: "localhost".to_owned(), port }, options(false)).unwrap();
        assert!(other.server.is_none());
        first.store.set("key", "value").unwrap();
        assert_eq!(other.store.get("key").unwrap().as_deref(), Some("value"));
        let elsewhere = MeetingOptions { restart: 1, ..options(false) };
        let mut restarted = Meeting::at(&Place::Tcp { host: "localhost".to_owned(), port }, elsewhere).unwrap();
        assert_eq!(restarted.store.get("key").unwrap(), None);
    }

    #[test]
    fn a_directory_needs_no_server() {
        let root = tempfile::tempdir().unwrap();
        let mut meeting = Meeting::at(&Place::Directory(root.path().to_owned()), options(true)).unwrap();
        assert!(meeting.server.is_none());
        assert_eq!(meeting.store.add("count", 2).unwrap(), 2);
    }
}
