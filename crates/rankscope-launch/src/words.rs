//! What the processes of a job said of themselves, and how its ranks ended by all that is known.
//!
//! Each process writes a file of its own below `nodes/`, with the hooks that it was given: a rank `rank-R.json`, when it exports a
//! profile or fails, and torchrun on each node `launcher-HOST-PID.json`, when its ranks failed. What cannot be read is left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rankscope_run::{Ending, Exit, ProfiledWindow, RankEnd, SideFile, read_side, settle_ends};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::outcome::Outcome;

/// What a rank's process said of itself.
#[derive(Debug, Deserialize)]
pub(crate) struct RankWord {
    pub(crate) rank: u32,
    pub(crate) host: String,
    pub(crate) pid: u32,
    pub(crate) world_size: Option<u32>,
    /// As its launcher numbers it.
    pub(crate) node: Option<u32>,
    /// How often its launcher had started it before.
    #[serde(default)]
    restart: u32,
    /// The last step that its profiler counted.
    after_step: Option<i64>,
    failure: Option<Failure>,
    /// What is to be known of its trace.
    pub(crate) note: Option<String>,
    /// Steps that were to be profiled from outside.
    #[serde(default)]
    profiled: Vec<ProfiledWindow>,
}

#[derive(Debug, Deserialize)]
struct Failure {
    unix_ns: i64,
    message: Option<String>,
    exit_code: Option<i32>,
}

/// What torchrun said of the ranks that it started.
#[derive(Debug, Deserialize)]
struct LauncherWord {
    host: String,
    failures: Vec<Launched>,
}

#[derive(Debug, Deserialize)]
struct Launched {
    rank: u32,
    /// As Python tells it: of a process that was killed, the signal below 0.
    exit_code: i32,
    /// In whole seconds.
    unix_s: i64,
}

/// The words of all processes of a run.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// In order of the ranks.
    pub(crate) ranks: Vec<RankWord>,
    launchers: Vec<LauncherWord>,
}

impl Words {
    pub(crate) fn of(run: &Path) -> Self {
        let mut ranks: Vec<RankWord> = read(run, "rank-");
        ranks.sort_by_key(|word| word.rank);
        Self { ranks, launchers: read(run, "launcher-") }
    }

    /// How the ranks ended. `alone` says that the command is the one rank.
    pub(crate) fn ends(&self, outcome: &Outcome, alone: bool) -> Vec<RankEnd> {
        let mut ends: BTreeMap<u32, RankEnd> = outcome.ends.iter().map(|end| (end.rank, end.clone())).collect();
        if !outcome.exit.is_success() {
            // Whatever nobody saw the end of came to it in the same way.
            let how = if outcome.asked_by_signal.is_some() { Ending::Asked } else { Ending::Failed };
            for (host, launched) in self.launchers.iter().flat_map(|word| word.failures.iter().map(|it| (&word.host, it))) {
                launched.add_to(ends.entry(launched.rank).or_insert_with(|| RankEnd::new(launched.rank, how)), host);
            }
            let restart = self.ranks.iter().filter(|word| word.failure.is_some()).map(|word| word.restart).max();
            for word in self.ranks.iter().filter(|word| Some(word.restart) == restart) {
                if let Some(failure) = &word.failure {
                    let end = ends.entry(word.rank).or_insert_with(|| RankEnd::new(word.rank, how));
                    word.add_to(end, failure, outcome);
                    end.exit = end.exit.or(alone.then_some(outcome.exit));
                }
            }
        }
        let mut ends: Vec<RankEnd> = ends.into_values().collect();
        settle_ends(&mut ends);
        ends
    }

    /// What became of the steps that were to be profiled, those with one story together.
    pub(crate) fn profiled(&self) -> Vec<ProfiledWindow> {
        let mut windows: Vec<ProfiledWindow> = Vec::new();
        for (rank, told) in self.ranks.iter().flat_map(|word| word.profiled.iter().map(|told| (word.rank, told))) {
            match windows.iter_mut().find(|other| other.is_like(told)) {
                Some(other) => {
                    other.reached = other.reached.max(told.reached);
                    other.ranks.push(rank);
                }
                None => windows.push(ProfiledWindow { ranks: vec![rank], ..told.clone() }),
            }
        }
        windows.sort_by_key(|window| window.first_step);
        windows
    }
}

impl Launched {
    fn add_to(&self, end: &mut RankEnd, host: &str) {
        let exit = if self.exit_code < 0 { Exit::Signal(-self.exit_code) } else { Exit::Code(self.exit_code) };
        // Not before the end of that second, lest it come before what was told more finely.
        let unix_ns = self.unix_s.saturating_add(1).saturating_mul(1_000_000_000);
        end.ended_unix_ns = end.ended_unix_ns.or(Some(unix_ns));
        end.exit = end.exit.or(Some(exit));
        end.host.get_or_insert_with(|| host.to_owned());
        if exit == Exit::Signal(SIGTERM) {
            // So torchrun ends the ranks that are left.
            end.how = Ending::Asked;
        }
    }
}

const SIGTERM: i32 = 15;

