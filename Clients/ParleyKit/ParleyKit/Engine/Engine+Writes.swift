import Models
import ParleyStorage
import ParleySync

// What the user does. It is stored when these return.

extension Engine {
    func write(
        _ write: PendingWrite, in id: ConversationID?, message: MessageID? = nil, files: [CopiedFile] = []
    ) throws(ParleyError) {
        let key = identifiers.key()
        try change(topics(of: write, in: id)) { (store, now) throws(StorageError) in
            try store.enqueue(write, in: id, message: message, files: files, at: now, key: key)
        }
    }

    /// Stores a message, and returns its id.
    func send(
        _ text: String, _ files: [CopiedFile] = [], replyTo parent: MessageID?, mentions: [UserID],
        mentionsAll: Bool, extra: [String: JSONValue]?, isSealed: Bool, poll: RequestBody.NewPoll? = nil,
        in id: ConversationID
    ) throws(ParleyError) -> MessageID {
        let now = clock.timestamp
        let message = MessageID(identifiers.uuid(at: now))
        try write(
            .send(
                text: text, replyTo: parent, mentions: mentions, sentAt: now, extra: extra,
                mentionsAll: mentionsAll ? true : nil, isSealed: isSealed ? true : nil, poll: poll),
            in: id, message: message, files: files)
        return message
    }

    /// Sends what a message says that the device has a copy of.
    func forward(
        _ message: MessageID, of source: ConversationID, to id: ConversationID, showingOrigin: Bool
    ) throws(ParleyError) -> MessageID {
        guard let store else { throw .closed }
        let copy = (try? store.message(message, in: source)) ?? nil
        let origin = copy.map { $0.forwarded ?? Forwarded(userId: $0.senderId, sentAt: $0.sentAt) }
        let now = clock.timestamp
        let new = MessageID(identifiers.uuid(at: now))
        try write(
            .forward(
                .init(conversationId: source, messageId: message, origin: showingOrigin),
                shown: .init(
                    text: copy?.text, attachments: copy?.attachments, forwarded: showingOrigin ? origin : nil),
                sentAt: now), in: id, message: new)
        return new
    }

    func createGroup(members: [UserID], title: String?) throws(ParleyError) -> ConversationID {
        let id = ConversationID(identifiers.uuid(at: clock.timestamp))
        try write(.createGroup(members: members, title: title), in: id)
        return id
    }

    func retry(_ message: MessageID, in id: ConversationID) throws(ParleyError) {
        let newId = MessageID(identifiers.uuid(at: clock.timestamp))
        try change([.conversation(id)]) { (store, _) throws(StorageError) in
            try store.retry(message, in: id, newId: newId)
        }
    }

    func discard(_ message: MessageID, in id: ConversationID) throws(ParleyError) {
        try change([.conversation(id), .uploads(id)]) { (store, _) throws(StorageError) in
            try store.discard(message, in: id)
        }
    }

    func markRead(upTo seq: Int64, in id: ConversationID) throws(ParleyError) {
        guard let store else { throw .closed }
        // Nothing is read in a request.
        if (try? store.isRequest(id)) == true { return }
        let seq = (try? store.readSeq(through: seq, in: id)) ?? seq
        // Said for every row that is shown: most say nothing new.
        if let known = try? store.readSeq(in: id), seq <= known { return }
        try write(.read(seq: seq), in: id)
    }

    func readSeq(in id: ConversationID) throws(ParleyError) -> Int64 {
        guard let store else { throw .closed }
        return (try? store.readSeq(in: id)) ?? 0
    }

    // MARK: Marks

    func mark(_ mark: ConversationMark, in id: ConversationID) throws(ParleyError) {
        try write(.mark(mark, after: 0), in: id)
        scheduleWake()
    }

    func pin(_ id: ConversationID, order: Int64?) throws(ParleyError) {
        guard let store else { throw .closed }
        try mark(.pinned(order: order ?? (try? store.topPinOrder()) ?? 0), in: id)
    }

    /// With what the user was shown: what comes meanwhile brings it back.
    func archive(_ id: ConversationID) throws(ParleyError) {
        guard let store else { throw .closed }
        try mark(.archived(through: (try? store.conversation(id))??.lastSeq ?? .max), in: id)
    }

    func unmarkUnread(_ id: ConversationID) throws(ParleyError) {
        guard let store else { throw .closed }
        if (try? store.conversation(id))??.markedUnread == true { try mark(.unread(false), in: id) }
    }

