//! Which thing of ours a path means. A path that means none is told so; nothing is guessed.

use crate::response::Refusal;
use crate::target::Target;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// The list of runs, as a page.
    Home,
    /// What pages are made of.
    Asset(&'a str),
    /// A run, as a page.
    Run,
    /// The same page by a path that its links do not work from.
    RunWithoutSlash(&'a str),
    /// The report of a run, wherever it is among its files.
    Report(&'a str),
    /// A file of a run.
    File(&'a str, Vec<&'a str>),
    /// A file of Perfetto's UI.
    Viewer(Vec<&'a str>),
    /// The list of runs, as data.
    Runs,
    /// The files of a run.
    Files(&'a str),
    /// Kernels of a run.
    Kernels(&'a str),
    /// Names in a run.
    Names(&'a str),
    /// Operators of a run.
    Operators(&'a str),
    /// Callers and callees of an operator of a run.
    Tree(&'a str),
}

impl<'a> Route<'a> {
    pub(crate) fn of(target: &'a Target) -> Result<Self, Refusal> {
        let segments = target.segments();
        Ok(match (segments.as_slice(), target.ends_open()) {
            ([], _) => Self::Home,
            (["assets", name], false) => Self::Asset(name),
            (["runs", _], true) => Self::Run,
            (["runs", run], false) => Self::RunWithoutSlash(run),
            (["runs", run, "report"], false) => Self::Report(run),
            (["runs", run, "files", path @ ..], false) if !path.is_empty() => Self::File(run, path.to_vec()),
            (["perfetto"], true) => Self::Viewer(vec!["index.html"]),
            (["perfetto", path @ ..], false) if !path.is_empty() => Self::Viewer(path.to_vec()),
            (["api", "runs"], false) => Self::Runs,
            (["api", "runs", run, "files"], false) => Self::Files(run),
            (["api", "runs", run, "kernels"], false) => Self::Kernels(run),
            (["api", "runs", run, "names"], false) => Self::Names(run),
            (["api", "runs", run, "operators"], false) => Self::Operators(run),
            (["api", "runs", run, "tree"], false) => Self::Tree(run),
            _ => return Err(Refusal::NotThere),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_means_one_thing() {
        let target = |text| Target::parse(text).expect("a target");
        assert_eq!(Route::of(&target("/")), Ok(Route::Home));
        assert_eq!(Route::of(&target("/runs/a/")), Ok(Route::Run));
        assert_eq!(Route::of(&target("/runs/a/files/report/report.html")), Ok(Route::File("a", vec!["report", "report.html"])));
        assert_eq!(Route::of(&target("/runs/a/report")), Ok(Route::Report("a")));
        assert_eq!(Route::of(&target("/perfetto/")), Ok(Route::Viewer(vec!["index.html"])));
        assert_eq!(Route::of(&target("/api/runs/a/kernels?rank=1")), Ok(Route::Kernels("a")));
        assert_eq!(Route::of(&target("/api/runs/a/operators?rank=1")), Ok(Route::Operators("a")));
        assert_eq!(Route::of(&target("/api/runs/a/tree?rank=1")), Ok(Route::Tree("a")));
        for text in
            ["/runs", "/runs/a/files", "/runs/a/files/", "/runs/a/raw/x", "/api", "/api/runs/a", "/perfetto", "/assets/"]
        {
            assert_eq!(Route::of(&target(text)), Err(Refusal::NotThere), "{text}");
        }
    }
}
