//! The instructions of pickles, by the names of Python's `pickletools`.

/// What an instruction does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Nothing8,
    Stop,
    Mark,
    Pop,
    PopMark,
    Dup,
    None,
    True,
    False,
    /// An integer of so many bytes; of four it has a sign.
    Int(usize),
    /// An integer as long as a length of so many bytes says.
    Long(usize),
    Float,
    /// Text behind a length of so many bytes.
    Text(usize),
    /// Bytes behind a length of so many bytes, and text of Python 2.
    Bytes(usize),
    EmptyList,
    List,
    Append,
    Appends,
    EmptyTuple,
    Tuple,
    /// A tuple of so many.
    TupleOf(usize),
    EmptyDict,
    Dict,
    SetItem,
    SetItems,
    EmptySet,
    AddItems,
    FrozenSet,
    /// Remembers under an index of so many bytes.
    Put(usize),
    Memoize,
    /// Recalls what an index of so many bytes says.
    Get(usize),
    /// Would import, call or make an object, or is of a protocol before 2.
    Refused,
}

/// The instruction `code`: its name, and what it does. None where no protocol has it.
pub(crate) fn of_code(code: u8) -> Option<(&'static str, Does)> {
    use Does::*;
    let known = match code {
        b'.' => ("STOP", Stop),
        b'(' => ("MARK", Mark),
        b'0' => ("POP", Pop),
        b'1' => ("POP_MARK", PopMark),
        b'2' => ("DUP", Dup),
        b'N' => ("NONE", None),
        0x88 => ("NEWTRUE", True),
        0x89 => ("NEWFALSE", False),
        b'J' => ("BININT", Int(4)),
        b'K' => ("BININT1", Int(1)),
        b'M' => ("BININT2", Int(2)),
        0x8a => ("LONG1", Long(1)),
        0x8b => ("LONG4", Long(4)),
        b'G' => ("BINFLOAT", Float),
        0x8c => ("SHORT_BINUNICODE", Text(1)),
        b'X' => ("BINUNICODE", Text(4)),
        0x8d => ("BINUNICODE8", Text(8)),
        b'U' => ("SHORT_BINSTRING", Bytes(1)),
        b'T' => ("BINSTRING", Bytes(4)),
        b'C' => ("SHORT_BINBYTES", Bytes(1)),
        b'B' => ("BINBYTES", Bytes(4)),
        0x8e => ("BINBYTES8", Bytes(8)),
        0x96 => ("BYTEARRAY8", Bytes(8)),
        b']' => ("EMPTY_LIST", EmptyList),
        b'l' => ("LIST", List),
        b'a' => ("APPEND", Append),
        b'e' => ("APPENDS", Appends),
        b')' => ("EMPTY_TUPLE", EmptyTuple),
        b't' => ("TUPLE", Tuple),
        0x85 => ("TUPLE1", TupleOf(1)),
        0x86 => ("TUPLE2", TupleOf(2)),
        0x87 => ("TUPLE3", TupleOf(3)),
        b'}' => ("EMPTY_DICT", EmptyDict),
        b'd' => ("DICT", Dict),
        b's' => ("SETITEM", SetItem),
        b'u' => ("SETITEMS", SetItems),
        0x8f => ("EMPTY_SET", EmptySet),
        0x90 => ("ADDITEMS", AddItems),
        0x91 => ("FROZENSET", FrozenSet),
        b'q' => ("BINPUT", Put(1)),
        b'r' => ("LONG_BINPUT", Put(4)),
        0x94 => ("MEMOIZE", Memoize),
        b'h' => ("BINGET", Get(1)),
        b'j' => ("LONG_BINGET", Get(4)),
        0x95 => ("FRAME", Nothing8),
        _ => return refused(code).map(|name| (name, Refused)),
    };
    Some(known)
}

fn refused(code: u8) -> Option<&'static str> {
    let name = match code {
        b'c' => "GLOBAL",
        0x93 => "STACK_GLOBAL",
        b'R' => "REDUCE",
        b'b' => "BUILD",
        b'i' => "INST",
        b'o' => "OBJ",
        0x81 => "NEWOBJ",
        0x92 => "NEWOBJ_EX",
        b'P' => "PERSID",
        b'Q' => "BINPERSID",
        0x82 => "EXT1",
        0x83 => "EXT2",
        0x84 => "EXT4",
        0x97 => "NEXT_BUFFER",
        0x98 => "READONLY_BUFFER",
        0x80 => "PROTO",
        b'I' => "INT",
        b'L' => "LONG",
        b'F' => "FLOAT",
        b'S' => "STRING",
        b'V' => "UNICODE",
        b'g' => "GET",
        b'p' => "PUT",
        _ => return None,
    };
    Some(name)
}
