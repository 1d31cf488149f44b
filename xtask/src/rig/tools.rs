//! The programs that the rig starts, looked for before anything else is done: a rig that finds half-way that one is missing has
//! wasted its user's minutes.

use std::ffi::OsStr;

use anyhow::{Result, bail};

/// What there is to install where a program is missing.
const PACKAGES: [(&str, &str); 5] =
    [("unshare", "util-linux"), ("ip", "iproute2"), ("tc", "iproute2"), ("nft", "nftables"), ("chronyd", "chrony")];

/// Whether all that the rig always needs is in `path`, a list of folders as in PATH, and `more` as well.
pub(crate) fn check(path: &OsStr, more: &[&str]) -> Result<()> {
    let needed = ["unshare", "ip", "tc"].iter().chain(more);
    let missing: Vec<&str> = needed.copied().filter(|program| !is_in(path, program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages = missing.iter().filter_map(|program| PACKAGES.iter().find(|(name, _)| name == program));
    let mut packages: Vec<&str> = packages.map(|(_, package)| *package).collect();
    packages.dedup();
    bail!("the rig needs {}, which PATH has not (Debian: apt-get install {})", missing.join(", "), packages.join(" "));
}

fn is_in(path: &OsStr, program: &str) -> bool {
    std::env::split_paths(path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let folder = tempfile::tempdir().unwrap();
        for program in ["unshare", "ip", "tc"] {
            std::fs::write(folder.path().join(program), "").unwrap();
        }
        let path = folder.path().as_os_str();
        assert!(check(path, &[]).is_ok());
        let said = check(path, &["nft"]).unwrap_err().to_string();
        assert!(said.contains("needs nft,") && said.contains("install nftables"), "{said}");
        std::fs::remove_file(folder.path().join("tc")).unwrap();
        let said = check(path, &["nft", "chronyd"]).unwrap_err().to_string();
        assert!(said.contains("tc, nft, chronyd"), "{said}");
    }
}
