//! What a look at a running job costs: the program itself over the full pages of ranks that it can compare, made here.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;
use rankscope_recording::{
    PAGE_ARRIVAL_WORDS, PAGE_ARRIVALS, PAGE_ARRIVALS_AT, PAGE_COUNT_AT, PAGE_GROUPS_AT, PAGE_STATES_AT, PAGE_WORDS,
    PageArrival, PageHead, PageOp, PageState,
};
use serde::Serialize;

use super::super::child::{self, Cost};

/// Looking at so many ranks.
#[derive(Serialize)]
pub(super) struct Looked {
    pub(super) ranks: u32,
    /// Of the fastest of three, with starting the program.
    pub(super) cost: Cost,
    /// From one look to the next, as `top` and `watch` pace themselves.
    pub(super) every_seconds: f64,
    /// Of one core.
    pub(super) share_of_core: f64,
    /// The same of `top` on a terminal, which stays and draws.
    pub(super) screen_share_of_core: f64,
    /// What either may be.
    pub(super) limit: f64,
}

impl Looked {
    pub(super) fn is_met(&self) -> bool {
        self.share_of_core.max(self.screen_share_of_core) <= self.limit
    }
}

/// What a look takes of processors is at most one part in so many of the time between two, as `top` paces itself.
const PACE: f64 = 24.0;
/// Collectives of a step.
const MEETINGS: u64 = 8;
const STEP_NS: i64 = 1_000_000_000;

/// Measures `binary` at 64 and 4,096 ranks.
pub(super) fn measured(binary: &Path, folder: &Path) -> Result<Vec<Looked>> {
    [(64, 0.01), (4_096, 0.05)].into_iter().map(|(ranks, limit)| look(binary, folder, ranks, limit)).collect()
}

fn look(binary: &Path, folder: &Path, ranks: u32, limit: f64) -> Result<Looked> {
    let run = folder.join(format!("live-{ranks}"));
    if run.exists() {
        fs::remove_dir_all(&run)?;
    }
    let quiet = |command: &mut Command| child::succeed(command.stdout(Stdio::null()).stderr(Stdio::null()));
    quiet(Command::new(binary).args(["run", "--no-clock", "--no-report", "--out"]).arg(&run).args(["--", "true"]))?;
    fs::create_dir(run.join("live"))?;
    for rank in 0..ranks {
        fs::write(run.join(format!("live/rank-{rank}.page")), page(rank, ranks))?;
    }
    let mut top = Command::new(binary);
    top.arg("top").arg(&run).args(["--once", "--format", "json"]).stdout(Stdio::null());
    let cost = child::fastest(&mut top)?;
    let every_seconds = (PACE * cost.cpu_seconds).max(1.0);
    let screen = on_screen(binary, &run)?;
    let screen_share_of_core = screen.cpu_seconds / screen.seconds;
    Ok(Looked { ranks, cost, every_seconds, share_of_core: cost.cpu_seconds / every_seconds, screen_share_of_core, limit })
}

/// `top` on a terminal of a usual size for half a minute; `script` makes the terminal. What both take is counted.
fn on_screen(binary: &Path, run: &Path) -> Result<Cost> {
    let shown = "stty cols 160 rows 50; timeout --foreground --preserve-status 30 \"$BINARY\" top \"$RUN\"";
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", shown, "/dev/null"]).env("BINARY", binary).env("RUN", run);
    child::succeed(script.env("TERM", "xterm-256color").stdin(Stdio::null()).stdout(Stdio::null()))
}

/// A rank that has met all others as often as a page holds; the last is late.
fn page(rank: u32, ranks: u32) -> Vec<u8> {
    let mut words = [0; PAGE_WORDS];
    let mut put = |at: usize, what: &[u64]| words[at..at + what.len()].copy_from_slice(what);
    put(0, &PageHead { rank, pid: 1, process_start: 1, boot: [1, 2] }.words());
    put(PAGE_COUNT_AT, &[1]);
    let step = (PAGE_ARRIVALS as u64 / MEETINGS) as i64;
    let state = PageState { step, progress: 1, arrivals: PAGE_ARRIVALS as u64, groups: 1, ..PageState::default() };
    put(PAGE_STATES_AT[0], &state.words(1));
    put(PAGE_GROUPS_AT, &[u64::from(ranks) << 32 | 5, u64::from_le_bytes(*b"world\0\0\0")]);
    for sequence in 0..PAGE_ARRIVALS as u64 {
        let met_ns = sequence as i64 * STEP_NS / MEETINGS as i64;
        let late_ns = i64::from(rank) * 1_009 % 1_000_000 + if rank + 1 == ranks { 20_000_000 } else { 0 };
        let arrival = PageArrival {
            group: 0,
            op: PageOp::AllReduce,
            sequence,
            bytes: 1 << 20,
            arrived_ns: met_ns + late_ns,
            left_ns: met_ns + 30_000_000,
            step: (sequence / MEETINGS) as i64,
        };
        put(PAGE_ARRIVALS_AT + sequence as usize * PAGE_ARRIVAL_WORDS, &arrival.words(sequence));
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// As a Markdown table.
pub(super) fn table(looked: &[Looked]) -> String {
    let mut text = String::from(
        "| ranks | a look, CPU ms | peak MB | each, s | of a core | on a terminal | limit |\n|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for one in looked {
        let Cost { cpu_seconds, peak_mb, .. } = one.cost;
        let (share, screen, limit) = (100.0 * one.share_of_core, 100.0 * one.screen_share_of_core, 100.0 * one.limit);
        text += &format!(
            "| {} | {:.1} | {peak_mb:.0} | {:.1} | {share:.1} % | {screen:.1} % | {limit:.0} % |\n",
            one.ranks,
            1e3 * cpu_seconds,
            one.every_seconds
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_recording::LivePage;

    #[test]
    fn a_made_page_is_read_whole() {
        let bytes = page(3, 4);
        let page = LivePage::read(&bytes, &bytes).unwrap();
        assert_eq!((page.head.rank, page.groups[0].members, page.groups[0].name.as_str()), (3, 4, "world"));
        // The oldest may be overwritten while they are read.
        assert!(page.arrivals.len() > 240, "{}", page.arrivals.len());
    }
}
