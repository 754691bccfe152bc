import Models
import SimulationSupport

/// The rows of a table of PostgreSQL that stand for a state of the model: to begin with, and to compare with.
struct TableContent {
    let table: String
    /// The columns that the model has: names, or expressions over them.
    let columns: [String]
    let rows: [SimulatedRow]
    /// Which rows the model has, as an SQL condition.
    var condition = "true"

    init(_ table: String, _ columns: String, _ rows: [SimulatedRow]) {
        self.table = table
        self.columns = columns.split(separator: " ").map(String.init)
        self.rows = rows
    }
}

extension Tables {
    /// Every table that the model plays. It has no `receipt_runs`, `completions` and `last_seen` (nobody asks for dates
    /// of receipts), nothing of the search, and no erased or revoked users.
    var contents: [TableContent] {
        conversationContents + messageContents + userContents + receiptContents + slotContents
    }

    private var sorted: [(key: ConversationID, value: Conversation)] {
        conversations.sorted { $0.key.uuid < $1.key.uuid }
    }

    /// Rows of each conversation, which begin with its slot and its id.
    private func rows(_ columns: (ConversationID, Conversation) -> [SimulatedRow]) -> [SimulatedRow] {
        sorted.flatMap { id, conversation in
            columns(id, conversation).map { [SimulatedValue(id.slot), SimulatedValue(id)] + $0 }
        }
    }

    // MARK: Conversations

    private var conversationContents: [TableContent] {
        [
            TableContent(
                "store.conversations", "slot id kind title creator_id created_at last_seq last_at member_count",
                rows { _, conversation in
                    [
                        [
                            SimulatedValue(1 as Int16), null(String.self),
                            SimulatedValue(conversation.entries[0].actor),
                            SimulatedValue(conversation.createdAt), SimulatedValue(conversation.lastSeq),
                            SimulatedValue(conversation.lastAt), SimulatedValue(Int32(conversation.memberCount)),
                        ]
                    ]
                }),
            TableContent(
                "store.memberships", "slot conversation_id user_id joined_seq left_seq role cleared_seq",
                rows { _, conversation in
                    conversation.stays.flatMap { user, stays in
                        stays.map { stay in
                            [
                                SimulatedValue(user), SimulatedValue(stay.from), SimulatedValue(stay.through),
                                SimulatedValue(stay.role), SimulatedValue(stay.cleared),
                            ]
                        }
                    }
                }),
            TableContent(
                "store.changes",
                "slot conversation_id seq kind actor_id at message_id user_id role title member_count about_seq",
                rows { _, conversation in conversation.entries.compactMap { $0.row(in: conversation) } }),
            TableContent(
                "store.conversation_settings", "slot conversation_id user_id read_receipts",
                rows { _, conversation in
                    conversation.readReceipts.map { [SimulatedValue($0.key), SimulatedValue($0.value)] }
                }),
            TableContent("store.unindexed", "slot conversation_id noted_by", noteRows("unindexed")),
            TableContent("receipt.untold", "slot conversation_id noted_by", noteRows("untold")),
        ]
    }

    private func noteRows(_ table: String) -> [SimulatedRow] {
        notes[table, default: []].map { note in
            [SimulatedValue(note.conversation.slot), SimulatedValue(note.conversation), SimulatedValue(note.number)]
        }
    }

    // MARK: Messages

    private var messageContents: [TableContent] {
        [
            TableContent(
                "store.messages",
                """
                slot conversation_id seq id changed_seq sender_id kind body reply_to reply_seq sent_at created_at \
                edited_at deleted_at tapback_count
                """, rows { _, conversation in conversation.messages.map(\.row) }),
            TableContent(
                "store.revisions", "slot conversation_id message_id replaced_seq body at",
                rows { _, conversation in
                    conversation.messages.flatMap { message in
                        message.revisions.map { revision in
                            [
                                SimulatedValue(message.id), SimulatedValue(revision.replaced),
                                SimulatedValue(revision.text), SimulatedValue(revision.at),
                            ]
                        }
                    }
                }),
            TableContent(
                "store.tapbacks", "slot conversation_id message_id user_id kind at seq",
                rows { _, conversation in
                    conversation.messages.flatMap { message in
                        message.tapbacks.map { tapback in
                            [
                                SimulatedValue(message.id), SimulatedValue(tapback.user), SimulatedValue(tapback.kind),
                                SimulatedValue(tapback.at), SimulatedValue(tapback.seq),
                            ]
                        }
                    }
                }),
            TableContent(
                "store.hidden", "slot conversation_id user_id seq",
                rows { _, conversation in
                    conversation.hidden.flatMap { user, seqs in
                        seqs.map { [SimulatedValue(user), SimulatedValue($0)] }
                    }
                }),
            TableContent(
                "store.early_deletions", "slot conversation_id message_id user_id",
                rows { _, conversation in
                    conversation.earlyDeletions.map { [SimulatedValue($0.message), SimulatedValue($0.user)] }
                }),
        ]
    }

    // MARK: Users

    /// Rows of each user, which begin with their slot and their name.
    private func userRows(_ columns: (UserID, User) -> [SimulatedRow]) -> [SimulatedRow] {
        users.sorted { $0.key < $1.key }.flatMap { id, user in
            columns(id, user).map { [SimulatedValue(id.slot), SimulatedValue(id)] + $0 }
        }
    }

    private func isUnlisted(_ conversation: ConversationID, by user: UserID) -> Bool {
        conversations[conversation]?.removedBy.contains(user) ?? false
    }

