//! What of everything that rankscope can use this host has, what is missing and why, and what to do about it.
//!
//! [`examine`] looks: at files, variables, the kernel's tables, and at vendors' libraries in a process of their own, because some of them end
//! the process that asks. [`document`] judges what was seen, and looks at nothing, so that what it says is tested without any of it.
//! Nothing on the host is changed, and nothing is measured that takes longer than a second or two.
//!
//! ```
//! use rankscope_doctor::{Examination, document};
//!
//! // A host of which nothing is known has nothing; each thing says what to do about that.
//! let told = document(&Examination::default());
//! assert!(told.findings.iter().any(|finding| finding.topic.as_str() == "nccl" && finding.remedy.is_some()));
//! ```

mod devices;
mod judge;
mod look;
mod python;

pub use devices::{Device, Devices, look_at_devices};
pub use judge::document;
pub use look::{Examination, examine};
pub use python::Python;
