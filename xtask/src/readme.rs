//! Keeps README and guides honest: the commands they show are run, and what these print is compared with what is shown.
//!
//! The idea: a page says itself what its blocks are, in the source, where its readers' eyes do not fall ([`page`]). A block that
//! nobody can tell about is refused, so that no output stands in a page unwatched. Figures that differ from run to run are
//! compared by their shape ([`shape`]). Commands of `cargo xtask` are parsed and not run: one of them is running this.

mod page;
mod shape;
mod stage;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use clap::Parser;
use regex_lite::Regex;

use crate::ci::Outcome;
use crate::{Xtask, cargo};
use page::{Part, Shown};
use stage::Stage;

/// Options of `cargo xtask readme`.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Pages to check [default: README.md, docs/reference/dispatch-functions.md and what is in docs/tutorial and docs/how-to].
    pages: Vec<PathBuf>,
    /// Put what is printed now into every block that shows something else. One that is abridged in the middle is to be abridged
    /// again by hand; one that shows a beginning gets as many lines.
    #[arg(long)]
    write: bool,
}

/// Runs and compares; fails after all pages if any block shows what is not printed.
pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let pages = if args.pages.is_empty() { pages()? } else { args.pages.clone() };
    let stage = Stage::build()?;
    let tally = checked(&pages, |path, log| check(path, &stage, args.write, log))?;
    println!("{}", tally.said());
    if tally.differ > 0 {
        bail!("{} blocks show what is not printed; `cargo xtask readme --write` puts it right", tally.differ);
    }
    Ok(Outcome::Passed)
}

/// The README, the tutorials, the how-tos and the functions of dispatch, by name; those that wait for a job first, as they take longest.
fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for folder in ["docs/tutorial", "docs/how-to"] {
        let folder = cargo::root().join(folder);
        let entries = fs::read_dir(&folder).with_context(|| format!("failed to read {}", folder.display()))?;
        pages.extend(entries.flatten().map(|entry| entry.path()));
    }
    pages.retain(|path| path.extension().is_some_and(|suffix| suffix == "md"));
    pages.extend(["README.md", "docs/reference/dispatch-functions.md"].map(|page| cargo::root().join(page)));
    pages.sort_by_cached_key(|page| {
        let waits = fs::read_to_string(page).is_ok_and(|text| text.contains("\nsleep "));
        (!waits, page.clone())
    });
    Ok(pages)
}

/// Pages that are run at once: one of them plays jobs that take their time, while others compute.
const PAGES_AT_ONCE: usize = 2;

/// Checks all pages, each of which has a folder of its own, and says what was done for each when it is over.
fn checked(pages: &[PathBuf], check: impl Fn(&Path, &mut String) -> Result<Tally> + Sync) -> Result<Tally> {
    let left = Mutex::new(pages.iter());
    let work = || -> Result<Tally> {
        let mut tally = Tally::default();
        loop {
            let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(path) = next else { return Ok(tally) };
            let mut log = String::new();
            let outcome = check(path, &mut log);
            print!("{log}");
            tally.add(outcome?);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..PAGES_AT_ONCE).map(|_| scope.spawn(work)).collect();
        let mut tally = Tally::default();
        for worker in workers {
            tally.add(worker.join().map_err(|_| anyhow!("a page's check panicked"))??);
        }
        tally.not_run.sort();
        Ok(tally)
    })
}

/// What is said at the end.
#[derive(Default)]
struct Tally {
    compared: usize,
    written: usize,
    differ: usize,
    /// Blocks of commands whose output is shown nowhere.
    silent: usize,
    /// Where, and why.
    not_run: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.compared += other.compared;
        self.written += other.written;
        self.differ += other.differ;
        self.silent += other.silent;
        self.not_run.extend(other.not_run);
    }

    fn said(&self) -> String {
        let mut said = format!("{} blocks compared, {} of them differ", self.compared, self.differ);
        if self.written > 0 {
            said += &format!(", {} written", self.written);
        }
        said += &format!("; {} run that show no output; {} not run", self.silent, self.not_run.len());
        self.not_run.iter().for_each(|what| said += &format!("\n  {what}"));
        said
    }
}

