import Bus
import Bytes
import Models
import Postgres
import Reactor
import Wire

/// Stores records of a conversation's import. Nothing is announced before the end: until then nobody is a member.
struct ImportStep: BatchStep, @unchecked Sendable {
    // @unchecked: nobody changes the frame that the texts borrow from, and the command keeps it.

    static var statements: [Statement] { [ImportMessagesStatement.statement.untyped] + ImportStatements.all }

    /// Apart from messages: an import of years delays nobody.
    static var isBackgroundWork: Bool { true }
    static var isImport: Bool { true }

    private let conversation: ConversationID
    private let records: [ImportRecord]
    private let runs: [ImportRun]

    init(from reader: inout ByteReader) throws(WireError) {
        let request = try ImportRecords(from: &reader)
        var records: [ImportRecord] = []
        records.reserveCapacity(request.count)
        try request.forEachRecord { records.append($0) }
        self.init(request.conversation, records)
    }

    init(_ conversation: ConversationID, _ records: [ImportRecord]) {
        self.conversation = conversation
        self.records = records
        runs = ImportRun.cut(records)
    }

    var rowCount: Int { records.count }

    var isOfOneSlot: Bool { false }

    func lock(_ locks: inout Locks) {
        locks.insert(conversation: conversation)
        locks.insert(searchOf: conversation)
        for record in records {
            switch record {
            case .conversation(let record):
                locks.insert(idOf: conversation)
                for member in record.members { Self.lock(member, &locks) }
            case .member(let record): Self.lock(record.user, &locks)
            case .end: locks.insert(streamsOfImport: conversation)
            case .message, .tapback, .vote, .pollClosed, .title: break
            }
        }
    }

    private static func lock(_ member: UserID, _ locks: inout Locks) {
        locks.insert(user: member)
        locks.insert(newStreamOf: member)
    }

    // MARK: Statements

    func add(to batch: inout Batch, _: RequestKey, _ limit: ConversationLimit) {
        for run in runs {
            switch run {
            case .messages(let range):
                let messages = records[range].compactMap { if case .message(let message) = $0 { message } else { nil } }
                ImportMessagesStatement.add(messages, of: conversation, to: &batch)
            case .record(let index): add(records[index], limit, to: &batch)
            }
        }
    }

    /// Adds a statement, and before it what happened to messages until then.
    private func add(_ record: ImportRecord, _ limit: ConversationLimit, to batch: inout Batch) {
        if record.followsEvents {
            ImportMessagesStatement.addEvents(before: record.time, of: conversation, to: &batch)
        }
        switch record {
        case .message: preconditionFailure("messages are stored in runs")
        case .conversation(let record): ImportStatements.add(record, conversation, limit, to: &batch)
        case .tapback(let record): ImportStatements.add(record, conversation, to: &batch)
        case .vote(let record): ImportStatements.add(record, conversation, to: &batch)
        case .pollClosed(let record): ImportStatements.add(record, conversation, to: &batch)
        case .member(let record): ImportStatements.add(record, conversation, limit, to: &batch)
        case .title(let record): ImportStatements.add(record, conversation, to: &batch)
        case .end: ImportStatements.addEnd(conversation, to: &batch)
        }
    }

    // MARK: Outcomes

    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        var verdicts: [ImportVerdict] = []
        verdicts.reserveCapacity(records.count)
        var statement = 0
        for run in runs {
            switch run {
            case .messages:
                verdicts += rows[statement][0][ImportMessagesStatement.statement.columns.verdicts]
            case .record(let index):
                if records[index].followsEvents { statement += 1 }
                let row = rows[statement][0]
                verdicts.append(ImportStatements.verdict(row))
                if case .end = records[index] { announce(row, outcomes.announcer) }
            }
            statement += 1
        }
        outcomes.bus.respond(to: command.request, status: 200) { buffer in
            for verdict in verdicts { buffer.append(verdict) }
        }
    }

    @Reactor private func announce(_ row: Row, _ announcer: Announcer) {
        for (user, change) in ImportStatements.changes(row, in: conversation) {
            announcer.announce(change, to: user, causedIn: conversation.slot)
        }
    }
}

extension ImportRecord {
    /// Whether a statement before its own gives positions to what happened to messages until then. A run of messages
    /// does that itself.
    fileprivate var followsEvents: Bool {
        switch self {
        case .conversation, .message: false
        case .tapback, .vote, .pollClosed, .member, .title, .end: true
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func append(_ verdict: ImportVerdict) {
        if let problem = verdict.problem {
            SendResponse.append(problem, to: &self)
        } else {
            SendResponse.append(status: 200, to: &self) { _ in }
        }
    }
}
