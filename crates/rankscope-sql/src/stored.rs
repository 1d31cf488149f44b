//! A dataset behind a URL, as the engine reads one: the files that the dataset's list names, of each the parts that a query needs.
//!
//! Nothing is looked for. The list says which files there are and how long they are, so that a web server, which lists nothing, does as
//! well as a bucket, and files that a writing left behind are not read. Who is asked for bytes, and with which credentials, is not known
//! here. What went wrong is left with [`Fault`], because the engine makes text of errors on their way. Nothing is written.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result as Outcome, coalesce_ranges,
};
use rankscope_dataset::{FileEntry, Manifest};
use rankscope_run::{ObjectIdentity, ObjectUrl, Piece, StoreFault, read_piece};

use crate::error::Error;

/// What of the end of a file is asked for at first: where its columns lie and between which bounds, for a hundred thousand rows or two.
/// For more rows the rest of that is asked for next.
pub(crate) const FOOTER_BYTES: usize = 8 << 10;
/// What lies between two columns is fetched with them rather than asking twice, if it is no more: a request takes longer.
const GAP_BYTES: u64 = 16 << 10;

/// Files behind a URL.
#[derive(Debug)]
pub(crate) struct StoredFiles {
    root: ObjectUrl,
    files: BTreeMap<Path, u64>,
    known: Mutex<BTreeMap<Path, Known>>,
    fault: Fault,
}

/// What was learned of a file by reading it.
#[derive(Clone, Debug)]
struct Known {
    of: ObjectIdentity,
    /// Its end, which is asked for first, and of a short file is all of it.
    end: Bytes,
}

impl Known {
    /// Where the end begins.
    fn end_at(&self) -> u64 {
        self.of.bytes.saturating_sub(self.end.len() as u64)
    }

    /// What of `range` lies before the end, and the bytes of it that lie in there.
    fn split(&self, range: &Range<u64>) -> (Range<u64>, Bytes) {
        let place = |at: u64| self.end.len().min(at.saturating_sub(self.end_at()) as usize);
        let end = self.end.slice(place(range.start)..place(range.end.max(range.start)));
        (range.start..range.end.min(self.end_at()), end)
    }
}

impl StoredFiles {
    /// Those that `manifest` lists, which lies at `root`.
    ///
    /// # Errors
    /// [`Error::Astray`].
    pub(crate) fn new(root: ObjectUrl, manifest: &Manifest, fault: Fault) -> Result<Self, Error> {
        let listed = manifest.runs.iter().flat_map(|run| &run.tables).flat_map(|table| &table.files);
        let named = |file: &FileEntry| match Path::parse(&file.path) {
            Ok(path) => Ok((path, file.bytes)),
            Err(_) => Err(Error::Astray { list: root.below(Manifest::NAME).to_path(), file: file.path.clone() }),
        };
        let files = listed.map(named).collect::<Result<_, _>>()?;
        Ok(Self { root, files, known: Mutex::default(), fault })
    }

    fn url(&self, file: &Path) -> ObjectUrl {
        self.root.below(file.as_ref())
    }

    fn meta(&self, file: &Path, bytes: u64) -> ObjectMeta {
        // One dataset is asked one query: what the engine remembers of a file never outlives the file's identity here.
        ObjectMeta { location: file.clone(), last_modified: Default::default(), size: bytes, e_tag: None, version: None }
    }

    fn bytes(&self, file: &Path) -> Outcome<u64> {
        self.files.get(file).copied().ok_or_else(|| refused("no file of the dataset"))
    }

