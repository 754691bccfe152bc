import Models
import Wire

/// The tables of both services, as far as the simulation uses them.
struct Tables {
    struct Stay {
        let from: Int64
        var through: Int64?
        var role: Int16
    }

    struct Entry {
        enum Content {
            case created
            case message(MessageID, text: String, sentAt: Timestamp)
            case added(UserID, role: Int16)
            case removed(UserID, role: Int16)
        }

        let seq: Int64
        let at: Timestamp
        let actor: UserID
        let content: Content

        var message: MessageID? { if case .message(let id, _, _) = content { id } else { nil } }
    }

    struct Horizon {
        var delivered: Int64 = 0
        var read: Int64 = 0
        var version: Int64 = 0
    }

    struct Conversation {
        var lastSeq: Int64 = 1
        var lastAt: Timestamp
        var createdAt: Timestamp
        var entries: [Entry] = []
        var seqs: [MessageID: Int64] = [:]
        var stays: [UserID: [Stay]] = [:]
        // Of receipt:
        var horizons: [UserID: Horizon] = [:]
        var statusVersion: Int64 = 0
        var statusAt: Timestamp

        var memberCount: Int { stays.values.count { $0.last?.through == nil } }

        func isMember(_ user: UserID) -> Bool { stays[user]?.last.map { $0.through == nil } ?? false }

        /// Whether `user` may see the change at `seq`.
        func isVisible(_ seq: Int64, to user: UserID) -> Bool {
            stays[user]?.contains { $0.from <= seq && seq <= $0.through ?? .max } ?? false
        }

        /// The last position that `user` may see; 0: none.
        func end(for user: UserID) -> Int64 {
            guard let last = stays[user]?.last else { return 0 }
            return last.through ?? lastSeq
        }
    }

    struct PrivateChange {
        let useq: Int64
        let kind: PrivateKind
        let at: Timestamp
        let conversation: ConversationID
        /// As `store.user_changes.seq`.
        let seq: Int64
    }

    struct User {
        var useq: Int64 = 0
        var changes: [PrivateChange] = []
        /// `store.inbox`: the conversations, and the position of reading the user's devices were told.
        var told: [ConversationID: Int64] = [:]

        mutating func tell(_ kind: PrivateKind, _ at: Timestamp, _ conversation: ConversationID, _ seq: Int64) -> Int64
        {
            useq += 1
            changes.append(PrivateChange(useq: useq, kind: kind, at: at, conversation: conversation, seq: seq))
            return useq
        }
    }

    struct OutcomeKey: Hashable {
        let user: UserID
        let key: UUIDBytes
    }

    struct Outcome {
        let action: Int16
        let problem: Int16
    }

    var conversations: [ConversationID: Conversation] = [:]
    var users: [UserID: User] = [:]
    var outcomes: [OutcomeKey: Outcome] = [:]
    /// Of each schema: the slots that there are, and their epochs …
    var epochs: [String: [Slot: Int64]] = [:]
    /// … and the services that have been seen, and when.
    var services: [String: [Int64: Timestamp]] = [:]
}
