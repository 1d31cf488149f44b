//! Plugins that are not compiled into the program: written in C, or in anything that can look like it, and loaded by path.
//!
//! A plugin is a table of functions ([`Plugin`]), given out by the function `rankscope_plugin_entry` of a shared library or handed
//! over by who links it. It sees numbers, texts by pointer and length, and two tables of ours: [`Host`], whose functions it may call
//! at any time, and [`Emit`], which takes what it collected. It never touches the recorder's memory. What it gives is checked: an
//! activity that cannot be is refused and counted. A plugin whose call fails is switched off, as every other is.
//!
//! Loading a library runs its code. Paths come from the program or from `RANKSCOPE_PLUGINS`, which whoever starts the program sets;
//! nothing is searched for. A library stays loaded, because nobody knows who still points into it.

#![expect(unsafe_code, reason = "the functions of a plugin are another language's")]

mod abi;
mod collected;
mod host;
mod library;
mod plugin;
#[cfg(test)]
mod tests;

pub use abi::{
    Activity, DeviceInfo, Emit, Host, PLUGIN_ABI_VERSION, Plugin, PluginEntry, ProblemSeverity, ResourceInfo, SessionAbout,
    Tie, TieKind,
};
pub use library::LoadError;
pub use plugin::ForeignPlugin;
