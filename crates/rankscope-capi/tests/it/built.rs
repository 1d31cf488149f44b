//! Programs in C and C++, compiled strictly and linked with the library that Cargo built for these tests.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rankscope_formats::{ArgsPolicy, ReadOptions};
use rankscope_testkit::{Need, skip};
use rankscope_trace::Trace;
use tempfile::TempDir;

/// Warnings are errors, as in the programs of those who include the header.
const STRICT: [&str; 5] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"];

/// A folder with the shared library under the names that programs look for, and what is built there.
pub(crate) struct Built {
    pub(crate) folder: TempDir,
}

impl Built {
    /// None, and the test is skipped, where nothing can be compiled.
    pub(crate) fn new() -> Option<Self> {
        if ["cc", "c++"].iter().any(|compiler| Command::new(compiler).arg("--version").output().is_err()) {
            skip(Need::Compiler, "cc and c++ are not both installed");
            return None;
        }
        let folder = TempDir::new().unwrap();
        for name in ["librankscope.so", "librankscope.so.1"] {
            symlink(library("librankscope_capi.so"), folder.path().join(name)).unwrap();
        }
        Some(Self { folder })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles `source` to a program, by its suffix as C99 or C++17.
    pub(crate) fn program(&self, source: &Path) -> PathBuf {
        let to = self.path(&source.file_name().unwrap().to_string_lossy().replace('.', "-"));
        let mut command = compiler(source);
        command.arg(source).arg("-o").arg(&to).arg("-L").arg(self.folder.path());
        command.args(["-lrankscope", "-lpthread", "-ldl", "-Wl,-rpath"]).arg(self.folder.path());
        succeeded(&mut command);
        to
    }

    /// Compiles `source` to a shared library that is linked with nothing of ours.
    pub(crate) fn shared(&self, source: &Path) -> PathBuf {
        let to = self.path(&source.file_name().unwrap().to_string_lossy().replace(".c", ".so"));
        succeeded(compiler(source).args(["-shared", "-fPIC"]).arg(source).arg("-o").arg(&to));
        to
    }
}

pub(crate) fn compiler(source: &Path) -> Command {
    let is_c = source.extension() == Some(OsStr::new("c"));
    let mut command = Command::new(if is_c { "cc" } else { "c++" });
    command.arg(if is_c { "-std=c99" } else { "-std=c++17" }).args(STRICT).arg("-I").arg(own("include"));
    command
}

/// A path in this package.
pub(crate) fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// An example of the repository.
pub(crate) fn example(name: &str) -> PathBuf {
    own("../../examples/c").join(name)
}

/// What Cargo built of this package, beside this test.
pub(crate) fn library(name: &str) -> PathBuf {
    let beside = env::current_exe().unwrap().parent().unwrap().to_owned();
    let (stem, suffix) = name.rsplit_once('.').unwrap();
    let mut found: Vec<PathBuf> = fs::read_dir(&beside)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension() == Some(OsStr::new(suffix)))
        .filter(|path| path.file_stem().is_some_and(|found| found.to_string_lossy().starts_with(stem)))
        .collect();
    // Of several that Cargo left, the last it made.
    found.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    found.pop().unwrap_or_else(|| panic!("{name} is not in {}", beside.display()))
}

/// Runs a command that must succeed.
pub(crate) fn succeeded(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let said = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{}\n{}", output.status, said.0, said.1);
    output
}

/// What the product reads out of a file.
pub(crate) fn read(path: &Path) -> Trace {
    let options = ReadOptions::default().with_label(path.to_string_lossy()).with_args(ArgsPolicy::All);
    let mut members = rankscope_formats::read(fs::File::open(path).unwrap(), &options).unwrap();
    members.remove(0).trace.unwrap()
}

/// The names of its spans, sorted.
pub(crate) fn names(trace: &Trace) -> Vec<String> {
    let mut names: Vec<String> = trace.spans.ids().map(|span| trace.name(span).to_owned()).collect();
    names.sort();
    names
}
