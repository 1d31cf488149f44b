//! Those of a job who can be asked: NCCL's service, torch's worker servers, processes of this host.

use std::time::Duration;

use rankscope_hang::{Dump, Evidence, Observed, ProcessState, RasAnswer};
use rankscope_witness::worker::{self, Answers, Handler};
use rankscope_witness::{process, ras};
use rayon::prelude::*;

use super::OfRank;
use super::kept::Keeping;
use crate::Error;

/// How long anybody is waited for who is asked.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// What NCCL's service says.
pub(super) fn ask_ras(address: &str, evidence: &mut Evidence, keeping: &Keeping<'_>) -> Result<(), Error> {
    let bytes = ras::ask(address, ANSWER_WITHIN)?;
    let is_json = bytes.trim_ascii_start().starts_with(b"{");
    keeping.file(if is_json { "ras.json" } else { "ras.txt" }, &bytes)?;
    evidence.add_ras(answer_of(&bytes, address)?);
    Ok(())
}

/// What the service at `address` said, understood.
pub(super) fn answer_of(bytes: &[u8], address: &str) -> Result<RasAnswer, Error> {
    RasAnswer::read(bytes).map_err(|source| Error::RasAnswer { address: address.to_owned(), source })
}

/// What torch's worker servers say; returns who says nothing.
pub(super) fn ask_workers(
    workers: &[OfRank<String>],
    evidence: &mut Evidence,
    keeping: &Keeping<'_>,
) -> Result<Vec<Error>, Error> {
    let addresses: Vec<String> = workers.iter().map(|worker| worker.what.clone()).collect();
    let answers = worker::ask_all(&addresses, ANSWER_WITHIN);
    let mut silent = Vec::new();
    for ((place, worker), answers) in (0..).zip(workers).zip(answers) {
        silent.extend(hear_worker(worker, place, answers, evidence, keeping)?);
    }
    Ok(silent)
}

fn hear_worker(
    worker: &OfRank<String>,
    place: u32,
    answers: Answers,
    evidence: &mut Evidence,
    keeping: &Keeping<'_>,
) -> Result<Vec<Error>, Error> {
    let mut rank = worker.rank.unwrap_or(place);
    let mut silent: Vec<Error> = answers.silent.into_iter().map(Error::from).collect();
    let mut observed = Observed::default();
    for (handler, bytes) in answers.said {
        match handler {
            Handler::FlightRecorder | Handler::NcclTrace => match Dump::read(&bytes) {
                Ok(dump) => {
                    rank = worker.rank.or(dump.rank()).unwrap_or(place);
                    keeping.file(&format!("fr-{rank}.json"), &bytes)?;
                    evidence.add(rank, &worker.what, dump);
                }
                Err(source) => silent.push(Error::WorkerDump { address: worker.what.clone(), source }),
            },
            Handler::Traceback => {
                keeping.file(&format!("stacks-{rank}.txt"), &bytes)?;
                observed.python = Some(String::from_utf8_lossy(&bytes).into_owned());
            }
            Handler::WaitCounters => {
                keeping.file(&format!("waits-{rank}.json"), &bytes)?;
                observed.waits = rankscope_hang::active_waits(&bytes);
            }
        }
    }
    if observed.python.is_some() || !observed.waits.is_empty() {
        observed.rank = Some(rank);
        evidence.add_observed(observed);
    }
    Ok(silent)
}

/// What processes of this host are doing.
pub(super) fn look_at_processes(
    processes: &[OfRank<u32>],
    evidence: &mut Evidence,
    keeping: &Keeping<'_>,
) -> Result<(), Error> {
    let py_spy = process::py_spy();
    let seen: Vec<_> = processes.par_iter().map(|one| process::look(one.what, py_spy.as_deref(), ANSWER_WITHIN)).collect();
    for (one, seen) in processes.iter().zip(seen) {
        let rank = one.rank.or(seen.rank);
        let name = rank.map_or_else(|| format!("stacks-pid{}.txt", seen.pid), |rank| format!("stacks-{rank}.txt"));
        keeping.file(&name, seen.text().as_bytes())?;
        if let Some(why) = &seen.no_python {
            evidence.problem(format!("py-spy tells nothing of process {}: {why}", seen.pid));
        }
        let state = ProcessState::of_letter(seen.state);
        let kernel = seen.kernel();
        evidence.add_observed(Observed { rank, pid: Some(seen.pid), state, python: seen.python, kernel, waits: Vec::new() });
    }
    Ok(())
}
