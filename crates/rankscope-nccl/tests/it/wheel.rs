//! NCCL itself, from its package: its own code that speaks older versions of the interface, against our tables. No GPU is needed.

use std::process::Command;

use rankscope_testkit::{Need, given, skip};

use super::played::{Stage, argument, named, said};

/// Where the package's library has the functions that wrap a plugin, by version. They are local to it, and named in its symbols.
fn wrappers(library: &str) -> Vec<(u32, String)> {
    let output = Command::new("nm").arg(library).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let of_line = |line: &str| {
        let (_, rest) = line.split_once("getNcclProfiler_v")?;
        let version = rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()?;
        Some((version, line.split_whitespace().next()?.to_owned()))
    };
    let mut found: Vec<(u32, String)> = text.lines().filter_map(of_line).collect();
    found.sort();
    found.dedup_by_key(|(version, _)| *version);
    found
}

#[test]
fn nccls_own_conversions_reach_every_table() {
    let Some(library) = given(Need::Nccl) else { return };
    if Command::new("nm").arg("--version").output().is_err() {
        return skip(Need::Compiler, "nm is not installed");
    }
    let library = library.to_str().unwrap();
    let wrappers = wrappers(library);
    assert!(wrappers.len() >= 6, "{wrappers:?}");
    for (version, offset) in wrappers.iter().filter(|(version, _)| *version <= 7) {
        let Some(stage) = Stage::of("shims.c") else { return };
        let output = stage.run(library, &[super::played::library().as_os_str(), offset.as_ref()]);
        assert!(output.status.success(), "version {version}: {}", String::from_utf8_lossy(&output.stderr));
        let trace = stage.recording();
        assert_eq!(said(&trace, "nccl.interface"), Some(version.to_string().as_str()));
        assert_eq!(said(&trace, "nccl.stale_handles"), None, "version {version}");
        // Without a count of channels that was reached, an operation is complete only a while after its proxy: at the end.
        let spans = named(&trace, "nccl:all_reduce");
        assert_eq!(spans.len(), 5, "version {version}");
        let of = |key: &str| argument(&trace, spans[4], key);
        let common = (of("dtype"), of("algorithm"), of("In msg nelems"), of("NCCL sequence"));
        assert_eq!(common, ("float32".into(), "RING".into(), "4096".into(), "4".into()), "version {version}");
        let expected = match version {
            1..=3 => ("unnamed 1", ""),
            _ => ("000000abcdef0123", "1004"),
        };
        assert_eq!((of("Process Group Name").as_str(), of("GPU start ns").as_str()), expected, "version {version}");
        if *version >= 4 {
            assert_eq!(of("GPU stop ns"), "2004", "version {version}");
            assert!(
                said(&trace, "nccl.version").is_some_and(|version| version.trim_matches('"').parse::<u32>().unwrap() > 22_000)
            );
        }
    }
}
