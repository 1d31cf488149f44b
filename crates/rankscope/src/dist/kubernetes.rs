//! `rankscope dist k8s`: an indexed Job that maps, and one after it that merges.

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::output;
use rankscope_dist::{JobName, Pods, kubernetes};

use super::TaskArgs;

/// Map by an indexed Job of Kubernetes, and merge by a second Job.
///
/// Prints the manifest of both, with the commands that run them in front. Traces and parts lie in a volume that is claimed by --claim
/// and mounted at --mount; the plan is made where the same paths lead to them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    tasks: TaskArgs,
    /// Print the manifest; so it is without, too
    #[arg(long)]
    print: bool,
    /// The image, which has rankscope
    #[arg(long, value_name = "IMAGE")]
    image: String,
    /// The claim of the volume
    #[arg(long, value_name = "CLAIM")]
    claim: String,
    /// Where the volume is mounted
    #[arg(long, value_name = "PATH", default_value = "/shared")]
    mount: String,
    /// What the names of both Jobs begin with
    #[arg(long, value_name = "NAME", default_value = "rankscope")]
    name: JobName,
    /// The most pods at once
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    parallelism: u32,
}

pub(super) fn run(args: Args) -> Result<ExitCode> {
    let Args { mut tasks, image, claim, mount, name, parallelism, .. } = args;
    // What started this one here is seldom in the image.
    tasks.program.get_or_insert_with(|| "rankscope".into());
    let pods = Pods { name, image, claim, mount, parallelism };
    output::answer(&kubernetes(&tasks.tasks()?, &pods))?;
    Ok(ExitCode::SUCCESS)
}
