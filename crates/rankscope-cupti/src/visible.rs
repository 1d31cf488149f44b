//! [`Visible`]: the devices that this process sees, by the numbers that it has for them, and by what they are called on the whole host.
//!
//! The driver is asked in the process whose work is recorded, so that it does not matter how `CUDA_VISIBLE_DEVICES` or a container numbers
//! devices: records of work have these numbers, and NVML the same UUIDs. Of a MIG instance the UUID is the instance's, which is no GPU's.
#![expect(unsafe_code, reason = "functions of the driver are called by their documented signatures")]

use std::ffi::{c_char, c_int};

use libloading::os::unix::Library;
use rankscope_devices::symbol;
use rankscope_record::recording::json::quoted;
use rankscope_record::set_metadata;

/// A device that this process sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Visible {
    /// Its number in this process.
    device: u32,
    /// As NVML writes it, without what is in front of it.
    uuid: Option<String>,
    /// As the kernel writes it: `0000:c3:00.0`.
    place: Option<String>,
}

type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
type ByNumber = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
type Uuid = unsafe extern "C" fn(*mut [u8; 16], c_int) -> c_int;
type Place = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;

/// More than a host has.
const DEVICES_MAX: c_int = 256;

impl Visible {
    /// All of them; none where the driver does not tell.
    pub(crate) fn all(driver: &Library) -> Vec<Self> {
        // SAFETY: the signatures are those of the driver's interface, which never change.
        let (count, by_number, uuid, place) = unsafe {
            let uuid: Option<Uuid> = symbol(driver, "cuDeviceGetUuid_v2").or_else(|| symbol(driver, "cuDeviceGetUuid"));
            let place: Option<Place> = symbol(driver, "cuDeviceGetPCIBusId");
            (symbol::<Count>(driver, "cuDeviceGetCount"), symbol::<ByNumber>(driver, "cuDeviceGet"), uuid, place)
        };
        let (Some(count), Some(by_number)) = (count, by_number) else { return Vec::new() };
        let mut devices = 0;
        // SAFETY: the driver is up, and the word is ours.
        if unsafe { count(&raw mut devices) } != 0 {
            return Vec::new();
        }
        let one = |number: c_int| {
            let mut handle = 0;
            // SAFETY: as above.
            let status = unsafe { by_number(&raw mut handle, number) };
            let device = u32::try_from(number).ok().filter(|_| status == 0)?;
            Some(Self {
                device,
                uuid: uuid.and_then(|ask| uuid_of(ask, handle)),
                place: place.and_then(|ask| place_of(ask, handle)),
            })
        };
        (0..devices.min(DEVICES_MAX)).filter_map(one).collect()
    }

    /// Says it in the recording that runs.
    pub(crate) fn say(&self) {
        let Self { device, uuid, place } = self;
        for (what, text) in [("uuid", uuid), ("pci", place)] {
            if let Some(text) = text {
                set_metadata(&format!("device.{device}.{what}"), &quoted(text));
            }
        }
    }
}

fn uuid_of(ask: Uuid, device: c_int) -> Option<String> {
    let mut bytes = [0; 16];
    // SAFETY: the driver is up, and the place is ours.
    let status = unsafe { ask(&raw mut bytes, device) };
    (status == 0 && bytes != [0; 16]).then(|| written(bytes))
}

/// As UUIDs are written.
fn written(bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

fn place_of(ask: Place, device: c_int) -> Option<String> {
    let mut text = [0_u8; 32];
    // SAFETY: the driver is up, and writes no more than it is told.
    let status = unsafe { ask(text.as_mut_ptr().cast(), 32, device) };
    let end = text.iter().position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(&text[..end]).ok()?;
    (status == 0 && !text.is_empty()).then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_written_as_everybody_writes_them() {
        let mut bytes: [u8; 16] = std::array::from_fn(|at| at as u8 * 0x11);
        assert_eq!(written(bytes), "00112233-4455-6677-8899-aabbccddeeff");
        bytes[0] = 5;
        assert_eq!(written(bytes).len(), 36);
    }
}
