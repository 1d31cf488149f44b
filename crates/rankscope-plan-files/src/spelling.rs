//! Words of the libraries as documents spell them.

use rankscope_dispatch::Direction;
use rankscope_dispatch::movement::ElementType;
use serde::Serializer;

pub(crate) fn direction<S: Serializer>(direction: &Direction, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(direction.as_str())
}

pub(crate) fn element<S: Serializer>(element: &ElementType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(element.as_str())
}
