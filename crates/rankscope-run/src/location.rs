//! Where something lies: on a file system, or behind a URL. A path that reads like a URL is one, unless something of that name is there.
//!
//! URLs stay paths throughout: a folder's URL is joined with a name as a folder is, and messages name it as it was given. What may be
//! a secret is refused here, before anything repeats it.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::stores::StoreFault;

/// What the scheme of a URL says of who keeps its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// `s3://bucket/key`: Amazon S3, and what speaks its protocol.
    S3,
    /// `gs://bucket/key`: Google Cloud Storage.
    Gcs,
    /// `az://container/key`, and `abfss://container@account.dfs.core.windows.net/key`: Azure.
    Azure,
    /// `http://` and `https://`: any web server. Single objects only, as it lists nothing.
    Http,
}

impl Scheme {
    fn of(text: &str) -> Option<Self> {
        match text {
            "s3" | "s3a" => Some(Self::S3),
            "gs" => Some(Self::Gcs),
            "az" | "abfs" | "abfss" => Some(Self::Azure),
            "http" | "https" => Some(Self::Http),
            _ => None,
        }
    }
}

/// The URL of an object, or of all objects whose keys begin with its own and a slash. It holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectUrl {
    scheme: Scheme,
    text: String,
}

impl ObjectUrl {
    /// Who keeps it.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// It, without slashes at its end.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// That of the object that is called `key` below it.
    #[must_use]
    pub fn below(&self, key: &str) -> Self {
        Self { scheme: self.scheme, text: format!("{}/{key}", self.text) }
    }

    /// It, as everything here names what it opens.
    pub fn to_path(&self) -> PathBuf {
        PathBuf::from(&self.text)
    }
}

impl fmt::Display for ObjectUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location<'p> {
    /// Into a file system.
    Local(Cow<'p, Path>),
    /// To a store.
    Object(ObjectUrl),
}

impl<'p> Location<'p> {
    /// Where `path` leads. Looks for it on the file system only if it reads like a URL.
    ///
    /// # Errors
    /// [`Error::Store`] for URLs of a scheme that nothing here reads, and for those that hold what may be a secret.
    pub fn of(path: &'p Path) -> Result<Self, Error> {
        match scheme_and_rest(path) {
            Some((scheme, rest)) if !path.exists() => of_url(scheme, rest),
            _ => Ok(Self::Local(Cow::Borrowed(path))),
        }
    }

    /// The URL that `path` is, if it is one of a store.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn object(path: &'p Path) -> Result<Option<ObjectUrl>, Error> {
        Ok(match Self::of(path)? {
            Self::Object(url) => Some(url),
            Self::Local(_) => None,
        })
    }
}

fn scheme_and_rest(path: &Path) -> Option<(&str, &str)> {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
    };
    path.to_str()?.split_once("://").filter(|(scheme, _)| is_scheme(scheme))
}

fn of_url<'p>(scheme: &str, rest: &str) -> Result<Location<'p>, Error> {
    let refused = |fault| Err(Error::Store { path: PathBuf::from(shown(scheme, rest)), fault });
    let lower = scheme.to_ascii_lowercase();
    if lower == "file" {
        return match rest.strip_prefix("localhost").unwrap_or(rest) {
            local if local.starts_with('/') => Ok(Location::Local(Cow::Owned(decoded(local)))),
            _ => refused(StoreFault::FileHost),
        };
    }
    let Some(scheme_of) = Scheme::of(&lower) else { return refused(StoreFault::UnknownScheme { scheme: lower }) };
    let has_query = scheme_of == Scheme::Http && rest.contains(['?', '#']) || SIGNED.iter().any(|query| rest.contains(query));
    if user(scheme, rest).is_some() || has_query {
        return refused(StoreFault::Secret);
    }
    let host = rest.split('/').next().unwrap_or_default();
    let text = format!("{lower}://{}", rest.trim_end_matches('/'));
    if host.is_empty() {
        refused(StoreFault::NoBucketNamed)
    } else {
        Ok(Location::Object(ObjectUrl { scheme: scheme_of, text }))
    }
}

