//! Packets in a stream, with a stamp at each end, for where datagrams do not pass.
//!
//! A frame is the length of a packet (two bytes, little-endian) and the packet. What is sent is stamped by the program before the
//! kernel has any of it, and what is received by the kernel with the last segment that was read, or by the program after it was
//! read: whatever TCP does between, a stamp never makes a packet faster than it was. Stamps of the kernel for segments that leave are
//! not used, because a segment that is sent again gets another one, after it may have arrived.
//!
//! Nothing here waits. A frame that the kernel does not take is lost, as a datagram would be; one that it takes in part is
//! finished before the next.

use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;

use nix::libc;
use rankscope_clock::session::wire::CONTROL_MAX;
use socket2::{Domain, Socket, Type};

use super::PacketStamp;
use super::control::{self, Ancillary};
use crate::clocks::Clock;

const PREFIX: usize = 2;

/// Room for three of the longest frames.
const BUFFER: usize = 4_096;

/// Room for a stamp and a message to spare.
const CONTROL_BYTES: usize = 128;

/// The end that writes.
#[derive(Debug)]
pub struct StreamSender {
    stream: TcpStream,
    frame: Vec<u8>,
    written: usize,
}

impl StreamSender {
    /// Begins to connect.
    ///
    /// # Errors
    /// What keeps a connection from being tried. That nobody answers is found out when something is sent.
    pub fn open(to: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        let stream = match socket.connect(&to.into()) {
            Ok(()) => TcpStream::from(socket),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => TcpStream::from(socket),
            Err(error) => return Err(error),
        };
        // A probe that waits for another to fill a segment measures how long it waits.
        stream.set_nodelay(true)?;
        Ok(Self { stream, frame: Vec::with_capacity(PREFIX + CONTROL_MAX), written: 0 })
    }

    /// Sends a packet of at most [`CONTROL_MAX`] bytes. Returns when it was handed to the kernel; none where that could not take it.
    ///
    /// # Errors
    /// The stream is over, or never began.
    pub fn send(&mut self, packet: &[u8]) -> io::Result<Option<PacketStamp>> {
        if !self.flush()? {
            return Ok(None);
        }
        let length = u16::try_from(packet.len()).map_err(|_| ErrorKind::InvalidInput)?;
        self.frame.clear();
        self.frame.extend_from_slice(&length.to_le_bytes());
        self.frame.extend_from_slice(packet);
        self.written = 0;
        let stamp = PacketStamp::User(Clock::Realtime.now_ns());
        if !self.flush()? && self.written == 0 {
            self.frame.clear();
            return Ok(None);
        }
        Ok(Some(stamp))
    }

