//! Stores of objects, as whoever reads and writes paths sees them. Nothing here speaks to one: the program that can registers who does,
//! once, and without that a URL is an error that says how to get a program that can.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek};
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, ObjectUrl, Scheme};

/// What tells an object from another one of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectIdentity {
    /// How long it is.
    pub bytes: u64,
    /// The store's own word for its content, where it gives one.
    pub etag: Option<String>,
    /// When it was written, in nanoseconds since 1970, as far as the store tells.
    pub modified_ns: u128,
}

/// An object in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Its key below the folder that was listed, without a slash in front.
    pub key: String,
    /// What it is.
    pub identity: ObjectIdentity,
}

/// Bytes out of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// They.
    pub bytes: Vec<u8>,
    /// Which object they are of, so that others can be asked for of the same one.
    pub of: ObjectIdentity,
}

/// What happens where an object is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is replaced.
    Replace,
    /// It stays, and that is no error: several write the same.
    Once,
}

/// Bytes of an object, in any order. Reading on is one request; the object is the same one until the end, or reading fails.
pub trait StoredObject: Read + Seek + Send + Sync + fmt::Debug {
    /// What it is.
    fn identity(&self) -> &ObjectIdentity;

    /// Why reading failed, if it did. Readers of formats take what fails for damage of the file, so whoever opened it asks.
    fn fault(&self) -> ObjectFault;
}

/// Where an object leaves word of why it could not be read.
#[derive(Clone, Debug, Default)]
pub struct ObjectFault(std::sync::Arc<OnceLock<StoreFault>>);

impl ObjectFault {
    /// Leaves word of the first fault.
    pub fn leave(&self, fault: StoreFault) {
        // Only the first tells what happened; the others follow from it.
        let _later = self.0.set(fault);
    }

    /// What was left.
    pub fn left(&self) -> Option<&StoreFault> {
        self.0.get()
    }
}

/// Who speaks to stores.
pub trait Stores: fmt::Debug + Send + Sync {
    /// Opens an object.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn open(&self, url: &ObjectUrl) -> Result<Box<dyn StoredObject>, StoreFault>;

    /// The bytes in `range` of an object, as far as it goes, and no others. Where `of` is said they are of that object, or reading
    /// fails.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn piece(&self, url: &ObjectUrl, range: Range<u64>, of: Option<&ObjectIdentity>) -> Result<Piece, StoreFault>;

    /// What lies at `url`; none where nothing does.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn about(&self, url: &ObjectUrl) -> Result<Option<ObjectIdentity>, StoreFault>;

    /// All objects below `folder`, in order of their keys.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn list(&self, folder: &ObjectUrl) -> Result<Vec<ListedObject>, StoreFault>;

    /// Writes all of `content` to `url`, which holds all of it afterwards or what it held before.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn put(&self, url: &ObjectUrl, content: &mut File, put: Put) -> Result<(), StoreFault>;

    /// Takes away what lies at `url`; that nothing does is no error.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn remove(&self, url: &ObjectUrl) -> Result<(), StoreFault>;
}

/// Bytes that came from stores so far, for whoever shows how far the work has come.
static FETCHED_BYTES: AtomicU64 = AtomicU64::new(0);

/// How many bytes came from stores so far.
pub fn fetched_bytes() -> u64 {
    FETCHED_BYTES.load(Ordering::Relaxed)
}

/// Counts bytes that came from a store.
pub fn count_fetched(bytes: u64) {
    FETCHED_BYTES.fetch_add(bytes, Ordering::Relaxed);
}

static STORES: OnceLock<Box<dyn Stores>> = OnceLock::new();

/// Registers who speaks to stores, for the whole process. The first one stays.
pub fn register_stores(stores: Box<dyn Stores>) {
    let _second = STORES.set(stores);
}

/// Who speaks to the store of `url`.
///
/// # Errors
/// [`Error::Url`] where nobody does.
pub(crate) fn stores(url: &ObjectUrl) -> Result<&'static dyn Stores, Error> {
    STORES.get().map(Box::as_ref).ok_or_else(|| Error::Url { path: url.to_path() })
}

/// Who speaks to the store of `url`, which must be one that takes something: known before anything is made that could not be put there.
///
/// # Errors
/// [`Error::Url`], and [`Error::Store`] for a web server.
pub(crate) fn writable_stores(path: &Path, url: &ObjectUrl) -> Result<&'static dyn Stores, Error> {
    let stores = stores(url)?;
    match url.scheme() {
        Scheme::Http => at(path, Err(StoreFault::CannotWrite)),
        _ => Ok(stores),
    }
}

