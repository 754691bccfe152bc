import Models
import Wire

/// The tables of both services, as far as the simulation needs them.
struct Tables {
    /// `store.memberships`, one row per stay.
    struct Stay {
        let from: Int64
        var through: Int64?
        var role: Int16
        var cleared: Int64 = 0

        func contains(_ seq: Int64) -> Bool { from <= seq && seq <= through ?? .max }

        /// Whether a page of history shows the message at `seq`.
        func shows(_ seq: Int64) -> Bool { contains(seq) && seq > cleared }
    }

    /// `store.changes` and the data of new messages. The checks read it as their log.
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
        /// The key of the write that caused the change.
        var key: UUIDBytes?
    }

    struct Horizon {
        var delivered: Int64 = 0
        var read: Int64 = 0
        /// The read position that others see.
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
        /// In order of position.
        var messages: [Message] = []
        /// Indexes into `messages`.
        var places: [MessageID: Int] = [:]
        var stays: [UserID: [Stay]] = [:]
        var hidden: [UserID: Set<Int64>] = [:]
        var earlyDeletions: Set<EarlyDeletion> = []
        /// `store.conversation_settings`. A nil value is inherited.
        var readReceipts: [UserID: Bool?] = [:]
        /// Former members who removed the conversation from their list.
        var removedBy: Set<UserID> = []
        // Owned by receipt:
        /// Whether it has a row in `receipt.positions`, with the next two.
        var hasPosition = false
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

        /// The last position that `user` may see, or 0.
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

    /// What a user keeps to themselves about a conversation.
    struct Marks: Equatable {
        var mutedUntil: Timestamp?
        var pinOrder: Int64?
        var archived: Int64?
        /// How far the user had read.
        var unread: Int64?
    }

    /// A row of `store.user_streams`, with the user's other rows.
    struct User {
        /// Kept small, so that sessions that were away miss some.
        static let kept: Int64 = 2

        var useq: Int64 = 0
        /// All changes ever made, for the checks. The database keeps only the latest.
        var changes: [PrivateChange] = []
        var first: Int64 { max(1, useq - Self.kept + 1) }
        /// `store.inbox`: the conversations, with the read position sent to the user's devices.
        var told: [ConversationID: Int64] = [:]
        /// What it has besides.
        var marks: [ConversationID: Marks] = [:]
        /// Nil if the user never set any.
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
    /// `store.recent_outcomes`: the problems of writes without a key, by request.
    var recentOutcomes: [UUIDBytes: Int16] = [:]
    /// A row of `store.unindexed` or `receipt.untold`.
    struct Note: Hashable {
        let conversation: ConversationID
        let number: Int64
    }

    var notes: [String: Set<Note>] = [:]
    /// `noted_epoch`, by table of notes.
    var notedEpochs: [String: [Slot: Int64]] = [:]
    /// The existing slots and their epochs, by schema.
    var epochs: [String: [Slot: Int64]] = [:]
    /// The services seen and when, by schema.
    var services: [String: [Int64: Timestamp]] = [:]
}