    fn known(&self, file: &Path) -> Option<Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(file).cloned()
    }

    /// The bytes in `range`, of which those that came before do not come again.
    async fn read(&self, file: &Path, range: Range<u64>) -> Outcome<Bytes> {
        let Some(known) = self.known(file) else { return self.fetch(file, range, None).await };
        let (missing, end) = known.split(&range);
        if missing.is_empty() {
            return Ok(end);
        }
        let bytes = self.fetch(file, missing, Some(known.of)).await?;
        Ok(if end.is_empty() { bytes } else { [bytes, end].concat().into() })
    }

    async fn fetch(&self, file: &Path, range: Range<u64>, of: Option<ObjectIdentity>) -> Outcome<Bytes> {
        let (url, asked) = (self.url(file), range.clone());
        // Readers of stores wait where they stand, and the engine's threads must not.
        let read = tokio::task::spawn_blocking(move || read_piece(&url, asked, of.as_ref())).await;
        let read = read.map_err(|source| object_store::Error::JoinError { source })?;
        let piece = read.map_err(|error| self.fault.leave(self.told(file, error)))?;
        self.learn(file, piece, &range).map_err(|error| self.fault.leave(error))
    }

    /// Checks that `piece` is one of the file that is listed, and of the same as those before.
    fn learn(&self, file: &Path, piece: Piece, range: &Range<u64>) -> Result<Bytes, Error> {
        let Piece { bytes, of } = piece;
        let (bytes, path) = (Bytes::from(bytes), || self.url(file).to_path());
        let listed = self.files.get(file).copied().unwrap_or_default();
        if of.bytes != listed {
            return Err(Error::OtherLength { path: path(), bytes: of.bytes, listed });
        }
        let is_end = range.end >= of.bytes && bytes.len() <= FOOTER_BYTES;
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.entry(file.clone()).or_insert_with(|| Known { of: of.clone(), end: Bytes::new() });
        if known.of != of {
            return Err(rankscope_run::Error::Store { path: path(), fault: StoreFault::Changed }.into());
        }
        if is_end && bytes.len() > known.end.len() {
            known.end = bytes.clone();
        }
        Ok(bytes)
    }

    fn told(&self, file: &Path, error: rankscope_run::Error) -> Error {
        match error {
            rankscope_run::Error::Store { fault: StoreFault::NoSuchObject, .. } => Error::Missing(self.url(file).to_path()),
            other => other.into(),
        }
    }
}

/// Where word is left of what went wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fault(Arc<Mutex<Option<Error>>>);

impl Fault {
    /// Leaves word of `error`, if it is the first: the others follow from it.
    fn leave(&self, error: Error) -> object_store::Error {
        let said = refused(&error.to_string());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        said
    }

    /// What was left.
    pub(crate) fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn refused(why: &str) -> object_store::Error {
    object_store::Error::Generic { store: "dataset", source: why.into() }
}

fn not_supported() -> object_store::Error {
    object_store::Error::NotSupported { source: "a dataset is only read".into() }
}

impl fmt::Display for StoredFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.root)
    }
}

#[async_trait]
impl ObjectStore for StoredFiles {
    async fn get_opts(&self, file: &Path, options: GetOptions) -> Outcome<GetResult> {
        let meta = self.meta(file, self.bytes(file)?);
        let asked = options.range.map_or(Ok(0..meta.size), |range| range.as_range(meta.size));
        let range = asked.map_err(|error| refused(&error.to_string()))?;
        let bytes = if options.head { Bytes::new() } else { self.read(file, range.clone()).await? };
        let payload = GetResultPayload::Stream(stream::iter([Ok(bytes)]).boxed());
        Ok(GetResult { payload, meta, range, attributes: Default::default() })
    }

