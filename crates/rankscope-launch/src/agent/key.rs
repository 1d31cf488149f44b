//! The key of a job's agents: where it comes from, and who may go without.
//!
//! Nodes of one host may: nobody else comes to its loopback. Nodes of several may not, unless they are told to.

use std::path::Path;
use std::time::{Duration, Instant};

use rankscope_config::ClockSettings;
use rankscope_probe::key::SharedKey;

use super::Progress;
use crate::error::Error;

/// Between two looks at a file that another node has to write.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The key that the settings give. The file that they name may come within `patience`.
///
/// # Errors
/// Where the file does not come in time or is not for this user alone.
pub(crate) fn given(
    settings: &ClockSettings,
    patience: Duration,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<Option<SharedKey>, Error> {
    match (&settings.key, &settings.key_file) {
        (Some(key), _) => Ok(SharedKey::new(key.reveal())),
        (None, Some(file)) => wait_for(Path::new(file), patience, tell).map(Some),
        (None, None) => Ok(None),
    }
}

fn wait_for(file: &Path, patience: Duration, tell: &mut dyn FnMut(Progress<'_>)) -> Result<SharedKey, Error> {
    let begun = Instant::now();
    let mut said = false;
    loop {
        if let Some(key) = SharedKey::kept(file).map_err(|reason| Error::KeyFile { path: file.to_owned(), reason })? {
            return Ok(key);
        }
        if begun.elapsed() >= patience {
            return Err(Error::NoKeyInTime { path: file.to_owned(), seconds: patience.as_secs() });
        }
        if !said {
            tell(Progress::WaitingForKey(file));
            said = true;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Refuses to go on without a key where `open`, an address that strangers reach, says that they can come.
///
/// # Errors
/// [`Error::NoKey`].
pub(crate) fn demand(settings: &ClockSettings, key: Option<&SharedKey>, open: Option<&str>) -> Result<(), Error> {
    match open {
        Some(address) if key.is_none() && !settings.insecure => Err(Error::NoKey { address: address.to_owned() }),
        _ => Ok(()),
    }
}
