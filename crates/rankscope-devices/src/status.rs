//! What calls into a profiler return: a number, with names of our own.

/// Declares `Status`: what the library returns, of which zero is success, and what its numbers mean. Of a number that is not listed nothing is
/// known but the number.
///
/// ```
/// rankscope_devices::statuses! {
///     /// What a call returned.
///     Status { 0 => "success", 7 => "invalid operation" }
/// }
/// assert_eq!(Status(7).to_string(), "error 7 (invalid operation)");
/// assert_eq!(format!("{:?} {:?}", Status(8), Status(0).done()), "error 8 Ok(())");
/// assert_eq!((Status(8).done(), Status(8).meaning()), (Err(Status(8)), None));
/// ```
#[macro_export]
macro_rules! statuses {
    ($(#[$doc:meta])* $name:ident { $($number:literal => $meaning:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(pub std::ffi::c_int);

        impl $name {
            pub(crate) const SUCCESS: Self = Self(0);

            /// `Ok` for success.
            pub(crate) fn done(self) -> Result<(), Self> {
                if self == Self::SUCCESS { Ok(()) } else { Err(self) }
            }

            /// What the number means; of numbers that are not listed, nothing.
            pub fn meaning(self) -> Option<&'static str> {
                Some(match self.0 {
                    $($number => $meaning,)+
                    _ => return None,
                })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.meaning() {
                    Some(meaning) => write!(f, "error {} ({meaning})", self.0),
                    None => write!(f, "error {}", self.0),
                }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}
