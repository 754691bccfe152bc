import Bus
import Bytes
import JSON
import Models
import Postgres
import Reactor
import Slots
import Wire

/// Begins the erasure of a user, or reports its progress.
extension EraseUser: BatchStep {
    var isOfOneSlot: Bool { true }

    static var statements: [Statement] { [ErasureStatements.begin.untyped] }

    func lock(_ locks: inout Locks) { locks.insert(userAlone: user) }

    func add(to batch: inout Batch, _: RequestKey, _: ConversationLimit) { ErasureStatements.add(self, to: &batch) }

    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let progress = ErasureProgress(rows.row)
        outcomes.erasures.began(user, progress)
        outcomes.bus.respond(to: command.request, status: progress.isDone ? 200 : 202) { $0.append(progress, of: user) }
    }
}

/// Takes one step of an erasure.
extension EraseStep: BatchStep {
    var isOfOneSlot: Bool { conversation == nil }

    static var statements: [Statement] {
        [
            ErasureStatements.content.untyped, ErasureStatements.announced.untyped, ErasureStatements.stays.untyped,
            ErasureStatements.listing.untyped, ErasureStatements.remains.untyped, ErasureStatements.block.untyped,
        ]
    }

    static var isBackgroundWork: Bool { true }

    /// The conversation that the step changes.
    private var conversation: ConversationID? {
        switch part {
        case .leave(let conversation), .content(let conversation, _), .stays(let conversation): conversation
        case .listing, .remains, .block: nil
        }
    }

    var rowCount: Int { ErasureStatements.hitsLimit }

    func lock(_ locks: inout Locks) {
        locks.insert(erasureOf: user)
        locks.insert(streamOf: user)
        if case .block(let blocker) = part { locks.insert(streamOf: blocker) }
        if let conversation {
            locks.insert(conversation: conversation)
            locks.insert(searchOf: conversation)
        }
    }

    func add(to batch: inout Batch, _: RequestKey, _: ConversationLimit) { ErasureStatements.add(self, to: &batch) }

    /// A part that makes changes which others see has a second statement, which reads them back.
    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let row = rows.row
        if rows.count > 1, let conversation, let positions = ErasureStatements.positions(self, row) {
            outcomes.announcer.announce(conversation, positions, of: rows[1], nil)
        }
        outcomes.bus.respond(to: command.request, status: 200) {
            $0.append(bigEndian: ErasureStatements.next(self, row))
        }
    }
}

extension ErasureStatements {
    static func add(_ erasure: EraseUser, to batch: inout Batch) {
        batch.execute(begin) { $0.set($1, to: erasure.user) }
    }

    static func add(_ step: EraseStep, to batch: inout Batch) {
        switch step.part {
        case .leave(let conversation):
            RemoveMember.add(ofErased: step.user, in: conversation, to: &batch)
            FeedStatement.addLatest(of: conversation, to: &batch)
        case .content(let conversation, let after):
            batch.execute(content) { parameters, input in
                parameters.set(input.member, to: step.user, in: conversation)
                parameters.set(input.after, to: after)
            }
            batch.execute(announced) { $0.set($1, to: conversation) }
        case .stays(let conversation):
            batch.execute(stays) { $0.set($1, to: step.user, in: conversation) }
        case .listing(let conversation):
            batch.execute(listing) { parameters, input in
                parameters.set(input.user, to: step.user)
                parameters.set(input.conversation, to: conversation)
            }
        case .remains:
            batch.execute(remains) { $0.set($1, to: step.user) }
        case .block(let blocker):
            batch.execute(block) { parameters, input in
                parameters.set(input.user, to: step.user)
                parameters.set(input.blockerSlot, to: blocker.slot)
                parameters.set(input.blocker, to: blocker)
            }
        }
    }

    /// The position where the part continues, or 0 when it is done. Leaving is done if the user has left or never was
    /// there.
    static func next(_ step: EraseStep, _ row: Row) -> Int64 {
        switch step.part {
        case .leave: 0
        case .content: row[content.columns.step.next]
        case .stays: row[stays.columns.next]
        case .listing: row[listing.columns.next]
        case .remains: row[remains.columns.next]
        case .block: row[block.columns.next]
        }
    }

    /// The conversation positions that the step took.
    static func positions(_ step: EraseStep, _ row: Row) -> Range<Int64>? {
        switch step.part {
        case .leave:
            guard let change = WriteStatement.decode(row).change else { return nil }
            return change.range
        case .content:
            let columns = content.columns
            guard let last = row[columns.lastSeq], let count = row[columns.positions] else { return nil }
            return last - count + 1..<last + 1
        case .stays, .listing, .remains, .block: return nil
        }
    }
}

extension Parameters {
    fileprivate mutating func set(
        _ input: ErasureStatements.MemberInput, to user: UserID, in conversation: ConversationID
    ) {
        set(input.key, to: conversation)
        set(input.user, to: user)
    }
}

/// The progress of an erasure, and what it has erased.
struct ErasureProgress {
    let number: Int64
    let requestedAt: Timestamp
    let erasedAt: Timestamp?
    let counts: [(name: StaticString, count: Int64)]

    init(_ row: Row) {
        let columns = ErasureStatements.begin.columns
        number = row[columns.number]
        requestedAt = row[columns.requestedAt]
        erasedAt = row[columns.erasedAt]
        counts = [
            ("messages", row[columns.messages]), ("revisions", row[columns.revisions]),
            ("tapbacks", row[columns.tapbacks]), ("votes", row[columns.votes]), ("mentions", row[columns.mentions]),
            ("receipts", row[columns.receipts]), ("memberships", row[columns.memberships]),
            ("hidden", row[columns.hidden]), ("privateChanges", row[columns.privateChanges]),
            ("outcomes", row[columns.outcomes]),
        ]
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
