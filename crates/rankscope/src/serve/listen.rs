//! Sockets: connections come in, heads of requests are read, responses go out. A few threads answer, and each connection is one request.
//!
//! However slow or rude a client is, it takes one thread for a bounded time: a head is read for so long in all, a piece of a body is waited on for
//! so long, and who comes while all are busy and a few wait is told so. What is read from a trace for a client that has gone away is given up.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rankscope_pipeline::{Client, RunShelf};
use rankscope_serve::{Body, HEAD_BYTES_MAX, Refusal, Response, Site};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Requests that are answered at a time. Browsers open six connections each.
const THREADS: usize = 16;
/// Connections that wait for a thread.
const WAITING: usize = 64;
/// For a head to come in.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// For a client to take a piece of a body.
const PIECE_PATIENCE: Duration = Duration::from_secs(30);
const PIECE_BYTES: usize = 256 << 10;
/// A client that takes less is slower than any network, and takes a thread from the others.
const SLOWEST_BYTES_PER_SECOND: u64 = 64 << 10;

/// Answers whoever comes, until a signal ends it. Once that may come and end it well, `announce` says where.
pub(super) fn until_told(
    listener: &TcpListener,
    site: Site,
    shelf: RunShelf,
    announce: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let told = Arc::new(AtomicBool::new(false));
    wake_on_signal(listener.local_addr()?, Arc::clone(&told))?;
    announce()?;
    let (sender, receiver) = sync_channel(WAITING);
    let served = Arc::new((site, shelf, Mutex::new(receiver)));
    for _ in 0..THREADS {
        let served = Arc::clone(&served);
        let work = move || serve(&served.0, &served.1, &served.2);
        thread::Builder::new().name("rankscope-serve".to_owned()).spawn(work).context("a thread cannot be started")?;
    }
    for connection in listener.incoming() {
        if told.load(Ordering::SeqCst) {
            return Ok(());
        }
        match connection {
            Ok(connection) => hand_over(connection, &sender),
            // A client that left already, or no more files may be open: neither lasts.
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
    Ok(())
}

/// Has the loop look up when a signal comes: accepting waits for a connection, so it gets one.
fn wake_on_signal(mut address: SocketAddr, told: Arc<AtomicBool>) -> Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).context("signals cannot be received")?;
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() { [127, 0, 0, 1].into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    let listen = move || {
        for _ in signals.forever() {
            told.store(true, Ordering::SeqCst);
            let _it_looks_up = TcpStream::connect(address);
        }
    };
    thread::Builder::new().name("rankscope-signals".to_owned()).spawn(listen).context("a thread cannot be started")?;
    Ok(())
}

fn hand_over(connection: TcpStream, sender: &SyncSender<TcpStream>) {
    if let Err(TrySendError::Full(connection) | TrySendError::Disconnected(connection)) = sender.try_send(connection) {
        let soon = connection.set_write_timeout(Some(Duration::from_millis(100)));
        let _it_asks_again = soon.and_then(|()| send(connection, Response::refused(Refusal::Busy)));
    }
}

fn serve(site: &Site, shelf: &RunShelf, receiver: &Mutex<Receiver<TcpStream>>) {
    loop {
        let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(connection) = next else { return };
        // Who breaks a connection off is nobody's concern.
        let _gone = answer(connection, site, shelf);
    }
}

fn answer(mut connection: TcpStream, site: &Site, shelf: &RunShelf) -> io::Result<()> {
    connection.set_write_timeout(Some(PIECE_PATIENCE))?;
    let response = match head(&mut connection, HEAD_PATIENCE) {
        Ok(head) => site.answer(&head, &shelf.for_client(Arc::new(Connected::over(&connection)?))),
        Err(refusal) => Response::refused(refusal),
    };
    send(connection, response)
}

/// A client by its connection: gone some time after it closed its end. Who only says that it has nothing more to ask is taken for gone as well;
/// no browser does that, and an answer that is ready is sent in any case.
struct Connected {
    connection: TcpStream,
    closed: OnceLock<Instant>,
}

/// A page that gives up one question to ask another does both within this; what was read by then is not lost.
const RETURN_PATIENCE: Duration = Duration::from_millis(250);

impl Connected {
    fn over(connection: &TcpStream) -> io::Result<Self> {
        Ok(Self { connection: connection.try_clone()?, closed: OnceLock::new() })
    }

    /// Whether the other end is closed. Looks without waiting and without taking anything.
    fn is_closed(&self) -> io::Result<bool> {
        self.connection.set_nonblocking(true)?;
        let seen = self.connection.peek(&mut [0]);
        // Both ends of the clone are one socket, and the answer is written as ever.
        self.connection.set_nonblocking(false)?;
        match seen {
            Ok(bytes) => Ok(bytes == 0),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Client for Connected {
    fn is_gone(&self) -> bool {
        if self.closed.get().is_none() && !self.is_closed().unwrap_or(true) {
            return false;
        }
        self.closed.get_or_init(Instant::now).elapsed() >= RETURN_PATIENCE
    }
}

/// Everything up to the empty line that ends a head, and perhaps what follows it.
pub(crate) fn head(connection: &mut TcpStream, patience: Duration) -> Result<Vec<u8>, Refusal> {
    let until = Instant::now() + patience;
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || connection.set_read_timeout(Some(left)).is_err() {
            return Err(Refusal::CutOff);
        }
        match connection.read(&mut piece) {
            Ok(0) => return Err(Refusal::CutOff),
            Ok(bytes) => head.extend_from_slice(&piece[..bytes]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(Refusal::CutOff),
        }
        if head.len() > HEAD_BYTES_MAX {
            return Err(Refusal::HeadTooLarge);
        }
        if head.windows(4).any(|end| end == b"\r\n\r\n") || head.windows(2).any(|end| end == b"\n\n") {
            return Ok(head);
        }
    }
}

/// Sends a response, within a bounded time.
pub(crate) fn send(mut connection: TcpStream, response: Response) -> io::Result<()> {
    let until = Instant::now() + PIECE_PATIENCE + Duration::from_secs(response.length() / SLOWEST_BYTES_PER_SECOND);
    write(&mut connection, response.head().as_bytes(), until)?;
    if response.sends_body {
        match response.body {
            Body::Bytes(bytes) => write(&mut connection, &bytes, until)?,
            Body::Part { mut file, range } => {
                file.seek(SeekFrom::Start(range.start))?;
                let mut left = file.take(range.length);
                let mut piece = vec![0; PIECE_BYTES];
                loop {
                    match left.read(&mut piece)? {
                        0 => break,
                        bytes => write(&mut connection, &piece[..bytes], until)?,
                    }
                }
            }
        }
    }
    connection.shutdown(Shutdown::Write)?;
    hear_out(&mut connection)
}

/// Writes all of `bytes`, as long as there is time.
fn write(connection: &mut TcpStream, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match connection.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads a little of what a client still says: closing before that takes back what it was told.
fn hear_out(connection: &mut TcpStream) -> io::Result<()> {
    connection.set_read_timeout(Some(Duration::from_millis(100)))?;
    let mut piece = [0; 4096];
    for _ in 0..8 {
        if connection.read(&mut piece)? == 0 {
            break;
        }
    }
    Ok(())
}
