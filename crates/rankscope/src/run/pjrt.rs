//! What a job is told so that its hooks hand our profiler to JAX, where it lies beside the binary: a variable, no change to the job. And so that JAX
//! loads a vendor's plugin through it, where the user wants that: the plugin goes from the list of JAX's to the variable that names it to ours.

use std::collections::BTreeMap;
use std::path::Path;

use rankscope_run::same_file;

use super::{beside, library};

/// The library's file.
const FILE: &str = "librankscope_pjrt.so";
/// Where the hooks and `rankscope.jax.install()` look for it.
pub(super) const LIBRARY: &str = "RANKSCOPE_PJRT_LIBRARY";

/// Where JAX looks for plugins: `NAME:PATH`, with commas between them.
pub(super) const PLUGINS: &str = "PJRT_NAMES_AND_LIBRARY_PATHS";
/// Where ours looks for the plugin that it stands in front of.
pub(super) const FORWARD: &str = "RANKSCOPE_PJRT_FORWARD";

/// What the job is told so that JAX loads a plugin through ours, where the binary is `program` and the user said `plugins` and `forward`
/// for the variables of these names, and a line for the user where there is something to say.
pub(super) fn in_front(program: &Path, plugins: &str, forward: &str) -> (BTreeMap<String, String>, Option<String>) {
    let nothing = |why: String| (BTreeMap::new(), Some(format!("no plugin of PJRT is loaded through rankscope's: {why}")));
    let library = match library(program, FILE, "rankscope-pjrt") {
        Ok(library) => library,
        Err(why) => return nothing(why),
    };
    let named: Vec<(&str, &str)> = plugins.split(',').filter_map(|plugin| plugin.split_once(':')).collect();
    if named.iter().any(|(_, path)| same_file(Path::new(path), &library)) {
        // The user has done it all.
        return if forward.is_empty() { nothing(format!("{FORWARD} does not name it")) } else { (BTreeMap::new(), None) };
    }
    let is_meant = |path: &str| forward.is_empty() || path == forward || same_file(Path::new(path), Path::new(forward));
    let meant: Vec<(&str, &str)> = named.iter().copied().filter(|(_, path)| is_meant(path)).collect();
    let (name, path) = match meant[..] {
        [plugin] => plugin,
        [] if forward.is_empty() => return nothing(format!("{PLUGINS} names none by its path")),
        [] => return nothing(format!("{PLUGINS} does not name {forward}")),
        _ => return nothing(format!("{PLUGINS} names several; {FORWARD} says which")),
    };
    let ours = format!("{name}:{}", library.display());
    let theirs = format!("{name}:{path}");
    let all: Vec<&str> = plugins.split(',').map(|plugin| if plugin == theirs { &ours } else { plugin }).collect();
    let variables = BTreeMap::from([(PLUGINS.to_owned(), all.join(",")), (FORWARD.to_owned(), path.to_owned())]);
    (variables, Some(format!("JAX loads {name} ({path}) through {}", library.display())))
}

/// What the job is told, where the binary is `program`: nothing where the user has said something, be it that none is wanted.
pub(super) fn told(program: &Path, is_said: bool) -> Option<(String, String)> {
    let library = beside(program, FILE).filter(|_| !is_said)?;
    Some((LIBRARY.to_owned(), library.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_beside_the_program_or_among_its_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        let program = bin.join("rankscope");
        assert_eq!(told(&program, false), None);
        for place in ["lib", "bin"] {
            let place = folder.path().join(place);
            std::fs::create_dir(&place).unwrap();
            std::fs::write(place.join(FILE), "").unwrap();
        }
        let beside = bin.join(FILE).to_string_lossy().into_owned();
        assert_eq!(told(&program, false), Some((LIBRARY.to_owned(), beside)));
        assert_eq!(told(&program, true), None);
        std::fs::remove_file(bin.join(FILE)).unwrap();
        assert!(told(&program, false).is_some_and(|(_, path)| path.ends_with("bin/../lib/librankscope_pjrt.so")));
    }

    #[test]
    fn the_plugin_that_jax_would_load_is_loaded_through_ours() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("rankscope");
        let (variables, line) = in_front(&program, "vendor:/v/plugin.so", "");
        assert!(variables.is_empty() && line.is_some_and(|line| line.contains("rankscope-pjrt builds it")));
        let library = folder.path().join(FILE);
        std::fs::write(&library, "").unwrap();
        let library = library.to_str().unwrap();
        let said = |plugins: &str, forward| {
            let (variables, line) = in_front(&program, plugins, forward);
            (variables.get(PLUGINS).cloned(), variables.get(FORWARD).cloned(), line.unwrap_or_default())
        };
        let (plugins, forward, line) = said("vendor:/v/plugin.so", "");
        assert_eq!((plugins, forward), (Some(format!("vendor:{library}")), Some("/v/plugin.so".to_owned())));
        assert!(line.contains("JAX loads vendor (/v/plugin.so) through"), "{line}");
        let (plugins, forward, _) = said("one:/a.so,two:/b.so,three", "/b.so");
        assert_eq!((plugins, forward), (Some(format!("one:/a.so,two:{library},three")), Some("/b.so".to_owned())));
        let ours = format!("vendor:{library}");
        assert_eq!(said(&ours, "/v/plugin.so"), (None, None, String::new()), "it is as the user wants it");
        for (plugins, forward, why) in [
            ("", "", "names none by its path"),
            ("cuda", "", "names none by its path"),
            ("one:/a.so,two:/b.so", "", "names several"),
            ("one:/a.so", "/b.so", "does not name /b.so"),
            (&ours, "", "does not name it"),
        ] {
            let (named, forwarded, line) = said(plugins, forward);
            assert!(named.is_none() && forwarded.is_none() && line.contains(why), "{plugins} {forward}: {line}");
        }
    }
}
