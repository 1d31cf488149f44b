//! The argument keys that carry Kineto's fields (recorder specification, section 3.5), under their exact names.

use std::collections::HashMap;

use rankscope_recording::Name;

use crate::names::Site;
use rankscope_recording::NameId;

macro_rules! keys {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// A key with a meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Key {
            $($(#[$doc])* $variant,)*
        }

        static SITES: [Site; Key::TEXTS.len()] = [$(Site::key($text),)*];

        impl Key {
            const TEXTS: &'static [(&'static str, Self)] = &[$(($text, Self::$variant),)*];
        }
    };
}

keys! {
    /// Shapes.
    InputDims = "Input Dims",
    /// Strides.
    InputStrides = "Input Strides",
    /// Types.
    InputType = "Input type",
    /// Small values.
    ConcreteInputs = "Concrete Inputs",
    /// What autograd numbers ops with.
    SequenceNumber = "Sequence number",
    /// Where the forward op ran.
    FwdThreadId = "Fwd thread id",
    /// The handle callbacks know the op by.
    RecordFunctionId = "Record function id",
    /// The op this belongs to.
    ExternalId = "External id",
    /// Frames, the innermost last, with a semicolon between.
    CallStack = "Call stack",
    /// Modules, the outermost first, with a dot between.
    ModuleHierarchy = "Module Hierarchy",
    /// Who ran the op.
    Backend = "Backend",
    /// What a mobile runtime resolves later.
    DebugHandle = "Debug handle",
    /// Which overload.
    OverloadName = "Overload name",
    /// A call in Python.
    PythonId = "Python id",
    /// The call around it.
    PythonParentId = "Python parent id",
    /// Which instance of its class.
    PythonModuleId = "Python module id",
    /// Which device.
    Device = "device",
    /// Which queue of it.
    Stream = "stream",
}

impl Key {
    /// Its number in the recordings of this process.
    pub(super) fn id(self) -> NameId {
        SITES[self as usize].id()
    }
}

/// What the keys of a recording mean, by number; none for the program's own.
pub(super) fn meanings(names: &[Name]) -> Vec<Option<Key>> {
    let by_text: HashMap<&str, Key> = Key::TEXTS.iter().copied().collect();
    names.iter().map(|name| by_text.get(&*name.text).copied()).collect()
}
