//! The job's shared secret, and what it signs.
//!
//! BLAKE3 does both halves of the work: it derives a key from a secret of any length, and its keyed mode signs a probe in one
//! compression. It keeps out packets of other jobs, strays and forgeries; it hides nothing.

use std::fmt;

use constant_time_eq::constant_time_eq;

/// Bytes of a signature: 128 of the hash's 256 bits leave a forger no chance and a probe its 64 bytes.
pub(super) const MAC_LEN: usize = 16;

/// Makes and checks signatures.
#[derive(Clone)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of a job's secret.
    pub fn derive(secret: &[u8]) -> Self {
        Self(blake3::derive_key("rankscope 2026-11 clock synchronisation packets", secret))
    }

    pub(super) fn mac(&self, bytes: &[u8]) -> [u8; MAC_LEN] {
        let hash = blake3::keyed_hash(&self.0, bytes);
        let mut mac = [0; MAC_LEN];
        mac.copy_from_slice(&hash.as_bytes()[..MAC_LEN]);
        mac
    }

    /// Whether `mac` was made from `bytes` with this key, in a time that does not depend on how nearly right it is.
    pub(super) fn made(&self, bytes: &[u8], mac: &[u8]) -> bool {
        constant_time_eq(&self.mac(bytes), mac)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}
