//! The `rankscope` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    rankscope::command_line(std::env::args_os()).into()
}
