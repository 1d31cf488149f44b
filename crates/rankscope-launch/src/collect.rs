//! What a job left behind: files that match a pattern and were not there before.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rankscope_run::open;
use rankscope_time::Rank;
use rankscope_trace::rank_of_name;

use crate::notice::{Notice, Observer};

/// Patterns, and what matched them before the job ran.
pub(crate) struct Collection {
    patterns: Vec<String>,
    before: BTreeMap<PathBuf, State>,
}

/// By these a file that was written again is told from one that was not.
type State = (Option<SystemTime>, u64);

impl Collection {
    /// Takes note of what is there.
    pub(crate) fn before(patterns: &[String], observer: &dyn Observer) -> Self {
        let patterns: Vec<String> = patterns
            .iter()
            .filter(|pattern| match glob::Pattern::new(pattern) {
                Ok(_) => true,
                Err(error) => {
                    observer.notice(&Notice::BadPattern { pattern: (*pattern).clone(), reason: error.to_string() });
                    false
                }
            })
            .cloned()
            .collect();
        let before = matching(&patterns);
        Self { patterns, before }
    }

    /// Copies what is new or changed into `raw`, if that is still a folder of the run: a job may have put a link in its place.
    pub(crate) fn into_raw(self, raw: &Path, observer: &dyn Observer) {
        let own = raw.parent().unwrap_or(raw);
        if !is_own_folder(raw) {
            if !self.patterns.is_empty() {
                observer.notice(&Notice::RawReplaced { path: raw.to_owned() });
            }
            return;
        }
        let new = matching(&self.patterns).into_iter().filter(|(path, state)| self.before.get(path) != Some(state));
        for (path, _) in new.filter(|(path, _)| !path.starts_with(own)) {
            if let Err(error) = keep(&path, raw) {
                observer.notice(&Notice::NotCollected { path, reason: error.to_string() });
            }
        }
    }
}

/// Whether the folder `path` lies where it says, and is no link to somewhere else.
pub(crate) fn is_own_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_dir())
}

fn matching(patterns: &[String]) -> BTreeMap<PathBuf, State> {
    let paths = patterns.iter().filter_map(|pattern| glob::glob(pattern).ok()).flatten().flatten();
    let found = paths.filter_map(|path| {
        let path = std::path::absolute(path).ok()?;
        let metadata = path.metadata().ok().filter(Metadata::is_file)?;
        Some((path, (metadata.modified().ok(), metadata.len())))
    });
    found.collect()
}

/// A file that names a rank becomes that rank's trace, unless the rank has one: then it is kept aside. What is kept already,
/// whatever it is called there, is not kept again.
fn keep(path: &Path, raw: &Path) -> io::Result<()> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let rank = rank_of_name(&path.to_string_lossy());
    if is_kept(path, rank, raw)? {
        return Ok(());
    }
    let (target, twin) = match rank {
        Some(rank) => {
            let twin = of_rank(raw, &format!("rank-{rank}."))?;
            (raw.join(format!("rank-{rank}{}", suffix(&name))), twin)
        }
        None => (raw.join(&name), Some(raw.join(&name)).filter(|there| there.exists())),
    };
    let target = match twin {
        None => target,
        Some(_) => {
            fs::create_dir_all(raw.join("more"))?;
            if !is_own_folder(&raw.join("more")) {
                return Err(io::Error::other("more/ leads out of the run"));
            }
            let places = (0..).map(|number| raw.join("more").join(format!("{number}-{name}")));
            places.into_iter().find(|place| !place.exists()).unwrap_or(target)
        }
    };
    let partial = raw.join(format!(".{}.partial", target.file_name().unwrap_or_default().to_string_lossy()));
    // Made anew: a link that lies there is replaced and not written through.
    let _none_there = fs::remove_file(&partial);
    let mut copy = File::options().write(true).create_new(true).open(&partial)?;
    io::copy(&mut opened(path)?, &mut copy)?;
    copy.set_permissions(path.metadata()?.permissions())?;
    fs::rename(&partial, &target)
}

