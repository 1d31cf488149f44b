//! What an interface can stamp, as its driver says (`ETHTOOL_GET_TS_INFO`).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::libc;

/// What an interface can stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capability {
    /// The kernel stamps packets as they leave.
    pub transmit_software: bool,
    /// The kernel stamps packets as they come.
    pub receive_software: bool,
    /// The card stamps packets as they leave.
    pub transmit_hardware: bool,
    /// The card stamps packets as they come, all of them and not only those of PTP.
    pub receive_hardware: bool,
    /// The card's clock is `/dev/ptp<n>`.
    pub phc: Option<u32>,
}

/// `struct ethtool_ts_info` of the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct TsInfo {
    cmd: u32,
    so_timestamping: u32,
    phc_index: i32,
    tx_types: u32,
    tx_reserved: [u32; 3],
    rx_filters: u32,
    rx_reserved: [u32; 3],
}

const ETHTOOL_GET_TS_INFO: u32 = 0x41;

/// Bits of `tx_types` and `rx_filters`: what the card stamps when it is switched on, and everything.
const HWTSTAMP_TX_ON: u32 = 1 << 1;
const HWTSTAMP_FILTER_ALL: u32 = 1 << 1;

impl Capability {
    /// Asks the driver of `interface`.
    ///
    /// # Errors
    /// Whatever the kernel answers, as when there is no such interface.
    #[expect(unsafe_code, reason = "an ioctl of the network stack")]
    pub fn of(interface: &str) -> io::Result<Self> {
        // SAFETY: plain numbers and a pointer, for which zero is a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if interface.len() >= request.ifr_name.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        let mut info = TsInfo { cmd: ETHTOOL_GET_TS_INFO, phc_index: -1, ..TsInfo::default() };
        request.ifr_ifru.ifru_data = (&raw mut info).cast();
        let socket = any_socket()?;
        // SAFETY: the request names an interface and points at the structure that its command is for; both outlive the call.
        let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(Self::from(info)) }
    }

    /// Whether the card can stamp both ways, and its clock can be read.
    pub fn hardware(&self) -> bool {
        self.transmit_hardware && self.receive_hardware && self.phc.is_some()
    }
}

impl From<TsInfo> for Capability {
    fn from(info: TsInfo) -> Self {
        let can = |flags: u32| info.so_timestamping & flags == flags;
        let raw = libc::SOF_TIMESTAMPING_RAW_HARDWARE;
        Self {
            transmit_software: can(libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_TX_SOFTWARE),
            receive_software: can(libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_RX_SOFTWARE),
            transmit_hardware: can(raw | libc::SOF_TIMESTAMPING_TX_HARDWARE) && info.tx_types & HWTSTAMP_TX_ON != 0,
            receive_hardware: can(raw | libc::SOF_TIMESTAMPING_RX_HARDWARE) && info.rx_filters & HWTSTAMP_FILTER_ALL != 0,
            phc: u32::try_from(info.phc_index).ok(),
        }
    }
}

/// The ioctl wants a socket, whichever.
fn any_socket() -> io::Result<UdpSocket> {
    let v4 = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    let v6 = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);
    UdpSocket::bind(v4).or_else(|_| UdpSocket::bind(v6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_stamped_by_the_kernel_alone() {
        let lo = Capability::of("lo").unwrap();
        assert!(lo.transmit_software && lo.receive_software, "{lo:?}");
        assert!(!lo.hardware());
    }

    #[test]
    fn no_interface_is_an_error() {
        assert!(Capability::of("nosuchif0").is_err());
        assert!(Capability::of("a_name_that_is_longer_than_names_can_be").is_err());
    }

    #[test]
    fn a_card_that_stamps_only_ptp_packets_is_of_no_use() {
        let flags =
            libc::SOF_TIMESTAMPING_RAW_HARDWARE | libc::SOF_TIMESTAMPING_TX_HARDWARE | libc::SOF_TIMESTAMPING_RX_HARDWARE;
        let ptp_only = TsInfo { so_timestamping: flags, phc_index: 3, tx_types: 3, rx_filters: 1 << 6, ..TsInfo::default() };
        assert!(!Capability::from(ptp_only).hardware());
        let all = Capability::from(TsInfo { rx_filters: HWTSTAMP_FILTER_ALL, ..ptp_only });
        assert!(all.hardware() && all.phc == Some(3), "{all:?}");
    }
}
