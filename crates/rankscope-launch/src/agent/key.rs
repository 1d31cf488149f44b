//! The key of a job's agents: where it comes from, and who may go without.
//!
//! Nodes of one host may: nobody else comes to its loopback. Nodes of several may not, unless they are told to.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rankscope_config::ClockSettings;
use rankscope_probe::key::SharedKey;

use crate::output;

/// Between two looks at a file that another node has to write.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The key that the settings give. The file that they name may come within `patience`.
pub(crate) fn given(settings: &ClockSettings, patience: Duration) -> Result<Option<SharedKey>> {
    match (&settings.key, &settings.key_file) {
        (Some(key), _) => Ok(SharedKey::new(key.reveal())),
        (None, Some(file)) => wait_for(Path::new(file), patience).map(Some),
        (None, None) => Ok(None),
    }
}

fn wait_for(file: &Path, patience: Duration) -> Result<SharedKey> {
    let begun = Instant::now();
    let mut said = false;
    loop {
        if let Some(key) = SharedKey::kept(file).with_context(|| format!("the key in {}", file.display()))? {
            return Ok(key);
        }
        if begun.elapsed() >= patience {
            bail!(
                "no key in {} after {} s. Node 0 writes it: check that all nodes see the same folder, or give them the same key in RANKSCOPE_KEY",
                file.display(),
                patience.as_secs()
            );
        }
        if !said {
            output::remark(&format!("waiting for the key in {}", file.display()));
            said = true;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Refuses to go on without a key where `open`, an address that strangers reach, says that they can come.
pub(crate) fn demand(settings: &ClockSettings, key: Option<&SharedKey>, open: Option<&str>) -> Result<()> {
    match open {
        Some(address) if key.is_none() && !settings.insecure => bail!(
            "other hosts can reach {address}, and no key is set to keep strangers out. Give all nodes the same key in RANKSCOPE_KEY (`openssl rand -hex 32` makes one), or name a key file with --set key-file=PATH; --insecure runs without a key"
        ),
        _ => Ok(()),
    }
}
