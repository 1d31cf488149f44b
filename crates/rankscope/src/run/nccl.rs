//! What a job is told so that NCCL and RCCL load our plugin: variables, no change to the job. A plugin that the user chose stays: ours
//! passes everything on to it.

use std::collections::BTreeMap;
use std::path::Path;

use rankscope_run::same_file;

use super::library;

/// The plugin's file, which lies beside the binary.
const FILE: &str = "librankscope_nccl.so";
/// Where NCCL and RCCL look for the name of their profiler plugin.
const PLUGIN: &str = "NCCL_PROFILER_PLUGIN";
/// Where ours looks for the one it passes everything on to.
const CHAIN: &str = "RANKSCOPE_NCCL_CHAIN";

/// Variables for the job, and a line for the user where there is something to say.
pub(super) type Told = (BTreeMap<String, String>, Option<String>);

/// What the job is told, where the binary is `program` and the user said `chosen` for a plugin.
pub(super) fn told(program: &Path, chosen: Option<&str>) -> Told {
    let plugin = match library(program, FILE, "rankscope-nccl") {
        Ok(plugin) => plugin,
        Err(why) => return (BTreeMap::new(), Some(format!("collectives are not recorded: {why}"))),
    };
    let ours = || (PLUGIN.to_owned(), plugin.to_string_lossy().into_owned());
    match chosen.map(str::trim).filter(|chosen| !chosen.is_empty()) {
        None => (BTreeMap::from([ours()]), None),
        Some(off) if off.eq_ignore_ascii_case("none") => {
            (BTreeMap::new(), Some(format!("collectives are not recorded: {PLUGIN} is {off}")))
        }
        Some(chosen) if same_file(Path::new(chosen), &plugin) => (BTreeMap::new(), None),
        Some(chosen) => {
            let variables = BTreeMap::from([ours(), (CHAIN.to_owned(), chosen.to_owned())]);
            (variables, Some(format!("{PLUGIN} names {chosen}: it is called through the one that records collectives")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_that_was_chosen_is_called_through_ours() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("rankscope");
        let (variables, line) = told(&program, None);
        assert!(variables.is_empty() && line.is_some_and(|line| line.contains(FILE)));
        let plugin = folder.path().join(FILE);
        std::fs::write(&plugin, "").unwrap();
        let plugin = plugin.to_str().unwrap();
        let said = |chosen| {
            let (variables, line) = told(&program, chosen);
            let of = |name: &str| variables.get(name).cloned().unwrap_or_default();
            (of(PLUGIN), of(CHAIN), line.is_some())
        };
        assert_eq!(said(None), (plugin.to_owned(), String::new(), false));
        assert_eq!(said(Some("inspector")), (plugin.to_owned(), "inspector".to_owned(), true));
        assert_eq!(said(Some("NONE")), (String::new(), String::new(), true));
        assert_eq!(said(Some(plugin)), (String::new(), String::new(), false));
    }
}
