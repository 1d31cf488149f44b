//! The C library as its users have it: the header is current, it is installed, and the examples are built by what pkg-config and
//! CMake say of it. What they record is looked at by the library's own tests.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo;
use crate::ci::{self, Outcome};
use crate::{header, install_c};

/// Installs it and builds the examples. Without a compiler only the header is looked at, and that is said.
pub(crate) fn run() -> Result<Outcome> {
    header::run(&header::Args::default())?;
    let missing: Vec<&str> = ["cc", "c++", "pkg-config"].into_iter().filter(|tool| !has(tool)).collect();
    if !missing.is_empty() {
        return Ok(Outcome::Skipped(format!("not installed: {}", missing.join(", "))));
    }
    let folder = cargo::metadata()?.target_directory.join("capi");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("failed to remove {}", folder.display()))?;
    }
    let prefix = folder.join("prefix");
    install_c::run(&install_c::Args::of_tests(prefix.clone()))?;
    let out = folder.join("out");
    fs::create_dir_all(&out)?;
    for (compiler, standard, source) in [("cc", "-std=c99", "record.c"), ("c++", "-std=c++17", "record.cpp")] {
        let program = folder.join(source.replace('.', "-"));
        let mut compile = Command::new(compiler);
        compile
            .args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
            .arg(cargo::root().join("examples/c").join(source));
        ci::check(compile.args(flags(&prefix)?).arg("-lpthread").arg("-o").arg(&program))?;
        ci::check(Command::new(&program).arg(&out).env("LD_LIBRARY_PATH", prefix.join("lib")))?;
    }
    if !has("cmake") {
        println!("cmake is not installed, so the package for it was not tried");
        return Ok(Outcome::Passed);
    }
    by_cmake(&folder, &prefix, &out)?;
    Ok(Outcome::Passed)
}

fn has(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// What pkg-config says a program needs.
fn flags(prefix: &Path) -> Result<Vec<String>> {
    let mut ask = Command::new("pkg-config");
    let output = ask.args(["--cflags", "--libs", "rankscope"]).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).output()?;
    anyhow::ensure!(output.status.success(), "pkg-config: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.split_whitespace().map(str::to_owned).collect())
}

fn by_cmake(folder: &Path, prefix: &Path, out: &Path) -> Result<()> {
    let build = folder.join("cmake");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(cargo::root().join("examples/c")).arg("-B").arg(&build);
    ci::check(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())))?;
    ci::check(Command::new("cmake").arg("--build").arg(&build))?;
    for program in ["record_c", "record_cpp", "record_static"] {
        ci::check(Command::new(build.join(program)).arg(out))?;
    }
    Ok(())
}
