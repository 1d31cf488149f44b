//! Which way a copy went.

/// Which way a copy went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CopyDirection {
    /// From the host.
    HostToDevice,
    /// To the host.
    DeviceToHost,
    /// Within a device.
    DeviceToDevice,
    /// Between devices.
    PeerToPeer,
    /// The file does not say.
    Other,
}

impl CopyDirection {
    /// The direction that a copy's name or an argument of it tells: `Memcpy HtoD (Pinned -> Device)`, `CopyDeviceToHost`,
    /// `MemcpyD2D`, `DEVICE_TO_HOST`.
    pub fn of_text(text: &str) -> Self {
        let plain: String = text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
        let has = |words: &[&str]| words.iter().any(|word| plain.contains(word));
        if has(&["htod", "h2d", "hosttodevice"]) {
            Self::HostToDevice
        } else if has(&["dtoh", "d2h", "devicetohost"]) {
            Self::DeviceToHost
        } else if has(&["ptop", "p2p", "peertopeer"]) {
            Self::PeerToPeer
        } else if has(&["dtod", "d2d", "devicetodevice"]) {
            Self::DeviceToDevice
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_tell_their_direction() {
        for (name, expected) in [
            ("Memcpy HtoD (Pinned -> Device)", CopyDirection::HostToDevice),
            ("Memcpy DtoH (Device -> Pageable)", CopyDirection::DeviceToHost),
            ("Memcpy DtoD (Device -> Device)", CopyDirection::DeviceToDevice),
            ("CopyHostToDevice", CopyDirection::HostToDevice),
            ("Memcpy PtoP (Device -> Device)", CopyDirection::PeerToPeer),
            ("MemcpyD2D", CopyDirection::DeviceToDevice),
            ("DEVICE_TO_HOST", CopyDirection::DeviceToHost),
            ("Copy", CopyDirection::Other),
        ] {
            assert_eq!(CopyDirection::of_text(name), expected, "{name}");
        }
    }
}
