//! A real Slurm of two nodes, one of which dies in the middle of a task: what comes out is what `report` says.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{rankscope, write_job};
use crate::map_merge::{job, text};
use crate::process::{PROGRAM, Running, command, free_tcp_ports, wait_for};
use rankscope_testkit::{Job, Need, skip};

/// Slurm on this host, with a folder for everything it writes.
struct Slurm {
    folder: tempfile::TempDir,
    // In the order in which they are to go.
    nodes: Vec<Option<Running>>,
    _controller: Running,
    _munge: Running,
}

/// Programs that have to be there.
const PROGRAMS: [&str; 4] = ["munged", "slurmctld", "slurmd", "sbatch"];

impl Slurm {
    /// A cluster of two nodes that wait for work; none where Slurm is not installed or may not be started.
    fn start() -> Option<Self> {
        let is_there =
            |program: &&str| ["/usr/sbin", "/usr/bin", "/usr/local/bin"].iter().any(|f| Path::new(f).join(program).exists());
        if let Some(missing) = PROGRAMS.iter().find(|program| !is_there(program)) {
            skip(Need::Slurm, format_args!("{missing} is not installed"));
            return None;
        }
        if !is_root() {
            skip(Need::Slurm, "its daemons want to be started by root");
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| folder.path().join(name);
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("allowed");
        fs::write(at("munge.key"), [7; 128]).expect("written");
        fs::set_permissions(at("munge.key"), fs::Permissions::from_mode(0o400)).expect("allowed");
        fs::write(at("slurm.conf"), configuration(folder.path())).expect("written");
        ["state", "spool-n1", "spool-n2"].iter().for_each(|name| fs::create_dir(at(name)).expect("made"));
        let option = |option: &str, name: &str| format!("--{option}={}", at(name).display());
        let munge = daemon(
            folder.path(),
            "munged",
            &[
                "--foreground",
                "--force",
                &option("key-file", "munge.key"),
                &option("socket", "munge.socket"),
                &option("pid-file", "munged.pid"),
                &option("log-file", "munged.log"),
                &option("seed-file", "munge.seed"),
            ],
        );
        wait_for("munge", || at("munge.socket").exists());
        let controller = daemon(folder.path(), "slurmctld", &["-D"]);
        let nodes = ["n1", "n2"].map(|node| Some(daemon(folder.path(), "slurmd", &["-D", "-N", node]))).into();
        let slurm = Self { folder, nodes, _controller: controller, _munge: munge };
        wait_for("two idle nodes", || slurm.said("sinfo", &["-h", "-o", "%D %T"]).contains("2 idle"));
        Some(slurm)
    }

    /// `program` where this Slurm is found.
    fn configured(&self, mut program: Command) -> Command {
        program.env("SLURM_CONF", self.folder.path().join("slurm.conf")).current_dir(self.folder.path());
        program
    }

    fn said(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = self.configured(Command::new(program));
        String::from_utf8_lossy(&command.args(arguments).output().expect("runs").stdout).into_owned()
    }

    /// A node is lost with all that runs on it.
    fn lose(&mut self, node: &str, task: u32) {
        let number: usize = node.trim_start_matches('n').parse().expect("a node");
        self.nodes[number - 1] = None;
        // The task's own processes, and Slurm's that watches over them.
        let family = crate::process::family(parent(parent(task)));
        family.iter().for_each(|pid| {
            let _gone = Command::new("kill").args(["-s", "KILL", &pid.to_string()]).output();
        });
        // It would be found out in time; a test does not wait for that.
        self.said("scontrol", &["update", &format!("nodename={node}"), "state=down", "reason=lost"]);
    }

    /// Jobs that wait to be tried again do so now, and not after the two minutes that Slurm gives a broken node.
    fn hurry(&self) {
        for job in self.said("squeue", &["-h", "-o", "%A %r"]).lines() {
            if let Some((job, "BeginTime")) = job.split_once(' ') {
                self.said("scontrol", &["update", &format!("jobid={job}"), "starttime=now"]);
            }
        }
    }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|said| said.stdout.starts_with(b"0\n"))
}

