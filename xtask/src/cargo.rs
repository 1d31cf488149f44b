//! The cargo that runs us: its commands, and what it knows about the workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// What `cargo metadata` says, cut down to what is asked here.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
    /// Ids of the packages that a command without a selection is about.
    workspace_default_members: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for an ordinary dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
}

impl Dependency {
    /// Whether only tests, examples and benchmarks have it.
    pub(crate) fn is_dev(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

impl Metadata {
    /// The programs among which `cargo run` without a selection has to choose.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &str> {
        let chosen = self.packages.iter().filter(|package| self.workspace_default_members.contains(&package.id));
        let targets = chosen.flat_map(|package| &package.targets);
        targets.filter(|target| target.kind.iter().any(|kind| kind == "bin")).map(|target| target.name.as_str())
    }
}

impl Package {
    /// The folder of its manifest.
    pub(crate) fn root(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }
}

/// All that CI compiles for debugging, with one set of features, so that it is compiled once: whatever asks for less, or for
/// other features, has other dependencies and compiles many of them again. MPI is left out, because it has to be installed. What the
/// default build leaves out, object stores and datasets, is in: the default build itself is what others get of us.
pub(crate) const EVERYTHING: [&str; 4] = [
    "--workspace",
    "--locked",
    "--features",
    "rankscope-record/tracing,rankscope-record/macros,rankscope-transport/cuda,rankscope/store,rankscope/parquet,rankscope-counted/floor",
];

/// The workspace as cargo sees it.
pub(crate) fn metadata() -> Result<Metadata> {
    let output = command(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .stderr(Stdio::inherit())
        .output()
        .context("failed to start cargo")?;
    if !output.status.success() {
        bail!("cargo metadata failed ({})", output.status);
    }
    serde_json::from_slice(&output.stdout).context("failed to understand cargo metadata")
}

/// Builds the programs whose instructions are counted, optimised; says in which folder of `target` they are.
pub(crate) fn counted(target: &Path) -> Result<PathBuf> {
    const PROFILE: &str = "counted";
    build(["--profile", PROFILE, "--package", "rankscope-counted"], "what is counted")?;
    Ok(target.join(PROFILE))
}

/// The product, built for release into `target`.
pub(crate) fn release_binary(target: &Path) -> Result<PathBuf> {
    build(["--release", "--package", "rankscope"], "the release")?;
    Ok(target.join("release").join("rankscope"))
}

/// The same with `feature`, in a folder of its own, so that neither is taken for the other.
pub(crate) fn release_with(target: &Path, feature: &str) -> Result<PathBuf> {
    let folder = target.join(feature);
    let own = folder.display().to_string();
    build(["--release", "--package", "rankscope", "--features", feature, "--target-dir", &own], "the release")?;
    Ok(folder.join("release").join("rankscope"))
}

/// A debug build of the product, with the features of everything else: with its own alone, all below it is built again. With the
/// examples, because what examples and tests depend on asks for features, too, and with the libraries for C. Says in which folder
/// of `target` it is.
pub(crate) fn debug_build(target: &Path) -> Result<PathBuf> {
    let everything = EVERYTHING.into_iter().filter(|option| *option != "--locked");
    build(["--quiet", "--lib", "--bins", "--examples"].into_iter().chain(everything), "the debug build")?;
    Ok(target.join("debug"))
}

/// The program of that build.
pub(crate) fn debug_binary(target: &Path) -> Result<PathBuf> {
    Ok(debug_build(target)?.join("rankscope"))
}

fn build<'a>(selection: impl IntoIterator<Item = &'a str>, what: &str) -> Result<()> {
    let status = command(["build", "--locked"].into_iter().chain(selection)).status();
    if !status.context("failed to start cargo")?.success() {
        bail!("{what} could not be built");
    }
    Ok(())
}

/// A cargo command in the workspace root.
pub(crate) fn command<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args).current_dir(root());
    command
}

/// This program, to be started once more: by a path that stays good when cargo puts a newer build of it into its place.
pub(crate) fn myself() -> Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() { Ok(running.to_owned()) } else { std::env::current_exe().context("failed to find this program") }
}

/// The root of the workspace this binary was built from.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}
