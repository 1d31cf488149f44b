//! Pages that lie side by side on disk: a page that is made from runs has ways to the reports of those runs.
//!
//! Only what is there when the page is written is linked, and only below the folder that the page lies in or the one above that: what lies further
//! away does not move together with the page. Nothing is searched for: a report is where reports of a run are.

use std::fs;
use std::path::{Component, Path, PathBuf};

use rankscope_document::{CompareDocument, HistoryDocument};
use rankscope_report::PageLink;
use rankscope_run::folder_of;

/// Links of one page; a history may have hundreds of runs.
const LINKS_MAX: usize = 8;

/// Folders that a way may lead up.
const UP_MAX: usize = 1;

/// Where a run's page is, in a run directory and in a folder that a report was written into.
pub(crate) const PAGES: [&[&str]; 2] = [&["report", "report.html"], &["report.html"]];

/// Ways from the page of a comparison at `page` to the reports of what is compared.
pub fn beside_comparison(page: &Path, document: &CompareDocument) -> Vec<PageLink> {
    let runs = document.sides.iter().flat_map(|side| {
        let name =
            move |at: usize| if side.runs.len() > 1 { format!("{}, run {}", side.label, at + 1) } else { side.label.clone() };
        side.runs.iter().enumerate().map(move |(at, run)| (name(at), PathBuf::from(&run.path)))
    });
    reports(page, runs)
}

/// Ways from the page of a history to the reports of its latest runs.
pub fn beside_history(page: &Path, document: &HistoryDocument) -> Vec<PageLink> {
    reports(page, document.runs.iter().rev().map(|run| (run.name.clone(), PathBuf::from(&run.path))))
}

/// The way from the page of a validation of `traces` to their report: that of the run, or the one beside the page, where lists of runs have both.
pub fn beside_validation(page: &Path, traces: &[PathBuf]) -> Vec<PageLink> {
    let places = traces.iter().cloned().chain([folder_of(page).to_owned()]);
    reports(page, places.map(|place| (String::new(), place))).into_iter().take(1).collect()
}

/// Ways to the reports of runs, by what these are called.
fn reports(page: &Path, runs: impl Iterator<Item = (String, PathBuf)>) -> Vec<PageLink> {
    let text = |name: String| if name.is_empty() { "Report".to_owned() } else { format!("Report of {name}") };
    runs.filter_map(|(name, run)| link(text(name), page, &run)).take(LINKS_MAX).collect()
}

fn link(text: String, page: &Path, run: &Path) -> Option<PageLink> {
    let from = fs::canonicalize(folder_of(page)).ok()?;
    let to = report_of(run)?;
    let is_itself = page.file_name().is_some_and(|name| from.join(name) == to);
    let (up, names) = way(&from, &to).filter(|_| !is_itself)?;
    Some(PageLink::to(text, up, names))
}

/// The report of the run that was read from `path`: a folder, or the report.json that lies beside it.
fn report_of(path: &Path) -> Option<PathBuf> {
    let folder = if path.ends_with("report.json") { folder_of(path) } else { path };
    let places = PAGES.map(|names| names.iter().fold(folder.to_owned(), |place, name| place.join(name)));
    places.into_iter().find(|place| place.is_file()).and_then(|place| fs::canonicalize(place).ok())
}

/// From one folder to a file: folders up, and names from there. None where they share no folder that is near.
fn way<'a>(from: &Path, to: &'a Path) -> Option<(usize, Vec<&'a str>)> {
    let common = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().count() - common;
    let name = |component| if let Component::Normal(name) = component { name.to_str() } else { None };
    let names = to.components().skip(common).map(name).collect::<Option<Vec<_>>>()?;
    // All files share the root.
    (up <= UP_MAX && common > 1).then_some((up, names))
}

#[cfg(test)]
mod tests {
    use rankscope_document::{ComparedRun, ComparedSide};

    use super::*;

    #[test]
    fn a_way_leads_up_one_folder_at_most_and_not_over_the_root() {
        let between = |from, to| way(Path::new(from), Path::new(to));
        assert_eq!(between("/runs", "/runs/a/report.html"), Some((0, vec!["a", "report.html"])));
        assert_eq!(between("/runs/cmp", "/runs/a/report.html"), Some((1, vec!["a", "report.html"])));
        assert_eq!(between("/runs/a/b/c", "/runs/a/report.html"), None);
        assert_eq!(between("/tmp", "/runs/a/report.html"), None);
    }

    #[test]
    fn reports_that_are_there_are_linked_by_addresses_that_hold_any_name() {
        let root = tempfile::tempdir().expect("a folder");
        let hostile = "a b#1%?\"><script>";
        for folder in ["cmp", hostile, "javascript:run/report", "empty"] {
            fs::create_dir_all(root.path().join(folder)).expect("a folder");
        }
        for report in [&format!("{hostile}/report.html"), "javascript:run/report/report.html"] {
            fs::write(root.path().join(report), "").expect("a page");
        }
        let run = |name: &str| ComparedRun { path: root.path().join(name).display().to_string(), ..ComparedRun::default() };
        let side = |label: &str, names: &[&str]| ComparedSide {
            label: label.to_owned(),
            runs: names.iter().map(|name| run(name)).collect(),
            ..ComparedSide::default()
        };
        let sides = vec![side("base", &[hostile]), side("test", &["javascript:run", "empty", "gone"])];
        let document = CompareDocument { sides, ..CompareDocument::default() };
        let link = |text: &str, up, names: &[&str]| PageLink::to(text.to_owned(), up, names.iter().copied());
        let base = |up| link("Report of base", up, &[hostile, "report.html"]);
        let test = |up| link("Report of test, run 1", up, &["javascript:run", "report", "report.html"]);
        assert_eq!(beside_comparison(&root.path().join("cmp/compare.html"), &document), [base(1), test(1)]);
        assert_eq!(beside_comparison(&root.path().join("compare.html"), &document), [base(0), test(0)]);
        let saved = root.path().join(hostile).join("report.json");
        assert_eq!(beside_validation(&root.path().join("v.html"), &[saved]), [link("Report", 0, &[hostile, "report.html"])]);
    }

    #[test]
    fn the_report_beside_the_page_of_a_validation_is_linked_and_no_page_links_itself() {
        let root = tempfile::tempdir().expect("a folder");
        let raw = root.path().join("raw");
        fs::create_dir(&raw).expect("a folder");
        fs::write(root.path().join("report.html"), "").expect("a page");
        let report = PageLink::to("Report".to_owned(), 0, ["report.html"]);
        assert_eq!(beside_validation(&root.path().join("validation.html"), std::slice::from_ref(&raw)), [report]);
        assert_eq!(beside_validation(&root.path().join("report.html"), &[raw]), []);
    }
}
