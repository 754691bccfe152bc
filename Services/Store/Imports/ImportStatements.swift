import Models
import Postgres
import Slots
import Wire

/// The statements of records other than messages.
enum ImportStatements {
    static let all = [
        conversation.untyped, tapback.untyped, vote.untyped, pollClosed.untyped, member.untyped, title.untyped,
        end.untyped,
    ]

    struct Columns: NamedFields {
        let verdict: Column<ImportVerdict>
    }

    private struct ConversationFields: NamedFields {
        let key: ConversationInput
        let kind: Parameter<ConversationKind>
        let title: Parameter<String?>
        let members: Parameter<[UserID]>
        let memberSlots: Parameter<[Slot]>
        let at: Parameter<Timestamp>
        let limit: Parameter<Int32>
    }

    private struct TapbackFields: NamedFields {
        let key: ConversationInput
        let message: Parameter<MessageID>
        let user: Parameter<UserID>
        let kind: Parameter<String>
        let at: Parameter<Timestamp>
    }

    private struct VoteFields: NamedFields {
        let key: ConversationInput
        let message: Parameter<MessageID>
        let user: Parameter<UserID>
        let options: Parameter<Int16>
        let at: Parameter<Timestamp>
    }

    private struct PollClosedFields: NamedFields {
        let key: ConversationInput
        let message: Parameter<MessageID>
        let at: Parameter<Timestamp>
        let actor: Parameter<UserID?>
    }

    private struct MemberFields: NamedFields {
        let key: ConversationInput
        let user: UserInput
        let kind: Parameter<Int16>
        let at: Parameter<Timestamp>
        let actor: Parameter<UserID?>
        let limit: Parameter<Int32>
        let memberLimit: Parameter<Int32>
    }

    private struct TitleFields: NamedFields {
        let key: ConversationInput
        let title: Parameter<String>
        let at: Parameter<Timestamp>
        let actor: Parameter<UserID?>
    }

    private static let conversation = PreparedStatement<ConversationFields, Columns>(
        "import_conversation", PackageResources.import_conversation_sql, .store)
    private static let tapback = PreparedStatement<TapbackFields, Columns>(
        "import_tapback", PackageResources.import_tapback_sql, .store)
    private static let vote = PreparedStatement<VoteFields, Columns>(
        "import_vote", PackageResources.import_vote_sql, .store)
    private static let pollClosed = PreparedStatement<PollClosedFields, Columns>(
        "import_poll_closed", PackageResources.import_poll_closed_sql, .store)
    private static let member = PreparedStatement<MemberFields, Columns>(
        "import_member", PackageResources.import_member_sql, .store)
    private static let title = PreparedStatement<TitleFields, Columns>(
        "import_title", PackageResources.import_title_sql, .store)

    /// All return the same column.
    static func verdict(_ row: Row) -> ImportVerdict { row[conversation.columns.verdict] }

    static func add(
        _ record: ImportRecord.Conversation, _ id: ConversationID, _ limit: ConversationLimit, to batch: inout Batch
    ) {
        batch.execute(conversation) { parameters, input in
            parameters.set(input.key, to: id)
            parameters.set(input.kind, to: record.kind)
            parameters.set(input.title, to: record.title.isEmpty ? nil : record.title)
            parameters.set(input.members, to: record.members)
            parameters.set(input.memberSlots, to: record.members.lazy.map(\.slot))
            parameters.set(input.at, to: record.createdAt)
            parameters.set(input.limit, to: limit.whenAddedByOthers)
        }
    }

    static func add(_ record: ImportRecord.Tapback, _ id: ConversationID, to batch: inout Batch) {
        batch.execute(tapback) { parameters, input in
            parameters.set(input.key, to: id)
            parameters.set(input.message, to: record.message)
            parameters.set(input.user, to: record.user)
            parameters.set(input.kind, to: record.kind)
            parameters.set(input.at, to: record.at)
        }
    }

    static func add(_ record: ImportRecord.Vote, _ id: ConversationID, to batch: inout Batch) {
        batch.execute(vote) { parameters, input in
            parameters.set(input.key, to: id)
            parameters.set(input.message, to: record.message)
            parameters.set(input.user, to: record.user)
            parameters.set(input.options, to: record.options.stored)
            parameters.set(input.at, to: record.at)
        }
    }

    static func add(_ record: ImportRecord.PollClosing, _ id: ConversationID, to batch: inout Batch) {
        batch.execute(pollClosed) { parameters, input in
            parameters.set(input.key, to: id)
            parameters.set(input.message, to: record.message)
            parameters.set(input.at, to: record.at)
            parameters.set(input.actor, to: record.actor)
        }
    }

    static func add(
        _ record: ImportRecord.MemberChange, _ id: ConversationID, _ limit: ConversationLimit, to batch: inout Batch
    ) {
        batch.execute(member) { parameters, input in
            parameters.set(input.key, to: id)
            parameters.set(input.user, to: record.user)
            parameters.set(input.kind, to: Int16(record.kind.rawValue))
            parameters.set(input.at, to: record.at)
            parameters.set(input.actor, to: record.actor)
            parameters.set(input.limit, to: limit.whenAddedByOthers)
            parameters.set(input.memberLimit, to: limit.members)
        }
    }

    static func add(_ record: ImportRecord.Title, _ id: ConversationID, to batch: inout Batch) {
        batch.execute(title) { parameters, input in
            parameters.set(input.key, to: id)
            parameters.set(input.title, to: record.title)
            parameters.set(input.at, to: record.at)
            parameters.set(input.actor, to: record.actor)
        }
    }

    // MARK: The end

    private struct EndColumns: NamedFields {
        let verdict: Column<ImportVerdict>
        let at: Column<Timestamp?>
        let memberCount: Column<Int32?>
        let users: Column<[UserID]>
        let useqs: Column<[Int64]>
        let joinedSeqs: Column<[Int64]>
        let leftSeqs: Column<[Int64]>
    }

    private static let end = PreparedStatement<ConversationInput, EndColumns>(
        "import_end", PackageResources.import_end_sql, .store)

    static func addEnd(_ id: ConversationID, to batch: inout Batch) {
        batch.execute(end) { $0.set($1, to: id) }
    }

    /// The private changes by which users learn of the conversation.
    static func changes(_ row: Row, in conversation: ConversationID) -> [(user: UserID, change: PrivateChangeFields)] {
        let columns = end.columns
        guard let at = row[columns.at] else { return [] }
        let users = row[columns.users], useqs = row[columns.useqs]
        let joined = row[columns.joinedSeqs], left = row[columns.leftSeqs]
        return users.indices.flatMap { index -> [(user: UserID, change: PrivateChangeFields)] in
            let joining = PrivateChangeFields(
                useq: useqs[index], kind: .conversationJoined, at: at, conversation: conversation,
                lastSeq: joined[index] - 1, memberCount: Int(row[columns.memberCount] ?? 0))
            guard left[index] > 0 else { return [(users[index], joining)] }
            let leaving = PrivateChangeFields(
                useq: useqs[index] + 1, kind: .conversationLeft, at: at, conversation: conversation)
            return [(users[index], joining), (users[index], leaving)]
        }
    }
}
