//! Records, and the descriptions of agents, as rocprofiler lays them out. All begin with how long they are.

use rankscope_devices::records;

records! {
    /// How every record begins.
    RecordStart { size: u64 = 0, kind: u32 = 8 }

    /// A kernel that ran.
    Dispatch {
        internal: u64 = 16, external: u64 = 24, start: u64 = 40, end: u64 = 48, agent: u64 = 64, queue: u64 = 72, kernel: u64 = 80,
    }

    /// A copy.
    Copy {
        direction: i32 = 12, internal: u64 = 16, external: u64 = 24, start: u64 = 40, end: u64 = 48, to_agent: u64 = 56,
        from_agent: u64 = 64,
    }

    /// A call of the HIP runtime, whose correlation had no ancestor yet.
    HipCall { operation: i32 = 12, internal: u64 = 16, external: u64 = 24, start: u64 = 32, end: u64 = 40, thread: u64 = 48 }
    /// The same since it has one: longer by a word in the middle, so that the length says which it is.
    HipCallAfterAncestor { operation: i32 = 12, internal: u64 = 16, external: u64 = 24, start: u64 = 40, end: u64 = 48, thread: u64 = 56 }

    /// A launch of a graph, with its first argument.
    GraphCall { internal: u64 = 16, graph: u64 = 64 }

    /// Memory that was allocated or freed, whose correlation had no ancestor yet. A free says neither agent nor size.
    Allocation {
        operation: i32 = 12, internal: u64 = 16, thread: u64 = 32, start: u64 = 40, end: u64 = 48, agent: u64 = 56, address: u64 = 64,
        bytes: u64 = 72,
    }
    /// The same since it has one.
    AllocationAfterAncestor {
        operation: i32 = 12, internal: u64 = 16, thread: u64 = 40, start: u64 = 48, end: u64 = 56, agent: u64 = 64, address: u64 = 72,
        bytes: u64 = 80,
    }

    /// Scratch memory of a queue, which says no size; its correlation had no ancestor yet.
    Scratch { operation: i32 = 12, internal: u64 = 16, agent: u64 = 32, queue: u64 = 40, start: u64 = 56, end: u64 = 64 }
    /// The same since it has one.
    ScratchAfterAncestor { operation: i32 = 12, internal: u64 = 16, agent: u64 = 40, queue: u64 = 48, start: u64 = 64, end: u64 = 72 }

    /// An agent: where it is, and the how many-th of its type.
    Agent {
        size: u64 = 0, id: u64 = 8, sort: u32 = 16, location: u32 = 108, domain: u32 = 112, product_name: u64 = 264, number: i32 = 288,
    }
    /// The end of the description of an agent, which not all versions have: the first half of its UUID, the other being zero.
    AgentUuid { unique: u64 = 296 }

    /// The stream of HIP that a call is about.
    HipStream { size: u64 = 0, stream: u64 = 8 }
}
