//! GPUs of AMD, as a library that stands for ROCm SMI tells of them, and as files that stand for the kernel's do.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rankscope_trace::Trace;
use serde_json::Value;
use tempfile::TempDir;

use super::stage::{Release, counters, fake_rocm_smi, metadata, part, play, recording, trace};

const MANY: &str = "12 GPU 0 power (W)";

/// What a node recorded whose library is as `how` says, with these files of the kernel's.
fn recorded(release: Release, how: &str, sys: Option<&Path>, until: &str) -> Option<Trace> {
    let library = fake_rocm_smi(release)?;
    let folder = tempfile::tempdir().unwrap();
    let mut command = part("node", folder.path(), until);
    command.env("RANKSCOPE_ROCM_SMI_LIBRARY", library).env("FAKE_ROCM_SMI", how);
    if let Some(sys) = sys {
        command.env("RANKSCOPE_SYS", sys);
    }
    play(command);
    Some(trace(&recording(folder.path())))
}

/// The kernel's files of a GPU at 0000:c3:00.0 that its memory's heat slows, and of one at 0001:e3:00.0 that nothing does.
fn sys() -> TempDir {
    let sys = tempfile::tempdir().unwrap();
    for (number, place, heat) in [(1, "0000:c3:00.0", 1_u64 << 34), (0, "0001:e3:00.0", 0)] {
        let device = sys.path().join("devices").join(place);
        fs::create_dir_all(device.join("hwmon/hwmon4")).unwrap();
        let card = sys.path().join(format!("class/drm/card{number}"));
        fs::create_dir_all(&card).unwrap();
        symlink(&device, card.join("device")).unwrap();
        let mut metrics = vec![0_u8; 120];
        metrics[..4].copy_from_slice(&[120, 0, 1, 3]);
        metrics[112..].copy_from_slice(&heat.to_le_bytes());
        fs::write(device.join("gpu_metrics"), metrics).unwrap();
        for (file, text) in [
            ("vendor", "0x1002\n".to_owned()),
            ("uevent", format!("DRIVER=amdgpu\nPCI_SLOT_NAME={place}\n")),
            ("product_name", "AMD Instinct MI250X\n".to_owned()),
            ("gpu_busy_percent", "97\n".to_owned()),
            ("hwmon/hwmon4/name", "amdgpu\n".to_owned()),
            ("hwmon/hwmon4/power1_average", "480000000\n".to_owned()),
            ("hwmon/hwmon4/freq1_input", "1700000000\n".to_owned()),
        ] {
            fs::write(device.join(file), text).unwrap();
        }
    }
    sys
}

fn first(trace: &Trace, name: &str) -> Option<f64> {
    counters(trace).get(name).map(|values| values[0])
}

fn about_library(trace: &Trace) -> Value {
    serde_json::from_str(metadata(trace, "counters.rocm_smi").unwrap()).unwrap()
}

#[test]
fn the_library_tells_what_a_gpu_does_and_the_kernel_what_slows_it_down() {
    let sys = sys();
    let Some(trace) = recorded(Release::Seven, "works", Some(sys.path()), MANY) else { return };
    for (name, expected) in [
        ("GPU 0 power limit (W)", Some(750.0)),
        ("GPU 0 SM clock (MHz)", Some(2_100.0)),
        ("GPU 0 memory clock (MHz)", Some(1_300.0)),
        ("GPU 0 temperature (°C)", Some(88.5)),
        ("GPU 0 busy (%)", Some(98.0)),
        ("GPU 0 memory busy (%)", Some(40.0)),
        ("GPU 0 memory used (bytes)", Some((70_u64 << 30) as f64)),
        ("GPU 0 slowed by heat", Some(1.0)),
        ("GPU 0 slowed by its power limit", Some(0.0)),
        ("GPU 0 slowed by the board", Some(0.0)),
        ("GPU 0 slowed by the power supply", None),
        ("GPU 1 power (W)", Some(90.0)),
        ("GPU 1 slowed by heat", Some(0.0)),
    ] {
        assert_eq!(first(&trace, name), expected, "{name}");
    }
    assert!(counters(&trace)["GPU 0 power (W)"].len() > 1);
    for (key, expected) in [
        ("counters.gpu.1", Some("\"Fake MI300X\"")),
        ("counters.gpu.0.uuid", Some("\"89abcdef01234567\"")),
        ("counters.gpu.0.pci", Some("\"0000:c3:00.0\"")),
        ("counters.gpu.1.uuid", None),
        ("counters.gpu.1.pci", Some("\"0001:e3:00.0\"")),
    ] {
        assert_eq!(metadata(&trace, key), expected, "{key}");
    }
    assert_eq!(metadata(&trace, "counters.gpus.from"), Some("\"rocm_smi\""));
    assert_eq!((&about_library(&trace)["version"], &about_library(&trace)["lacks"]), (&"7.8.0".into(), &serde_json::json!([])));
    assert!(counters(&trace).keys().all(|name| !name.starts_with("amdgpu")), "each sensor is told of once");
}

