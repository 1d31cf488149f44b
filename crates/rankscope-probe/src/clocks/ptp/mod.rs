//! What ptp4l (linuxptp) says of the clock that it steers: four questions to its management socket, as `pmc` asks them.
//!
//! With stamps of a network card it steers that card's clock, which counts as its master does (international atomic time, where the
//! master says so); with stamps of the kernel, `CLOCK_REALTIME`. Its socket answers whom the file system lets in, in its own network
//! namespace. Nothing is ever set.

mod message;

use std::io::{self, ErrorKind};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use rankscope_clock::files::ClockIdentity;
use rankscope_time::Span;

use self::message::{Answer, Subject, answer, question};

/// Where ptp4l answers unless it is told otherwise: since linuxptp 4.0 everybody, before that who may write to its own socket.
const SOCKETS: [&str; 2] = ["/run/ptp4lro", "/run/ptp4l"];

/// The states of a port that leads its network, and of one that follows.
const PORT_MASTER: u8 = 6;
const PORT_UNCALIBRATED: u8 = 8;
const PORT_SLAVE: u8 = 9;

/// Stamps of the kernel; all others are the card's.
const STAMPING_SOFTWARE: u8 = 0;

/// Every clock on the way is at least as wrong as this, whatever the delay to the next one.
const HOP_NS: i64 = 1_000;

/// What clocks may gain on each other when nobody steers them.
const RATE_PPM: i64 = 100;

/// How a clock stands to the grandmaster of its domain, as ptp4l sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Following {
    /// The clock that all others of the domain follow.
    pub grandmaster: ClockIdentity,
    /// How many clocks away that is; 0 for the grandmaster itself.
    pub steps_removed: u16,
    /// What the clock was ahead of its master when they were compared last.
    pub ahead: Span,
    /// From the master, by the mean of both ways.
    pub path_delay: Span,
    /// Which clock of this host follows.
    pub clock: Steered,
    /// Whether the clock is held to its master, and not only compared with it.
    pub locked: bool,
    /// What the clock showed when it was compared last; none for the grandmaster.
    pub compared_ns: Option<i64>,
}

/// The clock that ptp4l steers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Steered {
    /// `CLOCK_REALTIME`.
    Realtime,
    /// The clock of a network card.
    Card {
        /// The name of its interface.
        interface: String,
        /// What it is ahead of coordinated universal time.
        ahead_of_utc: Span,
    },
}

impl Steered {
    /// The interface of the card whose clock it is, if it is a card's.
    pub fn interface(&self) -> Option<&str> {
        match self {
            Self::Realtime => None,
            Self::Card { interface, .. } => Some(interface),
        }
    }

    /// What the clock is ahead of coordinated universal time when it is right.
    pub fn ahead_of_utc(&self) -> Span {
        match self {
            Self::Realtime => Span::ZERO,
            Self::Card { ahead_of_utc, .. } => *ahead_of_utc,
        }
    }
}

impl Following {
    /// What ptp4l says now, if it answers within `patience`.
    ///
    /// # Errors
    /// Nobody listens or lets this user ask, what answers is no ptp4l, or it follows nobody.
    pub fn now(patience: Duration) -> io::Result<Self> {
        let mut refused = ErrorKind::NotFound.into();
        for socket in SOCKETS {
            match Self::ask(Path::new(socket), patience) {
                Err(error) if error.kind() != ErrorKind::NotFound => refused = error,
                Err(_) => {}
                said => return said,
            }
        }
        Err(refused)
    }

    fn ask(daemon: &Path, patience: Duration) -> io::Result<Self> {
        static ASKED: AtomicU16 = AtomicU16::new(0);
        let sequence = ASKED.fetch_add(1, Ordering::Relaxed);
        let name = format!("rankscope-ptp-{}-{sequence}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        socket.connect(daemon)?;
        for subject in [Subject::Current, Subject::TimeProperties, Subject::TimeStatus, Subject::PortProperties] {
            socket.send(&question(subject, sequence))?;
        }
        let (mut heard, until) = (Heard::default(), Instant::now() + patience);
        while !heard.is_whole() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            socket.set_read_timeout(Some(left))?;
            let mut bytes = [0; 1_500];
            match socket.recv(&mut bytes) {
                Ok(count) => answer(&bytes[..count], sequence).into_iter().for_each(|(from, answer)| heard.take(from, answer)),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                Err(error) => return Err(error),
            }
        }
        heard.following().ok_or_else(|| ErrorKind::InvalidData.into())
    }

