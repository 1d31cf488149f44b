//! Links of the pages: each leads to a file, and to a heading where it names one; and the index leads to every page.
//!
//! Only links within the repository are followed. Anchors are made of headings as GitHub makes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Where a reader of the documents begins.
const INDEX: &str = "docs/README.md";
/// Folders without pages of ours.
const PASSED_OVER: [&str; 2] = ["target", "node_modules"];

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) pages: usize,
    pub(super) links: usize,
    /// One line each, beginning with the page and the line in it.
    pub(super) faults: Vec<String>,
}

/// One page: where it leads and what can be led to.
struct Page {
    /// Line, from 1, and destination as written.
    links: Vec<(usize, String)>,
    anchors: BTreeSet<String>,
}

/// Follows the links of every Markdown file below `root`.
pub(super) fn check(root: &Path) -> Result<Checked> {
    let mut files = Vec::new();
    files_below(root, root, &mut files)?;
    files.sort();
    let mut pages = BTreeMap::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|suffix| suffix == "md")) {
        let text = fs::read_to_string(root.join(file)).with_context(|| format!("failed to read {}", file.display()))?;
        pages.insert(file.clone(), Page::read(&text));
    }
    let mut checked = Checked { pages: pages.len(), ..Checked::default() };
    let (mut led_to, mut indexed) = (BTreeSet::new(), BTreeSet::new());
    for (file, page) in &pages {
        for (line, destination) in page.links.iter().filter(|(_, destination)| is_within(destination)) {
            checked.links += 1;
            match followed(root, file, destination, &pages) {
                Ok(target) if file == Path::new(INDEX) => drop(indexed.insert(target)),
                Ok(target) => drop(led_to.insert(target)),
                Err(why) => checked.faults.push(format!("{}:{line}: {why}", file.display())),
            }
        }
    }
    for file in files.iter().filter(|file| file.starts_with("docs") && *file != Path::new(INDEX)) {
        if pages.contains_key(file) && !indexed.contains(file) {
            checked.faults.push(format!("{}: {INDEX} has no line for this page", file.display()));
        } else if !indexed.contains(file) && !led_to.contains(file) {
            checked.faults.push(format!("{}: no page shows or links this file", file.display()));
        }
    }
    Ok(checked)
}

/// Every file below `folder`, relative to `root` and in no order, but hidden ones, what was built, and symbolic links: the
/// page that one leads to is checked where it lies.
fn files_below(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("failed to read {}", folder.display()))?;
        let name = entry.file_name();
        let kind = entry.file_type().with_context(|| format!("failed to look at {}", entry.path().display()))?;
        if kind.is_symlink() || name.to_string_lossy().starts_with('.') || PASSED_OVER.iter().any(|passed| name == *passed) {
            continue;
        }
        if kind.is_dir() {
            files_below(root, &entry.path(), files)?;
        } else if let Ok(file) = entry.path().strip_prefix(root) {
            files.push(file.to_owned());
        }
    }
    Ok(())
}

impl Page {
    fn read(text: &str) -> Self {
        let mut page = Self { links: Vec::new(), anchors: BTreeSet::new() };
        let mut heading: Option<String> = None;
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push((line_of(text, &range), dest_url.into_string()));
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => page.add_anchor(&heading.take().unwrap_or_default()),
                Event::Text(piece) | Event::Code(piece) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&piece);
                    }
                }
                _ => {}
            }
        }
        page
    }

    /// Headings of one name are told apart by a number.
    fn add_anchor(&mut self, heading: &str) {
        let anchor = anchor(heading);
        let numbered = (1..).map(|n| format!("{anchor}-{n}"));
        let free = std::iter::once(anchor.clone()).chain(numbered).find(|name| !self.anchors.contains(name));
        self.anchors.extend(free);
    }
}

fn line_of(text: &str, range: &Range<usize>) -> usize {
    text[..range.start].matches('\n').count() + 1
}

/// As GitHub does it: lower case, blanks to hyphens, no other punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

/// Whether a destination is ours to follow: it has no scheme.
fn is_within(destination: &str) -> bool {
    let scheme = destination.split(['/', '#', '?']).next().unwrap_or_default();
    !scheme.contains(':')
}

/// Where a link of `file` leads, relative to the root, or why nowhere.
fn followed(root: &Path, file: &Path, destination: &str, pages: &BTreeMap<PathBuf, Page>) -> Result<PathBuf, String> {
    let (path, anchor) = destination.split_once('#').unwrap_or((destination, ""));
    let target = if path.is_empty() { file.to_owned() } else { joined(file.parent().unwrap_or(Path::new("")), path) };
    if !root.join(&target).exists() {
        return Err(format!("{destination} leads to {}, which does not exist", target.display()));
    }
    match pages.get(&target) {
        Some(page) if !anchor.is_empty() && !page.anchors.contains(anchor) => {
            Err(format!("{destination}: {} has no heading of this name", target.display()))
        }
        _ => Ok(target),
    }
}

/// `path` seen from `folder`, without dots.
fn joined(folder: &Path, path: &str) -> PathBuf {
    let mut joined = PathBuf::new();
    for component in folder.join(path).components() {
        match component {
            Component::ParentDir => drop(joined.pop()),
            Component::CurDir => {}
            other => joined.push(other),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(files: &[(&str, &str)]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        check(root.path()).unwrap().faults
    }

    #[test]
    fn links_to_files_and_headings_that_exist_pass() {
        let index = "# Index\n\n[a](how-to/a.md#the-one--only-x) and [itself](#index), [readme](../README.md), [out](https://x.y/z.md)\n";
        let page = "# The one & only `x`\n\n![picture](../images/p.png) `[not](a-link.md)`\n\n```text\n[nor](this.md)\n```\n";
        let files = [("README.md", ""), ("docs/README.md", index), ("docs/how-to/a.md", page), ("docs/images/p.png", "")];
        assert_eq!(faults(&files), [""; 0]);
    }

    #[test]
    fn a_link_to_no_file_and_one_to_no_heading_are_named_with_their_lines() {
        let found = faults(&[("README.md", "# A\n\n[b](b.md)\n[c](#c)\n")]);
        let expected =
            ["README.md:3: b.md leads to b.md, which does not exist", "README.md:4: #c: README.md has no heading of this name"];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_page_that_the_index_does_not_name_is_found() {
        let files = [("docs/README.md", ""), ("docs/a.md", ""), ("README.md", "[a](docs/a.md)")];
        assert_eq!(faults(&files), ["docs/a.md: docs/README.md has no line for this page"]);
    }

    #[test]
    fn a_picture_that_no_page_shows_is_found() {
        assert_eq!(faults(&[("docs/images/p.png", "")]), ["docs/images/p.png: no page shows or links this file"]);
    }

    #[test]
    fn headings_of_one_name_have_numbered_anchors() {
        let page = Page::read("# A\n## A\n### A\n");
        assert_eq!(page.anchors.into_iter().collect::<Vec<_>>(), ["a", "a-1", "a-2"]);
    }
}
