//! What an interface can stamp, as its driver says (`ETHTOOL_GET_TS_INFO`), and making its card do so.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr;

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
    pub fn of(interface: &str) -> io::Result<Self> {
        let mut info = TsInfo { cmd: ETHTOOL_GET_TS_INFO, phc_index: -1, ..TsInfo::default() };
        ask(interface, libc::SIOCETHTOOL as _, &mut info)?;
        Ok(Self::from(info))
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

/// Makes the card of `interface` stamp all packets, if it does not yet. It stays on afterwards, which costs nothing and leaves
/// other programs the stamps they had. Has not met a card yet.
///
/// # Errors
/// Whatever the kernel answers: no permission without `CAP_NET_ADMIN`, or no such ability.
pub fn switch_on(interface: &str) -> io::Result<()> {
    let mut config = HwConfig::default();
    ask(interface, SIOCGHWTSTAMP, &mut config)?;
    if config.tx_type != HWTSTAMP_TX_OFF && config.rx_filter == HWTSTAMP_FILTER_ALL_VALUE {
        return Ok(());
    }
    config = HwConfig { flags: 0, tx_type: HWTSTAMP_TX_ON_VALUE, rx_filter: HWTSTAMP_FILTER_ALL_VALUE };
    ask(interface, SIOCSHWTSTAMP, &mut config)?;
    // The driver answers with what it does, which may be more or less than what it was asked for.
    let enough = config.tx_type != HWTSTAMP_TX_OFF && config.rx_filter == HWTSTAMP_FILTER_ALL_VALUE;
    if enough { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// `struct hwtstamp_config` of the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct HwConfig {
    flags: i32,
    tx_type: i32,
    rx_filter: i32,
}

const SIOCSHWTSTAMP: libc::Ioctl = 0x89b0;
const SIOCGHWTSTAMP: libc::Ioctl = 0x89b1;
const HWTSTAMP_TX_OFF: i32 = 0;
const HWTSTAMP_TX_ON_VALUE: i32 = 1;
const HWTSTAMP_FILTER_ALL_VALUE: i32 = 1;

/// Structures of the kernel that an interface fills in.
trait OfInterface {}
impl OfInterface for TsInfo {}
impl OfInterface for HwConfig {}

/// Sends `command`, which must be one for the structure `T`, to the driver of an interface.
#[expect(unsafe_code, reason = "an ioctl of the network stack")]
fn ask<T: OfInterface>(interface: &str, command: libc::Ioctl, about: &mut T) -> io::Result<()> {
    // SAFETY: plain numbers and a pointer, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = ptr::from_mut(about).cast();
    let socket = any_socket()?;
    // SAFETY: the request names an interface and points at the structure that its command is for; both outlive the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), command, &raw mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
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
        assert!(switch_on("lo").is_err(), "there is no card behind it");
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
