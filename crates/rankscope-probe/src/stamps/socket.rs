//! A UDP socket whose packets carry stamps.
//!
//! Nothing here waits: sending, receiving and reading stamps return at once, and [`wait`](super::wait) is where one waits.

use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::libc;

use super::batch::{Batch, PACKETS_MAX};
use super::control::Ancillary;
use super::ids::SentIds;
use super::{Capability, PacketStamp};
use crate::clocks::Clock;

/// Who stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stamping {
    /// The network card, once it is told to ([`switch_on`](super::switch_on)).
    Hardware,
    /// The kernel.
    #[default]
    Kernel,
    /// This program: only where the kernel cannot.
    User,
}

impl Stamping {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hardware => "network card",
            Self::Kernel => "kernel",
            Self::User => "program",
        }
    }

    /// The best that an interface can do.
    pub fn best(capability: &Capability) -> Self {
        if capability.hardware() {
            Self::Hardware
        } else if capability.transmit_software && capability.receive_software {
            Self::Kernel
        } else {
            Self::User
        }
    }

    /// One kind of stamp at a time: a path that is stamped now at the wire and now in the kernel has two lengths.
    fn flags(self) -> u32 {
        match self {
            Self::Hardware => {
                libc::SOF_TIMESTAMPING_RAW_HARDWARE
                    | libc::SOF_TIMESTAMPING_TX_HARDWARE
                    | libc::SOF_TIMESTAMPING_RX_HARDWARE
                    | libc::SOF_TIMESTAMPING_OPT_TSONLY
            }
            Self::Kernel => {
                libc::SOF_TIMESTAMPING_SOFTWARE
                    | libc::SOF_TIMESTAMPING_TX_SOFTWARE
                    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
                    | libc::SOF_TIMESTAMPING_OPT_TSONLY
            }
            Self::User => 0,
        }
    }

    /// The stamp of this kind among those that came with a packet.
    fn pick(self, ancillary: Ancillary) -> Option<PacketStamp> {
        match self {
            Self::Hardware => ancillary.hardware_ns.map(PacketStamp::Hardware),
            Self::Kernel => ancillary.software_ns.map(PacketStamp::Kernel),
            Self::User => None,
        }
    }
}

/// How to open a socket.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SocketOptions {
    /// Who stamps.
    pub stamping: Stamping,
    /// Microseconds for which the kernel polls the card before it sleeps; needs `CAP_NET_ADMIN`.
    pub busy_poll_us: Option<u32>,
    /// The class of service in the packets: 46 is expedited forwarding.
    pub dscp: Option<u8>,
    /// The queue of this host's own qdisc, 0 to 6 without privileges.
    pub priority: Option<u8>,
}

impl SocketOptions {
    /// An ordinary socket whose packets `stamping` stamps.
    #[must_use]
    pub fn stamped(stamping: Stamping) -> Self {
        Self { stamping, ..Self::default() }
    }
}