    private var userContents: [TableContent] {
        [
            TableContent(
                "store.user_streams", "user_slot user_id last_useq conversation_count unlisted_count",
                userRows { id, user in
                    let unlisted = user.told.keys.count { isUnlisted($0, by: id) }
                    return [
                        [
                            SimulatedValue(user.useq), SimulatedValue(Int32(user.told.count - unlisted)),
                            SimulatedValue(Int32(unlisted)),
                        ]
                    ]
                }),
            TableContent(
                "store.user_changes", "user_slot user_id useq kind at slot conversation_id message_id seq",
                userRows { _, user in
                    user.changes.suffix(Int(User.kept)).map { change in
                        [
                            SimulatedValue(change.useq), SimulatedValue(Int16(change.kind.rawValue)),
                            SimulatedValue(change.at), SimulatedValue(change.conversation?.slot),
                            SimulatedValue(change.conversation), SimulatedValue(change.message),
                            SimulatedValue(change.seq),
                        ]
                    }
                }),
            TableContent(
                "store.inbox",
                """
                user_slot user_id slot conversation_id told_read_seq is_removed muted_until pin_order archived_seq \
                marked_unread_seq
                """,
                userRows { id, user in
                    user.told.map { conversation, seq in
                        let marks = user.marks[conversation]
                        return [
                            SimulatedValue(conversation.slot), SimulatedValue(conversation), SimulatedValue(seq),
                            SimulatedValue(isUnlisted(conversation, by: id)), SimulatedValue(marks?.mutedUntil),
                            SimulatedValue(marks?.pinOrder), SimulatedValue(marks?.archived),
                            SimulatedValue(marks?.unread),
                        ]
                    }
                }),
            TableContent(
                "store.user_settings", "user_slot user_id read_receipts presence",
                userRows { _, user in
                    user.settings.map { [[SimulatedValue($0.readReceipts), SimulatedValue($0.presence)]] } ?? []
                }),
            // The model does not keep when they came, nor the slot of those that are kept for a while.
            TableContent(
                "store.outcomes", "user_slot user_id key action conversation_id subject problem",
                outcomes.map { key, outcome in
                    [
                        SimulatedValue(key.user.slot), SimulatedValue(key.user), SimulatedValue(key.key),
                        SimulatedValue(outcome.action), SimulatedValue(outcome.conversation?.uuid ?? .zero),
                        SimulatedValue(outcome.subject), SimulatedValue(outcome.problem),
                    ]
                }),
            TableContent(
                "store.recent_outcomes", "request problem",
                recentOutcomes.map { [SimulatedValue($0.key), SimulatedValue($0.value)] }),
        ]
    }

    // MARK: Receipts

    private var receiptContents: [TableContent] {
        [
            TableContent(
                "receipt.positions", "slot conversation_id status_version nullif(last_at,'-infinity')",
                rows { _, conversation in
                    guard conversation.hasPosition else { return [] }
                    let at = conversation.statusVersion > 0 ? conversation.statusAt : nil
                    return [[SimulatedValue(conversation.statusVersion), SimulatedValue(at)]]
                }),
            TableContent(
                "receipt.horizons", "slot conversation_id user_id delivered_seq read_seq shown_seq version",
                rows { _, conversation in
                    conversation.horizons.map { user, horizon in
                        [
                            SimulatedValue(user), SimulatedValue(horizon.delivered), SimulatedValue(horizon.read),
                            SimulatedValue(horizon.shown), SimulatedValue(horizon.version),
                        ]
                    }
                }),
        ]
    }

    // MARK: Slots

    private var slotContents: [TableContent] {
        [("store", "unindexed"), ("receipt", "untold")].flatMap { schema, notes in
            var slots = TableContent(
                "\(schema).slots", "slot epoch noted_epoch",
                epochs[schema, default: [:]].map { slot, epoch in
                    [
                        SimulatedValue(slot), SimulatedValue(epoch),
                        SimulatedValue(notedEpochs[notes]?[slot] ?? -1),
                    ]
                })
            let numbers = epochs[schema, default: [:]].keys.map { "\($0.number)" }
            slots.condition = "slot IN (\(numbers.joined(separator: ", ")))"
            let services = TableContent(
                "\(schema).services", "id seen_at",
                services[schema, default: [:]].map { [SimulatedValue($0.key), SimulatedValue($0.value)] })
            return [slots, services]
        }
    }
}

extension Tables.Message {
    /// The columns of `store.messages` after the conversation.
    fileprivate var row: SimulatedRow {
        [
            SimulatedValue(seq), SimulatedValue(id), SimulatedValue(changed), SimulatedValue(sender),
            SimulatedValue(kind.rawValue), SimulatedValue(text), SimulatedValue(parent), SimulatedValue(parentSeq),
            SimulatedValue(sentAt), SimulatedValue(createdAt), SimulatedValue(editedAt), SimulatedValue(deletedAt),
            SimulatedValue(Int32(tapbacks.count)),
        ]
    }
}

extension Tables.Entry {
    /// The columns of `store.changes` after the conversation; nil for a message, which has no change of its own.
    fileprivate func row(in conversation: Tables.Conversation) -> SimulatedRow? {
        var user: UserID?, role: Int16?, memberCount: Int?, about: Int64?
        switch content {
        case .message: return nil
        case .added(let member, let given): (user, role) = (member, given)
        case .removed(let member, let given):
            (user, role) = (member, given)
            memberCount = conversation.memberCount(asOf: seq)
        case .deleted(let id): about = conversation.message(id)?.seq
        case .created, .edited, .tapback: break
        }
        return [
            SimulatedValue(seq), SimulatedValue(Int16(kind.rawValue)), SimulatedValue(actor), SimulatedValue(at),
            SimulatedValue(message), SimulatedValue(user), SimulatedValue(role), null(String.self),
            SimulatedValue(memberCount.map { Int32($0) }), SimulatedValue(about),
        ]
    }
}
