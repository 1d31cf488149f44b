//! Sensors of the board: temperatures and power of `/sys/class/hwmon` (Documentation/hwmon/sysfs-interface.rst of the kernel). Those of GPUs are not
//! among them: they are told of with the rest of their GPU.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::{entries, name};
use crate::absent::Absent;
use crate::gauge::Gauge;
use crate::kept::Kept;
use crate::source::Source;

/// Sensors that are told of; boards have up to a few dozen.
const SENSORS_MAX: usize = 64;

/// What the kernel calls sensors of AMD's GPUs, of each alike.
const GPU: &str = "amdgpu";

pub(super) struct Sensors {
    sensors: Vec<Sensor>,
}

struct Sensor {
    file: Kept,
    gauge: Gauge,
    /// What one is in the track's unit.
    scale: f64,
}

impl Sensors {
    pub(super) fn open(class: &Path) -> Result<Self, Absent> {
        let mut sensors = Vec::new();
        for chip in entries(class)? {
            let of = fs::read_to_string(chip.join("name")).map_or_else(|_| name(&chip), |text| text.trim().to_owned());
            if of == GPU {
                continue;
            }
            let files = entries(&chip).unwrap_or_default();
            sensors.extend(files.iter().filter_map(|file| sensor(&of, file)));
        }
        sensors.truncate(SENSORS_MAX);
        if sensors.is_empty() { Err(Absent::None { path: class.to_owned() }) } else { Ok(Self { sensors }) }
    }
}

/// What `file` measures, if it is a sensor that can be read: millidegrees or microwatts.
fn sensor(chip: &str, file: &Path) -> Option<Sensor> {
    let file_name = name(file);
    let (unit, scale) = match file_name.as_str() {
        temperature if temperature.starts_with("temp") && temperature.ends_with("_input") => ("°C", 1e-3),
        power if power.starts_with("power") && (power.ends_with("_input") || power.ends_with("_average")) => ("W", 1e-6),
        _ => return None,
    };
    let mut kept = Kept::open(file).ok()?;
    kept.number().ok()?;
    let which = file_name.split_once('_')?.0;
    let label = fs::read_to_string(file.with_file_name(format!("{which}_label")));
    let label = label.map_or_else(|_| which.to_owned(), |text| text.trim().to_owned());
    Some(Sensor { file: kept, gauge: Gauge::new(&format!("{chip} {label} ({unit})")), scale })
}

impl Source for Sensors {
    fn name(&self) -> &'static str {
        "hwmon"
    }

    fn look(&mut self, _: Instant) -> Result<(), Absent> {
        // A sensor may refuse for a moment, as while its chip sleeps.
        self.sensors.iter_mut().for_each(|Sensor { file, gauge, scale }| {
            if let Ok(number) = file.number() {
                gauge.set(number as f64 * *scale);
            }
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temperatures_and_power_are_found() {
        let root = tempfile::tempdir().unwrap();
        let chip = root.path().join("hwmon0");
        fs::create_dir(&chip).unwrap();
        assert!(matches!(Sensors::open(root.path()), Err(Absent::None { .. })));
        for (file, text) in [
            ("name", "coretemp\n"),
            ("temp1_input", "54000\n"),
            ("temp1_label", "Package id 0\n"),
            ("temp1_max", "100000\n"),
            ("power1_average", "215000000\n"),
            ("fan1_input", "2000\n"),
        ] {
            fs::write(chip.join(file), text).unwrap();
        }
        let gpu = root.path().join("hwmon1");
        fs::create_dir(&gpu).unwrap();
        fs::write(gpu.join("name"), "amdgpu\n").unwrap();
        fs::write(gpu.join("power1_average"), "600000000\n").unwrap();
        let mut found = Sensors::open(root.path()).unwrap();
        assert_eq!(found.sensors.len(), 2, "a GPU's are told of with the GPU");
        found.look(Instant::now()).unwrap();
    }
}
