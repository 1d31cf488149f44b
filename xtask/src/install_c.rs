//! `cargo xtask install-c --prefix DIR`: the C library where C programs look for such: header, libraries, pkg-config, CMake, and the
//! plugin of clocks.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo::{self, Metadata};
use crate::ci;
use crate::header::crate_folder;

/// Options of `cargo xtask install-c`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where to: `/usr/local`, or a folder of yours.
    #[arg(long)]
    prefix: PathBuf,
    /// Build without optimising, for tests.
    #[arg(long)]
    debug: bool,
}

impl Args {
    /// For a folder of tests.
    pub(crate) fn of_tests(prefix: PathBuf) -> Self {
        Self { prefix, debug: true }
    }
}

/// What a program that links the static library has to link besides.
const PRIVATE_LIBRARIES: [&str; 4] = ["pthread", "dl", "m", "rt"];
/// The number of the interface, which programs ask for.
pub(crate) const ABI: u32 = 1;

/// Builds and installs.
pub(crate) fn run(args: &Args) -> Result<()> {
    let Metadata { packages, target_directory, .. } = cargo::metadata()?;
    let built = if args.debug {
        cargo::debug_build(&target_directory)?
    } else {
        ci::cargo(&["build", "--locked", "--package", "rankscope-capi", "--release"])?;
        target_directory.join("release")
    };
    let package = packages.iter().find(|package| package.name == "rankscope-capi").context("the library is no package")?;
    install(&args.prefix, &built, &package.version)
}

fn install(prefix: &Path, built: &Path, version: &str) -> Result<()> {
    let to = |path: &str| prefix.join(path);
    for folder in ["include", "lib/pkgconfig", "lib/cmake/rankscope", "lib/rankscope"] {
        fs::create_dir_all(to(folder)).with_context(|| format!("failed to make {}", to(folder).display()))?;
    }
    let prefix = fs::canonicalize(prefix)?;
    for name in ["rankscope.h", "rankscope.hpp"] {
        copy(&crate_folder().join("include").join(name), &prefix.join("include").join(name))?;
    }
    let library = prefix.join("lib");
    let shared = format!("librankscope.so.{version}");
    copy(&built.join("librankscope_capi.so"), &library.join(&shared))?;
    copy(&built.join("librankscope_capi.a"), &library.join("librankscope.a"))?;
    let soname = format!("librankscope.so.{ABI}");
    link(&shared, &library.join(&soname))?;
    link(&soname, &library.join("librankscope.so"))?;
    let private = PRIVATE_LIBRARIES.map(|name| format!("-l{name}")).join(" ");
    let filled = |text: String| {
        let pairs = [
            ("@PREFIX@", &*prefix.to_string_lossy()),
            ("@VERSION@", version),
            ("@ABI@", &ABI.to_string()),
            ("@PRIVATE_LIBS@", &private),
            ("@PRIVATE_LIBRARIES@", &PRIVATE_LIBRARIES.join(";")),
        ];
        pairs.into_iter().fold(text, |text, (mark, value)| text.replace(mark, value))
    };
    for (from, to) in PACKAGING {
        let path = crate_folder().join("packaging").join(from);
        let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
        fs::write(library.join(to), filled(text))?;
    }
    clock_plugin(&prefix)?;
    println!("rankscope {version} for C is in {}", prefix.display());
    Ok(())
}

const PACKAGING: [(&str, &str); 3] = [
    ("rankscope.pc.in", "pkgconfig/rankscope.pc"),
    ("rankscope-config.cmake.in", "cmake/rankscope/rankscope-config.cmake"),
    ("rankscope-config-version.cmake.in", "cmake/rankscope/rankscope-config-version.cmake"),
];

/// The plugin is C: without a compiler there is none.
fn clock_plugin(prefix: &Path) -> Result<()> {
    let mut compile = Command::new("cc");
    compile.args(["-std=c99", "-O2", "-shared", "-fPIC", "-I"]).arg(prefix.join("include"));
    compile.arg(crate_folder().join("plugins/clock_sync.c")).arg("-o").arg(prefix.join("lib/rankscope/clock_sync.so"));
    match compile.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("cc failed on the plugin of clocks ({status})"),
        Err(_) => {
            println!("cc is not installed, so lib/rankscope/clock_sync.so is left out");
            Ok(())
        }
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    // Beside it first: a program may have the old one mapped.
    let beside = to.with_extension("new");
    fs::copy(from, &beside).with_context(|| format!("failed to copy {} to {}", from.display(), beside.display()))?;
    fs::rename(&beside, to).with_context(|| format!("failed to put {} in its place", to.display()))
}

fn link(target: &str, at: &Path) -> Result<()> {
    if at.is_symlink() || at.exists() {
        fs::remove_file(at).with_context(|| format!("failed to replace {}", at.display()))?;
    }
    symlink(target, at).with_context(|| format!("failed to link {}", at.display()))
}
