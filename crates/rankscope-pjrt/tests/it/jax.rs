//! jaxlib itself. Runs where `RANKSCOPE_JAX_PYTHON` names a Python that has jax installed; says so and passes otherwise.

use std::fs;
use std::path::Path;
use std::process::Command;

use rankscope_testkit::{Need, given};

use super::played::{about, compile, done, library, readings};

/// The job, which leaves its traces in `out`.
fn job(python: &Path, out: &Path) -> Command {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/rankscope/_clock_plane.py");
    let mut job = Command::new(python);
    job.args(["-c", JOB]).args([&package, &library(), out]).envs([("RANK", "2"), ("WORLD_SIZE", "4")]);
    job.env_remove("RANKSCOPE_PJRT_FORWARD").env_remove("PJRT_NAMES_AND_LIBRARY_PATHS");
    job
}

/// Two traces in turn, after the library was registered as the package does it.
const JOB: &str = r#"
import importlib.util, pathlib, shutil, sys
where, library, out, *planes = sys.argv[1:]
spec = importlib.util.spec_from_file_location("clock_plane", where)
plane = importlib.util.module_from_spec(spec)
spec.loader.exec_module(plane)
plane.install(library)
plane.install(library)
import jax, jax.numpy as jnp
for number in range(2):
    folder = pathlib.Path(out) / f"log{number}"
    with jax.profiler.trace(str(folder)):
        jnp.ones(64).sum().block_until_ready()
    found, = folder.rglob("*.xplane.pb")
    shutil.copy(found, pathlib.Path(out) / f"{number}.xplane.pb")
    names = [plane.name for plane in jax.profiler.ProfileData.from_file(str(found)).planes]
    for plane in ["/rankscope:clock", *planes]:
        assert names.count(plane) == 1, names
"#;

#[test]
fn each_trace_of_jax_has_the_plane_once() {
    let Some(python) = given(Need::Jax) else { return };
    let out = tempfile::tempdir().unwrap();
    done(&job(&python, out.path()).output().unwrap());
    for number in 0..2 {
        let about = about(&fs::read(out.path().join(format!("{number}.xplane.pb"))).unwrap());
        assert_eq!((about.rank.map(|(rank, _)| rank.0), about.world_size), (Some(2), Some(4)));
        let readings = readings(&about);
        assert!(readings.len() >= 2 && readings.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{readings:?}");
        let begins_ns = about.clock_base_ns.unwrap();
        assert!(readings.iter().all(|(trace_ns, ..)| *trace_ns > begins_ns - 1_000_000_000), "{readings:?} from {begins_ns}");
    }
}

#[test]
fn each_trace_of_jax_has_the_planes_of_a_vendor_as_well() {
    let Some(python) = given(Need::Jax) else { return };
    let out = tempfile::tempdir().unwrap();
    let plugin = out.path().join("vendor.so");
    compile("vendor.c", &plugin, &["-shared", "-fPIC", "-DANY_OPTIONS"]);
    for who in ["fine", "zero"] {
        let mut job = job(&python, out.path());
        job.args(["/vendor:0", "/vendor:1"]).env("RANKSCOPE_PJRT_FORWARD", &plugin).env("VENDOR", who);
        done(&job.output().unwrap());
        let about = about(&fs::read(out.path().join("1.xplane.pb")).unwrap());
        assert!(readings(&about).len() >= 2, "{who}");
        fs::remove_dir_all(out.path().join("log0")).unwrap();
        fs::remove_dir_all(out.path().join("log1")).unwrap();
    }
}
