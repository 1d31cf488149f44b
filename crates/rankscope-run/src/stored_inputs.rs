//! The files that a URL means: an object, all objects below a folder, or those that match a pattern. One request lists them, and the
//! rules by which traces are chosen among them are those of folders of a file system.
//!
//! A web server lists nothing, so of it a URL means one file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::inputs::{DEPTH_MAX, Folder, Found, InputFile, OWN_OUTPUTS, Wanted, suffix};
use crate::parts::{PARTS_PLAN, is_marked, is_part};
use crate::stores::{ObjectIdentity, StoreFault, Stores, at, stores};
use crate::{Error, Location, ObjectUrl, Scheme};

/// Adds to `found` what `url` means, which was given as `path`.
pub(crate) fn find(path: &Path, url: &ObjectUrl, wanted: Wanted, found: &mut Found) -> Result<(), Error> {
    let stores = stores(url)?;
    match (url.scheme(), url.as_str().contains('*')) {
        (Scheme::Http, true) => Err(Error::Store { path: path.to_owned(), fault: StoreFault::CannotList }),
        (Scheme::Http, false) => {
            found.files.push(InputFile { path: path.to_owned(), named: true, earlier: false });
            Ok(())
        }
        (_, true) => matching(path, url, stores, wanted, found),
        (_, false) => object_or_folder(path, url, stores, wanted, found),
    }
}

fn object_or_folder(path: &Path, url: &ObjectUrl, stores: &dyn Stores, wanted: Wanted, found: &mut Found) -> Result<(), Error> {
    // A bucket alone is no object.
    let may_be_object = url.as_str().matches('/').count() > 2;
    // What is named like a trace seldom is a folder, and asking for it costs less than listing.
    let likely = may_be_object && url.as_str().rsplit('/').next().is_some_and(|name| suffix(name).is_some());
    if likely && add_object(path, url, stores, found)? {
        return Ok(());
    }
    let listed = Listed::of(path, url, stores)?;
    if listed.is_parts_folder(path, "") {
        return Err(Error::Parts { path: path.to_owned() });
    }
    if !listed.objects.is_empty() {
        return in_folder(path, &listed, wanted, found);
    }
    if may_be_object && !likely && add_object(path, url, stores, found)? {
        return Ok(());
    }
    Err(Error::Store { path: path.to_owned(), fault: StoreFault::NoSuchObject })
}

/// Whether `path` is an object, which is then found.
fn add_object(path: &Path, url: &ObjectUrl, stores: &dyn Stores, found: &mut Found) -> Result<bool, Error> {
    let Some(identity) = at(path, stores.about(url))? else { return Ok(false) };
    found.identities.insert(path.to_owned(), identity);
    found.files.push(InputFile { path: path.to_owned(), named: true, earlier: false });
    Ok(true)
}

/// All below a folder.
#[derive(Default)]
struct Listed {
    /// By their keys below the folder.
    objects: BTreeMap<String, ObjectIdentity>,
}

impl Listed {
    fn of(path: &Path, url: &ObjectUrl, stores: &dyn Stores) -> Result<Self, Error> {
        let listed = at(path, stores.list(url))?;
        Ok(Self { objects: listed.into_iter().map(|object| (object.key, object.identity)).collect() })
    }

    /// What lies below the folder of this key.
    fn below(&self, folder: &str) -> Self {
        let own = |(key, identity): (&String, &ObjectIdentity)| {
            let key = key.strip_prefix(folder)?.strip_prefix('/')?;
            Some((key.to_owned(), identity.clone()))
        };
        Self { objects: self.objects.iter().filter_map(own).collect() }
    }

    fn has_below(&self, folder: &str) -> bool {
        let first = self.objects.range(format!("{folder}/")..).next();
        first.is_some_and(|(key, _)| key.starts_with(folder) && key[folder.len()..].starts_with('/'))
    }

    /// Whether the folder of this key, below the one that was listed as `root`, holds parts.
    fn is_parts_folder(&self, root: &Path, folder: &str) -> bool {
        let in_folder = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let plan = in_folder(PARTS_PLAN);
        let is_own_part = |key: &String| is_part(Path::new(key)) && folder_of(key) == folder;
        self.objects.contains_key(&plan) && (self.objects.keys().any(is_own_part) || is_marked(&root.join(plan)))
    }

