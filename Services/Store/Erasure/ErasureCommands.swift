import Bytes
import JSON
import Models
import Postgres
import Wire

// The commands of an erasure in a batch, and the decoding of their rows.

extension EraseStep {
    /// The conversation that the step changes.
    var conversation: ConversationID? {
        switch part {
        case .leave(let conversation), .content(let conversation, _), .stays(let conversation): conversation
        case .listing, .remains: nil
        }
    }

    /// Whether it makes changes that others see. A second statement then reads them back.
    var isAnnounced: Bool {
        switch part {
        case .leave, .content: true
        case .stays, .listing, .remains: false
        }
    }
}

extension ErasureStatements {
    static func add(_ erasure: EraseUser, to batch: inout Batch) {
        batch.execute(begin) { parameters in
            parameters.add(erasure.user.slot)
            parameters.add(erasure.user)
        }
    }

    static func add(_ step: EraseStep, to batch: inout Batch) {
        switch step.part {
        case .leave(let conversation):
            RemoveMember.add(ofErased: step.user, in: conversation, to: &batch)
            addChanges(of: conversation, FeedStatement.latest, to: &batch)
        case .content(let conversation, let after):
            batch.execute(content) { parameters in
                add(step.user, in: conversation, to: &parameters)
                parameters.add(after)
            }
            addChanges(of: conversation, announced, to: &batch)
        case .stays(let conversation):
            batch.execute(stays) { add(step.user, in: conversation, to: &$0) }
        case .listing(let conversation):
            batch.execute(listing) { parameters in
                parameters.add(step.user.slot)
                parameters.add(step.user)
                parameters.add(conversation)
            }
        case .remains:
            batch.execute(remains) { parameters in
                parameters.add(step.user.slot)
                parameters.add(step.user)
            }
        }
    }

    private static func add(_ user: UserID, in conversation: ConversationID, to parameters: inout Parameters) {
        parameters.add(conversation.slot)
        parameters.add(conversation)
        parameters.add(user)
        parameters.add(user.slot)
    }

    private static func addChanges(of conversation: ConversationID, _ statement: Statement, to batch: inout Batch) {
        batch.execute(statement) { parameters in
            parameters.add(conversation.slot)
            parameters.add(conversation)
        }
    }

    /// The position where the part continues, or 0 when it is done. Leaving is done if the user has left or never was
    /// there.
    static func next(_ step: EraseStep, _ row: Row) -> Int64 {
        if case .leave = step.part { 0 } else { row[0] }
    }

    /// The conversation positions that the step took.
    static func positions(_ step: EraseStep, _ row: Row) -> Range<Int64>? {
        switch step.part {
        case .leave:
            guard let change = WriteStatement.decode(row).change else { return nil }
            return change.seq - change.positions + 1..<change.seq + 1
        case .content:
            let last: Int64? = row[1], count: Int64? = row[2]
            guard let last, let count else { return nil }
            return last - count + 1..<last + 1
        case .stays, .listing, .remains: return nil
        }
    }
}

/// The progress of an erasure, and what it has erased.
struct ErasureProgress {
    let number: Int64
    let requestedAt: Timestamp
    let erasedAt: Timestamp?
    let counts: [(name: StaticString, count: Int64)]

    private static let names: [StaticString] = [
        "messages", "revisions", "tapbacks", "mentions", "receipts", "memberships", "hidden", "privateChanges",
        "outcomes",
    ]

    init(_ row: Row) {
        number = row[0]
        requestedAt = row[1]
        erasedAt = row[2]
        counts = Self.names.enumerated().map { ($1, row[3 + $0]) }
    }

    var isDone: Bool { erasedAt != nil }
}

extension ByteBuffer {
    /// `{userId, requestedAt, erasedAt?, counts}`
    mutating func append(_ progress: ErasureProgress, of user: UserID) {
        beginObject()
        append(key: "userId", json: user)
        append(key: "requestedAt", json: progress.requestedAt)
        if let erasedAt = progress.erasedAt { append(key: "erasedAt", json: erasedAt) }
        append(key: "counts")
        beginObject()
        for (name, count) in progress.counts { append(key: name, json: count) }
        endObject()
        endObject()
    }
}