/// How the queries begin of URLs that somebody signed for others.
const SIGNED: [&str; 4] = ["?X-Amz-", "?X-Goog-", "?sv=", "?sig="];

/// The user in front of the host, with an eventual password. Azure's URLs have the container there, which has no password.
fn user<'r>(scheme: &str, rest: &'r str) -> Option<&'r str> {
    let (user, _) = rest.split(['/', '?', '#']).next()?.rsplit_once('@')?;
    let is_container = Scheme::of(&scheme.to_ascii_lowercase()) == Some(Scheme::Azure) && !user.contains(':');
    Some(user).filter(|_| !is_container)
}

/// The URL as it may be shown: without a user, and without a query and what follows it.
fn shown(scheme: &str, rest: &str) -> String {
    let own = user(scheme, rest).map_or(rest, |user| &rest[user.len() + 1..]);
    format!("{scheme}://{}", own.split(['?', '#']).next().unwrap_or_default())
}

/// The path of a `file` URL, in which `%20` is a space.
fn decoded(path: &str) -> PathBuf {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        match (first, after) {
            (b'%', [high, low, after @ ..]) if digit(high).is_some() && digit(low).is_some() => {
                let (high, low) = (digit(high).unwrap_or(0), digit(low).unwrap_or(0));
                bytes.push((high << 4 | low) as u8);
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> ObjectUrl {
        match Location::of(Path::new(text)).unwrap() {
            Location::Object(url) => url,
            local => panic!("{local:?}"),
        }
    }

    #[test]
    fn urls_are_told_from_paths() {
        for (text, scheme, shown) in [
            ("s3://bucket/run/", Scheme::S3, "s3://bucket/run"),
            ("S3://bucket", Scheme::S3, "s3://bucket"),
            ("gs://bucket/a b", Scheme::Gcs, "gs://bucket/a b"),
            (
                "abfss://traces@account.dfs.core.windows.net/run",
                Scheme::Azure,
                "abfss://traces@account.dfs.core.windows.net/run",
            ),
            ("https://host:8080/rank0.json.gz", Scheme::Http, "https://host:8080/rank0.json.gz"),
        ] {
            assert_eq!((object(text).scheme(), object(text).as_str()), (scheme, shown));
        }
        for text in ["a/b://c", "://x", "rank 0://", "rank0.json", "s3:/a"] {
            assert_eq!(Location::of(Path::new(text)).unwrap(), Location::Local(Path::new(text).into()), "{text}");
        }
    }

    #[test]
    fn a_file_url_is_the_path_in_it() {
        for (text, path) in [("file:///a/b%20c%2", "/a/b c%2"), ("file://localhost/a", "/a"), ("FILE:///a", "/a")] {
            assert_eq!(Location::of(Path::new(text)).unwrap(), Location::Local(Path::new(path).into()), "{text}");
        }
        let refused = Location::of(Path::new("file://node7/a")).unwrap_err();
        assert!(matches!(refused, Error::Store { fault: StoreFault::FileHost, .. }), "{refused}");
    }

    #[test]
    fn what_may_be_a_secret_is_refused_and_not_repeated() {
        for text in [
            "https://me:hush@host/rank0.json",
            "https://hush@host/rank0.json",
            "https://host/rank0.json?token=hush",
            "s3://AKIA:hush@bucket/run",
            "s3://bucket/run?X-Amz-Signature=hush",
            "az://traces/run?sv=2024&sig=hush",
        ] {
            let refused = Location::of(Path::new(text)).unwrap_err();
            assert!(matches!(refused, Error::Store { fault: StoreFault::Secret, .. }), "{refused}");
            let said = refused.to_string();
            assert!(!said.contains("hush") && !said.contains("AKIA"), "{said}");
        }
    }

    #[test]
    fn a_scheme_that_nothing_reads_is_named() {
        let said = Location::of(Path::new("ftp://host/a")).unwrap_err().to_string();
        assert!(said.starts_with("ftp://host/a") && said.contains("s3://"), "{said}");
        assert!(matches!(Location::of(Path::new("s3:///run")), Err(Error::Store { fault: StoreFault::NoBucketNamed, .. })));
    }
}
