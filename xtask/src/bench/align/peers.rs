//! What other programs take to put the same ranks into one file.
//!
//! VizTracer combines Chrome traces, TraceLens' TraceFusion those of torch. Each runs through the python that the environment
//! names. TraceLens is AMD's, installed from its repository; `tracelens` on PyPI is another project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::{Cost, succeed};

/// What each that is installed, and succeeds, takes for `ranks`.
pub(super) fn measure(ranks: &[PathBuf], out: &Path) -> Result<BTreeMap<&'static str, Cost>> {
    let mut costs = BTreeMap::new();
    // VizTracer reads plain files only.
    let plain = ranks.iter().map(|rank| inflated(rank, out)).collect::<Result<Vec<_>>>()?;
    for (name, variable, program) in
        [("viztracer", "RANKSCOPE_PEERS_VIZTRACER", VIZTRACER), ("TraceFusion", "RANKSCOPE_PEERS_TRACELENS", TRACE_FUSION)]
    {
        let Some(python) = std::env::var_os(variable) else {
            eprintln!("{name} left out: {variable} is not set");
            continue;
        };
        let to = out.join(format!("{name}.json"));
        let mut command = Command::new(python);
        command.args(["-c", program]).arg(&to).args(&plain);
        match succeed(&mut command, &to) {
            Ok(cost) => {
                costs.insert(name, cost);
            }
            Err(reason) => eprintln!("{name} left out: {reason}"),
        }
    }
    Ok(costs)
}

const VIZTRACER: &str = r#"
import sys
from viztracer.report_builder import ReportBuilder
with open(sys.argv[1], "w") as out:
    ReportBuilder(sys.argv[2:], verbose=0).save(output_file=out)
"#;

const TRACE_FUSION: &str = r#"
import sys
from TraceLens import TraceFuse
fuse = TraceFuse({rank: path for rank, path in enumerate(sys.argv[2:])})
fuse.merge_and_save(sys.argv[1])
"#;

/// The file without its compression, made once.
fn inflated(path: &Path, out: &Path) -> Result<PathBuf> {
    let name = path.file_stem().unwrap_or_default();
    let to = out.join(name);
    if !to.exists() {
        let mut reader = flate2::read::MultiGzDecoder::new(std::fs::File::open(path)?);
        let mut writer = std::io::BufWriter::new(std::fs::File::create(&to)?);
        std::io::copy(&mut reader, &mut writer)?;
    }
    Ok(to)
}
