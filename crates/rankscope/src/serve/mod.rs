//! `rankscope serve`: the pages of runs, on this machine, until Ctrl-C; and what `rankscope open` does before it does the same.

mod listen;
mod place;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rankscope_cli::ExitCode;
use rankscope_cli::output;
use rankscope_pipeline::RunShelf;
use rankscope_serve::Site;

pub(crate) use listen::{head, send};
pub(crate) use place::Place;

/// Serve the pages of runs on this machine: reports, timelines, kernels of a step.
///
/// PATH is a folder of runs, a run directory, or a folder that a report was written into. Only this machine can open the pages; where --listen
/// names an address that others reach, the printed token is needed, too. Nothing outside of the folder is served, and nothing is changed.
/// Ctrl-C ends it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A folder of runs, or one run
    #[arg(value_name = "PATH", default_value = "runs")]
    path: PathBuf,
    #[command(flatten)]
    served: ServedArgs,
}

/// Where it is served, and what besides runs.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServedArgs {
    /// Address and port to listen at; port 0 takes a free one. Perfetto's UI can fetch timelines from port 9001 only
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:9001")]
    pub(crate) listen: std::net::SocketAddr,
    /// Ask for a token on this machine, too, where others have accounts on it
    #[arg(long)]
    token: bool,
    /// Folder with Perfetto's UI, which is served beside the runs: no network is needed then
    #[arg(long, value_name = "DIR")]
    perfetto: Option<PathBuf>,
    /// Folder with the runs' traces, where they are not beside their reports; of several runs with a folder for each by its name
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
}

impl ServedArgs {
    /// The shelf over `path`, with the folders that were named.
    pub(crate) fn shelf(&self, path: &Path) -> Result<RunShelf> {
        if let Some(viewer) = self.perfetto.as_ref().filter(|viewer| !viewer.join("index.html").is_file()) {
            anyhow::bail!(
                "{}: Perfetto's UI is not here: there is no index.html. Name the folder that holds it",
                viewer.display()
            );
        }
        let shelf = RunShelf::over(path).with_context(|| format!("{}: cannot be served", path.display()))?;
        Ok(shelf.with_traces(self.traces.clone()).with_viewer(self.perfetto.clone()))
    }

    /// Whether Perfetto's UI is served.
    pub(crate) fn has_viewer(&self) -> bool {
        self.perfetto.is_some()
    }

    /// Takes the port.
    pub(crate) fn place(&self) -> Result<Place> {
        Place::take(self.listen, self.token)
    }
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let shelf = args.served.shelf(&args.path)?;
    let place = args.served.place()?;
    until_told(&place, shelf, || {
        output::answer(&place.url("/"))?;
        output::remark(&format!("serving {}; Ctrl-C ends it", args.path.display()));
        Ok(())
    })
}

/// Serves `shelf` at `place` until somebody ends it; `announce` says where that is.
pub(crate) fn until_told(place: &Place, shelf: RunShelf, announce: impl FnOnce() -> Result<()>) -> Result<ExitCode> {
    listen::until_told(&place.listener, Site::new(place.access.clone()), shelf, announce)?;
    Ok(ExitCode::SUCCESS)
}