/// Whether what is in `path` lies in `raw` already. Two ranks may leave the same bytes; that they did is for the report to say.
fn is_kept(path: &Path, rank: Option<Rank>, raw: &Path) -> io::Result<bool> {
    for folder in [raw.to_owned(), raw.join("more")] {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let there = entry?.path();
            let other = rank_of_name(&there.file_name().unwrap_or_default().to_string_lossy());
            let of_another = rank.is_some() && other.is_some() && rank != other;
            if there.is_file() && !of_another && same(&there, path)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn of_rank(raw: &Path, prefix: &str) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(raw)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

/// What follows the name of a file: `.pt.trace.json.gz` of `host_12.17.pt.trace.json.gz` is `.json.gz`.
fn suffix(name: &str) -> &str {
    const KNOWN: [&str; 9] =
        [".xplane.pb.gz", ".xplane.pb", ".json.gz", ".json.zst", ".json", ".pftrace.gz", ".pftrace", ".perfetto-trace", ".rkr"];
    let other = || name.rfind('.').map_or("", |at| &name[at..]);
    KNOWN.into_iter().find(|suffix| name.ends_with(suffix)).unwrap_or_else(other)
}

/// Whether `there` is what is in `path`, or a copy to which the hooks added whose GPUs it is of.
fn same(there: &Path, path: &Path) -> io::Result<bool> {
    let (mut copy, mut own) = (opened(there)?, opened(path)?);
    match there.metadata()?.len().cmp(&path.metadata()?.len()) {
        Ordering::Less => Ok(false),
        Ordering::Equal => agree(copy, own),
        Ordering::Greater => {
            let Some(body) = body_bytes(&mut own)? else { return Ok(false) };
            own.rewind()?;
            if !agree((&mut copy).take(body), own.take(body))? {
                return Ok(false);
            }
            let mut next = Vec::new();
            copy.take(ADDED.len() as u64 + 2).read_to_end(&mut next)?;
            Ok(next.strip_prefix(b",\n").unwrap_or(&next).starts_with(ADDED))
        }
    }
}

/// The member that the hooks put last.
const ADDED: &[u8] = b"\"rankscope\": ";

/// Bytes of an object of JSON up to the brace that closes it, and blanks before that; none where it does not end so.
fn body_bytes(file: &mut (impl Read + Seek)) -> io::Result<Option<u64>> {
    let length = file.seek(SeekFrom::End(0))?;
    let from = file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail)?;
    let body = tail.trim_ascii_end().strip_suffix(b"}").map(<[u8]>::trim_ascii_end);
    Ok(body.map(|body| from + body.len() as u64))
}

/// The hooks look for the end of an object in so many bytes.
const TAIL_BYTES: u64 = 4_096;

fn agree(mut a: impl BufRead, mut b: impl BufRead) -> io::Result<bool> {
    loop {
        let (left, right) = (a.fill_buf()?, b.fill_buf()?);
        let length = left.len().min(right.len());
        if length == 0 {
            return Ok(left.len() == right.len());
        }
        if left[..length] != right[..length] {
            return Ok(false);
        }
        a.consume(length);
        b.consume(length);
    }
}

fn opened(path: &Path) -> io::Result<io::BufReader<fs::File>> {
    open(path).map(io::BufReader::new).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::tests::Deaf;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_new_or_changed_is_kept_once() {
        let root = tempfile::tempdir().unwrap();
        let (out, raw) = (root.path().join("out"), root.path().join("run/raw"));
        [&out, &raw].iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
        for (name, text) in [("rank0.json", "old"), ("rank3.json", "stays on its rank")] {
            fs::write(out.join(name), text).unwrap();
        }
        let collection = Collection::before(&[out.join("*").display().to_string(), "[".to_owned()], &Deaf);
        let written =
            [("rank0.json", "new and longer"), ("rank1.pt.trace.json.gz", "one"), ("rank2.json", "two"), ("other.json", "x")];
        for (name, text) in written {
            fs::write(out.join(name), text).unwrap();
        }
        // A hook was there before: of rank 1 it kept the same, of rank 2 something else.
        fs::write(raw.join("rank-1.json.gz"), "one").unwrap();
        fs::write(raw.join("rank-2.json"), "TWO").unwrap();
        collection.into_raw(&raw, &Deaf);
        assert_eq!(names(&raw), ["more", "other.json", "rank-0.json", "rank-1.json.gz", "rank-2.json"]);
        assert_eq!(names(&raw.join("more")), ["0-rank2.json"]);
        assert_eq!(fs::read_to_string(raw.join("rank-2.json")).unwrap(), "TWO");
    }

    #[test]
    fn a_copy_that_says_more_is_the_same_and_another_trace_is_not() {
        let root = tempfile::tempdir().unwrap();
        let [copy, own] = ["copy", "own"].map(|name| root.path().join(name));
        let added = |body: &str, comma: &str| format!("{body}{comma}\"rankscope\": {{\"devices\": []}}}}\n");
        let long = format!("{{\"traceEvents\": [{}]", "{}, ".repeat(9_000));
        for (there, of_script, expected) in [
            (added("{\"a\": 1", ",\n"), "{\"a\": 1\n}\n".to_owned(), true),
            (added("{", ""), "{ }".to_owned(), true),
            (added(&long, ",\n"), format!("{long}}}"), true),
            (added("{\"a\": 2", ",\n"), "{\"a\": 1\n}\n".to_owned(), false),
            ("{\"a\": 1, \"b\": 2}".to_owned(), "{\"a\": 1}".to_owned(), false),
            (added("[1", ",\n"), "[1]".to_owned(), false),
            ("longer".to_owned(), String::new(), false),
        ] {
            fs::write(&copy, &there).unwrap();
            fs::write(&own, &of_script).unwrap();
            assert_eq!(same(&copy, &own).unwrap(), expected, "{there:.60} {of_script:.60}");
        }
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let root = tempfile::tempdir().unwrap();
        let [out, raw, elsewhere] = ["out", "run/raw", "elsewhere"].map(|name| root.path().join(name));
        [&out, &raw, &elsewhere].iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
        let collection = || Collection::before(&[out.join("*").display().to_string()], &Deaf);
        let (first, second, third) = (collection(), collection(), collection());
        fs::write(out.join("rank0.json"), "collected").unwrap();
        let aim = elsewhere.join("precious");
        fs::write(&aim, "as it was").unwrap();
        std::os::unix::fs::symlink(&aim, raw.join(".rank-0.json.partial")).unwrap();
        first.into_raw(&raw, &Deaf);
        assert_eq!(fs::read_to_string(raw.join("rank-0.json")).unwrap(), "collected");

        fs::write(raw.join("rank-0.json"), "of the hook").unwrap();
        std::os::unix::fs::symlink(&elsewhere, raw.join("more")).unwrap();
        second.into_raw(&raw, &Deaf);
        fs::remove_dir_all(&raw).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &raw).unwrap();
        third.into_raw(&raw, &Deaf);
        assert_eq!(
            (names(&elsewhere), fs::read_to_string(&aim).unwrap()),
            (vec!["precious".to_owned()], "as it was".to_owned())
        );
    }

    #[test]
    fn what_a_hook_kept_is_not_kept_again_under_another_name() {
        let root = tempfile::tempdir().unwrap();
        let (out, raw) = (root.path().join("out"), root.path().join("run/raw"));
        [&out, &raw.join("more")].iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
        fs::write(raw.join("rank-0.json"), "newest of 0").unwrap();
        fs::write(raw.join("more/rank-0.0.json"), "first of 0").unwrap();
        let collection = Collection::before(&[out.join("*").display().to_string()], &Deaf);
        let written =
            [("pp_0.json", "newest of 0"), ("w.json", "first of 0"), ("x.json", "other of 0!"), ("rank1.json", "newest of 0")];
        for (name, text) in written {
            fs::write(out.join(name), text).unwrap();
        }
        collection.into_raw(&raw, &Deaf);
        assert_eq!(names(&raw), ["more", "rank-0.json", "rank-1.json", "x.json"]);
        assert_eq!(names(&raw.join("more")), ["rank-0.0.json"]);
    }
}
