//! The benchmark's inputs: one rank of about 531 MB and 1.8 million events, plain and compressed, and eight ranks of a quarter
//! of that, compressed.
//!
//! With RANKSCOPE_CORPUS set they are made of its MI300X trace, so that the figures can be put beside those other tools have
//! published for it; otherwise of a synthetic job of the same number of events. The file names say which.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use rankscope_testkit::planted::{Device, PlantedJob};
use rankscope_testkit::{Dialect, Job};

use super::repeat::Base;

/// Something to measure.
pub(crate) struct Input {
    /// What tables call it.
    pub(crate) name: String,
    /// A file, or a directory of one job's files.
    pub(crate) path: PathBuf,
    /// The same bytes compressed, where `path` is not.
    pub(crate) gzip: Option<PathBuf>,
    /// The traces by rank.
    pub(crate) ranks: Vec<PathBuf>,
}

impl Input {
    /// An input the user named.
    pub(crate) fn given(path: &Path) -> Self {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let mut ranks: Vec<PathBuf> = match fs::read_dir(path) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
            Err(_) => vec![path.to_owned()],
        };
        ranks.sort();
        Self { name, path: path.to_owned(), gzip: None, ranks }
    }
}

/// The made inputs, whether or not they are there yet.
pub(crate) fn all(folder: &Path) -> Vec<Input> {
    let kind = if corpus_trace().is_some() { "mi300x" } else { "synthetic" };
    let one = folder.join(format!("{kind}-1rank.json"));
    let gzip = folder.join(format!("{kind}-1rank.json.gz"));
    let eight = folder.join(format!("{kind}-8ranks"));
    let ranks = (0..RANKS).map(|rank| eight.join(format!("rank{rank}.json.gz"))).collect();
    let input = |path: &Path, gzip, ranks| Input {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        path: path.to_owned(),
        gzip,
        ranks,
    };
    vec![input(&one, Some(gzip.clone()), vec![one.clone()]), input(&gzip, None, vec![gzip.clone()]), input(&eight, None, ranks)]
}

/// Sixteen ranks of together ten million events, whether or not they are there yet.
pub(crate) fn sixteen(folder: &Path) -> Vec<PathBuf> {
    let kind = if corpus_trace().is_some() { "mi300x" } else { "synthetic" };
    let folder = folder.join(format!("{kind}-16ranks"));
    (0..SIXTEEN).map(|rank| folder.join(format!("rank{rank}.json.gz"))).collect()
}

/// Writes the sixteen ranks.
pub(crate) fn make_sixteen(folder: &Path) -> Result<()> {
    let source = Source::find()?;
    let Some(ranks) = sixteen(folder).first().and_then(|first| Some(first.parent()?.to_owned())) else { return Ok(()) };
    once(&ranks, |part| {
        fs::create_dir_all(part)?;
        (0..SIXTEEN)
            .try_for_each(|rank| compressed(&source, rank, SIXTEEN, SIXTEEN_REPEATS, &part.join(format!("rank{rank}.json.gz"))))
    })
}

/// Writes the inputs that are missing.
pub(crate) fn make(folder: &Path) -> Result<()> {
    let source = Source::find()?;
    let inputs = all(folder);
    let [plain, gzip, eight] = &inputs[..] else { return Ok(()) };
    once(&plain.path, |part| source.write(0, 1, REPEATS, BufWriter::new(File::create(part)?)))?;
    once(&gzip.path, |part| compressed(&source, 0, 1, REPEATS, part))?;
    once(&eight.path, |part| {
        fs::create_dir_all(part)?;
        for rank in 0..RANKS {
            compressed(&source, rank, RANKS, REPEATS / 4, &part.join(format!("rank{rank}.json.gz")))?;
        }
        Ok(())
    })
}

/// Two runs of eight ranks, the second with one operator half as slow again on one rank; made where they are missing.
pub(crate) fn make_sides(folder: &Path) -> Result<[PathBuf; 2]> {
    let kind = if corpus_trace().is_some() { "mi300x" } else { "synthetic" };
    let [base, test] = ["base", "test"].map(|side| folder.join(format!("{kind}-8ranks-{side}")));
    if !base.exists() || !test.exists() {
        let mut trace = Vec::new();
        Source::find()?.write(0, 1, 1, &mut trace)?;
        let mut job = PlantedJob::alike(&trace, RANKS);
        let write = |job: &PlantedJob, path: &Path| {
            once(path, |part| {
                fs::create_dir_all(part)?;
                job.write(part);
                Ok(())
            })
        };
        write(&job, &base)?;
        let (slow, _) = job.operators(0).into_iter().next().context("the trace has no operators")?;
        job.slow(3, Device::Operator(&slow), 1.5);
        write(&job, &test)?;
    }
    Ok([base, test])
}

enum Source {
    Repeated(Base),
    Synthetic,
}

impl Source {
    fn find() -> Result<Self> {
        Ok(match corpus_trace() {
            Some(trace) => Self::Repeated(Base::read(&trace)?),
            None => Self::Synthetic,
        })
    }

    fn write(&self, rank: u32, ranks: u32, repeats: u32, mut out: impl Write) -> Result<()> {
        match self {
            Self::Repeated(base) => base.write(rank, ranks, repeats, &mut out)?,
            Self::Synthetic => {
                synthetic(ranks, repeats).rank_json_as(rank, &Dialect::default(), &mut out)?;
            }
        }
        Ok(out.flush()?)
    }
}

/// A job with about as many events a repeat as the trace it stands for.
fn synthetic(ranks: u32, repeats: u32) -> Job {
    Job { ranks, steps: repeats, layers: 12, ops_per_step: 6_600, python_frames: 3, ..Job::default() }
}

fn compressed(source: &Source, rank: u32, ranks: u32, repeats: u32, path: &Path) -> Result<()> {
    let file = BufWriter::new(File::create(path)?);
    // Level 6 is what gzip and Python's default to; torch's own export takes 9, which inflates no differently.
    let mut encoder = GzEncoder::new(file, Compression::new(6));
    source.write(rank, ranks, repeats, BufWriter::with_capacity(1 << 20, &mut encoder))?;
    encoder.finish()?.flush()?;
    Ok(())
}

/// Makes `path` under another name first, so that what has its name is whole.
pub(super) fn once(path: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    eprintln!("making {}", path.display());
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    make(&part).with_context(|| format!("failed to make {}", part.display()))?;
    fs::rename(&part, path).with_context(|| format!("failed to rename {}", part.display()))
}

fn corpus_trace() -> Option<PathBuf> {
    let corpus = PathBuf::from(std::env::var_os("RANKSCOPE_CORPUS")?);
    let candidates = [corpus.join("traces").join(TRACE), corpus.join(TRACE)];
    candidates.into_iter().find(|trace| trace.exists())
}

const TRACE: &str = "kineto/mi300x_resnet_act_checkpoint.json.gz";
const RANKS: u32 = 8;
const SIXTEEN: u32 = 16;
/// Repeats that make more than ten million events on sixteen ranks.
const SIXTEEN_REPEATS: u32 = 12;
/// Repeats of the 16.8 MB trace that make 531 MB.
const REPEATS: u32 = 32;
