//! The compiler of the CUDA toolkit, from the Python package index: a library that needs no GPU and no driver.
//!
//! Downloaded once into the target folder. Where it cannot be had, the reason is handed back and whoever wanted it skips.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo;
use crate::venv::finish;

const PACKAGE: &str = "nvidia-cuda-nvrtc-cu12";
/// The last of CUDA 12: it knows every architecture back to 5.0.
const VERSION: &str = "12.9.86";

/// The loader's path with the library in front, or why there is none.
pub(crate) fn library_path() -> Result<OsString> {
    let before = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    // An empty entry would stand for the current folder.
    let before = env::split_paths(&before).filter(|path| !path.as_os_str().is_empty());
    env::join_paths(iter::once(folder()?).chain(before)).context("the target folder has a colon in its name")
}

fn folder() -> Result<PathBuf> {
    let target = cargo::metadata()?.target_directory.join("nvrtc");
    let home = target.join(VERSION);
    let library = home.join("nvidia/cuda_nvrtc/lib");
    if library.is_dir() {
        return Ok(library);
    }
    let beside = target.join(format!("{VERSION}-{}", std::process::id()));
    fs::create_dir_all(&beside).with_context(|| format!("failed to make {}", beside.display()))?;
    let fetched = from_pip(&beside).or_else(|pip| from_index(&beside).map_err(|index| index.context(format!("{pip:#}; then"))));
    // Renamed when it is whole: half a library would be taken for one.
    let placed = fetched.and_then(|()| fs::rename(&beside, &home).context("failed to move it to its place"));
    if placed.is_err() {
        // What is left behind is in the target folder, which anybody may delete.
        let _ = fs::remove_dir_all(&beside);
    }
    placed.map(|()| library)
}

/// Knows mirrors and proxies that somebody has set up.
fn from_pip(folder: &Path) -> Result<()> {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--disable-pip-version-check", "--target"]);
    finish(pip.arg(folder).arg(format!("{PACKAGE}=={VERSION}")), "pip")
}

fn from_index(folder: &Path) -> Result<()> {
    let index = folder.join("index.json");
    download(&format!("https://pypi.org/pypi/{PACKAGE}/{VERSION}/json"), &index)?;
    let index: serde_json::Value =
        serde_json::from_reader(File::open(&index)?).context("failed to understand the package index")?;
    let is_ours = |name: &str| name.ends_with(&format!("{}.whl", env::consts::ARCH)) && name.contains("manylinux");
    let wheels = index["urls"].as_array().into_iter().flatten();
    let wheel = wheels.into_iter().find(|wheel| wheel["filename"].as_str().is_some_and(is_ours));
    let url = wheel.and_then(|wheel| wheel["url"].as_str()).context("the package index lists no wheel for this machine")?;
    let archive = folder.join("nvrtc.whl");
    download(url, &archive)?;
    zip::ZipArchive::new(File::open(&archive)?)?.extract(folder).context("failed to unpack the wheel")
}

fn download(url: &str, to: &Path) -> Result<()> {
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--silent", "--show-error", "--location", "--max-time", "90", "--output"]).arg(to);
    finish(curl.arg(url), "curl")
}
