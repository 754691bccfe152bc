import Reactor

/// The commands that wait for a batch, in the order they arrived; those to be tried again come first, each in the batch
/// it belongs to.
///
/// It is bounded by what it keeps alive, too: a command borrows its bytes from the frame it came in, so a small one may
/// hold a large frame. The commands of a frame stand side by side, so the first of them is charged with the frame.
struct CommandQueue {
    /// What can be measured of commands.
    struct Size: Equatable {
        var rows = 0
        /// Of the frames that are kept alive.
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

    /// Takes a command in. False when there would be more than `limit`, unless nothing else waits.
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

    /// At most two batches at a time are in flight, so at most two come back.
    mutating func retry(_ batches: [[Command]]) { retries.insert(contentsOf: batches, at: 0) }

    /// As many waiting commands as fit into `limit`, but at least one; nil when none waits. What is taken is let go of.
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
