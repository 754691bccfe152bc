/// The commands that wait for a batch, in the order they arrived; those to be tried again come first, each in the batch
/// it belongs to.
struct CommandQueue {
    private var retries: [[Command]] = []
    private var waiting: [Command] = []
    private var taken = 0
    private(set) var rowCount = 0

    var isEmpty: Bool { retries.isEmpty && taken == waiting.count }

    mutating func append(_ command: Command) {
        waiting.append(command)
        rowCount += command.rowCount
    }

    mutating func retry(_ batches: [[Command]]) { retries.insert(contentsOf: batches, at: 0) }

    /// As many waiting commands as fit into `rows`, but at least one; nil when none waits.
    mutating func nextBatch(rows limit: Int) -> [Command]? {
        if !retries.isEmpty { return retries.removeFirst() }
        guard taken < waiting.count else { return nil }
        var end = taken
        var rows = 0
        while end < waiting.count, end == taken || rows + waiting[end].rowCount <= limit {
            rows += waiting[end].rowCount
            end += 1
        }
        rowCount -= rows
        return take(through: end)
    }

    private mutating func take(through end: Int) -> [Command] {
        let batch = Array(waiting[taken..<end])
        taken = end
        if taken == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            taken = 0
        }
        return batch
    }
}
