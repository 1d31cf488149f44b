//! What a pickle holds: values, and containers of values that lie beside each other and refer to each other by number.
//!
//! A container may hold itself, and be held by many. Whoever walks a whole pickle has to bound the walk; [`Value::container`] tells
//! containers apart.

/// A pickle that has been read.
#[derive(Clone, Debug)]
pub struct Pickle<'a> {
    pub(crate) containers: Vec<Container<'a>>,
    pub(crate) root: Plain<'a>,
}

/// A value without what it refers to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Plain<'a> {
    None,
    Bool(bool),
    Int(i64),
    /// An integer above those.
    Wide(u64),
    Float(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
    Container(ContainerId),
}

/// A container of one pickle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerId(pub(crate) u32);

#[derive(Clone, Debug)]
pub(crate) struct Container<'a> {
    pub(crate) kind: Kind,
    /// Items; of a dict, keys and values in turn.
    pub(crate) items: Vec<Plain<'a>>,
}

/// What sort of container a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A list.
    List,
    /// A tuple.
    Tuple,
    /// A dict.
    Dict,
    /// A set or a frozen one.
    Set,
}

/// A value of a pickle.
#[derive(Clone, Copy, Debug)]
pub struct Value<'p> {
    pickle: &'p Pickle<'p>,
    plain: Plain<'p>,
}

impl Pickle<'_> {
    /// What the pickle is of.
    pub fn root(&self) -> Value<'_> {
        Value { pickle: self, plain: self.root }
    }

    /// How many containers it has.
    pub fn containers(&self) -> usize {
        self.containers.len()
    }

    /// How many places its containers have in all: who walks more of them has been to some twice.
    pub fn places(&self) -> usize {
        self.containers.iter().map(|container| container.items.len()).sum()
    }
}

impl<'p> Value<'p> {
    /// Whether it is Python's `None`.
    pub fn is_none(self) -> bool {
        self.plain == Plain::None
    }

    /// True or false.
    pub fn as_bool(self) -> Option<bool> {
        if let Plain::Bool(value) = self.plain { Some(value) } else { None }
    }

    /// An integer that fits.
    pub fn as_i64(self) -> Option<i64> {
        match self.plain {
            Plain::Int(value) => Some(value),
            Plain::Wide(value) => i64::try_from(value).ok(),
            _ => None,
        }
    }

    /// An integer that is not below zero.
    pub fn as_u64(self) -> Option<u64> {
        match self.plain {
            Plain::Int(value) => u64::try_from(value).ok(),
            Plain::Wide(value) => Some(value),
            _ => None,
        }
    }

    /// A floating-point number, or an integer as one.
    pub fn as_f64(self) -> Option<f64> {
        match self.plain {
            Plain::Float(value) => Some(value),
            Plain::Int(value) => Some(value as f64),
            Plain::Wide(value) => Some(value as f64),
            _ => None,
        }
    }

    /// Text; strings of Python 2 are text if they are UTF-8.
    pub fn as_str(self) -> Option<&'p str> {
        match self.plain {
            Plain::Text(text) => Some(text),
            Plain::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// Bytes, or those of text.
    pub fn as_bytes(self) -> Option<&'p [u8]> {
        match self.plain {
            Plain::Text(text) => Some(text.as_bytes()),
            Plain::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Which container it is, and of what sort.
    pub fn container(self) -> Option<(ContainerId, Kind)> {
        if let Plain::Container(id) = self.plain { Some((id, self.pickle.containers[id.0 as usize].kind)) } else { None }
    }

    /// The items of a list, tuple or set, in order; none of anything else.
    pub fn items(self) -> impl ExactSizeIterator<Item = Value<'p>> {
        let items = match self.container() {
            Some((id, Kind::List | Kind::Tuple | Kind::Set)) => &self.pickle.containers[id.0 as usize].items[..],
            _ => &[],
        };
        items.iter().map(move |plain| Value { pickle: self.pickle, plain: *plain })
    }

    /// The keys and values of a dict in the order of the file, of which later ones replace earlier ones of their key; none of
    /// anything else.
    pub fn entries(self) -> impl ExactSizeIterator<Item = (Value<'p>, Value<'p>)> {
        let items = match self.container() {
            Some((id, Kind::Dict)) => &self.pickle.containers[id.0 as usize].items[..],
            _ => &[],
        };
        let value = move |plain: &Plain<'p>| Value { pickle: self.pickle, plain: *plain };
        items.chunks_exact(2).map(move |entry| (value(&entry[0]), value(&entry[1])))
    }

    /// What a dict has under `key`. Looks at each entry, so it is for dicts of few.
    pub fn get(self, key: &str) -> Option<Value<'p>> {
        let found = self.entries().filter(|(own, _)| own.as_str() == Some(key)).last();
        found.map(|(_, value)| value)
    }
}