/// What went wrong between this program and a store. Nothing in it is a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreFault {
    /// The scheme is of no store.
    #[error("{scheme}:// URLs are not read. There are s3://, gs://, az://, abfss://, http://, https:// and file://")]
    UnknownScheme {
        /// It.
        scheme: String,
    },
    /// A `file` URL of another machine.
    #[error("a file:// URL names no other machine. Write file:///path, or the path alone")]
    FileHost,
    /// A URL with nothing behind its scheme.
    #[error("this URL names no bucket. Write it as scheme://bucket/folder")]
    NoBucketNamed,
    /// A URL that may hold a secret.
    #[error(
        "this URL holds a user name, a password, or a query, which may be a key, and what is given on a command line is kept in plans \
         and seen by others. Give the URL without it, and credentials in the environment"
    )]
    Secret,
    /// Nothing has this name.
    #[error("there is no such object. Check the name; a folder needs at least one object below it")]
    NoSuchObject,
    /// The bucket is not there.
    #[error("the bucket {bucket} does not exist there. Check its name, and the endpoint and region that the environment gives")]
    NoSuchBucket {
        /// Its name.
        bucket: String,
    },
    /// No credentials were found.
    #[error("no credentials were found for this store: {remedy}")]
    NoCredentials {
        /// What to set.
        remedy: Remedy,
    },
    /// The store refused them.
    #[error("the store refused this key ({code}): it may be the wrong one, or lack the right to do this. {remedy}")]
    Refused {
        /// The store's word for it.
        code: String,
        /// What to look at.
        remedy: Remedy,
    },
    /// They were good once.
    #[error("the credentials have expired ({code}). Get new ones: {remedy}")]
    Expired {
        /// The store's word for it.
        code: String,
        /// How.
        remedy: Remedy,
    },
    /// It is not encrypted, and nobody allowed that.
    #[error("this store is spoken to without encryption only if that is allowed: set {variable}=true if you mean it")]
    PlainHttp {
        /// The variable that allows it.
        variable: &'static str,
    },
    /// A web server lists nothing.
    #[error(
        "a web server cannot be listed. Give the URL of each file, or a list of them with --list, or put the files into a bucket"
    )]
    CannotList,
    /// Nor does it take anything.
    #[error(
        "nothing is written to web servers. Give a folder here, or the URL of a bucket; `rankscope map --plan` takes a plan from a web \
         server, and writes parts elsewhere"
    )]
    CannotWrite,
    /// It is another object now.
    #[error("the object changed while it was read. Run the command again")]
    Changed,
    /// Nobody answers, or not any more.
    #[error("the store cannot be reached: {reason}. Check the network and the endpoint that the environment gives")]
    Unreachable {
        /// What the network said.
        reason: String,
    },
    /// The environment sets the client up in a way that it cannot be.
    #[error("the environment does not set this store up: {reason}")]
    Settings {
        /// What is wrong.
        reason: String,
    },
    /// It answered otherwise.
    #[error("the store failed: {reason}")]
    Failed {
        /// Its words.
        reason: String,
    },
}

impl StoreFault {
    /// Whether what was asked for means nothing, and will fail however often it is tried.
    pub fn is_misuse(&self) -> bool {
        matches!(
            self,
            Self::UnknownScheme { .. }
                | Self::FileHost
                | Self::NoBucketNamed
                | Self::Secret
                | Self::PlainHttp { .. }
                | Self::CannotList
                | Self::CannotWrite
        )
    }
}

/// What a user does about credentials of a kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Amazon's, from the environment.
    Aws,
    /// Amazon's, where a profile or a login is set up, which is not read.
    AwsProfile,
    /// Google's.
    Gcp,
    /// Microsoft's.
    Azure,
    /// There are none.
    Http,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Aws => {
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, with AWS_SESSION_TOKEN where the key is a temporary one; on a \
                 machine of the cloud its role is used"
            }
            Self::AwsProfile => {
                "profiles and logins of the AWS command line are not read; `eval \"$(aws configure export-credentials --format env)\"` \
                 puts their credentials into the environment"
            }
            Self::Gcp => "set GOOGLE_SERVICE_ACCOUNT to the file of a service account, or run `gcloud auth application-default login`",
            Self::Azure => {
                "set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or those of a service principal"
            }
            Self::Http => "a web server that asks for a login is not supported; put the files into a bucket",
        })
    }
}

/// What became of `asked` at the store of `path`.
pub(crate) fn at<T>(path: &Path, asked: Result<T, StoreFault>) -> Result<T, Error> {
    asked.map_err(|fault| Error::Store { path: path.to_owned(), fault })
}