#[test]
fn an_old_release_tells_what_it_can_and_what_it_lacks_is_named() {
    let Some(trace) = recorded(Release::Five, "works", None, "1 GPU 0 power (W)") else { return };
    assert_eq!(first(&trace, "GPU 0 power (W)"), Some(500.0), "on average");
    assert_eq!(first(&trace, "GPU 0 SM clock (MHz)"), Some(2_100.0), "of another layout");
    assert_eq!(first(&trace, "GPU 0 memory busy (%)"), None);
    assert_eq!(first(&trace, "GPU 0 slowed by heat"), None, "there are no files of the kernel's");
    let lacks = serde_json::json!(["rsmi_dev_power_get", "rsmi_dev_memory_busy_percent_get"]);
    assert_eq!((&about_library(&trace)["version"], &about_library(&trace)["lacks"]), (&"5.8.0".into(), &lacks));
}

#[test]
fn a_release_whose_clocks_are_laid_out_nobody_knows_how_leaves_them_to_the_kernel() {
    let sys = sys();
    let Some(trace) = recorded(Release::Seven, "unknown", Some(sys.path()), "1 GPU 0 power (W)") else { return };
    assert_eq!((first(&trace, "GPU 0 SM clock (MHz)"), first(&trace, "GPU 0 memory clock (MHz)")), (Some(1_700.0), None));
    assert_eq!(about_library(&trace)["version"], "9.8.0");
}

#[test]
fn a_gpu_that_refuses_or_is_lost_is_said_and_the_others_go_on() {
    for (how, expected) in [
        ("refuses", "\"ROCm SMI returned error 2 (not supported)\""),
        ("lost", "\"ROCm SMI returned error 3 (a file of the driver cannot be read)\""),
    ] {
        let Some(trace) = recorded(Release::Seven, how, None, "60 GPU 0 power (W)") else { return };
        assert_eq!(metadata(&trace, "counters.absent.rocm_smi"), Some(expected), "{how}");
        assert_eq!(counters(&trace).keys().any(|name| name.starts_with("GPU 1")), how == "lost", "{how}");
    }
}

#[test]
fn numbers_and_names_that_cannot_be_meant_are_none() {
    let Some(trace) = recorded(Release::Seven, "garbage", None, "1 GPU 0 power (W)") else { return };
    let told: Vec<String> = counters(&trace).into_keys().filter(|name| name.starts_with("GPU 0")).collect();
    assert_eq!(told, ["GPU 0 memory used (bytes)", "GPU 0 power (W)", "GPU 0 power limit (W)"]);
    assert_eq!(first(&trace, "GPU 0 power (W)"), Some(500.0), "what it is on average can be");
    assert_eq!((metadata(&trace, "counters.gpu.0"), metadata(&trace, "counters.gpu.1")), (None, None));
}

#[test]
fn without_a_library_that_answers_the_kernels_files_are_read() {
    let sys = sys();
    for (release, how, expected) in [
        (Release::Seven, "no driver", "rsmi_init returned error 8 (the library is not initialised)"),
        (Release::Seven, "empty", "ROCm SMI knows no GPU"),
        (Release::Another, "works", "librocm_smi64.so lacks rsmi_num_monitor_devices"),
    ] {
        let Some(trace) = recorded(release, how, Some(sys.path()), "1 GPU 1 power (W)") else { return };
        let why = metadata(&trace, "counters.absent.rocm_smi").unwrap();
        assert!(why.trim_matches('"').ends_with(expected), "{how}: {why}");
        assert_eq!(metadata(&trace, "counters.gpus.from"), Some("\"amdgpu\""), "{how}");
        assert_eq!(metadata(&trace, "counters.gpu.0"), Some("\"AMD Instinct MI250X\""), "{how}");
        for (name, expected) in [
            ("GPU 0 power (W)", Some(480.0)),
            ("GPU 0 SM clock (MHz)", Some(1_700.0)),
            ("GPU 0 busy (%)", Some(97.0)),
            ("GPU 0 slowed by heat", Some(1.0)),
            ("GPU 1 slowed by heat", Some(0.0)),
            ("GPU 1 temperature (°C)", None),
        ] {
            assert_eq!(first(&trace, name), expected, "{how}: {name}");
        }
    }
}

#[test]
fn a_host_without_a_gpu_loads_nothing_and_says_where_it_looked() {
    let folder = tempfile::tempdir().unwrap();
    play(part("node", folder.path(), "1 memory available (bytes)"));
    let trace = trace(&recording(folder.path()));
    assert_eq!(metadata(&trace, "counters.absent.rocm_smi"), Some("\"no GPU of AMD's in /nonexistent/class/drm\""));
    assert_eq!(metadata(&trace, "counters.rocm_smi"), None);
}
