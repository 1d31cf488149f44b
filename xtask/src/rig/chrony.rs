//! chrony as a peer: a server on node 0 and a client on node 1, on the same network and under the same traffic as the agents.
//!
//! Neither touches a clock (`-x`), and both read the same kernel clock, so every offset that the client claims is its error. It
//! gets what is best for it: kernel stamps, interleaved mode, 16 polls a second.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context, Result};

use super::network::Network;

/// The first estimates are left out: chrony needs some polls before it trusts its own.
const WARM_UP: usize = 4;

/// Two daemons that end when this is dropped.
pub(crate) struct Chrony {
    daemons: Vec<Child>,
    log: PathBuf,
}

impl Chrony {
    /// Starts both, with files below `out`.
    pub(crate) fn start(out: &Path) -> Result<Self> {
        let folder = out.join("chrony");
        fs::create_dir_all(&folder)?;
        let address = Network::address(0);
        let common = |name: &str| format!("cmdport 0\npidfile /run/{name}.pid\nbindcmdaddress /run/{name}.sock\n");
        let server = format!("local stratum 1\nallow all\n{}", common("server"));
        let client = format!(
            "server {address} minpoll -4 maxpoll -4 xleave maxdelay 1 iburst\nlogdir {}\nlog statistics\n{}",
            folder.display(),
            common("client")
        );
        let mut chrony = Self { daemons: Vec::new(), log: folder.join("statistics.log") };
        for (node, name, text) in [(0, "server", server), (1, "client", client)] {
            let path = folder.join(name);
            fs::write(&path, text)?;
            let mut command = Network::command(node, "chronyd".as_ref());
            command.args(["-x", "-d", "-u", "root", "-f"]).arg(&path).stdout(Stdio::null()).stderr(Stdio::null());
            chrony.daemons.push(command.spawn().context("failed to start chronyd (Debian package chrony)")?);
        }
        Ok(chrony)
    }

    /// What it claimed, in nanoseconds off the truth.
    pub(crate) fn errors_ns(&self) -> Result<Vec<i64>> {
        let text = fs::read_to_string(&self.log).with_context(|| format!("failed to read {}", self.log.display()))?;
        let estimates = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        // Date, time, address, standard deviation, estimated offset in seconds.
        let offsets = estimates.filter_map(|line| line.split_whitespace().nth(4)?.parse::<f64>().ok());
        Ok(offsets.skip(WARM_UP).map(|offset_s| (offset_s * 1e9).abs() as i64).collect())
    }
}

impl Drop for Chrony {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            // Gone already is as good.
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}
