//! The `rankscope` program.
//!
//! Where something panics, the program aborts, whichever thread it was: half a job's figures are no answer. The release profile unwinds all
//! the same, because the extension module for Python is built by it, where a panic has to become an exception.

use std::process::ExitCode;

fn main() -> ExitCode {
    let said = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        said(panic);
        std::process::abort();
    }));
    rankscope::command_line(std::env::args_os()).into()
}
