import Models
import Wire

/// What a statement of an import stores: adjacent messages, or one record of another kind.
enum ImportRun: Equatable {
    /// Indices of the records.
    case messages(Range<Int>)
    case record(Int)

    /// Cuts records into runs so that no statement contains two that depend on each other: in a run of messages no
    /// message occurs twice, and no reply comes with its parent.
    static func cut(_ records: [ImportRecord]) -> [ImportRun] {
        var runs: [ImportRun] = []
        var ids: Set<MessageID> = []
        for (index, record) in records.enumerated() {
            guard case .message(let message) = record else {
                runs.append(.record(index))
                continue
            }
            let depends = ids.contains(message.id) || message.replyTo.map(ids.contains) == true
            if !depends, case .messages(let run)? = runs.last {
                runs[runs.count - 1] = .messages(run.lowerBound..<index + 1)
            } else {
                runs.append(.messages(index..<index + 1))
                ids.removeAll(keepingCapacity: true)
            }
            ids.insert(message.id)
        }
        return runs
    }
}