fn daemon(folder: &Path, program: &str, arguments: &[&str]) -> Running {
    let path = std::env::var("PATH").unwrap_or_default();
    let log = fs::File::create(folder.join(format!("{program}{}.out", arguments.last().unwrap_or(&"")).replace('/', "_")));
    let log = log.or_else(|_| fs::File::create(folder.join(program))).expect("made");
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", format!("{path}:/usr/sbin:/sbin")).env("SLURM_CONF", folder.join("slurm.conf"));
    Running::of(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("starts"))
}

fn parent(pid: u32) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let rest = stat.rsplit_once(')').expect("a stat").1;
    rest.split_whitespace().nth(1).and_then(|pid| pid.parse().ok()).expect("a parent")
}

fn configuration(folder: &Path) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a host");
    let (host, folder, [controller, n1, n2]) = (host.trim(), folder.display(), free_tcp_ports());
    format!(
        "ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=2
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0
MpiDefault=none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={n1} CPUs=1 RealMemory=1000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={n2} CPUs=1 RealMemory=1000
PartitionName=all Nodes=n1,n2 Default=YES State=UP MaxTime=INFINITE
"
    )
}

/// A program that is ours, but that one shard stands still the first time it is started, and says where.
pub(crate) fn standing_still(folder: &Path, shard: &str) -> PathBuf {
    let path = folder.join("rankscope-once");
    let script = format!(
        r#"#!/bin/sh
case "$*" in
  *"--shard {shard}"*) if mkdir "{folder}/stood" 2>/dev/null; then
    echo "${{SLURMD_NODENAME:-here}} $$" > "{folder}/stands.tmp"; mv "{folder}/stands.tmp" "{folder}/stands"
    while :; do sleep 1; done
  fi ;;
esac
exec {PROGRAM} "$@"
"#,
        folder = folder.display()
    );
    fs::write(&path, script).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("allowed");
    path
}

/// Where the shard stands still, and the process of it.
pub(crate) fn stands(folder: &Path) -> (String, u32) {
    wait_for("a task in its middle", || folder.join("stands").exists());
    let said = fs::read_to_string(folder.join("stands")).expect("read");
    let (node, pid) = said.trim().split_once(' ').expect("a node and a process");
    (node.to_owned(), pid.parse().expect("a number"))
}

/// Whether what lies in `folder` is what `report` writes of `traces`.
pub(crate) fn is_the_report(folder: &Path, traces: &Path) -> bool {
    let expected = tempfile::tempdir().expect("a temporary directory");
    let written = rankscope(&["report", text(traces), "--out", text(expected.path()), "--no-timeline"]);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let [expected, merged] = [expected.path(), folder].map(|folder| fs::read(folder.join("report.json")));
    merged.is_ok_and(|merged| merged == expected.expect("written"))
}

#[test]
fn an_array_job_that_loses_a_node_reports_what_report_does() {
    let Some(mut slurm) = Slurm::start() else { return };
    let (directory, out) = (write_job(&Job { ranks: 8, ..job() }), tempfile::tempdir().expect("a temporary directory"));
    let (parts, report) = (out.path().join("parts"), out.path().join("report"));
    let program = standing_still(out.path(), "3/7");
    let words = [
        &["dist", "slurm", "--submit", text(directory.path()), "--parts", text(&parts), "--shards", "7"][..],
        &["--merge-memory", "500MB", "--program", text(&program)],
    ]
    .concat();
    let submitted = slurm.configured(command(&words)).output().expect("runs");
    assert!(submitted.status.success(), "{}", String::from_utf8_lossy(&submitted.stderr));
    let (node, task) = stands(out.path());
    slurm.lose(&node, task);
    wait_for("both jobs to end", || {
        slurm.hurry();
        slurm.said("squeue", &["-h"]).trim().is_empty()
    });
    let logs =
        || fs::read_dir(parts.join("logs")).expect("logs").flatten().map(|log| fs::read_to_string(log.path()).expect("read"));
    let logs = logs().collect::<Vec<_>>().join("\n");
    assert!(is_the_report(&report, directory.path()), "{logs}");
}
