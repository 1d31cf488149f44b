//! `rankscope open`: a run's page, or its timeline at what was found, in the browser.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rankscope_cli::ExitCode;
use rankscope_cli::output;
use rankscope_pipeline::{Patient, Visit};
use rankscope_serve::Shelf;

use crate::serve::{Place, ServedArgs, until_told};

/// Open a run in the browser: its page, or its timeline at what was found.
///
/// Serves the run as `rankscope serve` does, until Ctrl-C.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run directory, or a folder that a report was written into
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Open the timeline in Perfetto, at the longest step of the rank that the report names first, with its rows open
    #[arg(long)]
    timeline: bool,
    /// Print the address, and open no browser
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    served: ServedArgs,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let shelf = args.served.shelf(&args.run)?;
    let Some(name) = shelf.single().map(str::to_owned) else {
        bail!(
            "{}: this is no run: it has neither a run.json nor a report.html. Name one of its folders, or use rankscope serve for all of them; \
             rankscope report writes a report.html",
            args.run.display()
        );
    };
    let place = args.served.place()?;
    let seen = shelf.for_client(Arc::new(Patient));
    let url = if args.timeline { timeline(&args, &place, &seen, &name)? } else { page(&place, &seen, &name) };
    until_told(&place, shelf, || {
        output::answer(&url)?;
        if !args.print
            && let Err(error) = browse(&url)
        {
            output::remark(&format!("no browser could be started ({error}); open the address above"));
        }
        output::remark("Ctrl-C ends it");
        Ok(())
    })
}

/// The report of a run; where it has none what else there is of it.
fn page(place: &Place, shelf: &Visit<'_>, name: &str) -> String {
    let run = format!("/runs/{}/", encoded(name));
    let report = shelf.runs().ok().and_then(|runs| runs.into_iter().next()?.page);
    place.url(&report.map_or_else(|| run.clone(), |report| format!("{run}files/{report}")))
}

fn timeline(args: &Args, place: &Place, shelf: &Visit<'_>, name: &str) -> Result<String> {
    if shelf.open(name, &["timeline.pftrace"]).is_err() {
        bail!("{}: there is no timeline.pftrace; rankscope report writes it", args.run.display());
    }
    let file = encoded(&place.url(&format!("/runs/{}/files/timeline.pftrace", encoded(name))));
    let card = shelf.runs().ok().and_then(|runs| runs.into_iter().next());
    let at = card.map(|card| card.timeline_at).filter(|at| !at.is_empty()).map(|at| format!("&{at}")).unwrap_or_default();
    match (args.served.has_viewer(), place.perfetto_may_fetch()) {
        (true, _) => Ok(format!("{}#!/?url={file}{at}", place.url("/perfetto/"))),
        (_, true) => Ok(format!("https://ui.perfetto.dev/#!/?url={file}{at}")),
        _ => bail!(
            "Perfetto's UI fetches timelines from 127.0.0.1:9001 only, and --listen names another place. Leave it out; or give the UI's folder with \
             --perfetto; or open the run's page, whose button works from any port"
        ),
    }
}

/// Has the desktop open `url`, and does not wait for it.
fn browse(url: &str) -> Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().with_context(|| program.to_owned())?;
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// `text` as a piece of an address.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn an_address_in_an_address_is_one_value() {
        assert_eq!(encoded("http://a:1/b c?d=é"), "http%3A%2F%2Fa%3A1%2Fb%20c%3Fd%3D%C3%A9");
    }
}