    // MARK: Blocks

    func block(_ user: UserID, _ isBlocked: Bool) throws(ParleyError) {
        guard let store else { throw .closed }
        let own = (try? store.userId()) ?? nil
        guard user != own else { throw .refused(ProblemDetails(Problem(.invalid, "userId: nobody blocks themselves"))) }
        try write(.block(user, isBlocked, after: 0), in: nil)
    }

    // MARK: Profiles

    /// Asks the server, as a profile is replaced as a whole: one that waited for days would put back what is old.
    func setProfile(_ new: RequestBody.NewProfile) async throws(ParleyError) {
        let profile = try await ask(.putProfile(new, key: identifiers.key()))
        try keep([.profiles([profile])])
    }

    /// The rest of the profile is read just before, and stays.
    func setDisplayName(_ name: String?) async throws(ParleyError) {
        guard let store else { throw .closed }
        guard let own = (try? store.userId()) ?? nil else { throw .unreachable }
        let known = try await ask(.profile(of: own)).profiles.first
        try await setProfile(.init(displayName: name, avatarUrl: known?.avatarUrl, extra: known?.extra))
    }

    // MARK: Drafts

    func setDraft(_ draft: Draft?, in id: ConversationID) throws(ParleyError) {
        let key = identifiers.key()
        if draft == nil { sender.turnsAway(from: id) } else { sender.writes(in: id, at: clock.now) }
        try change([.draft(id)]) { (store, now) throws(StorageError) in
            try store.setDraft(draft, in: id, at: now, key: key)
        }
    }

    /// The user has turned away: what they wrote is put at once.
    func putDraft(in id: ConversationID) {
        sender.turnsAway(from: id)
        planPump()
    }

    /// Takes the next refused write out of the database, for the one who is told of it.
    func takeRefusal() throws(ParleyError) -> OutboxRow? {
        let row = try change([]) { (store, _) throws(StorageError) -> OutboxRow? in
            guard let row = try store.firstRefused() else { return nil }
            return try store.dismiss(row.key) ? row : nil
        }
        if row != nil { hub.raise([.refusals]) }
        return row
    }

    /// Stores what somebody asked the server for.
    func keep(_ writes: [SyncWrite]) throws(ParleyError) {
        try change(writes.topics) { (store, _) throws(StorageError) in try store.apply(writes) }
    }

    private func change<Value>(
        _ topics: Set<Topic>, _ body: (LocalStore, Timestamp) throws(StorageError) -> Value
    ) throws(ParleyError) -> Value {
        guard let store else { throw .closed }
        do throws(StorageError) {
            let value = try body(store, clock.timestamp)
            hub.raise(topics)
            planPump()
            return value
        } catch {
            hub.report(.storage(error))
            throw .storage(error)
        }
    }

    private func topics(of write: PendingWrite, in id: ConversationID?) -> Set<Topic> {
        switch write {
        // Whoever is blocked may be anywhere.
        case .block: return [.everything]
        default: break
        }
        guard let id else { return [.settings(nil)] }
        switch write {
        case .putMember, .removeMember: return [.conversation(id), .members(id)]
        case .settingsInConversation: return [.settings(id)]
        default: return [.conversation(id)]
        }
    }

    // MARK: Direct conversations

    /// Finds the direct conversation with a user in the copy, or has the server create it.
    func direct(with user: UserID) async throws(ParleyError) -> ConversationID {
        if let store, let known = try? store.directConversation(with: user) { return known }
        return try keepNew(try await ask(.direct(with: user)))
    }

    /// The conversation, or since when the user asks to join.
    func join(by code: String) async throws(ParleyError) -> (ConversationID, askedSince: Timestamp?) {
        switch try await ask(.join(by: code, key: identifiers.key())) {
        case .joined(let conversation): (try keepNew(conversation), nil)
        case .asked(let asked): (asked.conversationId, asked.requestedAt)
        }
    }

    func joinRequests(in id: ConversationID) async throws(ParleyError) -> [JoinRequest] {
        var page = try await ask(.joinRequests(in: id, after: nil))
        var requests = page.requests
        while let next = page.nextCursor {
            page = try await ask(.joinRequests(in: id, after: next))
            requests += page.requests
        }
        return requests.sorted { ($0.requestedAt, $0.userId) < ($1.requestedAt, $1.userId) }
    }

    func declineJoinRequest(of user: UserID, in id: ConversationID) async throws(ParleyError) {
        _ = try await ask(.declineJoinRequest(of: user, in: id, key: identifiers.key()))
    }

