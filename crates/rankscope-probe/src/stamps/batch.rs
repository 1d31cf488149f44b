//! Many packets for one system call.
//!
//! All buffers are allocated once; the headers that point into them live only as long as the call.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use nix::libc;

use super::control::{self, Ancillary};

/// Packets for one call.
pub(crate) const PACKETS_MAX: usize = 32;

/// The longest packet that is received whole: all that a standard Ethernet frame can hold.
pub(super) const PAYLOAD_MAX: usize = 1_500;

/// Room for a stamp, an error with the address it came from, and two messages to spare.
const CONTROL_MAX: usize = 256;

/// Room for any address.
const NAME_MAX: usize = size_of::<libc::sockaddr_storage>();

/// Buffers for a batch of packets.
pub(super) struct Batch {
    slots: Box<[Slot]>,
}

/// Control messages must start at a machine word; the order of the fields gives them that.
#[repr(C, align(8))]
#[derive(Clone)]
struct Slot {
    control: [u8; CONTROL_MAX],
    name: [u8; NAME_MAX],
    payload: [u8; PAYLOAD_MAX],
    control_len: usize,
    payload_len: usize,
    truncated: bool,
}

/// One packet of a batch.
pub(super) struct Packet<'a> {
    pub(super) from: Option<SocketAddr>,
    pub(super) bytes: &'a [u8],
    pub(super) ancillary: Ancillary,
    /// Some of it did not fit.
    pub(super) truncated: bool,
}

impl Batch {
    pub(super) fn new() -> Self {
        let empty = Slot {
            control: [0; CONTROL_MAX],
            name: [0; NAME_MAX],
            payload: [0; PAYLOAD_MAX],
            control_len: 0,
            payload_len: 0,
            truncated: false,
        };
        Self { slots: vec![empty; PACKETS_MAX].into_boxed_slice() }
    }

    /// Receives what is there, without waiting; `flags` may ask for the error queue.
    #[expect(unsafe_code, reason = "recvmmsg has no safe wrapper that may be called twice with one set of buffers")]
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>, flags: i32) -> io::Result<usize> {
        // SAFETY: plain numbers and pointers, for which zero is a value.
        let mut vectors: [libc::iovec; PACKETS_MAX] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut headers: [libc::mmsghdr; PACKETS_MAX] = unsafe { std::mem::zeroed() };
        for ((slot, vector), header) in self.slots.iter_mut().zip(&mut vectors).zip(&mut headers) {
            vector.iov_base = slot.payload.as_mut_ptr().cast();
            vector.iov_len = PAYLOAD_MAX;
            let header = &mut header.msg_hdr;
            header.msg_iov = ptr::from_mut(vector);
            header.msg_iovlen = 1;
            header.msg_name = slot.name.as_mut_ptr().cast();
            header.msg_namelen = NAME_MAX as _;
            header.msg_control = slot.control.as_mut_ptr().cast();
            header.msg_controllen = CONTROL_MAX as _;
        }
        let flags = (flags | libc::MSG_DONTWAIT) as _;
        // SAFETY: each header points at buffers of the stated lengths, disjoint and alive until the call returns.
        let got = unsafe { libc::recvmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), PACKETS_MAX as _, flags, ptr::null_mut()) };
        let Ok(got) = usize::try_from(got) else { return Err(io::Error::last_os_error()) };
        for (slot, header) in self.slots.iter_mut().zip(&headers).take(got) {
            slot.control_len = CONTROL_MAX.min(header.msg_hdr.msg_controllen as _);
            slot.payload_len = (header.msg_len as usize).min(PAYLOAD_MAX);
            slot.truncated = header.msg_hdr.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0;
            if header.msg_hdr.msg_namelen == 0 {
                slot.name[..2].fill(0);
            }
        }
        Ok(got)
    }

    /// The first `count` packets.
    pub(super) fn packets(&self, count: usize) -> impl Iterator<Item = Packet<'_>> {
        self.slots.iter().take(count).map(|slot| Packet {
            from: address(&slot.name),
            bytes: &slot.payload[..slot.payload_len],
            ancillary: control::read(&slot.control[..slot.control_len]),
            truncated: slot.truncated,
        })
    }
}

/// Reads a `sockaddr_in` or a `sockaddr_in6`: family, port, then the address where the family has it.
fn address(name: &[u8; NAME_MAX]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes([name[0], name[1]]));
    let port = u16::from_be_bytes([name[2], name[3]]);
    match family {
        libc::AF_INET => {
            let ip: [u8; 4] = *name[4..].first_chunk()?;
            Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(ip)), port))
        }
        libc::AF_INET6 => {
            let ip = Ipv6Addr::from(*name[8..].first_chunk::<16>()?);
            let flow = u32::from_ne_bytes(*name[4..].first_chunk()?);
            let scope = u32::from_ne_bytes(*name[24..].first_chunk()?);
            Some(SocketAddr::V6(SocketAddrV6::new(ip, port, flow, scope)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_writes_them() {
        let mut name = [0; NAME_MAX];
        assert_eq!(address(&name), None);
        name[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        name[2..8].copy_from_slice(&[0x1f, 0x90, 10, 0, 0, 7]);
        assert_eq!(address(&name), Some("10.0.0.7:8080".parse().unwrap()));
        name[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
        name[4..8].fill(0);
        name[8..24].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
        assert_eq!(address(&name), Some("[::1]:8080".parse().unwrap()));
    }
}
