//! A store is looked through as a folder is, and what is written there is there at once.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once};

use rankscope_run::{
    Error, ListedObject, Location, ObjectFault, ObjectIdentity, ObjectUrl, Outputs, Piece, Put, SideFile, StagedFolders,
    StoreFault, StoredObject, Stores, clock_files, discover_all, identity, is_file, is_parts_folder, lengths_below,
    open_source, read_piece, read_side_text, register_stores, remove_file, write_among_many, write_file,
};

/// Objects of all buckets, by their URLs. Each test has a bucket of its own.
static OBJECTS: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
static REGISTERED: Once = Once::new();

fn register() {
    REGISTERED.call_once(|| register_stores(Box::new(Memory)));
}

fn objects() -> MutexGuard<'static, BTreeMap<String, Vec<u8>>> {
    register();
    OBJECTS.lock().expect("unpoisoned")
}

#[derive(Debug)]
struct Memory;

fn about(bytes: &[u8]) -> ObjectIdentity {
    ObjectIdentity { bytes: bytes.len() as u64, etag: Some(format!("\"{}\"", bytes.len())), modified_ns: 7 }
}

impl Stores for Memory {
    fn open(&self, url: &ObjectUrl) -> Result<Box<dyn StoredObject>, StoreFault> {
        let bytes = objects().get(url.as_str()).cloned().ok_or(StoreFault::NoSuchObject)?;
        Ok(Box::new(Open { identity: about(&bytes), bytes: Cursor::new(bytes) }))
    }

    fn piece(&self, url: &ObjectUrl, range: Range<u64>, of: Option<&ObjectIdentity>) -> Result<Piece, StoreFault> {
        let bytes = objects().get(url.as_str()).cloned().ok_or(StoreFault::NoSuchObject)?;
        let (now, end) = (about(&bytes), bytes.len().min(range.end as usize));
        match of.is_none_or(|of| *of == now) {
            true => Ok(Piece { bytes: bytes.get(range.start as usize..end).unwrap_or_default().to_vec(), of: now }),
            false => Err(StoreFault::Changed),
        }
    }

    fn about(&self, url: &ObjectUrl) -> Result<Option<ObjectIdentity>, StoreFault> {
        Ok(objects().get(url.as_str()).map(|bytes| about(bytes)))
    }

    fn list(&self, folder: &ObjectUrl) -> Result<Vec<ListedObject>, StoreFault> {
        let below = format!("{folder}/");
        let listed = |(url, bytes): (&String, &Vec<u8>)| {
            Some(ListedObject { key: url.strip_prefix(&below)?.to_owned(), identity: about(bytes) })
        };
        Ok(objects().iter().filter_map(listed).collect())
    }

    fn put(&self, url: &ObjectUrl, content: &mut File, put: Put) -> Result<(), StoreFault> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).expect("a file that was just written");
        let mut objects = objects();
        if put == Put::Replace || !objects.contains_key(url.as_str()) {
            objects.insert(url.as_str().to_owned(), bytes);
        }
        Ok(())
    }

    fn remove(&self, url: &ObjectUrl) -> Result<(), StoreFault> {
        objects().remove(url.as_str());
        Ok(())
    }
}

#[derive(Debug)]
struct Open {
    identity: ObjectIdentity,
    bytes: Cursor<Vec<u8>>,
}

impl Read for Open {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.bytes.read(buffer)
    }
}

impl Seek for Open {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.bytes.seek(to)
    }
}

impl StoredObject for Open {
    fn identity(&self) -> &ObjectIdentity {
        &self.identity
    }

    fn fault(&self) -> ObjectFault {
        ObjectFault::default()
    }
}

/// The same files in a folder and in a bucket.
fn both(bucket: &str, files: &[&str]) -> (tempfile::TempDir, PathBuf) {
    const PLAN: &str = r#"{"rules": {"accounting": 1}}"#;
    let root = tempfile::tempdir().expect("a folder");
    let url = PathBuf::from(format!("s3://{bucket}/traces"));
    for file in files {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        let content = if file.ends_with("plan.json") { PLAN } else { "x" };
        fs::write(path, content).expect("written");
        objects().insert(url.join(file).display().to_string(), content.into());
    }
    (root, url)
}