    /// How far the clock may be off when it shows `shows_ns`, if ptp4l is right: what it was off when it was compared last; the delay
    /// to its master, of which one way may take all, once for each clock between it and the grandmaster; and what an unsteered clock
    /// may have gained since.
    pub fn error_max(&self, shows_ns: i64) -> Span {
        let hops = i64::from(self.steps_removed);
        let delay_ns = self.path_delay.as_nanos().abs();
        let further_ns = delay_ns.max(HOP_NS).saturating_mul((hops - 1).max(0));
        let on_the_way_ns = delay_ns.saturating_mul(hops.min(1)).saturating_add(further_ns);
        let since_ns = self.compared_ns.map_or(0, |compared_ns| shows_ns.saturating_sub(compared_ns).saturating_abs());
        let gained_ns = if self.locked { 0 } else { since_ns / 1_000_000 * RATE_PPM };
        let ahead_ns = self.ahead.as_nanos().saturating_abs();
        Span::from_nanos(ahead_ns.saturating_add(on_the_way_ns).saturating_add(gained_ns))
    }
}

/// What was answered so far.
#[derive(Default)]
struct Heard {
    own: ClockIdentity,
    current: Option<(u16, Span)>,
    utc: Option<Span>,
    status: Option<(Span, i64, bool, ClockIdentity)>,
    /// The port that says how the clock stands: one that follows before one that leads.
    port: Option<(u8, u8, String)>,
}

impl Heard {
    fn take(&mut self, from: ClockIdentity, answer: Answer) {
        self.own = from;
        match answer {
            Answer::Current { steps_removed, path_delay } => self.current = Some((steps_removed, path_delay)),
            Answer::TimeProperties { utc_offset_s, counts_tai } => {
                let ahead_s = if counts_tai { i64::from(utc_offset_s) } else { 0 };
                self.utc = Some(Span::from_nanos(ahead_s * 1_000_000_000));
            }
            Answer::TimeStatus { ahead, ingress_ns, follows, grandmaster } => {
                self.status = Some((ahead, ingress_ns, follows, grandmaster));
            }
            Answer::PortProperties { state, stamping, interface } => {
                if self.port.as_ref().is_none_or(|(known, ..)| !is_followed(*known)) {
                    self.port = Some((state, stamping, interface));
                }
            }
        }
    }

    /// Whether nothing that may still come changes anything: each port answers for itself, and how many there are nobody says.
    fn is_whole(&self) -> bool {
        let port = self.port.as_ref().is_some_and(|(state, ..)| is_followed(*state) || self.leads());
        self.current.is_some() && self.utc.is_some() && self.status.is_some() && port
    }

    fn leads(&self) -> bool {
        let is_own = self.status.is_some_and(|(.., grandmaster)| grandmaster == self.own);
        is_own && self.current.is_some_and(|(steps_removed, _)| steps_removed == 0)
    }

    fn following(self) -> Option<Following> {
        let leads = self.leads();
        let (state, stamping, interface) = self.port?;
        let (steps_removed, path_delay) = self.current?;
        let (ahead, ingress_ns, follows, grandmaster) = self.status?;
        let clock = match stamping {
            STAMPING_SOFTWARE => Steered::Realtime,
            _ => Steered::Card { interface, ahead_of_utc: self.utc? },
        };
        let locked = state == PORT_SLAVE || leads;
        let known = match leads {
            true => state == PORT_MASTER,
            // Before the way to its master is measured, it says zero of everything.
            false => follows && is_followed(state) && ingress_ns != 0 && path_delay != Span::ZERO,
        };
        let compared_ns = (!leads).then_some(ingress_ns);
        known.then_some(Following { grandmaster, steps_removed, ahead, path_delay, clock, locked, compared_ns })
    }
}

fn is_followed(state: u8) -> bool {
    matches!(state, PORT_UNCALIBRATED | PORT_SLAVE)
}

#[cfg(test)]
mod tests;
