import Models
import Postgres
import Slots

/// The statements of `CompletionKeeper`. Their kind is `delivered` or `read`.
enum CompletionStatements {
    static let all = [messages.untyped, laggards.untyped, times.untyped, insert.untyped]

    /// The number of messages in a page. It bounds how many runs of a member are read at once.
    private static let pageSize: Int64 = 50

    typealias Message = CompletionPage.Message
    typealias Laggard = CompletionPage.Laggard

    /// The conversation, and the kind of its receipts.
    fileprivate struct KeyInput: NamedFields {
        let conversation: ConversationInput
        let kind: Parameter<RunKind>
    }

    // MARK: Messages

    private struct MessagesInput: NamedFields {
        let key: KeyInput
        let limit: Parameter<Int64>
    }

    private struct MessagesColumns: NamedFields {
        let seq: Column<Int64>
        let senderId: Column<UserID>
    }

    private static let messages = PreparedStatement<MessagesInput, MessagesColumns>(
        "completion_messages", PackageResources.completion_messages_sql, .receipt)

    static func messages(
        _ conversation: ConversationID, _ kind: RunKind, on connection: Connection
    ) async throws(DatabaseError) -> [Message] {
        let columns = messages.columns
        return try await connection.query(messages) { parameters, input in
            parameters.set(input.key, to: conversation, kind)
            parameters.set(input.limit, to: pageSize)
        }.map { Message(seq: $0[columns.seq], sender: $0[columns.senderId]) }
    }

    // MARK: Laggards

    private struct LaggardsInput: NamedFields {
        let key: KeyInput
        let first: Parameter<Int64>
        let last: Parameter<Int64>
    }

    private struct LaggardsColumns: NamedFields {
        let userId: Column<UserID>
        let reached: Column<Int64>
        let leftSeq: Column<Int64?>
    }

    private static let laggards = PreparedStatement<LaggardsInput, LaggardsColumns>(
        "completion_laggards", PackageResources.completion_laggards_sql, .receipt)

    /// Reads the present members, the farthest behind first, and the former ones.
    static func laggards(
        _ conversation: ConversationID, _ kind: RunKind, among messages: [Message], on connection: Connection
    ) async throws(DatabaseError) -> (present: [Laggard], former: [Laggard]) {
        let columns = laggards.columns
        let laggards = try await connection.query(laggards) { parameters, input in
            parameters.set(input.key, to: conversation, kind)
            parameters.set(input.first, to: messages.first!.seq)
            parameters.set(input.last, to: messages.last!.seq)
        }.map { Laggard(user: $0[columns.userId], reached: $0[columns.reached], leftSeq: $0[columns.leftSeq]) }
        return (laggards.filter { $0.leftSeq == nil }, laggards.filter { $0.leftSeq != nil })
    }

    // MARK: Times

    private struct TimesInput: NamedFields {
        let key: KeyInput
        let seqs: Parameter<[Int64]>
        let senders: Parameter<[UserID]>
    }

    private struct TimesColumns: NamedFields {
        let first: Column<Int32>
        let runEnd: Column<Int32>
        let sender: Column<UserID?>
        let at: Column<Timestamp>
    }

    private static let times = PreparedStatement<TimesInput, TimesColumns>(
        "completion_times", PackageResources.completion_times_sql, .receipt)

    static func times(
        _ conversation: ConversationID, _ kind: RunKind, of messages: [Message], on connection: Connection
    ) async throws(DatabaseError) -> [(first: Int, end: Int, sender: UserID?, at: Timestamp)] {
        let columns = times.columns
        return try await connection.query(times) { parameters, input in
            parameters.set(input.key, to: conversation, kind)
            parameters.set(input.seqs, to: messages.lazy.map(\.seq))
            parameters.set(input.senders, to: Set(messages.map(\.sender)))
        }.map { (Int($0[columns.first]), Int($0[columns.runEnd]), $0[columns.sender], $0[columns.at]) }
    }

    // MARK: Dates

    private struct InsertInput: NamedFields {
        let key: KeyInput
        let fromSeqs: Parameter<[Int64]>
        let toSeqs: Parameter<[Int64]>
        let times: Parameter<[Timestamp?]>
    }

    private static let insert = PreparedStatement<InsertInput, NoFields>(
        "completion_insert", PackageResources.completion_insert_sql, .receipt)

    static func insert(
        _ ranges: [CompletionPage.Range], _ conversation: ConversationID, _ kind: RunKind, on connection: Connection
    ) async throws(DatabaseError) {
        _ = try await connection.query(insert) { parameters, input in
            parameters.set(input.key, to: conversation, kind)
            parameters.set(input.fromSeqs, to: ranges.lazy.map(\.from))
            parameters.set(input.toSeqs, to: ranges.lazy.map(\.to))
            parameters.set(input.times, to: ranges.lazy.map(\.at))
        }
    }
}

extension Parameters {
    fileprivate mutating func set(
        _ input: CompletionStatements.KeyInput, to conversation: ConversationID, _ kind: RunKind
    ) {
        set(input.conversation, to: conversation)
        set(input.kind, to: kind)
    }
}