/// What `of` means below `root`: files below it, whether each was named and is earlier, attempts; or what is wrong.
fn found(root: &Path, of: &str) -> Result<Vec<String>, String> {
    let own = |path: &Path| path.strip_prefix(root).expect("below it").display().to_string();
    match discover_all(&[if of.is_empty() { root.to_owned() } else { root.join(of) }]) {
        Ok(found) => {
            let files = found.files.iter().map(|file| format!("{} {} {}", own(&file.path), file.named, file.earlier));
            Ok(files.chain(found.attempts.iter().map(|attempt| own(attempt))).collect())
        }
        Err(Error::Parts { .. }) => Err("parts".to_owned()),
        Err(Error::NoTraces { .. }) => Err("no traces".to_owned()),
        Err(Error::Missing { .. } | Error::Store { fault: StoreFault::NoSuchObject, .. }) => Err("missing".to_owned()),
        Err(other) => Err(other.to_string()),
    }
}

#[test]
fn a_bucket_is_looked_through_as_a_folder_is() {
    let trees: [(&[&str], &[&str]); 5] = [
        (
            &[
                "rank0.json.gz",
                "rank1.json",
                "rank1.json.gz",
                "sub/rank2/trace.json",
                "a/b/c/d/rank3.json",
                "a/b/c/d/e/rank4.json",
                "process3.xplane.pb",
                "process3.trace.json.gz",
                "notes.txt",
                "timeline.pftrace",
                ".hidden.json",
                ".cache/rank9.json",
                "rankscope-report/report.json",
            ],
            &["", "rank1.json", "rank*.json", "*", "s*", "s*/rank2", "*/*/trace.json", "notes.txt", "rank9.json", "x*", "sub"],
        ),
        (&["run.json", "raw/rank-0.json.gz", "raw/more/rank-0.0.json", "report/report.json"], &["", "raw", "ra*"]),
        (
            &["run.json", "raw/attempt-2/rank-0.json", "raw/attempt-10/rank-0.json", "raw/attempt-10/more/rank-0.0.json"],
            &["", "raw/attempt-2"],
        ),
        (&["rank0.json", "parts/plan.json", "parts/part-r000000-a-0000.rkpart", "p/plan.json"], &["", "parts", "p", "p*"]),
        (&["rank-0.rkr", "rank-0.workers/17.rkr", "rank-0.workers.1/12.rkr", "workers/rank-1.rkr", "n/notes.txt"], &["", "n"]),
    ];
    for (number, (files, questions)) in trees.into_iter().enumerate() {
        let (folder, url) = both(&format!("trees{number}"), files);
        for question in questions {
            assert_eq!(found(&url, question), found(folder.path(), question), "{question:?} of {files:?}");
        }
    }
}

#[test]
fn what_a_listing_told_of_files_is_kept() {
    let (_folder, url) = both("identities", &["rank0.json", "sub/rank1.json"]);
    let found = discover_all(std::slice::from_ref(&url)).unwrap();
    for file in &found.files {
        assert_eq!(found.identities[&file.path], identity(&file.path).unwrap());
    }
}

#[test]
fn a_web_server_gives_what_is_named_and_is_not_listed() {
    register();
    let named = discover_all(&["https://host/rank0.json.gz".into()]).unwrap();
    assert!(named.files.len() == 1 && named.files[0].named);
    let refused = discover_all(&["https://host/rank*.json.gz".into()]).unwrap_err();
    assert!(matches!(refused, Error::Store { fault: StoreFault::CannotList, .. }), "{refused}");
}

#[test]
fn parts_and_clocks_are_found_in_a_bucket() {
    let (folder, url) = both("beside", &["plan.json", "input-000000-a.json", "run/clock/offsets.jsonl", "run/clock/notes.txt"]);
    assert!(is_parts_folder(&url) && is_parts_folder(folder.path()));
    assert!(!is_parts_folder(&url.join("run")));
    assert_eq!(clock_files(&[url.join("run")]).unwrap().offsets, [url.join("run/clock/offsets.jsonl")]);
    assert!(read_side_text(&url.join("plan.json"), SideFile::Parts).unwrap().contains("accounting"));
    assert!(open_source(&url.join("plan.json")).unwrap().fetched().unwrap().is_some());
}

