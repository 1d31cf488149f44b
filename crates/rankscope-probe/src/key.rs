//! What all nodes of a job share and nobody else has.
//!
//! One key serves a job twice: nodes prove by it that they belong together, and sign by it what they send. Nothing is encrypted
//! with it. There is no empty key: a job that has none is told apart by type, not by a value.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crate::private;

/// The secret of a job.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedKey(Vec<u8>);

impl SharedKey {
    /// A key of any length; none of no bytes, because everybody knows that one.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        Some(bytes.into()).filter(|bytes| !bytes.is_empty()).map(Self)
    }

    /// A key that nobody can guess, in hexadecimal digits, which pass through files and variables.
    ///
    /// # Errors
    /// Where this host has no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(hexadecimal(&bytes).into_bytes()))
    }

    /// Keeps this key in a file for this user alone, for nodes that see it. Where one is kept already, that is the key: others may
    /// have read it.
    ///
    /// # Errors
    /// Where what is there was put there by somebody else, and whatever the file system answers.
    pub fn keep(self, path: &Path) -> io::Result<Self> {
        let line = [&self.0[..], b"\n"].concat();
        match private::create(path) {
            Ok(mut file) => file.write_all(&line).map(|()| self),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => match Self::kept(path)? {
                Some(kept) => Ok(kept),
                // Whoever wrote it did not come to the end.
                None => private::replace(path, &line).map(|()| self),
            },
            Err(error) => Err(error),
        }
    }

    /// The key in the first line of a file; none as long as there is no such file, or no whole line in it.
    ///
    /// # Errors
    /// Where others may read or write the file, and whatever else the file system answers.
    pub fn kept(path: &Path) -> io::Result<Option<Self>> {
        let bytes = match private::read(path, FILE_BYTES_MAX) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let line = bytes.iter().position(|byte| *byte == b'\n').map(|end| bytes[..end].trim_ascii());
        Ok(line.and_then(Self::new))
    }

    /// The key itself, for whoever signs with it or hands it on.
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }
}

/// A key is a line.
const FILE_BYTES_MAX: usize = 64 << 10;

/// Two digits for each byte.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_no_key() {
        assert_eq!(SharedKey::new(""), None);
        assert!(SharedKey::new("x").is_some());
    }

    #[test]
    fn a_key_is_shown_by_no_formatter() {
        let key = SharedKey::new("hunter2");
        assert!(!format!("{key:?} {key:#?}").contains("hunter2"));
    }

    #[test]
    fn the_first_key_that_is_kept_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        assert_eq!(SharedKey::kept(&path).unwrap(), None, "nobody has written it yet");
        let first = SharedKey::random().unwrap().keep(&path).unwrap();
        assert_eq!(SharedKey::random().unwrap().keep(&path).unwrap(), first);
        assert_eq!(SharedKey::kept(&path).unwrap(), Some(first));
        private::replace(&path, b"half of a ke").unwrap();
        assert_eq!(SharedKey::kept(&path).unwrap(), None);
        let whole = SharedKey::random().unwrap().keep(&path).unwrap();
        assert_eq!(SharedKey::kept(&path).unwrap(), Some(whole));
    }

    #[test]
    fn a_key_that_others_planted_is_none() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("key"), folder.path().join("link"));
        std::fs::write(&path, "known to all\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        symlink(folder.path().join("elsewhere"), &link).unwrap();
        for path in [&path, &link] {
            assert_eq!(SharedKey::kept(path).unwrap_err().kind(), ErrorKind::PermissionDenied);
            assert!(SharedKey::random().unwrap().keep(path).is_err());
        }
        assert!(!folder.path().join("elsewhere").exists(), "a link is not followed");
    }

    #[test]
    fn random_keys_are_long_digits_and_never_alike() {
        let keys = [(); 2].map(|()| SharedKey::random().unwrap());
        assert_ne!(keys[0], keys[1]);
        assert!(keys[0].reveal().len() == 64 && keys[0].reveal().iter().all(u8::is_ascii_hexdigit));
    }
}
