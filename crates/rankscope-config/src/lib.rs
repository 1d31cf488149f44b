//! Settings in layers: default, preset, file, environment, command line. Every value knows where it came from.
//!
//! The one idea: settings are rows of a table ([`SETTINGS`]), and one pure function lays the sources over each other.
//! Whatever no row answers to is complained about, with the nearest right name, instead of being passed over: a misspelt
//! variable that silently does nothing costs a day.
//!
//! Nothing here reads a file or the environment; callers hand in text and pairs. Nor is a complaint ever fatal here: a check
//! may refuse to go on, an agent warns and keeps to what is valid, because it must not harm the job it watches.
//!
//! ```
//! use rankscope_config::{ClockSettings, Origin, Sources, resolve};
//!
//! // A flag beats a variable, and what is misspelt is complained about with the name that was probably meant.
//! let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
//! let environment = [pair("RANKSCOPE_CLOCK_PORT", "9000"), pair("RANKSCOPE_CLOCK_PROT", "1")];
//! let settings = resolve(&Sources { environment: &environment, flags: &[pair("port", "9100")], ..Sources::default() });
//!
//! assert_eq!(ClockSettings::of(&settings).port, 9100);
//! assert!(settings.complaints[0].to_string().contains("RANKSCOPE_CLOCK_PORT"));
//! ```

mod clock;
mod complaint;
mod document;
mod file;
mod layers;
mod nearest;
mod origin;
mod presets;
mod setting;
mod size;
mod table;
mod template;
mod value;

pub use clock::{ClockSettings, Estimator, PortMode, Scheduling, Topology, Transport};
pub use complaint::Complaint;
pub use document::document;
pub use layers::{ConfigFile, ResolvedValue, Settings, Sources, config_file, resolve};
pub use origin::Origin;
pub use presets::presets;
pub use setting::{Key, Kind, Setting, Unit};
pub use size::{size, size_by_letter};
pub use table::SETTINGS;
pub use template::{sections, template};
pub use value::{Secret, Value};