#[test]
fn a_piece_is_named_by_the_url_of_its_object() {
    let (_folder, url) = both("pieces", &["a/plan.json"]);
    let folder = Location::object(&url).unwrap().expect("a URL");
    let piece = read_piece(&folder.below("a/plan.json"), 2..7, None).unwrap();
    assert_eq!(piece.bytes, b"rules");
    assert_eq!(piece.of, identity(&url.join("a/plan.json")).unwrap());
    assert!(read_piece(&folder.below("a/plan.json"), 2..7, Some(&piece.of)).is_ok());
    objects().insert(url.join("a/plan.json").display().to_string(), b"another one".to_vec());
    let said = read_piece(&folder.below("a/plan.json"), 2..7, Some(&piece.of)).unwrap_err().to_string();
    assert!(said.starts_with("s3://pieces/traces/a/plan.json: ") && said.contains("changed"), "{said}");
}

#[test]
fn outputs_appear_in_a_bucket_when_all_are_written() {
    register();
    let folder = PathBuf::from("gs://outputs/report");
    let mut outputs = Outputs::into_directory(&folder).unwrap();
    outputs.write("a.txt", |file| file.write_all(b"one").map_err(|error| io(&folder, error))).unwrap();
    assert!(outputs.bytes().unwrap() == 3 && objects().keys().all(|url| !url.starts_with("gs://outputs")));
    assert_eq!(outputs.commit().unwrap(), [folder.join("a.txt")]);
    assert_eq!(objects()["gs://outputs/report/a.txt"], b"one");
    let write = |text: &'static str| {
        let path = folder.join("a.txt");
        move |file: &mut std::io::BufWriter<&mut File>| file.write_all(text.as_bytes()).map_err(|error| io(&path, error))
    };
    write_among_many(&folder.join("a.txt"), write("two")).unwrap();
    assert_eq!(objects()["gs://outputs/report/a.txt"], b"one", "the first stays");
    write_file(&folder.join("a.txt"), write("three")).unwrap();
    assert_eq!(objects()["gs://outputs/report/a.txt"], b"three");
}

fn staged(target: &Path, files: &[&str]) -> StagedFolders {
    let staged = StagedFolders::into_directory(target).expect("a stage");
    for file in files {
        staged.write(file, |to| to.write_all(file.as_bytes()).map_err(|error| io(target, error))).expect("a disk");
    }
    staged
}

/// What lies below `url`, by its key.
fn below(url: &str) -> Vec<String> {
    objects().keys().filter_map(|key| Some(key.strip_prefix(url)?.to_owned())).collect()
}

#[test]
fn folders_are_replaced_in_a_bucket_as_they_are_on_a_disk() {
    register();
    let root = tempfile::tempdir().unwrap();
    let places = ["events/run=a", "events/run=b", "list"].map(str::to_owned);
    for target in [root.path(), Path::new("s3://staged/set")] {
        let first = staged(target, &["events/run=a/1", "events/run=a/rank=2/1", "events/run=c/1", "list"]);
        first.replace(&["events/run=a", "events/run=c", "list"].map(str::to_owned)).unwrap();
        staged(target, &["events/run=a/1", "events/run=b/1", "list"]).replace(&places).unwrap();
        let lengths = lengths_below(target).unwrap();
        let names: Vec<&str> = lengths.keys().map(String::as_str).collect();
        assert_eq!(names, ["events/run=a/1", "events/run=b/1", "events/run=c/1", "list"], "{}", target.display());
        assert_eq!(lengths["events/run=a/1"], 14);
    }
    assert_eq!(
        below("s3://staged/"),
        lengths_below(root.path()).unwrap().into_keys().map(|key| format!("set/{key}")).collect::<Vec<_>>()
    );
}

#[test]
fn what_is_staged_for_a_bucket_and_fails_leaves_it_as_it_was() {
    register();
    let target = Path::new("s3://staged-and-left/set");
    drop(staged(target, &["events/run=a/1"]));
    assert!(below("s3://staged-and-left/").is_empty());
    let refused = StagedFolders::into_directory(Path::new("https://host/set")).expect_err("a web server");
    assert!(matches!(&refused, Error::Store { fault: StoreFault::CannotWrite, .. }), "{refused}");
}

#[test]
fn what_is_taken_away_is_gone_and_may_be_again() {
    register();
    let root = tempfile::tempdir().unwrap();
    for file in [root.path().join("note"), PathBuf::from("s3://removed/note")] {
        write_file(&file, |to| to.write_all(b"x").map_err(|error| io(&file, error))).unwrap();
        assert!(is_file(&file).unwrap());
        remove_file(&file).unwrap();
        remove_file(&file).unwrap();
        assert!(!is_file(&file).unwrap());
    }
}

fn io(path: &Path, error: std::io::Error) -> Error {
    Error::Io { path: path.to_owned(), reason: error }
}
