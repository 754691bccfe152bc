import Models

/// Where a conversation is for its user.
public enum ConversationFolder: Hashable, Sendable {
    case inbox
    /// What the user has archived, until a message brings it back.
    case archive
}

/// A conversation as a list shows it: as the server knows it, with what the user did since.
public struct ConversationRow: Hashable, Sendable, Identifiable {
    public var id: ConversationID { conversation.id }
    public var conversation: Conversation
    /// The other user of a direct conversation. Nil in a group, and until the members are loaded.
    public var counterpart: UserID?
    /// The other user of a direct conversation is blocked.
    public var isBlocked: Bool
    /// The latest message that is shown, which may be one that is on its way.
    public var preview: TimelineRow?
    /// What is being written.
    public var draft: Draft?
    /// The server refused a message, and later ones wait for what the user does about it.
    public var hasFailedMessage: Bool
    /// The server does not know the conversation yet.
    public var isBeingCreated: Bool
}

extension LocalStore {
    /// The first rows of a folder's list, and whether there are more. Of those that are `known` only the place is read.
    package func list(
        _ folder: ConversationFolder = .inbox, at now: Timestamp = Timestamp(milliseconds: 0), limit: Int,
        known: [ConversationID: ConversationRow] = [:]
    ) throws(StorageError) -> (rows: [ConversationRow], hasMore: Bool) {
        let places = try places(folder, now, limit: limit + 1, areWhole: known.isEmpty)
        let context = try ListContext(
            isWaiting: outboxCount() > 0, drafted: conversationsWithDrafts(),
            settled: settled(places.prefix(limit), folder, now, limit: limit, known))
        var rows: [ConversationRow] = []
        rows.reserveCapacity(limit)
        for place in places.prefix(limit) {
            if let row = known[place.id] {
                rows.append(row)
            } else if let row = try listRow(place.id, place.conversation, context) {
                rows.append(row)
            }
        }
        return (rows, places.count > limit)
    }

    /// A place in the list.
    private struct Place {
        let id: ConversationID
        /// As if nothing waited in the outbox; nil if it has not been read.
        var conversation: Conversation?
    }

    /// The first places of the list: conversations that are being created, the pinned by their order, then by the latest
    /// activity.
    private func places(
        _ folder: ConversationFolder, _ now: Timestamp, limit: Int, areWhole: Bool
    ) throws(StorageError) -> [Place] {
        let created =
            folder == .archive
            ? []
            : try connection.all(
                """
                SELECT o.conversation_id FROM outbox o
                WHERE o.kind = 'create' AND o.state IN (0, 1) AND o.conversation_id IS NOT NULL AND NOT EXISTS (
                    SELECT 1 FROM conversations c WHERE c.id = o.conversation_id AND c.head_seq > 0)
                ORDER BY o.key DESC LIMIT ?1
                """, limit
            ) { Place(id: ConversationID($0.uuid(0))) }
        if areWhole {
            return created
                + (try settledConversations(folder, at: now, limit: limit - created.count)).map {
                    Place(id: $0.id, conversation: $0)
                }
        }
        let known = try connection.all(
            """
            SELECT id FROM conversations
            WHERE head_seq > 0 AND key NOT IN (SELECT u.key FROM unlisted_conversations u) AND
                (key IN (SELECT a.key FROM archived_conversations a WHERE a.is_quiet OR a.muted_until > ?1)) = ?2
            ORDER BY coalesce(pin_order, 9007199254740992), last_activity_at DESC, key DESC LIMIT ?3
            """, now, folder == .archive, limit - created.count
        ) { Place(id: ConversationID($0.uuid(0))) }
        return created + known
    }

    /// From so many rows on one statement that reads all of the list is less than one for each.
    private static let fewRows = 8

    /// The conversations of the list, where many of the places have neither been read nor are known.
    private func settled(
        _ places: ArraySlice<Place>, _ folder: ConversationFolder, _ now: Timestamp, limit: Int,
        _ known: [ConversationID: ConversationRow]
    ) throws(StorageError) -> [ConversationID: Conversation] {
        guard places.count(where: { $0.conversation == nil && known[$0.id] == nil }) >= Self.fewRows else { return [:] }
        return Dictionary(
            uniqueKeysWithValues: try settledConversations(folder, at: now, limit: limit).map { ($0.id, $0) })
    }

    /// What is known already of all rows.
    private struct ListContext {
        /// Whether anything may be in the outbox.
        var isWaiting = true
        /// Of which conversations there may be a draft; nil: of any.
        var drafted: Set<ConversationID>?
        /// Conversations that have been read, as if nothing waited in the outbox.
        var settled: [ConversationID: Conversation] = [:]
    }

    /// A conversation's row; nil if the user is in no such conversation.
    package func listRow(_ id: ConversationID) throws(StorageError) -> ConversationRow? {
        try listRow(id, nil, ListContext())
    }

    /// - Parameter settled: the conversation as if nothing waited in the outbox, if it has been read.
    private func listRow(
        _ id: ConversationID, _ settled: Conversation?, _ context: ListContext
    ) throws(StorageError) -> ConversationRow? {
        let pending = context.isWaiting ? try outbox(of: id) : []
        let known =
            if !pending.isEmpty {
                try conversation(id)
            } else if let settled = settled ?? context.settled[id] {
                settled
            } else {
                try settledConversation(id)
            }
        // What is declined is nowhere.
        if try isDeclined(id) { return nil }
        guard let conversation = known ?? pending.created(id) else { return nil }
        let counterpart = try counterpart(in: conversation)
        return ConversationRow(
            conversation: conversation, counterpart: counterpart,
            isBlocked: try counterpart.map { user throws(StorageError) in try isBlocked(user) } ?? false,
            preview: try preview(of: conversation, pending),
            draft: context.drafted?.contains(id) ?? true ? try draft(in: id) : nil,
            hasFailedMessage: pending.contains { $0.state == .failed },
            isBeingCreated: conversation.lastSeq == 0)
    }

    private func counterpart(in conversation: Conversation) throws(StorageError) -> UserID? {
        guard conversation.kind == .direct else { return nil }
        let own = try userId()
        if let sender = conversation.lastMessage?.senderId, sender != own { return sender }
        if let member = try members(of: conversation.id).first(where: { $0.userId != own }) { return member.userId }
        return try requester(in: conversation.id)
    }

    /// The direct conversation with a user, if the copy knows whose it is.
    package func directConversation(with user: UserID) throws(StorageError) -> ConversationID? {
        try connection.first(
            """
            SELECT c.id FROM conversations c
            WHERE c.kind = 'direct' AND c.head_seq > 0
                AND c.key NOT IN (SELECT u.key FROM unlisted_conversations u) AND (
                EXISTS (SELECT 1 FROM members m WHERE m.conversation = c.key AND m.user_id = ?1)
                OR EXISTS (SELECT 1 FROM horizons h WHERE h.conversation = c.key AND h.user_id = ?1))
                AND ?1 <> (SELECT coalesce(user_id, '') FROM account)
            LIMIT 1
            """, user
        ) { ConversationID($0.uuid(0)) }
    }
}

extension [OutboxRow] {
    /// The conversation that one of these creates.
    fileprivate func created(_ id: ConversationID) -> Conversation? {
        for row in self where row.state != .refused {
            guard case .createGroup(let members, let title) = row.write else { continue }
            return Conversation(
                id: id, kind: .group, title: title, createdAt: row.at, lastSeq: 0, lastActivityAt: row.at,
                memberCount: Set(members).count + 1, role: .owner, windows: [Window(from: 1)])
        }
        return nil
    }
}
