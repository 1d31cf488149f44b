//! Keeps the pages whole: two of them are written here from the program, and every link leads somewhere.
//!
//! The idea: what the program knows about itself is not typed a second time. The command line page is what `--help` prints of
//! every verb ([`cli`]); the settings page is the table of settings ([`settings`]). What people write is only checked: links and
//! their anchors, and that the index names every page ([`links`]). Commands in pages are the business of [`crate::readme`].

mod cli;
mod links;
mod settings;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use similar::TextDiff;

use crate::cargo;

/// Options of `cargo xtask docs`.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Write the generated pages instead of comparing them.
    #[arg(long)]
    pub(crate) write: bool,
    /// Ask this program for its help; without it, one is built.
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
}

/// A page's path, and what is in it.
type Page = (&'static str, fn(&Args) -> Result<String>);

const GENERATED: [Page; 2] = [
    ("docs/reference/cli.md", |args| cli::page(args.program.as_deref())),
    ("docs/reference/settings.md", |_| Ok(settings::page())),
];

/// Writes or compares the generated pages, then follows every link; fails after all of it.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut stale = Vec::new();
    for (name, generate) in GENERATED {
        let fresh = generate(args).with_context(|| format!("failed to generate {name}"))?;
        if !settled(name, &fresh, args.write)? {
            stale.push(name);
        }
    }
    let checked = links::check(cargo::root())?;
    checked.faults.iter().for_each(|fault| eprintln!("{fault}"));
    println!(
        "{} pages, {} links within the repository, {} of them dead or missing",
        checked.pages,
        checked.links,
        checked.faults.len()
    );
    if !stale.is_empty() {
        bail!("{} is not what the program says now; `cargo xtask docs --write` brings it up to date", stale.join(" and "));
    }
    if !checked.faults.is_empty() {
        bail!("{} links or pages of the documents are wrong", checked.faults.len());
    }
    Ok(())
}

/// Whether the page at `name` holds `fresh` in the end. A difference is shown.
fn settled(name: &str, fresh: &str, write: bool) -> Result<bool> {
    let path = cargo::root().join(name);
    // A page that is not there yet differs in all its lines.
    let present = fs::read_to_string(&path).unwrap_or_default();
    if present == fresh {
        return Ok(true);
    }
    if write {
        fs::write(&path, fresh).with_context(|| format!("failed to write {}", path.display()))?;
        println!("written: {name}");
        return Ok(true);
    }
    println!("{name}, as it is (-) and as it would be written (+):");
    println!("{}", TextDiff::from_lines(present.as_str(), fresh).unified_diff().context_radius(2));
    Ok(false)
}
