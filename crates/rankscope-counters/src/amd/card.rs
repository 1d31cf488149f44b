//! [`Card`]: one GPU in the kernel's files, below `/sys/class/drm/card*/device` (Documentation/gpu/amdgpu/thermal.rst of the kernel), and
//! [`Files`]: those of it that tell something.

use std::fs;
use std::path::{Path, PathBuf};

use super::slowed::Slowed;
use crate::absent::Absent;
use crate::gpu::{Answer, Identity, Tells, What};
use crate::host;
use crate::kept::Kept;

/// AMD, as PCI numbers vendors.
const VENDOR: &str = "0x1002";

/// One GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Card {
    /// Where it is on the bus, as `0000:c3:00.0`.
    place: String,
    folder: PathBuf,
}

impl Card {
    /// Those that the kernel has, by their place on the bus.
    pub(super) fn all(sys: &Path) -> Vec<Self> {
        let entries = host::entries(&sys.join("class/drm")).unwrap_or_default();
        let mut cards: Vec<Self> = entries.iter().filter_map(|entry| Self::at(entry)).collect();
        cards.sort_by(|a, b| a.place.cmp(&b.place));
        cards.dedup_by(|a, b| a.place == b.place);
        cards
    }

    /// The one that `entry` is; none of connectors, render nodes, and other vendors' cards.
    fn at(entry: &Path) -> Option<Self> {
        let number = host::name(entry).strip_prefix("card")?.to_owned();
        let folder = entry.join("device");
        let is_card = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        if !is_card || line(&folder.join("vendor"))? != VENDOR {
            return None;
        }
        let about = fs::read_to_string(folder.join("uevent")).ok()?;
        let place = about.lines().find_map(|line| line.strip_prefix("PCI_SLOT_NAME="))?;
        Some(Self { place: place.to_ascii_lowercase(), folder })
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// What it is known by.
    pub(super) fn identity(&self) -> Identity {
        let is_id = |text: &String| {
            text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) && text.bytes().any(|byte| byte != b'0')
        };
        Identity {
            kind: line(&self.folder.join("product_name")),
            uuid: line(&self.folder.join("unique_id")).map(|text| text.to_ascii_lowercase()).filter(is_id),
            place: Some(self.place.clone()),
        }
    }

    /// Opens what there is of it.
    pub(super) fn open(&self) -> Files {
        let of_card = |name: &str| Kept::open(self.folder.join(name)).ok();
        let sensors = host::entries(&self.folder.join("hwmon")).unwrap_or_default().into_iter().next();
        let sensor = |name: &str| Kept::open(sensors.as_ref()?.join(name)).ok();
        Files {
            power: sensor("power1_average").or_else(|| sensor("power1_input")),
            power_limit: sensor("power1_cap"),
            sm_clock: sensor("freq1_input"),
            memory_clock: sensor("freq2_input"),
            temperature: hottest(sensors.as_deref()).and_then(|name| sensor(&name)),
            busy: of_card("gpu_busy_percent"),
            memory_busy: of_card("mem_busy_percent"),
            memory_used: of_card("mem_info_vram_used"),
            metrics: Kept::open_bytes(self.folder.join("gpu_metrics")).ok(),
            slowed: Slowed::default(),
        }
    }
}

/// The sensor of the chip's hottest place, which is what it is slowed by; of its edge where it has no other.
fn hottest(sensors: Option<&Path>) -> Option<String> {
    let sensors = sensors?;
    let of = |label: &str| {
        (1..=8)
            .find(|n| line(&sensors.join(format!("temp{n}_label"))).as_deref() == Some(label))
            .map(|n| format!("temp{n}_input"))
    };
    of("junction").or_else(|| of("edge")).or_else(|| Some("temp1_input".to_owned()))
}