    func schedule(
        _ new: RequestBody.NewScheduledMessage, _ id: MessageID?, in conversation: ConversationID
    ) async throws(ParleyError) -> MessageID {
        let id = id ?? MessageID(identifiers.uuid(at: clock.timestamp))
        _ = try await ask(.schedule(new, id, in: conversation, key: identifiers.key()))
        return id
    }

    func cancelScheduled(_ id: MessageID, in conversation: ConversationID) async throws(ParleyError) {
        _ = try await ask(.cancelScheduled(id, in: conversation, key: identifiers.key()))
    }

    func scheduled(in conversation: ConversationID?) async throws(ParleyError) -> [ScheduledMessage] {
        var found: [[UUIDBytes]: ScheduledMessage] = [:], after: Int64 = 0, more = true
        while more {
            let page = try await ask(.scheduled(in: conversation, after: after))
            // What changes meanwhile comes again.
            for message in page.scheduled { found[[message.conversationId.uuid, message.id.uuid]] = message }
            after = page.scheduled.last?.useq ?? after
            more = page.more
        }
        return found.values.sorted { ($0.at.milliseconds, $0.useq) < ($1.at.milliseconds, $1.useq) }
    }

    private func keepNew(_ conversation: Conversation) throws(ParleyError) -> ConversationID {
        // Of one that the copy has, the stream has told at least as much.
        if (try? store?.conversation(conversation.id)) == nil {
            try keep([.conversation(conversation, follows: false)])
        }
        handle([.created(conversation.id)])
        return conversation.id
    }

    // MARK: Invitations

    func invite(
        into id: ConversationID, until end: Timestamp?, uses: Int?, approval: Bool
    ) async throws(ParleyError) -> Invitation {
        let new = RequestBody.NewInvitation(
            id: InvitationID(identifiers.uuid(at: clock.timestamp)), expiresAt: end, maxUses: uses,
            approval: approval ? true : nil)
        return try await ask(.invite(into: id, new))
    }

    func revoke(_ invitation: InvitationID, into id: ConversationID) async throws(ParleyError) {
        _ = try await ask(.revoke(invitation, into: id, key: identifiers.key()))
    }

    // MARK: Reports

    func report(_ report: NewReport, in id: ConversationID) async throws(ParleyError) {
        let new = RequestBody.NewReport(
            id: report.id, in: id, message: report.message, user: report.user, reason: report.reason, text: report.text)
        _ = try await ask(.report(new))
    }

    // MARK: Devices

    func endDevice(_ name: String) async throws(ParleyError) { _ = try await ask(.endDevice(name)) }

    func endOtherDevices() async throws(ParleyError) { _ = try await ask(.endOtherDevices) }

    // MARK: Comparing

    /// Compares the copy of a conversation with the server's digests. What differs is loaded again.
    func compare(_ id: ConversationID) async throws(ParleyError) -> CopyComparison {
        var comparison = CopyComparison()
        var after: Int64 = 0
        while true {
            let digest = try await ask(.digest(of: id, after: after))
            for page in digest.pages { comparison.count(try compared(page, of: id, digest)) }
            compare(digest, of: id)
            guard digest.more, let last = digest.pages.last else { return comparison }
            after = last.toSeq
        }
    }

    private func compared(
        _ page: HistoryDigest.Page, of id: ConversationID, _ digest: HistoryDigest
    ) throws(ParleyError) -> DigestComparison {
        guard let store else { throw .closed }
        do throws(StorageError) {
            return try store.compare(page, of: id, lastSeq: digest.lastSeq, useq: digest.useq)
        } catch {
            throw .storage(error)
        }
    }

    func compare(_ digest: HistoryDigest, of id: ConversationID) {
        guard let store else { return }
        var differing: [SyncEvent] = []
        for page in digest.pages {
            let comparison = try? store.compare(page, of: id, lastSeq: digest.lastSeq, useq: digest.useq)
            if comparison == .different { differing.append(.differs(id, page.fromSeq...page.toSeq)) }
        }
        if !differing.isEmpty { handle(differing) }
    }

    // MARK: Other processes

    /// Another process may have written into the database: everybody looks again, if it did.
    func lookAgain() {
        guard let store, let version = try? store.connection.dataVersion(), version != dataVersion else { return }
        dataVersion = version
        hub.raise([.everything, .refusals, .settings(nil)])
        planPump()
    }
}
