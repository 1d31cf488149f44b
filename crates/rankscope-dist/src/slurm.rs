//! Slurm: an array job that maps, and a job after it that merges.
//!
//! Slurm starts a job again whose node failed or that was preempted, if it may be requeued; it does not try again what failed. So the
//! task does: the same again after an ordinary failure, on another node after a signal, nothing where another try ends the same.

use crate::{FINAL_CODES, RETRIES, Tasks};

/// What of Slurm a site wants otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slurm {
    /// Its partition.
    pub partition: Option<String>,
    /// Its account.
    pub account: Option<String>,
    /// How long a task may take, as `--time` has it.
    pub time: Option<String>,
    /// Where the tasks' output goes; a line for a shell.
    pub logs: String,
}

/// A shell script that submits both jobs and says their numbers.
pub fn slurm(tasks: &Tasks, site: &Slurm) -> String {
    let Tasks { map_line, merge_line, inputs, shards, .. } = tasks;
    let (memory, merge_memory) = (tasks.memory_mib(), tasks.merge_memory_mib());
    let codes = FINAL_CODES.map(|code| code.to_string()).join("|");
    let (common, logs) = (common(site), &site.logs);
    format!(
        r#"#!/bin/sh
# Maps {inputs} traces in {shards} tasks of an array job, and merges when all are done. Run it, or pipe it into sh.
set -eu
mkdir -p {logs}
map=$(sbatch --parsable --job-name=rankscope-map --array=1-{shards} --ntasks=1 --cpus-per-task=1 --mem={memory}M --requeue \
  --output={logs}/map-%A_%a.log --open-mode=append{common} <<'TASK'
#!/bin/sh
export RAYON_NUM_THREADS=1
try=0
while :; do
  code=0
  {map_line} --shard "$SLURM_ARRAY_TASK_ID/{shards}" || code=$?
  case $code in
    0) exit 0 ;;
    # Another try would end the same.
    {codes}) exit "$code" ;;
    # Killed, for want of memory or by somebody: another node.
    137|143) [ "${{SLURM_RESTART_COUNT:-0}}" -ge {RETRIES} ] || {{ scontrol requeue "$SLURM_JOB_ID" && sleep 60; }} ;;
  esac
  try=$((try + 1))
  [ "$try" -le {RETRIES} ] || exit "$code"
  sleep "$try"
done
TASK
)
merge=$(sbatch --parsable --job-name=rankscope-merge --dependency="afterok:$map" --kill-on-invalid-dep=yes --ntasks=1 \
  --mem={merge_memory}M --requeue --output={logs}/merge-%j.log{common} <<'TASK'
#!/bin/sh
exec {merge_line}
TASK
)
echo "map $map, merge $merge; see squeue --jobs=$map,$merge, and {logs}"
"#
    )
}

fn common(site: &Slurm) -> String {
    let options = [("partition", &site.partition), ("account", &site.account), ("time", &site.time)];
    let option = |(name, value): (&str, &Option<String>)| value.as_ref().map(|value| format!(" --{name}={value}"));
    options.into_iter().filter_map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn the_script_divides_and_depends() {
        let site = Slurm { partition: Some("gpu".to_owned()), logs: "/shared/parts/logs".to_owned(), ..Slurm::default() };
        let script = slurm(&example(), &site);
        for expected in [
            "--array=1-64 --ntasks=1 --cpus-per-task=1 --mem=513M --requeue",
            "rankscope map --parts /shared/parts --format json --shard \"$SLURM_ARRAY_TASK_ID/64\"",
            "    2|3|4) exit \"$code\" ;;",
            "--dependency=\"afterok:$map\"",
            "--mem=2048M",
            "%a.log --open-mode=append --partition=gpu <<'TASK'",
            "exec rankscope merge /shared/parts --out /shared/report\n",
        ] {
            assert!(script.contains(expected), "{expected}\n{script}");
        }
        assert!(!script.contains("--account"));
    }
}