/// A socket cannot do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// Somebody else has the port, or the address is not of this host.
    #[error(
        "cannot bind UDP {address}: {source}. Check that the address belongs to this host and that no other agent uses the port"
    )]
    Bind {
        /// What was asked for.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel does not know an option or does not allow it.
    #[error("UDP {address}: cannot set {option}: {source}. {remedy}")]
    Option {
        /// The socket.
        address: SocketAddr,
        /// What was to be set.
        option: &'static str,
        /// What to do about it.
        remedy: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The packet did not leave.
    #[error("UDP {address}: cannot send to {to}: {source}")]
    Send {
        /// The socket.
        address: SocketAddr,
        /// Where the packet was to go.
        to: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// The socket cannot be read.
    #[error("UDP {address}: cannot receive: {source}")]
    Receive {
        /// The socket.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Names a packet that a socket sent, for as long as the socket lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SentId(pub u64);

/// A packet that came in.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Who sent it.
    pub from: SocketAddr,
    /// What it holds.
    pub bytes: &'a [u8],
    /// When it came, if it was stamped. The kernel begins to stamp some milliseconds after the first socket asks for it, so
    /// the first packets may have none.
    pub stamp: Option<PacketStamp>,
}

/// A UDP socket whose packets carry stamps.
pub struct StampedSocket {
    socket: UdpSocket,
    address: SocketAddr,
    stamping: Stamping,
    ids: SentIds,
    /// Stamps that this program took itself.
    own: Vec<(SentId, PacketStamp)>,
    batch: Batch,
}

impl StampedSocket {
    /// Opens a socket on `address`; port 0 lets the kernel choose.
    ///
    /// # Errors
    /// [`SocketError::Bind`], or [`SocketError::Option`] naming the option that was refused.
    pub fn bind(address: SocketAddr, options: &SocketOptions) -> Result<Self, SocketError> {
        let refused = |source| SocketError::Bind { address, source };
        let socket = UdpSocket::bind(address).map_err(refused)?;
        socket.set_nonblocking(true).map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        let stamping = options.stamping;
        let opened = Self { socket, address, stamping, ids: SentIds::new(), own: Vec::new(), batch: Batch::new() };
        opened.count_from_zero()?;
        opened.set_service(options)?;
        Ok(opened)
    }

    /// Where the socket is.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Who stamps its packets.
    pub fn stamping(&self) -> Stamping {
        self.stamping
    }

    /// Sends `bytes`; the packet's stamp will come under the returned name.
    ///
    /// # Errors
    /// [`SocketError::Send`]. A packet that was not sent has no name and gets no stamp.
    pub fn send(&mut self, to: SocketAddr, bytes: &[u8]) -> Result<SentId, SocketError> {
        let own_ns = (self.stamping == Stamping::User).then(|| Clock::Realtime.now_ns());
        match self.socket.send_to(bytes, to) {
            Ok(_) => {
                let id = SentId(self.ids.sent());
                if let Some(ns) = own_ns {
                    self.ids.stamped(id.0 as u32);
                    self.own.push((id, PacketStamp::User(ns)));
                }
                Ok(id)
            }
            Err(source) => {
                self.recount()?;
                Err(SocketError::Send { address: self.address, to, source })
            }
        }
    }

    /// Hands out the transmit stamps that have come, in the order they came, and says how many there were.
    ///
    /// # Errors
    /// [`SocketError::Receive`] where the error queue cannot be read.
    pub fn drain_stamps(&mut self, mut take: impl FnMut(SentId, PacketStamp)) -> Result<usize, SocketError> {
        let mut taken = self.own.len();
        self.own.drain(..).for_each(|(id, stamp)| take(id, stamp));
        if self.stamping == Stamping::User {
            return Ok(taken);
        }
        loop {
            let got = received(self.address, self.batch.receive(self.socket.as_fd(), libc::MSG_ERRQUEUE))?;
            for packet in self.batch.packets(got) {
                let Some(id) = packet.ancillary.sent_id.and_then(|id| self.ids.stamped(id)) else { continue };
                if let Some(stamp) = self.stamping.pick(packet.ancillary) {
                    take(SentId(id), stamp);
                    taken += 1;
                }
            }
            if got < PACKETS_MAX {
                return Ok(taken);
            }
        }
    }

    /// Hands out one batch of packets that have come; call it again while it returns more than none. Packets that do not fit
    /// a buffer are none of ours and are dropped, but counted.
    ///
    /// # Errors
    /// [`SocketError::Receive`].
    pub fn receive(&mut self, mut take: impl FnMut(Received<'_>)) -> Result<usize, SocketError> {
        let got = received(self.address, self.batch.receive(self.socket.as_fd(), 0))?;
        let own_ns = (self.stamping == Stamping::User && got > 0).then(|| Clock::Realtime.now_ns());
        for packet in self.batch.packets(got).filter(|packet| !packet.truncated) {
            let Some(from) = packet.from else { continue };
            let stamp = self.stamping.pick(packet.ancillary).or(own_ns.map(PacketStamp::User));
            take(Received { from, bytes: packet.bytes, stamp });
        }
        Ok(got)
    }

    /// Packets whose stamp has not come.
    pub fn unstamped(&self) -> usize {
        self.ids.waiting()
    }

    fn recount(&mut self) -> Result<(), SocketError> {
        if self.stamping != Stamping::User {
            self.count_from_zero()?;
            self.ids.restarted();
        }
        Ok(())
    }

    /// Sets the option that stamps; the count starts when numbering is switched on.
    fn count_from_zero(&self) -> Result<(), SocketError> {
        let flags = self.stamping.flags();
        if flags == 0 {
            return Ok(());
        }
        let remedy = "Use Linux 4.1 or newer, or timestamps taken by the program, which are less accurate";
        let set = |flags: u32| self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as i32, "SO_TIMESTAMPING", remedy);
        set(flags)?;
        set(flags | libc::SOF_TIMESTAMPING_OPT_ID)
    }

    fn set_service(&self, options: &SocketOptions) -> Result<(), SocketError> {
        if let Some(us) = options.busy_poll_us {
            let us = i32::try_from(us).unwrap_or(i32::MAX);
            self.set(
                libc::SOL_SOCKET,
                libc::SO_BUSY_POLL,
                us,
                "SO_BUSY_POLL",
                "It needs CAP_NET_ADMIN; turn it off otherwise",
            )?;
        }
        if let Some(priority) = options.priority {
            let remedy = "Without CAP_NET_ADMIN the highest is 6";
            self.set(libc::SOL_SOCKET, libc::SO_PRIORITY, priority.into(), "SO_PRIORITY", remedy)?;
        }
        if let Some(dscp) = options.dscp {
            let class = i32::from(dscp & 0x3f) << 2;
            let remedy = "Do not set the class of service";
            match self.address {
                SocketAddr::V4(_) => self.set(libc::SOL_IP, libc::IP_TOS, class, "IP_TOS", remedy)?,
                SocketAddr::V6(_) => self.set(libc::SOL_IPV6, libc::IPV6_TCLASS, class, "IPV6_TCLASS", remedy)?,
            }
        }
        Ok(())
    }

    #[expect(unsafe_code, reason = "these options have no safe wrapper")]
    fn set(&self, level: i32, name: i32, value: i32, option: &'static str, remedy: &'static str) -> Result<(), SocketError> {
        let length = size_of::<i32>() as libc::socklen_t;
        // SAFETY: the pointer is to an i32, which is what the length says, and the kernel copies it before the call returns.
        let done = unsafe { libc::setsockopt(self.socket.as_raw_fd(), level, name, (&raw const value).cast(), length) };
        match done {
            0 => Ok(()),
            _ => Err(SocketError::Option { address: self.address, option, remedy, source: io::Error::last_os_error() }),
        }
    }
}

impl AsFd for StampedSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl fmt::Debug for StampedSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StampedSocket")
            .field("address", &self.address)
            .field("stamping", &self.stamping)
            .finish_non_exhaustive()
    }
}

/// Nothing to read is no failure, nor is a packet of ours that met a closed port.
fn received(address: SocketAddr, got: io::Result<usize>) -> Result<usize, SocketError> {
    match got {
        Ok(got) => Ok(got),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionRefused => Ok(0),
            _ => Err(SocketError::Receive { address, source: error }),
        },
    }
}