    /// Whether nothing is left to write.
    fn flush(&mut self) -> io::Result<bool> {
        while self.written < self.frame.len() {
            match self.stream.write(&self.frame[self.written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.written += count,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::NotConnected => return Ok(false),
                    ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(true)
    }
}

/// The end that reads.
#[derive(Debug)]
pub struct StreamReceiver {
    stream: TcpStream,
    buffer: Box<[u8; BUFFER]>,
    held: usize,
}

impl StreamReceiver {
    /// Reads what comes on `stream`. A kernel that does not stamp segments leaves that to the program.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        ask_for_stamps(&stream);
        Ok(Self { stream, buffer: Box::new([0; BUFFER]), held: 0 })
    }

    /// Hands out the packets that have come, until `take` says that it wants no more of this stream. Returns whether the stream goes on.
    ///
    /// # Errors
    /// The stream broke, or holds what is no frame.
    pub fn receive(&mut self, mut take: impl FnMut(&[u8], PacketStamp) -> bool) -> io::Result<bool> {
        loop {
            let room = BUFFER - self.held;
            let (got, ancillary) = match receive_stamped(self.stream.as_fd(), &mut self.buffer[self.held..]) {
                Ok((0, _)) => return Ok(false),
                Ok(read) => read,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(true),
                Err(error) => return Err(error),
            };
            // A buffer that was filled may end within a segment, and older kernels then tell the stamp of the one before.
            let by_kernel = ancillary.software_ns.filter(|_| got < room).map(PacketStamp::Kernel);
            let stamp = by_kernel.unwrap_or_else(|| PacketStamp::User(Clock::Realtime.now_ns()));
            self.held += got;
            if !self.hand_out(stamp, &mut take)? {
                return Ok(false);
            }
            if got < room {
                return Ok(true);
            }
        }
    }

    fn hand_out(&mut self, stamp: PacketStamp, take: &mut impl FnMut(&[u8], PacketStamp) -> bool) -> io::Result<bool> {
        let mut rest = &self.buffer[..self.held];
        while let Some((prefix, after)) = rest.split_first_chunk::<PREFIX>() {
            let length = usize::from(u16::from_le_bytes(*prefix));
            if length > CONTROL_MAX {
                return Err(ErrorKind::InvalidData.into());
            }
            let Some((packet, next)) = after.split_at_checked(length) else { break };
            if !take(packet, stamp) {
                return Ok(false);
            }
            rest = next;
        }
        let from = self.held - rest.len();
        self.buffer.copy_within(from..self.held, 0);
        self.held -= from;
        Ok(true)
    }
}

impl AsFd for StreamReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Has the kernel stamp what comes. Where it refuses, packets come without its stamps.
#[expect(unsafe_code, reason = "this option has no safe wrapper")]
fn ask_for_stamps(stream: &TcpStream) {
    let flags: libc::c_uint = libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_RX_SOFTWARE;
    let length = size_of_val(&flags) as libc::socklen_t;
    let value = (&raw const flags).cast();
    // SAFETY: the pointer is to a number of the stated length, which the kernel copies before the call returns.
    let _refused = unsafe { libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPING, value, length) };
}

/// Control messages must start at a machine word.
#[repr(C, align(8))]
struct ControlBytes([u8; CONTROL_BYTES]);

/// Reads what is there, without waiting, and the stamp of the last segment among it.
#[expect(unsafe_code, reason = "recvmsg has no safe wrapper among the crates that we use")]
fn receive_stamped(stream: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Ancillary)> {
    let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = ControlBytes([0; CONTROL_BYTES]);
    // SAFETY: plain numbers and pointers, for which zero is a value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = ptr::from_mut(&mut vector);
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = CONTROL_BYTES as _;
    // SAFETY: the header points at buffers of the stated lengths, disjoint and alive until the call returns.
    let got = unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT) };
    let Ok(got) = usize::try_from(got) else { return Err(io::Error::last_os_error()) };
    let told = CONTROL_BYTES.min(header.msg_controllen as _);
    Ok((got, control::read(&control.0[..told])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    fn pair() -> (StreamSender, StreamReceiver) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = StreamSender::open(listener.local_addr().unwrap()).unwrap();
        (sender, StreamReceiver::new(listener.accept().unwrap().0).unwrap())
    }

    /// Reads until `count` packets have come.
    fn read(receiver: &mut StreamReceiver, count: usize) -> Vec<(Vec<u8>, PacketStamp)> {
        let (mut packets, begun) = (Vec::new(), Instant::now());
        while packets.len() < count {
            assert!(begun.elapsed() < Duration::from_secs(60), "only {} came", packets.len());
            let open = receiver.receive(|packet, stamp| {
                packets.push((packet.to_vec(), stamp));
                true
            });
            assert!(open.unwrap());
        }
        packets
    }

    fn ns(stamp: PacketStamp) -> i64 {
        let (PacketStamp::Kernel(ns) | PacketStamp::User(ns) | PacketStamp::Hardware(ns)) = stamp;
        ns
    }

    #[test]
    fn no_packet_is_faster_than_it_was() {
        let (mut sender, mut receiver) = pair();
        for burst in 0..40usize {
            let packets: Vec<Vec<u8>> = (0..=burst).map(|number| vec![number as u8; 1 + number * 29 % CONTROL_MAX]).collect();
            let sent: Vec<i64> =
                packets.iter().map(|packet| ns(sender.send(packet).unwrap().expect("there is room"))).collect();
            let came = read(&mut receiver, packets.len());
            let after_ns = Clock::Realtime.now_ns();
            for ((packet, left_ns), (bytes, stamp)) in packets.iter().zip(sent).zip(came) {
                assert_eq!(&bytes, packet);
                assert!(left_ns <= ns(stamp) && ns(stamp) <= after_ns, "{left_ns}, {stamp:?}, {after_ns}");
            }
        }
    }

    #[test]
    fn a_packet_that_is_read_late_was_stamped_when_it_came() {
        let (mut sender, mut receiver) = pair();
        // The kernel begins to stamp some milliseconds after it was asked for the first time.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            let sent_ns = ns(sender.send(&[1; 64]).unwrap().unwrap());
            std::thread::sleep(Duration::from_millis(20));
            let before_ns = Clock::Realtime.now_ns();
            let (_, stamp) = read(&mut receiver, 1).remove(0);
            if let PacketStamp::Kernel(ns) = stamp {
                assert!(sent_ns <= ns && ns < before_ns, "{sent_ns}, {ns}, {before_ns}");
                return;
            }
        }
        panic!("this kernel does not stamp segments");
    }

    #[test]
    fn who_does_not_read_loses_packets_and_never_half_of_one() {
        let (mut sender, mut receiver) = pair();
        let packet = |number: usize| [&number.to_le_bytes()[..], &[7; 1_000]].concat();
        let mut taken = Vec::new();
        for number in 0..100_000 {
            match sender.send(&packet(number)).unwrap() {
                Some(_) => taken.push(number),
                None if taken.len() + 100 < number => break,
                None => {}
            }
        }
        assert!(taken.len() < 100_000, "the kernel took all");
        let came = read(&mut receiver, taken.len() - 1);
        assert!(came.iter().zip(&taken).all(|((bytes, _), number)| *bytes == packet(*number)));
    }

    #[test]
    fn what_is_no_frame_breaks_the_stream() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stranger = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut receiver = StreamReceiver::new(listener.accept().unwrap().0).unwrap();
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < Duration::from_secs(60));
            match receiver.receive(|_, _| panic!("there is no packet in it")) {
                Ok(open) => assert!(open),
                Err(error) => return assert_eq!(error.kind(), ErrorKind::InvalidData),
            }
        }
    }

    #[test]
    fn nobody_there_is_found_out_by_sending() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let Ok(mut sender) = StreamSender::open(gone) else { return };
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            match sender.send(&[0; 64]) {
                Ok(stamp) => assert_eq!(stamp, None),
                Err(_) => return,
            }
        }
        panic!("somebody takes packets");
    }
}
