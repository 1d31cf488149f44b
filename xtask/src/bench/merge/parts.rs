//! Parts of as many ranks and collectives as one likes.
//!
//! What a plan and its outcomes look like is nobody's business here: the program maps a trace of one round a rank, and its parts are
//! read, given the rounds of a longer job, and written again in their places.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use rankscope_analyze::{Accounting, Intervals, StepWindow};
use rankscope_collectives::Sequence;
use rankscope_part_files::{StoredPart, read_part, write_part};
use rankscope_testkit::{BASE_NS, OwnRound, Rounds};
use rankscope_time::Rank;
use rankscope_trace::SpanId;

use super::super::child;

/// Makes the parts of `job`, whose rounds are of so many `steps`, in `folder/parts`; `binary` maps them.
pub(super) fn make(job: &Rounds, steps: u32, binary: &Path, folder: &Path) -> Result<()> {
    let (traces, unfinished, parts) = (folder.join("traces"), folder.join("parts.unfinished"), folder.join("parts"));
    fs::create_dir_all(&traces)?;
    // Each in a group of its own: lists of thousands of ranks would be most of their bytes.
    let one = Rounds { rounds: 1, group: 1, lost: 0, ..*job };
    for rank in 0..job.ranks {
        one.write(rank, &mut BufWriter::new(File::create(traces.join(format!("rank{rank}.json")))?))?;
    }
    let mut command = Command::new(binary);
    command.arg("map").arg(&traces).arg("--parts").arg(&unfinished).arg("--no-answers").stdout(Stdio::null());
    child::succeed(&mut command).context("failed to map traces of one round")?;
    let files = files(&unfinished)?;
    ensure!(files.len() == job.ranks as usize, "{} parts were made of {} ranks", files.len(), job.ranks);
    let groups: Vec<Arc<[Rank]>> = (0..job.ranks.div_ceil(job.group)).map(|group| ranks_of(job, group)).collect();
    for path in files {
        let mut stored = read_part(BufReader::new(File::open(&path)?))?;
        let rank = stored.part.rank().0;
        let group = rank / job.group;
        lengthen(&mut stored, job, steps)?;
        let of_part = &mut stored.part.collectives.groups[0];
        (of_part.ranks, of_part.name) = (Arc::clone(&groups[group as usize]), group.to_string());
        let out = BufWriter::new(File::create(&path)?);
        write_part(&stored.part, stored.place, &stored.rules, out)
            .with_context(|| format!("failed to write {}", path.display()))?;
    }
    fs::remove_dir_all(&traces)?;
    Ok(fs::rename(unfinished, parts)?)
}

/// What the parts in `folder` have together.
pub(super) fn bytes(folder: &Path) -> Result<u64> {
    files(folder)?.iter().map(|path| Ok(fs::metadata(path)?.len())).sum()
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let paths: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    let mut parts: Vec<PathBuf> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|own| own == "rkpart")).collect();
    parts.sort();
    Ok(parts)
}

fn ranks_of(job: &Rounds, group: u32) -> Arc<[Rank]> {
    let first = group * job.group;
    (first..job.ranks.min(first + job.group)).map(Rank).collect()
}

/// Gives the part of a rank its rounds of `job`, instead of the one that it has.
fn lengthen(stored: &mut StoredPart, job: &Rounds, steps: u32) -> Result<()> {
    let part = &mut stored.part;
    let all = part.collectives.collectives.to_rows();
    let [template] = all.as_slice() else { bail!("a round has other than one collective") };
    let rounds: Vec<OwnRound> = job.own_rounds(part.about.rank.map_or(0, |(rank, _)| rank.0)).collect();
    let whole = |(from, to): (i64, i64)| (BASE_NS + from, BASE_NS + to);
    let (products, reduced): (Vec<_>, Vec<_>) =
        rounds.iter().map(|round| (whole(round.product_ns), whole(round.reduced_ns))).unzip();
    let stay = |(round, (start_ns, end_ns)): (&OwnRound, &(i64, i64))| {
        let mut own = template.clone();
        (own.span, own.start_ns, own.end_ns) = (SpanId(2 * round.number + 1), *start_ns, *end_ns);
        own.sequence = Sequence::of(job.sequence.then_some(u64::from(round.number)));
        own
    };
    part.collectives.collectives = rounds.iter().zip(&reduced).map(stay).collect();
    let of_step = rounds.len().div_ceil(steps as usize);
    let windows = (0..).zip(products.chunks(of_step)).zip(reduced.chunks(of_step));
    let windows = windows.map(|((number, products), reduced)| StepWindow {
        number,
        start_ns: products[0].0,
        end_ns: reduced[reduced.len() - 1].1,
    });
    let report = &mut part.report;
    report.steps = windows.collect();
    part.collectives.steps = report.steps.iter().map(StepWindow::as_step).collect();
    report.exposed_ns = reduced.iter().map(|(from, to)| to - from).collect();
    for name in &mut report.names {
        let spans = if name.name.contains("AllReduce") { &reduced } else { &products };
        (name.count, name.total_ns) = (spans.len() as u64, spans.iter().map(|(from, to)| to - from).sum());
    }
    let (Some((from_ns, _)), Some((_, to_ns))) = (products.first(), reduced.last()) else { bail!("a rank has no round") };
    let extent_ns = (*from_ns, *to_ns);
    let [compute, comm] = [products, reduced].map(Intervals::union_of);
    report.accounting = Accounting::of_sets(compute, comm, Intervals::default(), extent_ns);
    report.recorded_ns = vec![extent_ns];
    part.about.bounds_ns = Some(extent_ns);
    part.about.marked_steps = report.steps.iter().map(|step| step.number).collect();
    part.about.events = 2 * rounds.len() as u64;
    part.exports.iter_mut().for_each(|export| export.spans = 2 * job.rounds);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_of_consecutive_ranks_and_the_last_one_may_be_smaller() {
        let job = Rounds { ranks: 10, rounds: 1, group: 4, sequence: true, lost: 0, ranks_per_node: 8, seed: 1 };
        let groups: Vec<Vec<u32>> = (0..3).map(|group| ranks_of(&job, group).iter().map(|rank| rank.0).collect()).collect();
        assert_eq!(groups, [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
    }
}
