import Models
import Wire

/// The tables of both services, as far as the simulation uses them.
struct Tables {
    /// `store.memberships`, one row per stay.
    struct Stay {
        let from: Int64
        var through: Int64?
        var role: Int16
        var cleared: Int64 = 0

        func contains(_ seq: Int64) -> Bool { from <= seq && seq <= through ?? .max }

        /// Whether a page of history shows what came at `seq`.
        func shows(_ seq: Int64) -> Bool { contains(seq) && seq > cleared }
    }

    /// `store.changes`, and what was done at the creation of messages: also the log that the checks rest on.
    struct Entry {
        enum Content {
            case created
            case message(MessageID, text: String, replyTo: MessageID?)
            case edited(MessageID, text: String)
            case deleted(MessageID)
            case tapback(MessageID, kind: String?)
            case added(UserID, role: Int16)
            case removed(UserID, role: Int16)
        }

        let seq: Int64
        let at: Timestamp
        let actor: UserID
        let content: Content
        /// Of the write that it comes from.
        var key: UUIDBytes?
    }

    struct Horizon {
        var delivered: Int64 = 0
        var read: Int64 = 0
        /// What others are told of `read`.
        var shown: Int64 = 0
        var version: Int64 = 0
    }

    struct EarlyDeletion: Hashable {
        let message: MessageID
        let user: UserID
    }

    struct Conversation {
        var lastSeq: Int64 = 1
        var lastAt: Timestamp
        var createdAt: Timestamp
        var entries: [Entry] = []
        /// In the order of their positions.
        var messages: [Message] = []
        /// Where in `messages`.
        var places: [MessageID: Int] = [:]
        var stays: [UserID: [Stay]] = [:]
        var hidden: [UserID: Set<Int64>] = [:]
        var earlyDeletions: Set<EarlyDeletion> = []
        /// `store.conversation_settings`; nil in it: inherited.
        var readReceipts: [UserID: Bool?] = [:]
        /// Former members who do not want to see it in their list.
        var removedBy: Set<UserID> = []
        // Of receipt:
        var horizons: [UserID: Horizon] = [:]
        var statusVersion: Int64 = 0
        var statusAt: Timestamp

        var memberCount: Int { stays.values.count { $0.last?.through == nil } }

        func memberCount(asOf position: Int64) -> Int {
            stays.values.count { $0.contains { $0.from <= position && $0.through.map { $0 > position } ?? true } }
        }

        func isMember(_ user: UserID) -> Bool { stays[user]?.last.map { $0.through == nil } ?? false }

        /// Whether `user` may see the change at `seq`.
        func isVisible(_ seq: Int64, to user: UserID) -> Bool { stays[user]?.contains { $0.contains(seq) } ?? false }

        /// The last position that `user` may see; 0: none.
        func end(for user: UserID) -> Int64 {
            guard let last = stays[user]?.last else { return 0 }
            return last.through ?? lastSeq
        }

        func message(_ id: MessageID) -> Message? { places[id].map { messages[$0] } }
    }

    /// `store.user_changes`
    struct PrivateChange {
        let useq: Int64
        let kind: PrivateKind
        let at: Timestamp
        let conversation: ConversationID?
        let seq: Int64?
        let message: MessageID?
    }

    struct UserSettings: Equatable {
        var readReceipts = true
        var presence = true
    }

    struct User {
        /// So few that sessions that were away miss some.
        static let kept: Int64 = 2

        var useq: Int64 = 0
        /// All there ever were, for the checks; the database has the latest of them.
        var changes: [PrivateChange] = []
        var first: Int64 { max(1, useq - Self.kept + 1) }
        /// `store.inbox`: the conversations, and the position of reading the user's devices were told.
        var told: [ConversationID: Int64] = [:]
        /// Nil: they never decided.
        var settings: UserSettings?

        mutating func tell(
            _ kind: PrivateKind, _ at: Timestamp, _ conversation: ConversationID?, _ seq: Int64? = nil,
            _ message: MessageID? = nil
        ) -> Int64 {
            useq += 1
            changes.append(
                PrivateChange(useq: useq, kind: kind, at: at, conversation: conversation, seq: seq, message: message))
            return useq
        }
    }

    struct OutcomeKey: Hashable {
        let user: UserID
        let key: UUIDBytes
    }

    struct Outcome: Equatable {
        let action: Int16
        let conversation: ConversationID?
        let subject: UUIDBytes?
        var problem: Int16
    }

    var conversations: [ConversationID: Conversation] = [:]
    var users: [UserID: User] = [:]
    var outcomes: [OutcomeKey: Outcome] = [:]
    /// `store.recent_outcomes`: the problems of writes without a key, by their requests.
    var recentOutcomes: [UUIDBytes: Int16] = [:]
    /// Of `store.unindexed` and `receipt.untold`.
    struct Note: Hashable {
        let conversation: ConversationID
        let number: Int64
    }

    var notes: [String: Set<Note>] = [:]
    /// `noted_epoch`, by the table of the notes.
    var notedEpochs: [String: [Slot: Int64]] = [:]
    /// Of each schema: the slots that there are, and their epochs …
    var epochs: [String: [Slot: Int64]] = [:]
    /// … and the services that have been seen, and when.
    var services: [String: [Int64: Timestamp]] = [:]
}