/// The one line in `path`, if it has one.
fn line(path: &Path) -> Option<String> {
    let text = fs::read(path).ok()?;
    let text: String = String::from_utf8_lossy(&text).chars().filter(|c| !c.is_control()).collect();
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Files of one GPU that stay open.
#[derive(Debug)]
pub(super) struct Files {
    power: Option<Kept>,
    power_limit: Option<Kept>,
    sm_clock: Option<Kept>,
    memory_clock: Option<Kept>,
    temperature: Option<Kept>,
    busy: Option<Kept>,
    memory_busy: Option<Kept>,
    memory_used: Option<Kept>,
    metrics: Option<Kept>,
    slowed: Slowed,
}

impl Tells for Files {
    fn begin(&mut self) {
        let bytes = self.metrics.as_mut().and_then(|metrics| metrics.bytes().ok());
        self.slowed.look(bytes);
    }

    fn tell(&mut self, what: What) -> Answer {
        // In microwatts, Hz and thousandths of a degree.
        let (file, scale) = match what {
            What::PowerW => (&mut self.power, 1e-6),
            What::PowerLimitW => (&mut self.power_limit, 1e-6),
            What::SmMhz => (&mut self.sm_clock, 1e-6),
            What::MemoryMhz => (&mut self.memory_clock, 1e-6),
            What::Temperature => (&mut self.temperature, 1e-3),
            What::BusyPercent => (&mut self.busy, 1.0),
            What::MemoryBusyPercent => (&mut self.memory_busy, 1.0),
            What::MemoryBytes => (&mut self.memory_used, 1.0),
            What::SlowedBy(cause) => return self.slowed.tell(cause),
        };
        let number = file.as_mut().map(Kept::number);
        match number {
            Some(Ok(number)) if what.is_plausible(number as f64 * scale) => Answer::Told(number as f64 * scale),
            Some(Ok(_)) => file.as_ref().map_or(Answer::Never, |file| Answer::Refused(file.other_text())),
            Some(Err(absent)) if is_gone(&absent) => Answer::Gone(absent),
            Some(Err(absent)) => Answer::Refused(absent),
            None => Answer::Never,
        }
    }
}

/// The kernel takes the files of a GPU away with it.
fn is_gone(absent: &Absent) -> bool {
    matches!(absent, Absent::NoFile { reason, .. } if reason.raw_os_error() == Some(libc::ENODEV))
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::unix::fs::symlink;

    use super::super::metrics::tests::file;
    use super::*;
    use crate::gpu::Cause;

    /// A card as the kernel shows one.
    pub(in crate::amd) fn card(sys: &Path, number: u32, place: &str, files: &[(&str, &[u8])]) -> PathBuf {
        let device = sys.join("devices/pci0000:00").join(place);
        fs::create_dir_all(device.join("hwmon/hwmon7")).unwrap();
        fs::create_dir_all(sys.join(format!("class/drm/card{number}"))).unwrap();
        symlink(&device, sys.join(format!("class/drm/card{number}/device"))).unwrap();
        let about = format!("DRIVER=amdgpu\nPCI_SLOT_NAME={place}\n");
        for (name, text) in [("vendor", b"0x1002\n".as_slice()), ("uevent", about.as_bytes())].iter().chain(files) {
            fs::write(device.join(name), text).unwrap();
        }
        device
    }

    #[test]
    fn cards_of_the_vendor_are_found_in_order_of_the_bus_and_connectors_are_none() {
        let sys = tempfile::tempdir().unwrap();
        card(sys.path(), 0, "0000:e3:00.0", &[]);
        card(
            sys.path(),
            2,
            "0000:03:00.0",
            &[("product_name", b"AMD Instinct MI300X\n"), ("unique_id", b"89ABCDEF01234567\n")],
        );
        card(sys.path(), 3, "0000:04:00.0", &[("vendor", b"0x10de\n")]);
        fs::create_dir(sys.path().join("class/drm/card0-DP-1")).unwrap();
        fs::create_dir(sys.path().join("class/drm/renderD128")).unwrap();
        let cards = Card::all(sys.path());
        assert_eq!(cards.iter().map(Card::place).collect::<Vec<_>>(), ["0000:03:00.0", "0000:e3:00.0"]);
        let known = cards[0].identity();
        assert_eq!((known.kind.as_deref(), known.uuid.as_deref()), (Some("AMD Instinct MI300X"), Some("89abcdef01234567")));
        assert_eq!(Card::all(Path::new("/nonexistent")), []);
    }

    #[test]
    fn files_tell_in_the_units_of_the_tracks_and_what_slows_it_with_the_second_look() {
        let sys = tempfile::tempdir().unwrap();
        let device = card(
            sys.path(),
            1,
            "0000:c3:00.0",
            &[
                ("hwmon/hwmon7/name", b"amdgpu\n"),
                ("hwmon/hwmon7/power1_average", b"655000000\n"),
                ("hwmon/hwmon7/power1_cap", b"750000000\n"),
                ("hwmon/hwmon7/freq1_input", b"1900000000\n"),
                ("hwmon/hwmon7/temp1_label", b"edge\n"),
                ("hwmon/hwmon7/temp1_input", b"51000\n"),
                ("hwmon/hwmon7/temp2_label", b"junction\n"),
                ("hwmon/hwmon7/temp2_input", b"88000\n"),
                ("gpu_busy_percent", b"99\n"),
                ("mem_busy_percent", b"65535\n"),
                ("gpu_metrics", &file(1, 7, 1_900, 40, &[100, 0, 0, 0, 0, 0])),
            ],
        );
        let mut files = Card::all(sys.path())[0].open();
        files.begin();
        assert!(matches!(files.tell(What::SlowedBy(Cause::PowerCap)), Answer::NotYet));
        fs::write(device.join("gpu_metrics"), file(1, 7, 1_900, 40, &[200, 0, 40, 0, 0, 0])).unwrap();
        files.begin();
        for (what, expected) in [
            (What::PowerW, Some(655.0)),
            (What::PowerLimitW, Some(750.0)),
            (What::SmMhz, Some(1_900.0)),
            (What::Temperature, Some(88.0)),
            (What::BusyPercent, Some(99.0)),
            // It is not told, by a number that means that.
            (What::MemoryBusyPercent, None),
            (What::MemoryBytes, None),
            (What::SlowedBy(Cause::PowerCap), Some(0.4)),
            (What::SlowedBy(Cause::Heat), Some(0.0)),
        ] {
            let told = match files.tell(what) {
                Answer::Told(value) => Some((value * 1e3).round() / 1e3),
                _ => None,
            };
            assert_eq!(told, expected, "{what:?}");
        }
    }
}
