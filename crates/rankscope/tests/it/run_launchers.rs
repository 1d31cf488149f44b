//! Agents come to the nodes of a launcher: by a second srun, here a stand-in that runs its words on this host, and by a second
//! mpirun, the real one where it is installed.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::process::{Command, Output, Stdio};

use crate::process::{Room, ended, family, reachable, text, wait_for};
use rankscope_testkit::{Need, skip};

/// Takes off its flags and runs the rest as the one task of one node; notes its flags.
const SRUN: &str = r#"#!/bin/sh
echo "$@" >> srun.log
echo "${#RANKSCOPE_KEY}" >> keys.log
while [ "${1#-}" != "$1" ]; do shift; done
export SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_STEP_NUM_NODES=1 SLURM_NTASKS=1 SLURM_STEP_ID=1
export SLURM_STEP_NODELIST=localhost
exec "$@"
"#;

/// A job that ends as soon as an agent writes, both of its files.
const UNTIL_MEASURED: &str =
    "until [ -s run/clock/snapshots-node0.jsonl ] && [ -e run/clock/windows-node0.jsonl ]; do sleep 0.05; done; exit 3";

fn run(room: &Room, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = room.command(&[&["--no-report", "--"], arguments].concat());
    let path = format!("{}:{}", room.path().display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).envs(variables.iter().copied());
    ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

#[test]
fn in_an_allocation_a_second_srun_starts_the_agents() {
    let room = Room::new();
    room.program("srun", SRUN);
    let allocation = [("SLURM_JOB_ID", "77"), ("SLURM_JOB_NUM_NODES", "1"), ("RANKSCOPE_INTERFACES", "lo")];
    let output = run(&room, &["srun", "-N1", "--label", "sh", "-c", UNTIL_MEASURED], &allocation);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let calls = fs::read_to_string(room.path().join("srun.log")).unwrap();
    assert!(calls.contains(&format!("-N1 --label sh -c {UNTIL_MEASURED}\n")), "the job's own words are as they were: {calls}");
    assert!(calls.contains("--overlap --input=none"), "{calls}");
    assert!(calls.contains("--ntasks-per-node=1 --nodes=1 --ntasks=1 "), "{calls}");
    assert!(room.names("clock").contains(&"windows-node0.jsonl".to_owned()));
    no_secret_is_left(&room);
}

fn no_secret_is_left(room: &Room) {
    let left = room.names("clock");
    assert!(!left.iter().any(|name| name.starts_with("minutes") || name.contains("key")), "{left:?}");
}

#[test]
fn agents_get_a_key_and_the_job_does_not() {
    let room = Room::new();
    room.program("srun", SRUN);
    let allocation = [("SLURM_JOB_ID", "77"), ("SLURM_JOB_NUM_NODES", "1")];
    let output = run(&room, &["srun", "-N1", "sh", "-c", UNTIL_MEASURED], &allocation);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let said = |name: &str| fs::read_to_string(room.path().join(name)).unwrap();
    let (calls, lengths) = (said("srun.log"), said("keys.log"));
    for (call, length) in calls.lines().zip(lengths.lines()) {
        assert_eq!(length, if call.contains("--overlap") { "64" } else { "0" }, "{call}");
    }
    assert_eq!(lengths.lines().count(), 2);
}

#[test]
fn on_one_host_nobody_can_be_reached() {
    let room = Room::new();
    room.program("job", &format!("#!/bin/sh\n{WHILE_LOOKED_AT}"));
    let child = room.command(&["--no-report", "--", "./job"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("a measured clock", || !room.names("clock").is_empty() && snapshots(&room, 0));
    let found = reachable(&family(child.id()));
    fs::write(room.path().join("seen"), "").unwrap();
    let output = ended(child);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(found, []);
}

/// A job that ends when the test has seen what it wanted to.
const WHILE_LOOKED_AT: &str = "until [ -e seen ]; do sleep 0.05; done\n";

fn snapshots(room: &Room, node: u32) -> bool {
    fs::metadata(room.path().join(format!("run/clock/snapshots-node{node}.jsonl"))).is_ok_and(|file| file.len() > 0)
}

#[test]
fn without_an_allocation_the_clocks_are_left_out() {
    let room = Room::new();
    room.program("srun", SRUN);
    let output = run(&room, &["srun", "-N1", "sh", "-c", "exit 4"], &[]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("within salloc or sbatch"), "{said}");
    assert_eq!(fs::read_to_string(room.path().join("srun.log")).unwrap().lines().count(), 1);
}

#[test]
fn a_second_mpirun_starts_the_agents() {
    let Ok(version) = Command::new("mpirun").arg("--version").output() else {
        return skip(Need::Mpi, "there is no mpirun");
    };
    let host = text(&Command::new("hostname").output().unwrap().stdout).trim().to_owned();
    if !text(&version.stdout).contains("Open MPI") {
        return skip(Need::Mpi, "this mpirun is not Open MPI");
    }
    let room = Room::new();
    let hosts = format!("{host}:2");
    let words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "--host", &hosts, "sh", "-c", UNTIL_MEASURED];
    let output = run(&room, &words, &[]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(room.names("clock").contains(&"agents.log".to_owned()), "{:?}", room.names("clock"));
}

#[test]
fn two_nodes_meet_and_leave_one_run() {
    let room = Room::new();
    // Two torchruns on this host stand for two nodes; each ends when both are measured.
    room.program("torchrun", "#!/bin/sh\nuntil grep -qs '\"node_id\":1' run/clock/offsets.jsonl; do sleep 0.05; done\n");
    let start = |node: &str| {
        let words =
            ["--nnodes", "2", "--nproc_per_node", "1", "--rdzv_id", "j", "--master_addr", "127.0.0.1", "--node_rank", node];
        let mut command = room.command(&[&["--no-report", "--", "./torchrun"], &words[..], &["train.py"]].concat());
        command.env("RANKSCOPE_INTERFACES", "lo").env("RANKSCOPE_PROBE_WINDOW_S", "0.5");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let (first, second) = (start("0"), start("1"));
    for child in [second, first] {
        let output = ended(child);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let manifest = room.manifest();
    assert_eq!((&manifest["run_id"], &manifest["world_size"]), (&"j".into(), &2.into()));
    wait_for("both nodes' windows", || (0..2).all(|node| room.names("clock").contains(&format!("windows-node{node}.jsonl"))));
    assert_eq!(manifest["nodes"].as_array().map(Vec::len), Some(2), "{manifest}");
    no_secret_is_left(&room);
}

#[test]
fn nodes_that_start_their_own_agents_share_a_key_in_a_file() {
    use std::os::unix::fs::PermissionsExt;
    let room = Room::new();
    room.program("torchrun", &format!("#!/bin/sh\n{WHILE_LOOKED_AT}"));
    let start = |node: &str| {
        let words = ["--nnodes", "2", "--rdzv_id", "j", "--master_addr", "127.0.0.1", "--node_rank", node, "train.py"];
        let mut command = room.command(&[&["--no-report", "--", "./torchrun"], &words[..]].concat());
        command.env("RANKSCOPE_INTERFACES", "lo");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // The second comes first and waits for the key.
    let children = [start("1"), start("0")];
    wait_for("both nodes", || (0..2).all(|node| snapshots(&room, node)));
    let kept = room.path().join("run/clock/agents.key");
    let key = fs::read_to_string(&kept).unwrap().trim().to_owned();
    assert_eq!((key.len(), fs::metadata(&kept).unwrap().permissions().mode() & 0o777), (64, 0o600));
    let processes: Vec<u32> = children.iter().flat_map(|child| family(child.id())).collect();
    let found = reachable(&processes);
    assert!(found.len() >= 3 && found.iter().all(|address| address.ip().is_loopback()), "{found:?}");
    for pid in &processes {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!text(&line).contains(&key), "everybody sees command lines");
    }
    let mut written: Vec<_> = room.names("clock").into_iter().map(|name| room.path().join("run/clock").join(name)).collect();
    written.push(room.path().join("run/run.json"));
    for path in written.into_iter().filter(|path| path.metadata().is_ok_and(|found| found.permissions().mode() & 0o077 != 0)) {
        assert!(!fs::read_to_string(&path).unwrap().contains(&key), "{}", path.display());
    }
    fs::write(room.path().join("seen"), "").unwrap();
    for output in children.map(ended) {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(!text(&output.stderr).contains(&key));
    }
    no_secret_is_left(&room);
}

#[test]
fn a_key_that_somebody_else_put_there_is_not_taken() {
    use std::os::unix::fs::PermissionsExt;
    let room = Room::new();
    let planted = "0".repeat(64) + "\n";
    fs::create_dir_all(room.path().join("run/clock")).unwrap();
    let path = room.file("run/clock/agents.key", &planted);
    fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
    let words = ["--nnodes", "2", "--rdzv_id", "j", "--master_addr", "127.0.0.1", "--node_rank", "1", "train.py"];
    let mut command = room.command(&[&["--no-report", "--", "./torchrun"], &words[..]].concat());
    command.env("RANKSCOPE_INTERFACES", "lo");
    // A node that does not lead, whose folder was there before it.
    room.program("torchrun", "#!/bin/sh\nuntil grep -qs others run/clock/agent-node1.log; do sleep 0.05; done\nexit 3\n");
    let output = ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("clocks are not measured") && said.contains("others may read or write it"), "{said}");
}

#[test]
fn completing_a_run_can_be_left() {
    for (limit, interrupt, why) in [("600", true, "was interrupted"), ("0", false, "took too long")] {
        let room = Room::new();
        room.program("torchrun", "#!/bin/sh\nexit 3\n");
        // The other node never comes, so there is something to wait for.
        let words = ["--nnodes", "2", "--rdzv_id", "j", "--master_addr", "127.0.0.1", "--node_rank", "0", "train.py"];
        let options = ["--no-clock", "--finish-within", limit, "--", "./torchrun"];
        let mut command = room.command(&[&options[..], &words].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if interrupt {
            wait_for("the part of this node", || room.path().join("run/nodes/node-0.json").exists());
            crate::process::signal("INT", child.id());
        }
        let output = ended(child);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(why), "{said}");
    }
}
