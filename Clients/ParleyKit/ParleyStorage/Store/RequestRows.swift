import Models

/// A conversation that somebody whom the user does not know brought them into, and that the user has not decided about.
public struct RequestRow: Hashable, Sendable, Identifiable {
    public var id: ConversationID { row.id }
    /// Since when.
    public var at: Timestamp
    /// Who brought the user in; nil where a block that ended left it to the user.
    public var userId: UserID?
    /// The conversation, as it was when it was read.
    public var row: ConversationRow
}

// A request is a conversation that is not followed. What hides it from lists stands in the views of schema 9.

extension LocalStore {
    /// Those that wait, the latest first.
    package func requests() throws(StorageError) -> [RequestRow] {
        var requests: [RequestRow] = []
        for (id, at, user) in try waitingRequests() {
            if let row = try listRow(id) { requests.append(RequestRow(at: at, userId: user, row: row)) }
        }
        return requests
    }

    package func requestCount() throws(StorageError) -> Int { try waitingRequests().count }

    /// Not the conversations with those whom the user has blocked.
    private func waitingRequests() throws(StorageError) -> [(id: ConversationID, at: Timestamp, by: UserID?)] {
        try connection.all(
            """
            SELECT a.id, a.requested_at, a.requested_by FROM answered_requests a JOIN conversations c ON c.key = a.key
            WHERE a.answer IS NULL AND NOT (c.kind = 'direct' AND EXISTS (
                SELECT 1 FROM blocks b WHERE b.user_id = a.requested_by AND b.is_blocked = 1))
            ORDER BY a.requested_at DESC, a.id DESC
            """
        ) { (id: ConversationID($0.uuid(0)), at: $0.time(1), by: $0.optional(2, $0.user)) }
    }

    /// Whether the list is what the server has, as far as it tells.
    package func hasRequests() throws(StorageError) -> Bool {
        try connection.first("SELECT has_requests FROM account") { $0.flag(0) } ?? false
    }

    /// Whether the user is asked about a conversation, and has not accepted.
    package func isRequest(_ id: ConversationID) throws(StorageError) -> Bool {
        try connection.first("SELECT 1 FROM unlisted_conversations WHERE id = ?1", id) { _ in true } ?? false
    }

    func isDeclined(_ id: ConversationID) throws(StorageError) -> Bool {
        try connection.first("SELECT 1 FROM answered_requests WHERE id = ?1 AND answer = 'decline'", id) { _ in true }
            ?? false
    }

    /// Who has brought the user into a conversation that they have not accepted.
    func requester(in id: ConversationID) throws(StorageError) -> UserID? {
        try connection.first(
            "SELECT requested_by FROM conversations WHERE id = ?1 AND requested_at IS NOT NULL", id
        ) { $0.optional(0, $0.user) } ?? nil
    }

    // MARK: By the server

    /// Takes the whole list. What the user has accepted meanwhile is not in it.
    func store(_ requests: [MessageRequest]) throws(StorageError) {
        let listed = Set(requests.map(\.conversation.id))
        let known = try connection.all("SELECT id, answer FROM answered_requests") {
            (id: ConversationID($0.uuid(0)), isAccepted: $0.optional(1, $0.text).map { $0 != "decline" } ?? false)
        }
        for (id, isAccepted) in known where !isAccepted && !listed.contains(id) { try discard(id) }
        for request in requests {
            try store(request.conversation, follows: false)
            try takeHidden(from: request.conversation)
            try connection.run(
                "UPDATE conversations SET requested_at = ?2, requested_by = ?3 WHERE id = ?1", request.conversation.id,
                request.at, request.userId)
        }
        try connection.run("UPDATE account SET has_requests = 1")
    }

    /// The list is read again when somebody looks at it.
    func outdateRequests() throws(StorageError) { try connection.run("UPDATE account SET has_requests = 0") }

    /// Whether the user is asked is as a response says, which is not older than what is known.
    func takeRequest(_ head: Conversation, _ state: ConversationState) throws(StorageError) {
        if head.request == true {
            try connection.run(
                """
                UPDATE conversations SET requested_at = coalesce(requested_at, ?2), needs_head = 0 WHERE key = ?1
                """, state.key, head.createdAt)
            // No change has told what is different.
            if head.lastSeq > state.headSeq { try outdate(1...head.lastSeq, in: state.key) }
        } else {
            try connection.run(
                "UPDATE conversations SET requested_at = NULL, requested_by = NULL WHERE key = ?1", state.key)
        }
    }

    /// The private stream tells of requests, or that the user was taken out of a conversation.
    func applyRequest(_ change: PrivateChange, in id: ConversationID) throws(StorageError) {
        let isKnown = try isTold(id)
        if isKnown, change.waiting != true {
            try dropDrafts(in: id)
            try discard(id)
        }
        if isKnown || change.kind == .request { try outdateRequests() }
    }

    // MARK: By the user

    /// The last decision counts, except for what the server may know of already.
    func dropUntriedDecisions(in id: ConversationID) throws(StorageError) {
        try connection.run(
            """
            DELETE FROM outbox
            WHERE conversation_id = ?1 AND kind IN ('accept', 'decline') AND state = 0 AND was_tried = 0
            """, id)
    }

    /// The server has an answer of the user. Returns whether they are in the conversation by it, of which the server has to be
    /// asked then.
    func completeRequest(_ write: PendingWrite, in id: ConversationID) throws(StorageError) -> Bool {
        switch write {
        case .decline:
            if try isTold(id) {
                try dropDrafts(in: id)
                try discard(id)
            }
        case .accept, .send, .setTapback:
            guard try isTold(id) else { return false }
            try connection.run(
                "UPDATE conversations SET requested_at = NULL, requested_by = NULL, needs_head = 1 WHERE id = ?1", id)
            return true
        default: break
        }
        return false
    }

    /// Whether it is a request as far as the server has told, also one that the user has accepted since.
    private func isTold(_ id: ConversationID) throws(StorageError) -> Bool {
        try connection.first("SELECT 1 FROM conversations WHERE id = ?1 AND requested_at IS NOT NULL", id) { _ in true }
            ?? false
    }
}
