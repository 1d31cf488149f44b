//! `rankscope doctor`: its arguments, and what it prints. Translates; decides nothing.

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_doctor::{document, examine, look_at_devices};
use rankscope_launch::Executable;
use rankscope_report::doctor_terminal;

/// Say what this host has of all that rankscope can use, and what to do about the rest.
///
/// Looks at clocks, devices and their profilers, NCCL's plugin, torch and JAX, variables of the environment, and programs on the path, and says
/// for each whether it can be used, what to do if not, and what it costs a job. Changes nothing. `rankscope clock doctor` says more about clocks.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Print what vendors' libraries say, which are loaded into this process
    #[arg(long, hide = true)]
    devices: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.devices {
        output::answer(&serde_json::to_string(&look_at_devices())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Some of these libraries end the process that asks them.
    let mut devices = Executable::own()?.command();
    devices.args(["doctor", "--devices"]);
    let document = document(&examine(&mut devices));
    match args.format {
        Format::Json => output::answer(&serde_json::to_string_pretty(&document)?)?,
        Format::Table => output::answer(&doctor_terminal(&document, output::style()))?,
    }
    Ok(ExitCode::SUCCESS)
}
