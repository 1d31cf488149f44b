//! The sockets: one for datagrams and, if wanted, one for `dyno`, on two threads that end with the [`Daemon`].

mod answering;
mod listening;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr as TcpAddress;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::datagram::Refused;
use crate::desk::{Desk, Placed, Wanted};

/// Where a daemon listens, and what it guards.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of its abstract socket, without zeros.
    pub name: String,
    /// Where it listens for `dyno`; none does not.
    pub rpc: Option<TcpAddress>,
    /// The folder that no configuration may point out of.
    pub run: PathBuf,
}

impl Options {
    /// As torch's processes and `dyno` look for it.
    pub fn usual(run: PathBuf) -> Self {
        Self { name: "dynolog".to_owned(), rpc: Some(([127, 0, 0, 1], crate::rpc::PORT).into()), run }
    }
}

/// How often what was refused, by why.
pub type Refusals = BTreeMap<Refused, u64>;

/// Why there is no daemon.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DaemonError {
    /// Another daemon is there.
    #[error("another daemon has the socket {name:?} of this host; stop it, or ask it by its own commands")]
    Taken {
        /// The socket.
        name: String,
    },
    /// A socket cannot be had.
    #[error("the socket {name:?} cannot be had: {reason}")]
    Socket {
        /// Which.
        name: String,
        /// What the system says.
        #[source]
        reason: io::Error,
    },
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(#[source] io::Error),
}

/// What both threads and their owner share.
#[derive(Debug)]
struct Shared {
    desk: Mutex<Desk>,
    refusals: Mutex<Refusals>,
    over: AtomicBool,
    began: Instant,
    run: PathBuf,
}

/// A daemon that listens.
#[derive(Debug)]
pub struct Daemon {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    rpc: Option<TcpAddress>,
}

/// How long a thread waits before it looks whether it is over.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl Daemon {
    /// Listens from now on.
    ///
    /// # Errors
    /// [`DaemonError`], with which nothing is left behind.
    pub fn start(options: Options) -> Result<Self, DaemonError> {
        let Options { name, rpc, run } = options;
        let socket = bind(&name)?;
        let rpc = rpc.map(listening::bind).transpose()?;
        let shared = Arc::new(Shared {
            desk: Mutex::default(),
            refusals: Mutex::default(),
            over: AtomicBool::new(false),
            began: Instant::now(),
            run,
        });
        let mut daemon = Self { shared: Arc::clone(&shared), threads: Vec::new(), rpc: None };
        let for_datagrams = Arc::clone(&shared);
        daemon.thread("rankscope-ask", move || answering::answer(&socket, &for_datagrams))?;
        if let Some((listener, address)) = rpc {
            daemon.rpc = Some(address);
            daemon.thread("rankscope-dyno", move || listening::listen(&listener, &shared))?;
        }
        Ok(daemon)
    }

    /// Has a configuration wait for all that are `wanted`; `text` is that of each.
    pub fn place(&self, wanted: &Wanted, text: impl Fn(i32) -> String) -> Placed {
        self.shared.desk().place(wanted, text, self.shared.now_ms())
    }

    /// Takes back what waits for `pids`; returns those that had something.
    pub fn cancel(&self, pids: &[i32]) -> Vec<i32> {
        self.shared.desk().cancel(pids)
    }

    /// The processes that have asked.
    pub fn pids(&self) -> Vec<i32> {
        self.shared.desk().pids().collect()
    }

    /// What was refused.
    pub fn refusals(&self) -> Refusals {
        self.shared.refusals().clone()
    }

    /// Where it listens for `dyno`.
    pub const fn rpc(&self) -> Option<TcpAddress> {
        self.rpc
    }

    fn thread(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), DaemonError> {
        self.threads.push(Builder::new().name(name.to_owned()).spawn(work).map_err(DaemonError::Thread)?);
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that failed has nothing left to say.
            let _ended = thread.join();
        }
    }
}

impl Shared {
    // Nothing that is done under these locks leaves them half done.
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refusals(&self) -> MutexGuard<'_, Refusals> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn refuse(&self, why: Refused) {
        *self.refusals().entry(why).or_default() += 1;
    }
}

/// The abstract socket `name`: on the wire a zero follows it, without which it would be another.
fn bind(name: &str) -> Result<UnixDatagram, DaemonError> {
    let failed = |reason: io::Error| match reason.kind() {
        io::ErrorKind::AddrInUse => DaemonError::Taken { name: name.to_owned() },
        _ => DaemonError::Socket { name: name.to_owned(), reason },
    };
    let address = SocketAddr::from_abstract_name([name.as_bytes(), b"\0"].concat()).map_err(failed)?;
    let socket = UnixDatagram::bind_addr(&address).map_err(failed)?;
    let limits = socket.set_read_timeout(Some(LOOK_EVERY)).and_then(|()| socket.set_write_timeout(Some(LOOK_EVERY)));
    limits.map_err(failed)?;
    Ok(socket)
}