impl RankWord {
    fn add_to(&self, end: &mut RankEnd, failure: &Failure, outcome: &Outcome) {
        if end.how == Ending::Asked && outcome.asked_unix_ns.is_none_or(|asked| failure.unix_ns < asked) {
            // It was on its way out when it was asked.
            end.how = Ending::Failed;
        }
        end.ended_unix_ns = Some(failure.unix_ns);
        end.after_step = self.after_step;
        end.message.clone_from(&failure.message);
        end.exit = end.exit.or(failure.exit_code.map(Exit::Code));
        end.host.get_or_insert_with(|| self.host.clone());
    }
}

/// A word has a few lines; what is longer than this is none.
const BYTES_MAX: u64 = 1 << 20;

fn read<T: DeserializeOwned>(run: &Path, prefix: &str) -> Vec<T> {
    let Ok(entries) = fs::read_dir(run.join("nodes")) else { return Vec::new() };
    let such = entries.flatten().filter(|entry| {
        let named = entry.file_name().to_string_lossy().starts_with(prefix);
        named && entry.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= BYTES_MAX)
    });
    such.filter_map(|entry| serde_json::from_slice(&read_side(&entry.path(), SideFile::Record).ok()?).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOST: &str = "RuntimeError: Connection closed by peer";

    fn words(ranks: &[&str], launcher: Option<&str>) -> Words {
        let ranks = ranks.iter().map(|text| serde_json::from_str(&format!("{{\"host\":\"h\",\"pid\":1,{text}}}")).unwrap());
        let launchers =
            launcher.map(|text| serde_json::from_str(&format!("{{\"host\":\"h\",\"failures\":[{text}]}}")).unwrap());
        Words { ranks: ranks.collect(), launchers: launchers.into_iter().collect() }
    }

    fn outcome(ends: Vec<RankEnd>) -> Outcome {
        Outcome { exit: Exit::Code(1), started: true, ends, asked_unix_ns: Some(3_000_000_000), asked_by_signal: None }
    }

    fn told(ends: &[RankEnd]) -> Vec<(u32, Ending, Option<Exit>)> {
        ends.iter().map(|end| (end.rank, end.how, end.exit)).collect()
    }

    #[test]
    fn a_rank_that_failed_before_it_was_asked_failed() {
        let ended = |rank, how, exit| {
            let mut end = RankEnd::new(rank, how);
            end.exit = Some(exit);
            end
        };
        let seen = vec![
            ended(0, Ending::Failed, Exit::Code(1)),
            ended(1, Ending::Asked, Exit::Code(1)),
            ended(2, Ending::Asked, Exit::Signal(15)),
        ];
        let first = format!("\"rank\":0,\"failure\":{{\"unix_ns\":2900000000,\"message\":\"{LOST}\"}}");
        let words = words(
            &[&first, "\"rank\":1,\"after_step\":9,\"failure\":{\"unix_ns\":2000000000,\"message\":\"ValueError: x\"}"],
            None,
        );
        let ends = words.ends(&outcome(seen), false);
        let expected = [
            (0, Ending::Consequence, Some(Exit::Code(1))),
            (1, Ending::Failed, Some(Exit::Code(1))),
            (2, Ending::Asked, Some(Exit::Signal(15))),
        ];
        assert_eq!(told(&ends), expected);
        assert_eq!((ends[1].after_step, ends[1].ended_unix_ns), (Some(9), Some(2_000_000_000)));
    }

    #[test]
    fn the_launcher_knows_what_its_ranks_could_not_say() {
        let lost = format!("\"rank\":0,\"failure\":{{\"unix_ns\":2100000000,\"message\":\"{LOST}\"}}");
        let words =
            words(&[&lost], Some("{\"rank\":2,\"exit_code\":-11,\"unix_s\":2},{\"rank\":0,\"exit_code\":1,\"unix_s\":2}"));
        let ends = words.ends(&outcome(Vec::new()), false);
        let expected = [(0, Ending::Consequence, Some(Exit::Code(1))), (2, Ending::Failed, Some(Exit::Signal(11)))];
        assert_eq!(told(&ends), expected);
    }

    #[test]
    fn what_was_before_a_restart_does_not_count() {
        let words = words(
            &[
                "\"rank\":0,\"restart\":0,\"failure\":{\"unix_ns\":1,\"message\":\"ValueError: of the start before\"}",
                "\"rank\":1,\"restart\":1,\"failure\":{\"unix_ns\":5,\"message\":\"ValueError: y\"}",
            ],
            None,
        );
        assert_eq!(told(&words.ends(&outcome(Vec::new()), false)), [(1, Ending::Failed, None)]);
        let fine = Outcome { exit: Exit::Code(0), ..outcome(Vec::new()) };
        assert_eq!(words.ends(&fine, false), [], "and nothing does where the job ended well");
    }

    #[test]
    fn a_job_that_was_stopped_blames_nobody() {
        let words = words(&["\"rank\":0,\"failure\":{\"unix_ns\":9000000000,\"message\":\"KeyboardInterrupt\"}"], None);
        let stopped = Outcome { asked_by_signal: Some(2), ..outcome(Vec::new()) };
        assert_eq!(told(&words.ends(&stopped, true)), [(0, Ending::Asked, Some(Exit::Code(1)))]);
    }
}