    /// Keys of what is named like a trace, as a folder of a file system is looked through.
    fn traces(&self, root: &Path) -> Vec<&str> {
        let mut passed: BTreeMap<&str, bool> = BTreeMap::new();
        let mut is_passed_over = |folder| *passed.entry(folder).or_insert_with(|| self.is_parts_folder(root, folder));
        let mut traces = Vec::new();
        for key in self.objects.keys() {
            let folders: Vec<&str> = key.match_indices('/').map(|(at, _)| &key[..at]).collect();
            let is_hidden = key.split('/').any(|name| OWN_OUTPUTS.contains(&name) || name.starts_with('.'));
            let is_trace = suffix(key.rsplit('/').next().unwrap_or_default()).is_some();
            if is_trace
                && !is_hidden
                && folders.len() <= DEPTH_MAX
                && !folders.iter().any(|folder| is_workers(folder) || is_passed_over(folder))
            {
                traces.push(key.as_str());
            }
        }
        traces
    }
}

/// The folder of a key; empty for one that lies in none.
fn folder_of(key: &str) -> &str {
    key.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Whether a folder is called as those of recordings of processes that a recorded one started.
fn is_workers(folder: &str) -> bool {
    crate::inputs::is_workers_name(folder.rsplit('/').next().unwrap_or_default())
}

fn in_folder(path: &Path, listed: &Listed, wanted: Wanted, found: &mut Found) -> Result<(), Error> {
    let is_run = listed.objects.contains_key("run.json") && listed.has_below("raw");
    let (root, inner) = if is_run { (path.join("raw"), Some(listed.below("raw"))) } else { (path.to_owned(), None) };
    let listed = inner.as_ref().unwrap_or(listed);
    let traces: Vec<PathBuf> = listed.traces(&root).into_iter().map(|key| root.join(key)).collect();
    found.identities.extend(listed.objects.iter().map(|(key, identity)| (root.join(key), identity.clone())));
    Folder { path, is_run, root, traces }.choose(wanted, found)
}

/// What matches a pattern in which `*` stands for any part of one name.
fn matching(path: &Path, url: &ObjectUrl, stores: &dyn Stores, wanted: Wanted, found: &mut Found) -> Result<(), Error> {
    let text = path.to_string_lossy();
    let before_star = text.split('*').next().unwrap_or_default();
    let folder = before_star.rsplit_once('/').map_or(before_star, |(folder, _)| folder);
    // A pattern for buckets would need a list of buckets.
    let (Some(Location::Object(folder_url)), Some(rest)) =
        (Location::of(Path::new(folder)).ok(), text.get(folder.len() + 1..).filter(|_| folder.matches('/').count() > 1))
    else {
        let reason = "a bucket's name holds no wildcard".to_owned();
        return Err(Error::BadPattern { pattern: url.to_string(), reason });
    };
    let pattern = glob::Pattern::new(&glob::Pattern::escape(rest.trim_end_matches('/')).replace("[*]", "*"))
        .map_err(|bad| Error::BadPattern { pattern: url.to_string(), reason: bad.msg.to_owned() })?;
    let folder = Path::new(folder);
    let listed = Listed::of(folder, &folder_url, stores)?;
    let depth = rest.trim_end_matches('/').matches('/').count();
    let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
    let mut folders = BTreeSet::new();
    let before = found.files.len();
    for (key, identity) in &listed.objects {
        let end = key.match_indices('/').nth(depth).map(|(at, _)| at);
        if !pattern.matches_with(&key[..end.unwrap_or(key.len())], options) {
            continue;
        }
        match end {
            Some(end) => drop(folders.insert(&key[..end])),
            None => {
                let path = folder.join(key);
                found.identities.insert(path.clone(), identity.clone());
                found.files.push(InputFile { path, named: false, earlier: false });
            }
        }
    }
    for key in folders {
        in_folder(&folder.join(key), &listed.below(key), wanted, found)?;
    }
    if found.files.len() == before { Err(Error::Missing { path: path.to_owned() }) } else { Ok(()) }
}