    async fn get_ranges(&self, file: &Path, ranges: &[Range<u64>]) -> Outcome<Vec<Bytes>> {
        coalesce_ranges(ranges, |range| self.read(file, range), GAP_BYTES).await
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Outcome<ObjectMeta>> {
        let below = |file: &Path| prefix.is_none_or(|prefix| file.prefix_matches(prefix));
        let files = self.files.iter().filter(|(file, _)| below(file)).map(|(file, bytes)| Ok(self.meta(file, *bytes)));
        stream::iter(files.collect::<Vec<_>>()).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Outcome<ListResult> {
        Err(not_supported())
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Outcome<PutResult> {
        Err(not_supported())
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Outcome<Box<dyn MultipartUpload>> {
        Err(not_supported())
    }

    fn delete_stream(&self, _: BoxStream<'static, Outcome<Path>>) -> BoxStream<'static, Outcome<Path>> {
        stream::iter([Err(not_supported())]).boxed()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Outcome<()> {
        Err(not_supported())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path as FilePath;

    use proptest::prelude::*;
    use rankscope_dataset::{RunEntry, Table, TableEntry};
    use rankscope_run::Location;

    use super::*;

    fn files(listed: &[(&str, u64)]) -> Result<StoredFiles, Error> {
        let files = listed.iter().map(|&(path, bytes)| FileEntry { path: path.to_owned(), rows: 1, bytes }).collect();
        let run = RunEntry { run: "a".to_owned(), tables: vec![TableEntry::of(Table::Events, files)], ..RunEntry::default() };
        let root = Location::object(FilePath::new("s3://bucket/set")).expect("a URL").expect("of a store");
        StoredFiles::new(root, &Manifest::default().with(run), Fault::default())
    }

    fn piece(bytes: &[u8], range: &Range<u64>, etag: &str) -> Piece {
        let of = ObjectIdentity { bytes: bytes.len() as u64, etag: Some(etag.to_owned()), modified_ns: 0 };
        Piece { bytes: bytes[range.start as usize..range.end as usize].to_vec(), of }
    }

    #[test]
    fn a_list_leads_nowhere_else() {
        assert!(files(&[("events/run=a/rank=0/part-0.parquet", 1)]).is_ok());
        for astray in ["../other/part-0.parquet", "events//part-0.parquet", "events/./part-0.parquet"] {
            let said = files(&[(astray, 1)]).expect_err(astray).to_string();
            assert!(said.contains(astray) && said.contains("s3://bucket/set/_rankscope_manifest.json"), "{said}");
        }
    }

    #[test]
    fn pieces_of_another_file_are_refused() {
        let (name, bytes, range) = ("events/run=a/part-0.parquet", [7; 100], 10..20);
        let files = files(&[(name, 100)]).expect("listed");
        let learn = |piece| files.learn(&Path::from(name), piece, &range);
        assert!(learn(piece(&bytes, &range, "one")).is_ok());
        assert!(learn(piece(&bytes, &range, "other")).is_err_and(|error| error.is_change()));
        let longer = learn(piece(&[7; 101], &range, "one")).expect_err("not the listed one");
        assert!(longer.is_change() && longer.to_string().contains("101 bytes"), "{longer}");
    }

    proptest! {
        /// What is kept of a file's end and what is fetched before it are together what was asked for.
        #[test]
        fn nothing_is_fetched_twice_and_nothing_is_left_out(
            length in 1..20_000_u64, end in 0..9_000_u64, from in 0..20_000_u64, bytes in 0..20_000_u64,
        ) {
            let content: Vec<u8> = (0..length).map(|at| (at * 31 % 251) as u8).collect();
            let (from, to) = (from.min(length), (from + bytes).min(length));
            let files = files(&[("a", length)]).expect("listed");
            let last = length.saturating_sub(end)..length;
            files.learn(&Path::from("a"), piece(&content, &last, "one"), &last).expect("of the file");
            let known = files.known(&Path::from("a")).expect("learned");
            let (fetched, kept) = known.split(&(from..to));
            prop_assert!(fetched.is_empty() || fetched.end <= length - known.end.len() as u64);
            let fetched = if fetched.is_empty() { &[] } else { &content[fetched.start as usize..fetched.end as usize] };
            prop_assert_eq!([fetched, &kept].concat(), &content[from as usize..to as usize]);
            prop_assert!(known.end.len() <= FOOTER_BYTES);
        }
    }
}
