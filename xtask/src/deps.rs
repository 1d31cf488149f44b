//! Who may depend on whom. The list below is the architecture; adding a line to it is a decision, and the reason goes beside it.
//!
//! Checked on manifests, not on a resolved graph: an edge that is not written down does not exist. What a pure crate may not
//! reach through crates from outside is checked by name here and by use in [`crate::purity`].

use anyhow::{Result, bail};

use crate::cargo::{self, Package};
use crate::purity;

/// Runs both checks and names every offence.
pub(crate) fn run() -> Result<()> {
    let packages = cargo::metadata()?.packages;
    let mut offences: Vec<String> = packages.iter().flat_map(offences).collect();
    offences.extend(unused(&packages));
    for package in packages.iter().filter(|package| PURE.contains(&package.name.as_str())) {
        offences.extend(purity::offences(package)?);
    }
    for package in packages.iter().filter(|package| OWN_PATHS.contains(&package.name.as_str())) {
        offences.extend(purity::openings(package)?);
    }
    for offence in &offences {
        eprintln!("{offence}");
    }
    if !offences.is_empty() {
        bail!("{} dependency rules broken; the rules and their reasons are in xtask/src/deps.rs", offences.len());
    }
    println!("{} crates keep to the allowed edges", packages.len());
    Ok(())
}

fn offences(package: &Package) -> Vec<String> {
    let from = package.name.as_str();
    let mut found = Vec::new();
    for dependency in &package.dependencies {
        let (to, dev) = (dependency.name.as_str(), dependency.is_dev());
        if is_ours(to) && !is_allowed(from, to, dev) {
            let kind = if dev { "dev-dependency" } else { "dependency" };
            found.push(format!("{from} -> {to}: this {kind} is not in the allow-list"));
        }
        if !dev && PURE.contains(&from) && IMPURE.contains(&to) {
            found.push(format!("{from} -> {to}: a pure crate may not touch files, sockets, environment, clocks or chance"));
        }
    }
    found
}

/// Lines of the lists that no manifest uses: a permission nobody needs would be taken by whoever comes next without a decision.
fn unused(packages: &[Package]) -> Vec<String> {
    let uses = |edge: &Edge, dev: bool| {
        let from = packages.iter().filter(|package| package.name == edge.0);
        from.flat_map(|package| &package.dependencies).any(|dependency| dependency.name == edge.1 && dependency.is_dev() == dev)
    };
    let lines = |edges: &'static [Edge], dev: bool| edges.iter().filter(move |edge| !uses(edge, dev));
    let named = |edge: &Edge, kind| {
        format!("{} -> {}: this {kind} is allowed, and no manifest has it; take the line out", edge.0, edge.1)
    };
    let mut found: Vec<String> = lines(EDGES, false).map(|edge| named(edge, "dependency")).collect();
    found.extend(lines(DEV_EDGES, true).map(|edge| named(edge, "dev-dependency")));
    let lists = [("FACES", &FACES[..]), ("VERBS", &VERBS[..]), ("PURE", PURE), ("OWN_PATHS", OWN_PATHS)];
    for (list, names) in lists {
        let strangers = names.iter().filter(|name| packages.iter().all(|package| package.name != **name));
        found.extend(strangers.map(|name| format!("{name}: {list} names it, and there is no such crate; take it out")));
    }
    found
}

fn is_ours(name: &str) -> bool {
    name == "xtask" || name == "rankscope" || name.starts_with("rankscope-")
}

fn is_allowed(from: &str, to: &str, dev: bool) -> bool {
    let listed = |edges: &[Edge]| edges.iter().any(|edge| edge.0 == from && edge.1 == to);
    if dev && (to == "rankscope-testkit" || listed(DEV_EDGES)) {
        return true;
    }
    match from {
        // Faces translate for everybody, and one of them carries the command along.
        "rankscope-python" => !(FACES.contains(&to) || VERBS.contains(&to)) || to == "rankscope",
        "rankscope-capi" => !(FACES.contains(&to) || VERBS.contains(&to)),
        // It puts the crates together, so it may depend on all of them; nobody may depend on it.
        "rankscope" => !FACES.contains(&to) && to != "rankscope-testkit",
        // So may its verbs, on nothing of each other's but what they stand on.
        from if VERBS.contains(&from) => {
            to == VERBS[0] || !(FACES.contains(&to) || VERBS.contains(&to) || to == "rankscope-testkit")
        }
        _ => listed(EDGES),
    }
}

