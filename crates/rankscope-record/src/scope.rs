//! [`Scope`]: from which layer of a framework an event comes, by torch's numbers (recorder specification, section 1.1).

/// The layer an event comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Scope {
    /// An operator.
    #[default]
    Function = 0,
    /// An operator of the backward pass.
    BackwardFunction = 1,
    /// A function of TorchScript.
    TorchscriptFunction = 2,
    /// A kernel function, by data type.
    KernelFunctionDtype = 3,
    /// A method of a custom class.
    CustomClass = 4,
    /// A feature a mobile build may leave out.
    BuildFeature = 5,
    /// The lite interpreter.
    LiteInterpreter = 6,
    /// A range the program names itself.
    UserScope = 7,
    /// An operator of the static runtime.
    StaticRuntimeOp = 8,
    /// A model of the static runtime.
    StaticRuntimeModel = 9,
}

impl Scope {
    /// Every scope, by number.
    pub const ALL: [Self; 10] = [
        Self::Function,
        Self::BackwardFunction,
        Self::TorchscriptFunction,
        Self::KernelFunctionDtype,
        Self::CustomClass,
        Self::BuildFeature,
        Self::LiteInterpreter,
        Self::UserScope,
        Self::StaticRuntimeOp,
        Self::StaticRuntimeModel,
    ];

    /// The scope with this number.
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}
