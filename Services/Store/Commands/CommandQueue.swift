import Reactor

/// The commands that wait for a batch, in the order they arrived. Commands to be retried come first, each in its
/// previous batch.
///
/// The queue is also bounded by the memory it keeps alive. A command borrows its bytes from its frame, so a small
/// command may hold a large frame. The commands of a frame are adjacent, so the first of them is charged with the
/// frame.
struct CommandQueue {
    /// The measured size of a number of commands.
    struct Size: Equatable {
        var rows = 0
        /// The size of the frames that are kept alive.
        var bytes = 0

        static func + (left: Self, right: Self) -> Self {
            Self(rows: left.rows + right.rows, bytes: left.bytes + right.bytes)
        }
        static func - (left: Self, right: Self) -> Self {
            Self(rows: left.rows - right.rows, bytes: left.bytes - right.bytes)
        }
        func fits(_ limit: Self) -> Bool { rows <= limit.rows && bytes <= limit.bytes }
    }

    private var retries: [[Command]] = []
    private var waiting = FIFO<(command: Command, size: Size)>()
    private var last: Command?
    private(set) var size = Size()

    var isEmpty: Bool { retries.isEmpty && waiting.isEmpty }

    /// Adds a command. Returns false if this would exceed `limit`, unless no other command waits.
    mutating func append(_ command: Command, limit: Size) -> Bool {
        let added = Size(
            rows: command.rowCount,
            bytes: last.map(command.sharesFrame(with:)) == true ? 0 : command.keptBytes)
        guard waiting.isEmpty || (size + added).fits(limit) else { return false }
        waiting.append((command, added))
        last = command
        size = size + added
        return true
    }

    /// Puts batches back. At most two are in flight, so at most two come back.
    mutating func retry(_ batches: [[Command]]) { retries.insert(contentsOf: batches, at: 0) }

    /// Removes and returns as many waiting commands as fit into `limit`, but at least one. Nil when none waits.
    mutating func nextBatch(limit: Size) -> [Command]? {
        if !retries.isEmpty { return retries.removeFirst() }
        var batch: [Command] = []
        var taken = Size()
        while let (command, size) = waiting.first, batch.isEmpty || (taken + size).fits(limit) {
            _ = waiting.popFirst()
            batch.append(command)
            taken = taken + size
        }
        size = size - taken
        if waiting.isEmpty { last = nil }
        return batch.isEmpty ? nil : batch
    }
}