/// From, to, why.
type Edge = (&'static str, &'static str, &'static str);

const EDGES: &[Edge] = &[
    ("rankscope-trace", "rankscope-time", "events carry typed instants"),
    ("rankscope-formats", "rankscope-trace", "readers fill traces, writers drain them"),
    ("rankscope-formats", "rankscope-time", "clock snapshots in files"),
    ("rankscope-formats", "rankscope-recording", "the recorder's own format among those it reads and writes"),
    ("rankscope-sqlite", "rankscope-formats", "what a reader is asked and answers, and what activities mean"),
    ("rankscope-sqlite", "rankscope-time", "ranks of traces"),
    ("rankscope-sqlite", "rankscope-trace", "fills traces"),
    ("rankscope-run", "rankscope-formats", "a run directory knows how its files are read"),
    ("rankscope-run", "rankscope-trace", "hands out traces"),
    ("rankscope-store", "rankscope-run", "answers what it asks of stores"),
    ("rankscope-clock", "rankscope-time", "estimates are clock maps"),
    ("rankscope-probe", "rankscope-clock", "drives its state machines"),
    ("rankscope-probe", "rankscope-time", "stamps packets"),
    ("rankscope-collectives", "rankscope-trace", "finds collectives among spans"),
    ("rankscope-collectives", "rankscope-time", "bounds between clocks"),
    ("rankscope-collectives", "rankscope-scratch", "columns lie where the program wants them"),
    ("rankscope-record", "rankscope-recording", "writes its format"),
    ("rankscope-record", "rankscope-formats", "its exports, and only those: a feature"),
    ("rankscope-record", "rankscope-trace", "whose clock a reading is of, in snapshots: a feature"),
    ("rankscope-record", "rankscope-record-macros", "its attribute: the compiler wants such macros in a crate of their own"),
    ("rankscope-nccl", "rankscope-record", "writes its recordings; the smallest of it, loaded into somebody else's job"),
    ("rankscope-pjrt", "rankscope-record", "which rank this is, and nothing that records; loaded into somebody else's job"),
    ("rankscope-counters", "rankscope-record", "a plugin of its sessions, whose tracks are counters of its recordings"),
    (
        "rankscope-devices",
        "rankscope-record",
        "the plugin of its sessions, readings of clocks, and threads that take no signal of the program's",
    ),
    ("rankscope-cupti", "rankscope-devices", "buffers, a thread that decodes them, clocks and states"),
    ("rankscope-cupti", "rankscope-record", "a plugin of its sessions, whose join knows which span device work is of"),
    ("rankscope-rocprofiler", "rankscope-devices", "buffers, a thread that decodes them, clocks and states"),
    ("rankscope-rocprofiler", "rankscope-record", "a plugin of its sessions, as CUPTI's source is"),
    ("rankscope-align", "rankscope-time", "applies clock maps"),
    ("rankscope-align", "rankscope-trace", "moves events"),
    ("rankscope-align", "rankscope-collectives", "matched collectives bound clocks"),
    ("rankscope-align", "rankscope-scratch", "so do stamps of meetings"),
    ("rankscope-align", "rankscope-clock", "collectives bound clocks as packets do: one exact fit for both"),
    ("rankscope-analyze", "rankscope-time", "durations and clock maps"),
    ("rankscope-analyze", "rankscope-trace", "counts what traces hold"),
    ("rankscope-analyze", "rankscope-scratch", "and who came when"),
    ("rankscope-analyze", "rankscope-collectives", "waits and transfers per matched collective"),
    ("rankscope-job", "rankscope-align", "puts ranks on one clock"),
    ("rankscope-job", "rankscope-analyze", "accounts each rank and judges all of them"),
    ("rankscope-job", "rankscope-collectives", "finds and matches collectives"),
    ("rankscope-job", "rankscope-scratch", "what was waited in each collective lies where the program wants it"),
    ("rankscope-job", "rankscope-document", "says what it found"),
    ("rankscope-job", "rankscope-time", "ranks and instants"),
    ("rankscope-job", "rankscope-trace", "reduces traces to parts"),
    ("rankscope-dataset", "rankscope-align", "clocks in columns"),
    ("rankscope-dataset", "rankscope-analyze", "classes of work, and who came when"),
    ("rankscope-dataset", "rankscope-collectives", "collectives in columns"),
    ("rankscope-dataset", "rankscope-document", "accounts in columns"),
    ("rankscope-dataset", "rankscope-job", "a judged job is what it writes"),
    ("rankscope-dataset", "rankscope-time", "events are put on the job's clock"),
    ("rankscope-dataset", "rankscope-trace", "events in columns"),
    ("rankscope-pipeline", "rankscope-dataset", "writes datasets: a feature"),
    ("rankscope-part-files", "rankscope-align", "what validation found, in files"),
    ("rankscope-part-files", "rankscope-analyze", "accounts in files"),
    ("rankscope-part-files", "rankscope-collectives", "collectives in files"),
    ("rankscope-part-files", "rankscope-execution", "execution graphs in files"),
    ("rankscope-part-files", "rankscope-job", "parts and rules in files; a job knows nothing of files"),
    ("rankscope-part-files", "rankscope-tables", "tables in files"),
    ("rankscope-part-files", "rankscope-time", "ranks in files"),
    ("rankscope-part-files", "rankscope-trace", "problems and clock readings in files"),
    ("rankscope-pipeline", "rankscope-align", "the clocks of nodes, and tracers' clocks on those of hosts"),
    ("rankscope-pipeline", "rankscope-analyze", "classes of work"),
    ("rankscope-pipeline", "rankscope-clock", "what agents measured"),
    ("rankscope-pipeline", "rankscope-collectives", "a user's patterns, and what is wrong with them"),
    ("rankscope-pipeline", "rankscope-scratch", "has files for what is beyond memory"),
    ("rankscope-pipeline", "rankscope-document", "what is written"),
    ("rankscope-pipeline", "rankscope-formats", "reads traces and writes timelines"),
    ("rankscope-hang", "rankscope-collectives", "what recorded names of collectives stand for"),
    ("rankscope-hang", "rankscope-document", "what it says is a document"),
    ("rankscope-hang", "rankscope-pickle", "dumps are pickles"),
    ("rankscope-hang", "rankscope-recording", "live pages of ranks"),
    ("rankscope-pipeline", "rankscope-hang", "judges dumps"),
    ("rankscope-pipeline", "rankscope-live", "what pages of ranks say together"),
    ("rankscope-pipeline", "rankscope-recording", "reads those pages"),
    ("rankscope-otlp", "rankscope-formats", "protobuf's wire format"),
    ("rankscope-otlp", "rankscope-report", "the figures that it sends, and which letters steer a terminal"),
    ("rankscope-top", "rankscope-document", "draws it"),
    ("rankscope-top", "rankscope-report", "figures and alarms in words"),
    ("rankscope-live", "rankscope-recording", "pages of ranks"),
    ("rankscope-live", "rankscope-stats", "medians, and how far values lie from them"),
    ("rankscope-pipeline", "rankscope-witness", "asks jobs that stand still"),
    ("rankscope-pipeline", "rankscope-job", "maps traces to parts and has them judged"),
    ("rankscope-pipeline", "rankscope-part-files", "parts in and out of files"),
    ("rankscope-pipeline", "rankscope-report", "draws the page"),
    ("rankscope-pipeline", "rankscope-xlsx", "writes workbooks of reports"),
    ("rankscope-pipeline", "rankscope-run", "finds and opens files, reads run directories, writes outputs"),
    ("rankscope-pipeline", "rankscope-sqlite", "reads traces that are databases"),
    ("rankscope-pipeline", "rankscope-serve", "runs of a folder, as a server asks for them"),
    ("rankscope-pipeline", "rankscope-tables", "call trees, when somebody asks for one"),
    ("rankscope-pipeline", "rankscope-time", "ranks and instants"),
    ("rankscope-pipeline", "rankscope-trace", "traces on their way"),
    ("rankscope-compare", "rankscope-document", "compares documents and says what it found in one"),
    ("rankscope-compare", "rankscope-stats", "evidence"),
    ("rankscope-pipeline", "rankscope-compare", "sides out of paths"),
    ("rankscope-report", "rankscope-document", "draws it"),
    ("rankscope-xlsx", "rankscope-document", "writes it as a workbook"),
    ("rankscope-xlsx", "rankscope-report", "what a comparison says in words"),
    ("rankscope-tables", "rankscope-analyze", "how spans lie in each other"),
    ("rankscope-tables", "rankscope-pickle", "memory snapshots are pickles"),
    ("rankscope-tables", "rankscope-trace", "sums up its device work"),
    ("rankscope-execution", "rankscope-analyze", "who waits for whom in a collective"),
    ("rankscope-execution", "rankscope-collectives", "collectives join ranks"),
    ("rankscope-execution", "rankscope-tables", "which call and operator device work is of"),
    ("rankscope-execution", "rankscope-time", "ranks meet on the job's clock"),
    ("rankscope-execution", "rankscope-trace", "its graph is made of a trace"),
    ("rankscope-job", "rankscope-answers", "why ranks are late, and what would help"),
    ("rankscope-job", "rankscope-execution", "a rank's execution graph travels in its part"),
    ("rankscope-answers", "rankscope-analyze", "who waits for whom in a collective, and sets of time"),
    ("rankscope-answers", "rankscope-execution", "causes are found in the graph"),
    ("rankscope-answers", "rankscope-time", "changes name ranks"),
    ("rankscope-job", "rankscope-pickle", "memory snapshots are pickles"),
    ("rankscope-job", "rankscope-tables", "a rank's tables travel in its part"),
    ("rankscope-chakra", "rankscope-dispatch", "the program of a step, which it writes"),
    ("rankscope-chakra", "rankscope-formats", "protobuf's wire format"),
    ("rankscope-chakra", "rankscope-time", "ranks"),
    ("rankscope-profile", "rankscope-analyze", "writes its stacks and nestings"),
    ("rankscope-profile", "rankscope-trace", "names and arguments of spans"),
    ("rankscope-profile", "rankscope-formats", "protobuf's wire format"),
    ("rankscope-dispatch", "rankscope-time", "costs are spans, and ranks are ranks"),
    ("rankscope-plan-files", "rankscope-dispatch", "plans, batches and networks as files, and what is answered about them"),
    ("rankscope-plan-files", "rankscope-time", "ranks and spans in files"),
    ("rankscope-plan-traces", "rankscope-collectives", "all-to-alls, and what they say of themselves"),
    ("rankscope-plan-traces", "rankscope-dispatch", "holds them against the exchanges of a plan"),
    ("rankscope-plan-traces", "rankscope-job", "who came when on one clock"),
    ("rankscope-plan-traces", "rankscope-plan-files", "the network that a document names"),
    ("rankscope-plan-traces", "rankscope-time", "stays of ranks are spans"),
    ("rankscope-plan-traces", "rankscope-trace", "what a rank's trace tells of its splits"),
    ("rankscope-conformance", "rankscope-dispatch", "calls its functions by their names, and holds answers against its rules"),
    ("rankscope-conformance", "rankscope-plan-files", "bounds of plans, and what is no case because it is a plan"),
    ("rankscope-conformance", "rankscope-time", "ranks in cases"),
    ("rankscope-transport", "rankscope-dispatch", "executes its exchanges"),
    ("rankscope-transport", "rankscope-time", "ranks are ranks, and what a run took is a span"),
    (
        "rankscope-testkit",
        "rankscope-clock",
        "its generator of random numbers, so that there is one, and its sessions to torment",
    ),
    ("rankscope-testkit", "rankscope-time", "instants to feed to sessions"),
    ("rankscope-doctor", "rankscope-document", "what it says is a document"),
    ("rankscope-doctor", "rankscope-probe", "what is said of clocks"),
    ("rankscope-doctor", "rankscope-witness", "what looks at processes that hang"),
    ("rankscope-launch", "rankscope-trace", "ranks by the names of files"),
    ("rankscope-launch", "rankscope-run", "a launched job is a run, with its directory and manifest"),
    ("rankscope-launch", "rankscope-probe", "the launcher around it, and the agents that measure its clocks"),
    ("rankscope-launch", "rankscope-clock", "what the session of an agent is told"),
    ("rankscope-launch", "rankscope-config", "settings of the agents"),
    ("rankscope-launch", "rankscope-time", "spans and rates of those settings"),
    ("rankscope-on-demand", "rankscope-time", "one instant on the clocks of all nodes"),
    ("rankscope-launch", "rankscope-on-demand", "the agent of a node is the daemon there"),
    ("rankscope-launch", "rankscope-witness", "finds the ranks of a job that stands still"),
    ("rankscope-launch", "rankscope-recording", "a live recording is known by how it begins"),
    ("rankscope-launch", "rankscope-sweep", "carries out what it plans"),
    ("rankscope-sweep", "rankscope-clock", "its generator of random numbers, so that there is one"),
    ("rankscope-demo", "rankscope-launch", "its processes are tied to it, and its agents started, as those of any job"),
    ("rankscope-demo", "rankscope-run", "a demo is a run"),
    ("rankscope-demo", "rankscope-record", "its ranks record themselves"),
    ("rankscope-demo", "rankscope-formats", "reads ticks out of recordings, to know when an event truly happened"),
    ("rankscope-demo", "rankscope-clock", "clocks that are wrong in a known way"),
    ("rankscope-demo", "rankscope-probe", "reads two clocks at once"),
    ("rankscope-demo", "rankscope-config", "names of the settings of its agents"),
    ("rankscope-demo", "rankscope-time", "maps between clocks"),
    ("rankscope-counted", "rankscope-record", "records spans, to be counted"),
    ("rankscope-counted", "rankscope-align", "moves spans to another clock, to be counted"),
    ("rankscope-counted", "rankscope-time", "the maps by which they move"),
    ("rankscope-counted", "rankscope-trace", "the spans that move"),
    ("xtask", "rankscope-analyze", "the merge bench makes parts, which hold a rank's account"),
    ("xtask", "rankscope-collectives", "and its collectives"),
    ("xtask", "rankscope-trace", "and the places of their spans"),
    ("xtask", "rankscope-clock", "the clock bench and the namespace rig know the injected clocks"),
    ("xtask", "rankscope-config", "its table is the page of the settings"),
    ("xtask", "rankscope-formats", "the fuzz smoke run feeds its readers"),
    ("xtask", "rankscope-dispatch", "and those of plans and of what benchmarks print"),
    ("xtask", "rankscope-part-files", "and that of parts"),
    ("xtask", "rankscope-hang", "and that of dumps"),
    ("xtask", "rankscope-live", "how often alarms are wrong is simulated"),
    ("xtask", "rankscope-pickle", "and that of pickles"),
    ("xtask", "rankscope-recording", "pages of ranks are made, and looking at them measured"),
    ("xtask", "rankscope-stats", "how often comparisons are wrong is simulated"),
    ("xtask", "rankscope-time", "spans and rates of the clocks that the clock bench injects"),
    ("xtask", "rankscope-testkit", "seeds for fuzzing, inputs for benchmarks"),
];

/// Edges only tests may have, besides the testkit, which is for every test.
const DEV_EDGES: &[Edge] = &[
    ("rankscope-record", "rankscope-time", "tests name ranks of the traces they read back"),
    ("rankscope-pjrt", "rankscope-formats", "tests read its plane"),
    ("rankscope-pjrt", "rankscope-trace", "and look at what is in it"),
    ("rankscope-nccl", "rankscope-formats", "tests read the recordings back"),
    ("rankscope-nccl", "rankscope-trace", "and look at what is in them"),
    ("rankscope-counters", "rankscope-formats", "tests read the recordings back"),
    ("rankscope-counters", "rankscope-trace", "and look at what is in them"),
    ("rankscope-cupti", "rankscope-formats", "tests read the recordings back"),
    ("rankscope-cupti", "rankscope-trace", "and look at what is in them"),
    ("rankscope-rocprofiler", "rankscope-formats", "tests read the recordings back"),
    ("rankscope-rocprofiler", "rankscope-job", "tests ask for a report"),
    ("rankscope-rocprofiler", "rankscope-pipeline", "and have it made of what was recorded"),
    ("rankscope-rocprofiler", "rankscope-trace", "and look at what is in them"),
    ("rankscope-collectives", "rankscope-formats", "tests read the testkit's files"),
    ("rankscope-align", "rankscope-formats", "tests read the testkit's files"),
    ("rankscope-analyze", "rankscope-formats", "tests read the testkit's files"),
    ("rankscope-job", "rankscope-formats", "tests read the testkit's files"),
    ("rankscope-tables", "rankscope-formats", "tests read the testkit's files"),
    ("rankscope-execution", "rankscope-formats", "tests read the testkit's files"),
    ("rankscope-part-files", "rankscope-formats", "tests read the testkit's files"),
    ("rankscope-answers", "rankscope-collectives", "tests make jobs of collectives"),
    ("rankscope-answers", "rankscope-trace", "tests number spans"),
    ("rankscope-otlp", "rankscope-document", "tests have jobs in figures"),
    ("rankscope-witness", "rankscope-hang", "tests have understood what was answered"),
];

const FACES: [&str; 4] = ["rankscope", "rankscope-capi", "rankscope-python", "xtask"];

/// The binary's command line: what verbs stand on, and those that are many and of one kind. The other verbs are in the binary itself.
const VERBS: [&str; 3] = ["rankscope-cli", "rankscope-clock-cli", "rankscope-dispatch-cli"];

/// Crates that take bytes, `now` and a seed, and touch nothing else. That is what makes them testable without a cluster. All but
/// [`NATIVE`] also compile for a browser, which the stage `wasm` checks.
pub(crate) const PURE: &[&str] = &[
    "rankscope-time",
    "rankscope-recording",
    "rankscope-config",
    "rankscope-trace",
    "rankscope-clock",
    "rankscope-scratch",
    "rankscope-collectives",
    "rankscope-align",
    "rankscope-analyze",
    "rankscope-pickle",
    "rankscope-tables",
    "rankscope-execution",
    "rankscope-answers",
    "rankscope-profile",
    "rankscope-chakra",
    "rankscope-document",
    "rankscope-compare",
    "rankscope-job",
    "rankscope-report",
    "rankscope-sweep",
    "rankscope-part-files",
    "rankscope-dataset",
    "rankscope-dispatch",
    "rankscope-plan-files",
    "rankscope-plan-traces",
    "rankscope-conformance",
    "rankscope-formats",
    "rankscope-stats",
    "rankscope-dist",
    "rankscope-serve",
    "rankscope-hang",
    "rankscope-live",
    "rankscope-top",
];

/// Pure crates that do not compile for WebAssembly with the tools that the workspace asks for, and why. Threads are no reason:
/// rayon compiles there, and runs on one.
pub(crate) const NATIVE: &[(&str, &str)] = &[
    ("rankscope-formats", "zstd is C, and wants a clang that knows the target"),
    ("rankscope-part-files", "zstd, as above"),
    ("rankscope-profile", "its protobuf is that of rankscope-formats, which brings zstd"),
    ("rankscope-chakra", "its protobuf, as above"),
];

/// Crates that are given paths by users. One function opens them.
const OWN_PATHS: &[&str] = &[
    "rankscope",
    "rankscope-cli",
    "rankscope-clock-cli",
    "rankscope-demo",
    "rankscope-dispatch-cli",
    "rankscope-launch",
    "rankscope-pipeline",
    "rankscope-python",
    "rankscope-run",
];

/// Crates whose point is the outside world.
const IMPURE: &[&str] = &[
    "anyhow", // not impure, but an error a library's caller cannot match on
    "axum",
    "chrono",
    "clap",
    "dirs",
    "etcd-client",
    "fastrand",
    "fs-err",
    "getrandom",
    "glob",
    "indicatif",
    "libc",
    "libloading",
    "memmap2",
    "mio",
    "nix",
    "rand",
    "reqwest",
    "rustix",
    "socket2",
    "tempfile",
    "tokio",
    "ureq",
    "walkdir",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo::Dependency;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependencies = dependencies
            .iter()
            .map(|(name, kind)| Dependency { name: (*name).to_owned(), kind: kind.map(str::to_owned) })
            .collect();
        Package {
            id: String::new(),
            name: name.to_owned(),
            version: String::new(),
            manifest_path: "Cargo.toml".into(),
            dependencies,
            targets: Vec::new(),
        }
    }

    #[test]
    fn an_edge_against_the_flow_is_named() {
        let found = offences(&package("rankscope-align", &[("rankscope-probe", None), ("rankscope-time", None)]));
        assert_eq!(found, ["rankscope-align -> rankscope-probe: this dependency is not in the allow-list"]);
    }

    #[test]
    fn the_testkit_is_for_tests_only() {
        assert!(offences(&package("rankscope-time", &[("rankscope-testkit", Some("dev"))])).is_empty());
        assert_eq!(offences(&package("rankscope-time", &[("rankscope-testkit", None)])).len(), 1);
        assert_eq!(offences(&package("rankscope", &[("rankscope-testkit", None)])).len(), 1);
    }

    #[test]
    fn a_pure_crate_may_not_reach_outside() {
        assert_eq!(offences(&package("rankscope-formats", &[("memmap2", None)])).len(), 1);
        assert!(offences(&package("rankscope-formats", &[("tempfile", Some("dev")), ("serde", None)])).is_empty());
        assert!(offences(&package("rankscope-run", &[("memmap2", None)])).is_empty());
    }

    #[test]
    fn only_pure_crates_are_excused_from_webassembly() {
        assert!(NATIVE.iter().all(|(name, _)| PURE.contains(name)));
    }

    #[test]
    fn faces_may_not_see_each_other() {
        assert_eq!(offences(&package("rankscope", &[("xtask", None), ("rankscope-run", None)])).len(), 1);
    }

    #[test]
    fn a_permission_that_nobody_needs_is_named() {
        // A dependency of tests uses no line of what products may depend on.
        let trace = package("rankscope-trace", &[("rankscope-time", Some("dev"))]);
        let line = "rankscope-trace -> rankscope-time: this dependency is allowed, and no manifest has it; take the line out";
        assert!(unused(&[trace]).contains(&line.to_owned()));
        let trace = package("rankscope-trace", &[("rankscope-time", None)]);
        let found = unused(&[trace]);
        assert!(!found.contains(&line.to_owned()));
        assert!(
            found.iter().any(|line| line.starts_with("rankscope-align -> rankscope-formats: this dev-dependency")),
            "{found:?}"
        );
        assert!(
            found.contains(&"rankscope-time: PURE names it, and there is no such crate; take it out".to_owned()),
            "{found:?}"
        );
    }

    #[test]
    fn the_allow_list_has_no_cycle() {
        // Leaves first: take away whatever depends on nothing that is left, until nothing can be taken.
        let mut left: Vec<&Edge> = EDGES.iter().collect();
        while !left.is_empty() {
            let before = left.len();
            let sources: Vec<&str> = left.iter().map(|edge| edge.0).collect();
            left.retain(|edge| sources.contains(&edge.1));
            assert!(left.len() < before, "cycle among {left:?}");
        }
    }
}
