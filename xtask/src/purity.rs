//! What sources outside tests may not so much as mention: the outside world in pure crates, and in those that own paths, the
//! ways to open one that would wait for ever for a pipe.
//!
//! A text search, not a parser. It reads past comments and past everything from `#[cfg(test)]` on when an inline module
//! follows, which the house style puts last in a file. A clever path could fool it; reviewers are the second line.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cargo::Package;

/// Every line of the crate's `src/` that mentions something impure.
pub(crate) fn offences(package: &Package) -> Result<Vec<String>> {
    found(package, FORBIDDEN, "in a pure crate")
}

/// Every line of the crate's `src/` that opens a path to read it, other than through `rankscope_run::open`.
pub(crate) fn openings(package: &Package) -> Result<Vec<String>> {
    found(package, OPENINGS, "opens what may be a pipe; use rankscope_run::open or read_side")
}

fn found(package: &Package, words: &[&'static str], why: &str) -> Result<Vec<String>> {
    let mut files = Vec::new();
    sources(&package.root().join("src"), &mut files)?;
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))?;
        for (line, word) in mentions(&text, words) {
            found.push(format!("{}:{line}: `{word}` {why}", file.display()));
        }
    }
    Ok(found)
}

/// Rust files below `folder` that are not tests.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))? {
        let path = entry?.path();
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        if path.is_dir() {
            sources(&path, files)?;
        } else if path.extension().is_some_and(|suffix| suffix == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Line numbers and words.
fn mentions(text: &str, words: &[&'static str]) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let starts_test_module = |(_, next): &(usize, &str)| next.trim_start().starts_with("mod ") && next.ends_with('{');
        if line.trim() == "#[cfg(test)]" && lines.peek().is_some_and(starts_test_module) {
            break;
        }
        let code = line.split("//").next().unwrap_or(line);
        if KERNELS.iter().any(|path| code.contains(path)) {
            continue;
        }
        found.extend(words.iter().filter(|word| contains(code, word)).map(|word| (index + 1, *word)));
    }
    found
}

/// Whether `code` has `path` in it, alone or as one of `std::{...}`, and not as part of a longer word.
fn contains(code: &str, path: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |at: usize, word: &str| !code[..at].ends_with(is_part) && !code[at + word.len()..].starts_with(is_part);
    let direct = code.match_indices(path).any(|(at, _)| whole(at, path));
    let Some((parent, leaf)) = path.rsplit_once("::") else { return direct };
    let list = format!("{parent}::{{");
    direct || code.find(&list).is_some_and(|from| code[from..].match_indices(leaf).any(|(at, _)| whole(from + at, leaf)))
}

const FORBIDDEN: &[&str] =
    &["std::fs", "std::net", "std::env", "std::process", "SystemTime", "std::time::Instant", "thread_rng", "RandomState::new"];

/// Ways to read a path. Folders, which are opened to be locked or synchronised, are opened with `OpenOptions`.
const OPENINGS: &[&str] = &["File::open", "fs::read", "fs::read_to_string"];

/// Files that the kernel makes up: nobody can put a pipe there.
const KERNELS: [&str; 2] = ["\"/proc/", "\"/sys/"];

#[cfg(test)]
mod tests {
    use super::*;

    fn mentions(text: &str) -> Vec<(usize, &'static str)> {
        super::mentions(text, FORBIDDEN)
    }

    #[test]
    fn what_may_wait_for_ever_is_found_and_what_cannot_is_not() {
        let openings = |text| super::mentions(text, OPENINGS);
        assert_eq!(openings("let a = std::fs::read(path);\nFile::open(path)"), [(1, "fs::read"), (2, "File::open")]);
        assert_eq!(openings("fs::read_dir(path); LiveFile::open(file); fs::read_to_string(\"/proc/self/stat\")"), []);
    }

    #[test]
    fn mentions_are_found_however_they_are_written() {
        assert_eq!(mentions("use std::fs::File;\n"), [(1, "std::fs")]);
        assert_eq!(mentions("\nuse std::{env, io};\n"), [(2, "std::env")]);
        assert_eq!(mentions("let t = SystemTime::now();"), [(1, "SystemTime")]);
        assert_eq!(mentions("use std::time::{Duration, Instant};"), [(1, "std::time::Instant")]);
    }

    #[test]
    fn comments_tests_and_longer_words_are_not() {
        assert!(mentions("// std::fs is not for us\nuse std::fmt; let MySystemTimes = std::io::empty();").is_empty());
        assert!(mentions("fn a() {}\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n").is_empty());
        assert_eq!(mentions("#[cfg(test)]\nmod tests;\nuse std::net;\n"), [(3, "std::net")]);
        assert!(mentions("use rankscope_time::Instant;").is_empty());
    }
}
