//! A real Ray cluster of two nodes: one of them killed in the middle of a task, and a driver lost in the middle of a job.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::common::{rankscope, write_job};
use crate::dist_slurm::{is_the_report, standing_still, stands};
use crate::map_merge::{job, text};
use crate::process::{command, ended, signal, wait_for};
use rankscope_testkit::{Job, Need, given};

/// A head that takes no tasks, and two nodes that take one each; a line on its input kills a node.
const CLUSTER: &str = "
import sys
from ray.cluster_utils import Cluster
small = dict(object_store_memory=80 << 20)
cluster = Cluster(initialize_head=True, head_node_args=dict(num_cpus=0, include_dashboard=False, **small))
nodes = [cluster.add_node(num_cpus=1, memory=1 << 30, resources={'n%d' % n: 1}, **small) for n in range(2)]
print(cluster.address, flush=True)
for line in sys.stdin:
    # The raylet that the worker with this process belongs to goes, and all that it started.
    import psutil
    above = {process.pid for process in psutil.Process(int(line)).parents()}
    for node in nodes:
        raylet = node.all_processes['raylet'][0].process.pid
        if raylet in above:
            cluster.remove_node(node, allow_graceful=False)
            print('killed', flush=True)
cluster.shutdown()
";

struct Ray {
    python: PathBuf,
    address: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Ray {
    fn start() -> Option<Self> {
        let python = given(Need::Ray)?;
        let mut cluster = Command::new(&python);
        cluster.args(["-c", CLUSTER]).env("RAY_USAGE_STATS_ENABLED", "0").stderr(Stdio::null());
        let mut child = cluster.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
        let (input, mut output) = (child.stdin.take(), BufReader::new(child.stdout.take().expect("piped")));
        let address = line(&mut output);
        Some(Self { python, address, child, input, output })
    }

    /// The node on which this process runs is lost.
    fn lose(&mut self, pid: u32) {
        writeln!(self.input.as_mut().expect("open"), "{pid}").expect("written");
        assert_eq!(line(&mut self.output), "killed");
    }

    fn dist(&self, traces: &Path, parts: &Path, more: &[&str]) -> Command {
        let words = ["dist", "ray", text(traces), "--parts", text(parts), "--address", &self.address, "--python"];
        let mut command = command(&[&words[..], &[text(&self.python), "--progress", "json"], more].concat());
        command.env("RAY_USAGE_STATS_ENABLED", "0").stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }
}

fn line(output: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    // Ray says things of its own on the same stream.
    while output.read_line(&mut line).expect("read") > 0 {
        let said = line.trim().to_owned();
        if said == "killed" || (said.contains(':') && !said.contains(' ')) {
            return said;
        }
        line.clear();
    }
    panic!("the cluster ended");
}

impl Drop for Ray {
    fn drop(&mut self) {
        // At the end of its input it takes its nodes down.
        self.input = None;
        let _gone = self.child.wait();
    }
}

#[test]
fn a_cluster_that_loses_a_node_reports_what_report_does() {
    let Some(mut ray) = Ray::start() else { return };
    let (directory, out) = (write_job(&Job { ranks: 8, ..job() }), tempfile::tempdir().expect("a temporary directory"));
    let parts = out.path().join("parts");
    let program = standing_still(out.path(), "3/7");
    let job = ray.dist(directory.path(), &parts, &["--shards", "7", "--program", text(&program)]).spawn().expect("starts");
    let (_, task) = stands(out.path());
    ray.lose(task);
    let ended = ended(job);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert!(said.contains(r#"{"stage":"done","done":7,"of":7,"#), "{said}");
    assert!(is_the_report(&out.path().join("report"), directory.path()), "{said}");
}

#[test]
fn a_driver_that_is_lost_or_cancelled_is_gone_on_with() {
    let Some(ray) = Ray::start() else { return };
    let (directory, out) = (write_job(&Job { ranks: 8, ..job() }), tempfile::tempdir().expect("a temporary directory"));
    let parts = out.path().join("parts");
    for (name, code) in [("KILL", None), ("INT", Some(130))] {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let program = standing_still(folder.path(), "8/8");
        let job = ray.dist(directory.path(), &parts, &["--shards", "8", "--program", text(&program)]).spawn().expect("starts");
        let (_, task) = stands(folder.path());
        signal(name, job.id());
        let ended = ended(job);
        assert_eq!(ended.status.code(), code, "{}", String::from_utf8_lossy(&ended.stderr));
        // What nobody waits for ends with it.
        wait_for("the task to end", || !crate::process::is_alive(&task.to_string()));
        assert!(!out.path().join("report").exists());
    }
    let again = ended(ray.dist(directory.path(), &parts, &["--shards", "8"]).spawn().expect("starts"));
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    assert!(is_the_report(&out.path().join("report"), directory.path()));
}

#[test]
fn what_cannot_be_helped_ends_at_once_with_its_code() {
    let Some(ray) = Ray::start() else { return };
    let (directory, out) = (write_job(&job()), tempfile::tempdir().expect("a temporary directory"));
    let parts = out.path().join("parts");
    assert!(rankscope(&["plan", text(directory.path()), "--parts", text(&parts)]).status.success());
    fs::copy(directory.path().join("rank0.json"), directory.path().join("rank1.json")).expect("copied");
    let mut job = command(&["dist", "ray", "--parts", text(&parts), "--address", &ray.address, "--python", text(&ray.python)]);
    let ended = ended(job.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts"));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(4) && said.contains("rank1.json: the file changed"), "{said}");
    let mut nowhere = command(&["dist", "ray", "--parts", text(&parts), "--python", "/nowhere/python"]);
    let said = nowhere.output().expect("runs");
    assert!(String::from_utf8_lossy(&said.stderr).contains("--python /nowhere/python"));
}
