import Bus
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Creates a conversation with its first members and reports it on each member's private stream.
extension CreateConversation: BatchStep {
    var isOfOneSlot: Bool { false }

    static var statements: [Statement] { [CreateStatement.statement.untyped] }

    private var everybody: [UserID] { members + [creator] }

    /// Of each, the direct conversation with the creator. (Their own is none.)
    private var directs: [ConversationID] { everybody.map { DirectConversation.id($0, creator) } }

    var rowCount: Int { members.count + 1 }

    func lock(_ locks: inout Locks) {
        // A repetition finds the conversation there, and says so only when the creation's commit has reached the
        // standby. The lock is a write, so this batch's own commit waits behind it too.
        locks.insert(conversation: conversation)
        locks.insert(idOf: conversation)
        for member in everybody {
            locks.insert(user: member)
            locks.insert(newStreamOf: member)
        }
        for member in members { locks.insert(directOf: member, with: creator) }
    }

    func add(to batch: inout Batch, _: RequestKey, _ limit: ConversationLimit) {
        batch.execute(CreateStatement.statement) { parameters, input in
            parameters.set(input.key, to: conversation)
            parameters.set(input.kind, to: kind)
            parameters.set(input.title, to: title.isEmpty ? nil : title)
            parameters.set(input.creator, to: creator)
            parameters.set(input.creatorSlot, to: creator.slot)
            parameters.set(input.members, to: everybody)
            parameters.set(input.memberSlots, to: everybody.lazy.map(\.slot))
            parameters.set(input.limit, to: limit.ofUser)
            parameters.set(input.limitWhenAdded, to: limit.whenAddedByOthers)
            let consents = introduction.consents
            let decided = members.indices.map { limit.decided(consents.isEmpty ? .byOption : consents[$0]) }
            parameters.set(input.directs, to: decided.allSatisfy { $0 == .given } ? [] : directs)
            parameters.set(input.consents, to: decided)
            parameters.set(input.peoplePerDay, to: introduction.peoplePerDay.map(Int32.init))
        }
    }

    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let (joined, obstacle) = CreateStatement.decode(rows[0])
        if obstacle == .isRequested, outcomes.isAnswered(command, of: conversation, by: creator, reopens: true) {
            return
        }
        if let at = joined.first?.at { announce(at: at, joined, command.trace, outcomes.announcer) }
        let queries = outcomes.queries
        Reactor.spawn { await respond(to: command.request, obstacle, queries) }
    }

    @Reactor private func announce(
        at: Timestamp, _ joined: [CreateStatement.Joined], _ trace: TraceContext?, _ announcer: Announcer
    ) {
        // First, so that a session that joins here receives its first change like any other.
        for member in joined {
            var change = PrivateChangeFields(
                useq: member.useq, kind: .conversationJoined, at: member.at, conversation: conversation, lastSeq: 0,
                memberCount: everybody.count)
            if member.isRequest {
                change = PrivateChangeFields(
                    useq: member.useq, kind: .request, at: member.at, conversation: conversation, isWaiting: true)
            }
            announcer.announce(change, to: member.user, causedIn: conversation.slot)
        }
        let content = ChangeFields.Content.conversation(
            kind: kind, title: title.isEmpty ? nil : title, createdAt: at, memberCount: everybody.count)
        announcer.announce(
            ChangeFields(
                conversation: conversation, seq: 1, kind: .conversationCreated, at: at, actor: creator,
                content: content), trace)
    }

    /// Responds with the conversation as its creator sees it: 201 if it is new, 200 if it already existed with them as a
    /// member.
    @Reactor private func respond(
        to request: RequestKey, _ obstacle: CreationObstacle?, _ queries: Queries
    ) async {
        await queries.finish(request, status: obstacle == nil ? 201 : 200, for: .user(creator)) {
            do {
                return try await queries.conversation(ConversationQuery(conversation, reader: creator))
            } catch let problem as Problem where problem.code == .notFound {
                throw obstacle?.problem ?? problem
            }
        }
    }
}

enum CreateStatement {
    struct Input: NamedFields {
        let key: ConversationInput
        let kind: Parameter<ConversationKind>
        let title: Parameter<String?>
        let creator: Parameter<UserID>
        let creatorSlot: Parameter<Slot>
        let members: Parameter<[UserID]>
        let memberSlots: Parameter<[Slot]>
        let limit: Parameter<Int32>
        let limitWhenAdded: Parameter<Int32>
        let directs: Parameter<[ConversationID]>
        let consents: Parameter<[Consent]>
        let peoplePerDay: Parameter<Int32?>
    }

    struct Columns: NamedFields {
        let member: Column<UserID?>
        let useq: Column<Int64?>
        let at: Column<Timestamp?>
        let isRequest: Column<Bool?>
        let obstacle: Column<CreationObstacle?>
    }

    static let statement = PreparedStatement<Input, Columns>(
        "create_conversation", PackageResources.create_conversation_sql, .store)

    struct Joined {
        let user: UserID
        let useq: Int64
        let at: Timestamp
        let isRequest: Bool

        /// Nil for an obstacle.
        init?(_ row: Row, _ columns: Columns) {
            guard let user = row[columns.member], let useq = row[columns.useq], let at = row[columns.at] else {
                return nil
            }
            self.user = user
            self.useq = useq
            self.at = at
            isRequest = row[columns.isRequest] ?? false
        }
    }

    /// The members who joined, or the reason why nothing was created.
    static func decode(_ rows: Rows) -> (joined: [Joined], obstacle: CreationObstacle?) {
        let columns = statement.columns
        return (rows.compactMap { Joined($0, columns) }, rows.first?[columns.obstacle])
    }
}

/// The reason why nothing was created. An existing conversation that its creator is in is no fault.
enum CreationObstacle: Int16, PostgresEnum {
    case idIsTaken = 0
    case memberIsErased = 1
    case creatorHasTooMany = 2
    case memberHasTooMany = 3
    case memberIsBlocked = 4
    /// The creator is asked about it, and says yes by this.
    case isRequested = 5
    /// By the application, which was asked about the members.
    case isRefused = 6
    /// The application was to be asked, and did not answer.
    case isUndecided = 7
    /// The creator's account is new, and they have brought in as many as they may for now.
    case tooManyPeople = 8

    /// The text says whose list is full only if it is the creator's own.
    fileprivate var problem: Problem {
        switch self {
        case .idIsTaken, .memberIsErased, .isRequested:
            Problem(.conflict, "another conversation has this id, or a member was erased")
        case .creatorHasTooMany: Problem(.conflict, "you are in as many conversations as a user may be")
        case .memberHasTooMany: Problem(.conflict, "members: one of them is in too many conversations")
        case .memberIsBlocked: Problem(.conflict, "members: you have blocked this user")
        case .isRefused: .refusedMember
        case .isUndecided: .undecidedMember
        case .tooManyPeople: .tooManyPeople
        }
    }
}
