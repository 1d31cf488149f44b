//! srun: within an allocation a second step fits beside the job's, one task a node; without one there is nothing to share.

use super::{Agents, Env, Flags, JobCommand, LaunchError, Launcher};

/// Short flags of srun that take a value, and long ones that do so without `=`.
const VALUED: &str = "ABcCdDeFGiIJLmMnNopqrRSTtUwWxX";
const SWITCHES: [&str; 16] = [
    "--contiguous",
    "--disable-status",
    "--exact",
    "--exclusive",
    "--help",
    "--hold",
    "--interactive",
    "--label",
    "--no-allocate",
    "--overcommit",
    "--overlap",
    "--preserve-env",
    "--pty",
    "--quiet",
    "--unbuffered",
    "--verbose",
];

pub(super) fn srun(words: &[String], env: &Env<'_>) -> Result<JobCommand, LaunchError> {
    let flags = Flags::of(words, 1, values);
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok());
    let nodes = number(flags.value(&["--nodes"]).or_else(|| flags.short("-N")));
    let in_allocation = match env.number("SLURM_JOB_NUM_NODES")? {
        Some(nodes) => Some(nodes),
        None => env.number("SLURM_NNODES")?,
    };
    let nodes = nodes.or(in_allocation);
    let tasks = number(flags.value(&["--ntasks"]).or_else(|| flags.short("-n")));
    let each = number(flags.value(&["--ntasks-per-node"]));
    let job = env.text("SLURM_JOB_ID");
    let agents = match &job {
        None => Agents::impossible(
            "this srun creates its own allocation, in which agents cannot be started beside the job; run it within salloc or sbatch",
        ),
        Some(_) => {
            let mut prefix: Vec<String> = vec![words[0].clone()];
            // A step that shares everything and asks for nothing; where it has no processors of its own the job keeps all.
            prefix.extend(["--overlap", "--input=none", "--cpu-bind=none", "--mem=0", "--gres=none"].map(str::to_owned));
            prefix.extend(["--job-name=rankscope-clock", "--ntasks-per-node=1"].map(str::to_owned));
            if let Some(nodes) = nodes {
                prefix.extend([format!("--nodes={nodes}"), format!("--ntasks={nodes}")]);
            }
            if let Some(list) = flags.value(&["--nodelist"]).or_else(|| flags.short("-w")) {
                prefix.push(format!("--nodelist={list}"));
            }
            Agents::Everywhere { prefix, num_nodes: nodes, place: None }
        }
    };
    let ranks = tasks.or_else(|| nodes?.checked_mul(each?)).or(env.number("SLURM_NTASKS")?);
    Ok(JobCommand { launcher: Launcher::Srun, ranks, job, program: flags.program, agents })
}

fn values(flag: &str) -> usize {
    match flag.strip_prefix("--") {
        Some(_) => usize::from(!SWITCHES.contains(&flag)),
        None => usize::from(flag.len() == 2 && VALUED.contains(&flag[1..])),
    }
}