/// Runs the blocks of one page; what is done goes into `log`, a line each.
fn check(path: &Path, stage: &Stage, write: bool, log: &mut String) -> Result<Tally> {
    let mut tally = Tally::default();
    let text = fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    let name = path.strip_prefix(cargo::root()).unwrap_or(path).display().to_string();
    check_verbs(&name, &text)?;
    let folder = stage.folder(&name)?;
    let mut edits = Vec::new();
    for part in page::parts(&text).with_context(|| name.clone())? {
        match part {
            Part::NotRun { line, why } => tally.not_run.push(format!("{name}:{line}: {why}")),
            Part::Run { line, commands, together, shown } => {
                let commands: Vec<String> = commands.into_iter().filter(|command| !command.starts_with(XTASK)).collect();
                let Some(shown) = shown else {
                    stage.run(&commands, together, &folder, log).with_context(|| format!("{name}:{line}"))?;
                    tally.silent += 1;
                    continue;
                };
                tally.compared += 1;
                let outcome = compare(&shown, log, |log| stage.run(&commands, together, &folder, log));
                match outcome.with_context(|| format!("{name}:{line}"))? {
                    Compared::Same => *log += &format!("  as {name}:{} shows\n", shown.lines.start),
                    Compared::Differ { printed, .. } if write => {
                        *log += &format!("  written to {name}:{}\n", shown.lines.start);
                        tally.written += 1;
                        edits.push((shown.lines.clone(), shown.replacement(&printed)));
                    }
                    Compared::Differ { difference, .. } => {
                        *log += &format!("  not as {name}:{} shows (-), but (+)\n{difference}\n", shown.lines.start);
                        tally.differ += 1;
                    }
                }
            }
        }
    }
    if !edits.is_empty() {
        fs::write(path, page::edited(&text, edits)).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(tally)
}

enum Compared {
    Same,
    Differ { printed: String, difference: String },
}

/// What depends on how busy the machine is has more than one try.
const TRIES: usize = 3;

fn compare(shown: &Shown, log: &mut String, mut run: impl FnMut(&mut String) -> Result<String>) -> Result<Compared> {
    let tries = if shown.rule.vary == shape::Vary::Numbers { TRIES } else { 1 };
    let mut left = tries;
    loop {
        let printed = run(log)?;
        let Some(difference) = shown.rule.difference(&shown.text, &printed) else { return Ok(Compared::Same) };
        left -= 1;
        if left == 0 {
            return Ok(Compared::Differ { printed, difference });
        }
        *log += &format!("  differs, {left} more tries\n{difference}\n");
    }
}

const XTASK: &str = "cargo xtask ";

/// Every `cargo xtask` that a page names, in a block or in a sentence, must be one that can be typed.
fn check_verbs(name: &str, text: &str) -> Result<()> {
    let named = Regex::new(r"(?m)(?:^|`)cargo xtask ([^`#\n]+)").context("a pattern of our own")?;
    for found in named.captures_iter(text) {
        let words = found[1].split_whitespace();
        if let Err(error) = Xtask::try_parse_from(std::iter::once("xtask").chain(words)) {
            bail!("{name} names `cargo xtask {}`: {error}", found[1].trim());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_and_options_that_do_not_exist_are_refused() {
        assert!(check_verbs("a", "As `cargo xtask bench clock` says.\n\n```sh\ncargo xtask ci   # all\n```\n").is_ok());
        assert!(check_verbs("a", "```sh\ncargo xtask dance\n```\n").is_err());
        assert!(check_verbs("a", "by `cargo xtask bench clock --louder`").is_err());
    }

    #[test]
    fn what_varies_is_tried_again_and_what_must_not_is_not() {
        let text = "```sh\na\n```\n<!-- output: numbers vary -->\n```text\n1 rank is late\n```\n";
        let [Part::Run { shown: Some(shown), .. }] = &page::parts(text).unwrap()[..] else { panic!("one part") };
        let mut said = ["nobody is late", "3 rank is late"].into_iter();
        assert!(matches!(compare(shown, &mut String::new(), |_| Ok(said.next().unwrap().to_owned())).unwrap(), Compared::Same));
        let exact = Shown { rule: shape::Rule::default(), ..shown.clone() };
        let mut said = ["nobody is late"].into_iter();
        assert!(matches!(
            compare(&exact, &mut String::new(), |_| Ok(said.next().unwrap().to_owned())).unwrap(),
            Compared::Differ { .. }
        ));
    }
}
