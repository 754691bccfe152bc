import Models
import ParleyDigest
import ParleyStorage
import ParleySync

/// A server in memory that keeps the contract, for tests of clients: what it answers and sends is what `ingest` and
/// `fanout` would, with small limits, so that pages and reloads are met often.
package struct ScriptedServer: Sendable {
    /// The files of all users.
    package var media = ScriptedMedia()
    package struct Room: Sendable {
        var kind = ConversationKind.group
        var createdAt = Timestamp(milliseconds: 0)
        /// Position 1 is at index 0.
        var log: [Entry] = []
        /// Every state of every message, oldest first, in the form that is the same for every reader.
        var messages: [MessageID: [Message]] = [:]
        var stays: [UserID: [Window]] = [:]
        var roles: [UserID: MemberRole] = [:]
        var permissions = Permissions()
        var lifetime: MessageLifetime?
        /// Who was removed by somebody else.
        var bans: [UserID: Ban] = [:]
        /// With their codes.
        var invitations: [InvitationID: Invitation] = [:]
        /// Who asks to join; declined: is not shown any more.
        var joinRequests: [UserID: (request: JoinRequest, isDeclined: Bool)] = [:]
        var reports: [ReportID: Reported] = [:]
        /// What each has chosen in a poll.
        var votes: [MessageID: [UserID: [Int]]] = [:]
        var deliveredSeq: [UserID: Int64] = [:]
        var readSeq: [UserID: Int64] = [:]
        var statusVersion: Int64 = 0
        var statusVersionOf: [UserID: Int64] = [:]
        /// Who is asked, or was, and did not accept. To the others they are members.
        var asked: [UserID: Asked] = [:]

        var lastSeq: Int64 { Int64(log.count) }
        var title: String? { log.last { $0.kind == .conversationRenamed || $0.kind == .conversationCreated }?.title }
        /// In a direct conversation also who has blocked the other, as that one sees it.
        var members: [UserID] { stays.filter { kind == .direct || $0.value.last?.to == nil }.keys.sorted() }
    }

    struct Entry: Sendable {
        var kind: ChangeKind
        var at: Timestamp
        var actor: UserID
        var message: MessageID?
        var user: UserID?
        var role: MemberRole?
        var title: String?
        var permissions: Permissions?
        var lifetime: MessageLifetime?
    }

    package struct Reported: Sendable, Equatable {
        package let report: RequestBody.NewReport
        package let reporter: UserID
    }

    struct Asked: Sendable {
        enum State: Sendable, Equatable {
            case waiting
            /// With the last position that they saw.
            case declined(Int64)
            /// By whoever took them out, or by a block of theirs: they see nothing.
            case takenBack
        }

        var by: UserID
        var at: Timestamp
        var state = State.waiting
    }

    /// What a user keeps to themselves about a conversation.
    struct Marks: Sendable, Equatable {
        var mutedUntil: Timestamp?
        var pinOrder: Int64?
        var archivedSeq: Int64?
        /// How far the user had read.
        var unreadSeq: Int64?
    }

    package struct Account: Sendable {
        var changes: [PrivateChange] = []
        var hidden: [ConversationID: Set<MessageID>] = [:]
        var clearedSeq: [ConversationID: Int64] = [:]
        var removed: Set<ConversationID> = []
        var marks: [ConversationID: Marks] = [:]
        var drafts: [ConversationID: KeptDraft] = [:]
        var scheduled: [ConversationID: [MessageID: ScheduledMessage]] = [:]
        /// Every text that was ever in one of these.
        package var everDrafted: Set<String> = []
        var settings = Settings(readReceipts: true, presence: true)
        var blocked: Set<UserID> = []
        var profile = RequestBody.NewProfile()
        /// 0: there was never anything in it.
        var profileVersion: Int64 = 0
        /// What writes with an `Idempotency-Key` were about.
        var outcomes: Set<UUIDBytes> = []
        var devices: [Device] = []

        var useq: Int64 { changes.last?.useq ?? 0 }
    }

    /// What there is to send to sessions: to all of a user, in order.
    package struct Announcement: Sendable {
        package var user: UserID
        package var frame: FrameFromServer
    }

    package var logId: UUIDBytes
    package private(set) var rooms: [ConversationID: Room] = [:]
    package private(set) var accounts: [UserID: Account] = [:]
    /// Taken by the network.
    package var announcements: [Announcement] = []
    private var clock: Int64 = 1_750_000_000_000
    /// Whether a user is asked about what those bring them into with whom they have no direct conversation.
    package var asksAboutStrangers = false

    static let conversationsInWelcome = 2
    static let conversationsPerPage = 2
    static let messagesPerPage = 6
    static let changesPerPage = 5
    static let replayedChanges = 8
    static let keptPrivateChanges = 12
    static let draftsPerUser = 2

    package init(logId: UUIDBytes) { self.logId = logId }

    package mutating func setDevices(_ devices: [Device], of user: UserID) {
        accounts[user, default: Account()].devices = devices
    }

    package mutating func passTime(_ milliseconds: Int64) { clock += milliseconds }

    var now: Timestamp { Timestamp(milliseconds: clock) }

    // MARK: What a user sees

    func windows(_ user: UserID, _ id: ConversationID) -> [Window]? {
        guard let room = rooms[id], var windows = room.stays[user] else { return nil }
        switch room.asked[user]?.state {
        case .takenBack: return nil
        case .declined(let last): windows[windows.count - 1].to = last
        case .waiting, nil: break
        }
        return windows
    }

    package func isMember(_ user: UserID, _ id: ConversationID) -> Bool {
        !isAsked(user, id) && windows(user, id)?.last.map { $0.to == nil } ?? false
    }

    /// Whether a request waits.
    func isAsked(_ user: UserID, _ id: ConversationID) -> Bool { rooms[id]?.asked[user]?.state == .waiting }

    /// The last position that the user may see.
    package func lastSeq(_ user: UserID, _ id: ConversationID) -> Int64 {
        guard let room = rooms[id], let last = windows(user, id)?.last else { return 0 }
        return last.to ?? room.lastSeq
    }

    func sees(_ user: UserID, _ seq: Int64, in id: ConversationID) -> Bool {
        windows(user, id)?.contains { $0.contains(seq) } ?? false
    }

    /// The conversations of a user's list, latest activity first.
    package func list(of user: UserID) -> [ConversationID] {
        rooms.keys.filter {
            windows(user, $0) != nil && rooms[$0]!.asked[user] == nil
                && !(accounts[user]?.removed.contains($0) ?? false)
        }
        .sorted { left, right in
            let (one, other) = (activity(user, left), activity(user, right))
            return one == other ? left.uuid > right.uuid : one > other
        }
    }

    private func activity(_ user: UserID, _ id: ConversationID) -> Timestamp {
        rooms[id]!.log[Int(lastSeq(user, id)) - 1].at
    }

    package func conversation(_ id: ConversationID, for user: UserID) -> Conversation? {
        guard let room = rooms[id], let windows = windows(user, id) else { return nil }
        let last = lastSeq(user, id)
        let visible = messages(of: id, for: user)
        let cleared = accounts[user]?.clearedSeq[id] ?? 0
        let marks = accounts[user]?.marks[id] ?? Marks()
        let read = min(room.readSeq[user] ?? 0, room.lastSeq)
        let log = room.log.prefix(Int(last))
        let unread = visible.filter {
            $0.senderId != user && $0.isSpoken && !$0.deletedForEveryone && $0.seq > max(read, cleared)
        }
        let mentions = unread.count { $0.mentions(user) }
        return Conversation(
            id: id, kind: room.kind,
            title: log.last { $0.kind == .conversationRenamed || $0.kind == .conversationCreated }?.title,
            createdAt: room.createdAt, lastSeq: last, lastActivityAt: log.last!.at, lastMessage: visible.last,
            memberCount: memberCount(room, at: last), role: room.roles[user] ?? .member, windows: windows,
            clearedSeq: cleared, unreadCount: min(100, unread.count),
            unreadMentions: mentions > 0 ? min(100, mentions) : nil, readSeq: read,
            deliveredSeq: room.deliveredSeq[user] ?? 0, mutedUntil: marks.mutedUntil, pinOrder: marks.pinOrder,
            archivedSeq: marks.archivedSeq, markedUnread: marks.unreadSeq.map { $0 >= read } == true ? true : nil,
            draft: accounts[user]?.drafts[id], request: isAsked(user, id) ? true : nil,
            permissions: isMember(user, id) && room.permissions != Permissions() ? room.permissions : nil,
            messageLifetime: isMember(user, id) ? room.lifetime : nil)
    }

    private func memberCount(_ room: Room, at seq: Int64) -> Int {
        room.kind == .direct ? 2 : room.stays.values.filter { $0.contains { $0.contains(seq) && $0.to != seq } }.count
    }

    /// The messages that a user sees, ascending, as HTTP gives them.
    package func messages(of id: ConversationID, for user: UserID) -> [Message] {
        guard let room = rooms[id] else { return [] }
        let account = accounts[user] ?? Account()
        return room.messages.keys.compactMap { message(id, $0, for: user, account) }.sorted { $0.seq < $1.seq }
    }

    private func message(
        _ id: ConversationID, _ message: MessageID, for user: UserID, _ account: Account
    ) -> Message? {
        guard var state = shared(id, message, for: user), state.seq > account.clearedSeq[id] ?? 0,
            !(account.hidden[id]?.contains(message) ?? false)
        else { return nil }
        state.poll?.vote = vote(of: user, on: message, in: id)
        if state.senderId == user, state.kind != .system {
            let others = rooms[id]!.stays.filter { $0.key != user && $0.value.contains { $0.contains(state.seq) } }
            state.status = .known(.sent)
            state.recipientCount = others.count
            state.deliveredCount = 0
            state.readCount = 0
        }
        return state
    }

    /// A message in the form that is the same for every reader, as of when this one left.
    private func shared(_ id: ConversationID, _ message: MessageID, for user: UserID) -> Message? {
        guard let states = rooms[id]?.messages[message], sees(user, states[0].seq, in: id) else { return nil }
        let last = lastSeq(user, id)
        // A deletion for everyone reaches also who has left.
        if var latest = states.last, latest.deletedForEveryone {
            // But not when its text had been changed, which may have been later.
            if latest.changeSeq > last { latest.editedAt = nil }
            return latest
        }
        return states.last { $0.changeSeq <= last }
    }

    private func vote(of user: UserID, on message: MessageID, in id: ConversationID) -> Poll.Vote {
        Poll.Vote(userId: user, options: rooms[id]!.votes[message]?[user] ?? [])
    }

    /// Where a message was created; nil if the server does not have it.
    package func seq(of message: MessageID, in id: ConversationID) -> Int64? {
        rooms[id]?.messages[message]?.first?.seq
    }

    func change(_ seq: Int64, of id: ConversationID, for user: UserID, isLive: Bool) -> Change {
        let room = rooms[id]!
        let entry = room.log[Int(seq) - 1]
        var change = Change(
            conversationId: id, seq: seq, kind: entry.kind, at: entry.at, actorId: entry.actor, userId: entry.user,
            role: entry.role, title: entry.kind == .conversationRenamed ? entry.title : nil,
            permissions: entry.permissions, messageLifetime: entry.lifetime)
        if let message = entry.message {
            let live = room.messages[message]?.first { $0.changeSeq == seq }
            change.message =
                sees(user, room.messages[message]![0].seq, in: id)
                ? (isLive ? live : nil) ?? shared(id, message, for: user) : nil
            if entry.kind == .pollVoted { change.message?.poll?.vote = vote(of: entry.actor, on: message, in: id) }
        }
        if entry.kind == .conversationCreated {
            change.conversation = CreatedConversation(
                id: id, kind: room.kind, title: entry.title, createdAt: room.createdAt,
                memberCount: memberCount(room, at: 1))
        }
        return change
    }

    /// The digest `state` of the whole conversation, from its description in the API guide.
    package func digest(of id: ConversationID, for user: UserID) -> String {
        var lines = ""
        for message in messages(of: id, for: user) where message.kind != .system {
            let counts = message.tapbackCounts.sorted { $0.key.name.utf8.lexicographicallyPrecedes($1.key.name.utf8) }
            var fields = [
                "\(message.seq)", message.id.description, message.senderId.name,
                message.replyTo?.messageId.description ?? "-", message.editedAt?.description ?? "-",
                message.mentions.isEmpty ? "-" : message.mentions.map(\.name).joined(separator: ","),
                counts.isEmpty ? "-" : counts.map { "\($0.key):\($0.value)" }.joined(separator: ","),
                message.text.map(SHA256Text.of) ?? "-",
            ]
            if let poll = message.poll {
                let votes = poll.options.map { "\($0.votes)" }.joined(separator: ",")
                fields.append((poll.closedAt == nil ? "open:" : "closed:") + votes)
            }
            lines += fields.joined(separator: " ") + "\n"
        }
        return SHA256Text.of(lines)
    }
}

// MARK: Changing

extension ScriptedServer {
    package mutating func createGroup(_ id: ConversationID, by user: UserID, with members: [UserID], title: String?) {
        clock += 1
        var room = Room()
        room.createdAt = now
        room.log = [Entry(kind: .conversationCreated, at: now, actor: user, title: title)]
        for member in [user] + members {
            room.stays[member] = [Window(from: 1)]
            room.roles[member] = member == user ? .owner : .member
        }
        rooms[id] = room
        for member in room.members where !ask(member, about: id, by: user) {
            tell(member, .conversationJoined, id) { $0.lastSeq = 0 }
        }
        announce(1, of: id)
    }

    /// Appends a change and tells everybody who sees it.
    private mutating func append(_ entry: Entry, to id: ConversationID) -> Int64 {
        rooms[id]!.log.append(entry)
        return rooms[id]!.lastSeq
    }

    private mutating func announce(_ seq: Int64, of id: ConversationID) {
        for user in rooms[id]!.stays.keys.sorted() where !isAsked(user, id) && sees(user, seq, in: id) {
            announcements.append(
                Announcement(user: user, frame: .change(change(seq, of: id, for: user, isLive: true))))
        }
    }

    private mutating func tell(
        _ user: UserID, _ kind: PrivateKind, _ id: ConversationID?, _ fill: (inout PrivateChange) -> Void = { _ in }
    ) {
        var account = accounts[user] ?? Account()
        var change = PrivateChange(useq: account.useq + 1, kind: kind, at: now, conversationId: id)
        fill(&change)
        change = withMarks(change, of: user)
        account.changes.append(change)
        if kind == .conversationJoined, let id { account.removed.remove(id) }
        accounts[user] = account
        announcements.append(Announcement(user: user, frame: .private(change)))
    }

    private mutating func change(
        _ message: MessageID, in id: ConversationID, by user: UserID, _ kind: ChangeKind,
        at time: Timestamp? = nil, _ change: (inout Message) -> Void
    ) {
        clock += 1
        let seq = append(Entry(kind: kind, at: time ?? now, actor: user, message: message), to: id)
        var state = rooms[id]!.messages[message]!.last!
        change(&state)
        state.changeSeq = seq
        rooms[id]!.messages[message]!.append(state)
        announce(seq, of: id)
    }

    private mutating func show(_ seq: Int64, _ kind: SystemEventKind, in id: ConversationID, by user: UserID) {
        let entry = rooms[id]!.log[Int(seq) - 1]
        let message = MessageID(UUIDBytes(high: id.uuid.high, low: UInt64(seq) | 0x8000_0000_0000_0000))
        rooms[id]!.messages[message] = [
            Message(
                id: message, conversationId: id, seq: seq, changeSeq: seq, senderId: user, kind: .system, text: nil,
                sentAt: entry.at, createdAt: entry.at,
                event: SystemEvent(kind: kind, userId: entry.user, title: entry.title))
        ]
    }

    // MARK: Writes

    /// Carries a write of a user out, as `ingest` would.
    package mutating func carryOut(_ call: OutboxCall, by user: UserID) -> OutboxResponse {
        switch call {
        case .single(let row):
            switch carryOut(row, by: user) {
            case .success(let response): return .done(response)
            case .failure(let problem): return .failure(.refused(ProblemDetails(problem), retryAfter: nil))
            }
        case .batch(let rows):
            let results = rows.map { row in
                switch carryOut(row, by: user) {
                case .success(.message(let message)): return result(201, message, nil)
                case .success: preconditionFailure("a message is answered with a message")
                case .failure(let problem):
                    return result(Int(problem.code.status), nil, ProblemDetails(problem))
                }
            }
            return .batch(BatchResults(results: results))
        }
    }

    private func result(_ status: Int, _ message: Message?, _ problem: ProblemDetails?) -> BatchResults.Result {
        BatchResults.Result(status: status, message: message, problem: problem)
    }

    private mutating func carryOut(_ row: OutboxRow, by user: UserID) -> Result<WriteResponse, Problem> {
        if case .block(let other, let isBlocked, _) = row.write { return block(other, isBlocked, row, by: user) }
        guard let id = row.conversation else { return changeSettings(row, by: user) }
        if case .createGroup(let members, let title) = row.write {
            if rooms[id] == nil { createGroup(id, by: user, with: members, title: title) }
            guard let conversation = conversation(id, for: user) else { return .failure(Problem(.conflict, "id")) }
            return .success(.conversation(conversation))
        }
        guard windows(user, id) != nil else { return .failure(Problem(.notFound, "conversation")) }
        if case .draft(let draft, _) = row.write { return put(Draft.kept(draft), in: id, by: user) }
        if accounts[user]?.outcomes.contains(row.idempotencyKey) ?? false { return repeated(row, id, user) }
        let outcome = carryOut(row, in: id, by: user)
        if case .success = outcome, row.write.kind != "send", row.write.kind != "read" {
            accounts[user, default: Account()].outcomes.insert(row.idempotencyKey)
        }
        return outcome
    }

    private func repeated(_ row: OutboxRow, _ id: ConversationID, _ user: UserID) -> Result<WriteResponse, Problem> {
        switch row.write {
        case .edit, .setTapback, .pinMessage(true): .success(.message(rooms[id]!.messages[row.message!]!.last!))
        case .rename, .permissions, .lifetime: .success(.conversation(conversation(id, for: user)!))
        default: .success(.done)
        }
    }

    private mutating func carryOut(
        _ row: OutboxRow, in id: ConversationID, by user: UserID
    ) -> Result<WriteResponse, Problem> {
        if case .send = row.write { return send(row, in: id, by: user) }
        if case .forward(let source, _, let sentAt) = row.write {
            return forward(source, sentAt, row, in: id, by: user)
        }
        switch row.write {
        case .removeFromList where !isMember(user, id):
            accounts[user, default: Account()].removed.insert(id)
            accounts[user]!.marks[id] = Marks(mutedUntil: accounts[user]?.marks[id]?.mutedUntil)
            tell(user, .conversationRemoved, id)
            return .success(.done)
        case .mark where rooms[id]!.asked[user] != nil: return .failure(Problem(.conflict, "a request"))
        case .mark(let mark, _):
            let isUnlisted = !isMember(user, id) && accounts[user]?.removed.contains(id) ?? false
            return isUnlisted ? .failure(Problem(.conflict, "unlisted")) : self.mark(mark, in: id, by: user)
        default: break
        }
        if row.write == .accept || row.write == .decline { return decide(row.write == .accept, id, by: user) }
        if case .setTapback = row.write { accept(id, by: user) }
        if case .vote(let options) = row.write, !options.isEmpty { accept(id, by: user) }
        guard isMember(user, id) else { return .failure(Problem(.forbidden, "not a member")) }
        if rooms[id]!.kind == .direct, ["rename", "member", "permissions", "ban"].contains(row.write.kind) {
            return .failure(Problem(.conflict, "direct"))
        }
        guard isPermitted(row.write, in: id, by: user) else { return .failure(Problem(.forbidden, "not permitted")) }
        switch row.write {
        case .clearHistory(let through): return clear(id, through: through, by: user)
        case .deleteForMe: return hide(row.message!, in: id, by: user)
        case .read(let seq): read(seq, in: id, by: user)
        case .rename(let title): rename(id, title, by: user)
        case .putMember(let other, let role):
            add(other, to: id, by: user)
            if let role = role.flatMap(MemberRole.init(rawValue:)) { setRole(of: other, to: role, in: id, by: user) }
        case .permissions(let new): permit(new, in: id, by: user)
        case .lifetime(let seconds, let isFromReading):
            setLifetime(seconds, from: isFromReading ?? false ? .reading : .sending, in: id, by: user)
        case .liftBan(let other): rooms[id]!.bans[other] = nil
        case .removeMember(let other): remove(other, from: id, by: user)
        case .edit, .deleteForEveryone, .setTapback, .removeTapback, .pinMessage, .vote, .closePoll:
            return changeMessage(row, in: id, by: user)
        default: return .failure(Problem(.conflict, "not possible"))
        }
        if ["rename", "permissions", "lifetime"].contains(row.write.kind) {
            return .success(.conversation(conversation(id, for: user)!))
        }
        return .success(.done)
    }

    /// Whether a member's role permits it. Anybody may remove others here, so that it happens often.
    private func isPermitted(_ write: PendingWrite, in id: ConversationID, by user: UserID) -> Bool {
        let room = rooms[id]!
        let role = Open.known(room.roles[user] ?? .member)
        return switch write {
        case .send(_, _, _, _, _, true, _, _):
            room.kind == .group && room.permissions.write.include(role) && room.permissions[.mentionAll].include(role)
        case .send, .forward, .edit, .pinMessage: room.permissions.write.include(role)
        case .rename: room.permissions.rename.include(role)
        case .putMember(_, .some), .permissions: role == .owner
        case .putMember(let other, nil):
            isMember(other, id)
                || room.permissions.addMembers.include(role)
                    && (room.bans[other] == nil || role != .member)
        case .liftBan: role != .member
        case .lifetime: room.kind == .direct || role != .member
        default: true
        }
    }

    private mutating func send(
        _ row: OutboxRow, in id: ConversationID, by user: UserID
    ) -> Result<WriteResponse, Problem> {
        guard
            case .send(let text, let parent, let mentions, let sentAt, let extra, let all, let sealed, let poll) = row
                .write,
            let message = row.message
        else {
            preconditionFailure("a send names its message")
        }
        let isSealed = sealed == true
        if let known = rooms[id]!.messages[message] {
            guard known[0].senderId == user,
                (known[0].text ?? known[0].sealed, known[0].extra) == (text, extra) || known.count > 1
            else {
                return .failure(Problem(.conflict, "id"))
            }
            return .success(.message(known.last!))
        }
        accept(id, by: user)
        guard isMember(user, id), isPermitted(row.write, in: id, by: user) else {
            return .failure(Problem(.forbidden, "not permitted"))
        }
        var attachments: [Attachment]?
        if row.fileCount > 0 {
            let carried = row.files.compactMap { $0.mediaId.flatMap { media.attach($0) } }
            guard carried.count == row.fileCount else { return .failure(Problem(.notFound, "attachments[0].id")) }
            attachments = carried
        }
        var reference: Reference?
        if let parent {
            guard let state = rooms[id]!.messages[parent]?.last, state.isReplyable, sees(user, state.seq, in: id) else {
                return .failure(Problem(.notReplyable, "replyTo"))
            }
            reference = Reference(messageId: parent, seq: state.seq)
        }
        clock += 1
        let seq = append(Entry(kind: .messageCreated, at: now, actor: user, message: message), to: id)
        let stored = Message(
            id: message, conversationId: id, seq: seq, changeSeq: seq, senderId: user,
            kind: poll != nil ? .poll : isSealed ? .sealed : parent == nil ? .text : .reply,
            text: text.isEmpty || isSealed ? nil : text,
            sealed: isSealed ? text : nil,
            poll: poll.map { Poll(options: $0.options.map { .init(text: $0) }, multiple: $0.multiple ?? false) },
            sentAt: sentAt, createdAt: now,
            replyTo: reference, mentions: mentions, mentionsAll: all ?? false,
            attachments: attachments, extra: extra)
        rooms[id]!.messages[message] = [stored]
        announce(seq, of: id)
        return .success(.message(stored))
    }

    /// As the server: what can be forwarded is what the user sees, files become others, and a repetition is known by its id alone here.
    private mutating func forward(
        _ source: RequestBody.Forward, _ sentAt: Timestamp, _ row: OutboxRow, in id: ConversationID, by user: UserID
    ) -> Result<WriteResponse, Problem> {
        let message = row.message!
        if let known = rooms[id]!.messages[message] {
            return known[0].senderId == user ? .success(.message(known.last!)) : .failure(Problem(.conflict, "id"))
        }
        accept(id, by: user)
        guard isMember(user, id), isPermitted(row.write, in: id, by: user) else {
            return .failure(Problem(.forbidden, "not permitted"))
        }
        let found = messages(of: source.conversationId, for: user).first { $0.id == source.messageId }
        guard let found else { return .failure(Problem(.notFound, "forward.messageId")) }
        guard found.kind == .text || found.kind == .reply, !found.deletedForEveryone else {
            return .failure(Problem(.notForwardable, "forward.messageId"))
        }
        clock += 1
        let seq = append(Entry(kind: .messageCreated, at: now, actor: user, message: message), to: id)
        let origin = found.forwarded ?? Forwarded(userId: found.senderId, sentAt: found.sentAt)
        let stored = Message(
            id: message, conversationId: id, seq: seq, changeSeq: seq, senderId: user, kind: .text, text: found.text,
            sentAt: sentAt, createdAt: now, attachments: found.attachments.map { copies(of: $0, message) },
            forwarded: source.origin == true ? origin : nil)
        rooms[id]!.messages[message] = [stored]
        announce(seq, of: id)
        return .success(.message(stored))
    }

    private func copies(of files: [Attachment], _ message: MessageID) -> [Attachment] {
        files.enumerated().map { index, file in
            var copy = file
            copy.id = MediaID(UUIDBytes(high: message.uuid.high, low: message.uuid.low &+ UInt64(index)))
            return copy
        }
    }

    private mutating func changeMessage(
        _ row: OutboxRow, in id: ConversationID, by user: UserID
    ) -> Result<WriteResponse, Problem> {
        let message = row.message!
        guard let state = rooms[id]!.messages[message]?.last, sees(user, state.seq, in: id), state.kind != .system
        else {
            return .failure(Problem(.notFound, "message"))
        }
        if case .deleteForEveryone = row.write {
            guard state.senderId == user else { return .failure(Problem(.forbidden, "not the sender")) }
            if !state.deletedForEveryone { change(message, in: id, by: user, .messageDeleted) { $0.bury() } }
            return .success(.done)
        }
        guard !state.deletedForEveryone else {
            return row.write == .pinMessage(false) ? .success(.done) : .failure(Problem(.conflict, "deleted"))
        }
        switch row.write {
        case .edit(let text, let isSealed):
            guard state.senderId == user else { return .failure(Problem(.forbidden, "not the sender")) }
            guard state.kind != .poll, (state.kind == .sealed) == (isSealed == true) else {
                return .failure(Problem(.conflict, "sealed"))
            }
            let time = Timestamp(milliseconds: clock + 1)
            change(message, in: id, by: user, .messageEdited) {
                if isSealed == true { $0.sealed = text } else { $0.text = text }
                $0.editedAt = time
            }
        case .setTapback(let kind):
            if !state.tapbacks.contains(Tapback(userId: user, kind: kind)) {
                change(message, in: id, by: user, .tapbackSet) { $0.set(kind, of: user) }
            }
        case .vote(let options):
            guard let poll = state.poll else { return .failure(Problem(.conflict, "no poll")) }
            guard poll.closedAt == nil else { return .failure(Problem(.pollClosed, "closed")) }
            guard poll.multiple || options.count < 2, options.allSatisfy(poll.options.indices.contains) else {
                return .failure(Problem(.invalid, "options"))
            }
            let votes = rooms[id]!.votes[message, default: [:]]
            if votes[user, default: []] != options {
                rooms[id]!.votes[message, default: [:]][user] = options.isEmpty ? nil : options
                let now = rooms[id]!.votes[message]!
                change(message, in: id, by: user, .pollVoted) { state in
                    for place in poll.options.indices {
                        state.poll!.options[place].votes = now.values.count { $0.contains(place) }
                    }
                    state.poll!.voters = now.count
                }
            }
        case .closePoll:
            guard state.poll != nil else { return .failure(Problem(.conflict, "no poll")) }
            let leads = rooms[id]!.kind == .group && rooms[id]!.roles[user] != .member
            guard state.senderId == user || leads else { return .failure(Problem(.forbidden, "not the sender")) }
            let time = Timestamp(milliseconds: clock + 1)
            if state.poll?.closedAt == nil {
                change(message, in: id, by: user, .pollClosed) { $0.poll!.closedAt = time }
            }
        case .pinMessage(true):
            if state.pinned == nil {
                let pin = MessagePin(seq: rooms[id]!.lastSeq + 1, userId: user, at: Timestamp(milliseconds: clock + 1))
                change(message, in: id, by: user, .messagePinned) { $0.pinned = pin }
            }
        case .pinMessage(false):
            if state.pinned != nil { change(message, in: id, by: user, .messageUnpinned) { $0.pinned = nil } }
            return .success(.done)
        default:
            if state.tapbacks.contains(where: { $0.userId == user }) {
                change(message, in: id, by: user, .tapbackRemoved) { $0.set(nil, of: user) }
            }
            return .success(.done)
        }
        var shown = rooms[id]!.messages[message]!.last!
        shown.poll?.vote = vote(of: user, on: message, in: id)
        return .success(.message(shown))
    }

    private mutating func hide(
        _ message: MessageID, in id: ConversationID, by user: UserID
    ) -> Result<WriteResponse, Problem> {
        guard let state = rooms[id]!.messages[message]?.last, sees(user, state.seq, in: id) else {
            return .failure(Problem(.notFound, "message"))
        }
        if accounts[user, default: Account()].hidden[id, default: []].insert(message).inserted {
            tell(user, .messageHidden, id) { $0.messageId = message }
        }
        return .success(.done)
    }

    private mutating func clear(
        _ id: ConversationID, through: Int64, by user: UserID
    ) -> Result<WriteResponse, Problem> {
        let seq = min(through, lastSeq(user, id))
        if seq > accounts[user]?.clearedSeq[id] ?? 0 {
            accounts[user, default: Account()].clearedSeq[id] = seq
            tell(user, .historyCleared, id) { $0.throughSeq = seq }
        }
        return .success(.done)
    }

    /// No time comes to an end here: what is muted is so for ever.
    private mutating func mark(
        _ mark: ConversationMark, in id: ConversationID, by user: UserID
    ) -> Result<WriteResponse, Problem> {
        let read = min(rooms[id]!.readSeq[user] ?? 0, rooms[id]!.lastSeq)
        let old = accounts[user]?.marks[id] ?? Marks()
        var new = old
        var kind = PrivateKind.markedUnread
        switch mark {
        case .muted(let until):
            let isBack = messages(of: id, for: user).last.map { $0.seq > old.archivedSeq ?? .max } ?? false
            if old.mutedUntil == nil, isBack { new.archivedSeq = nil }
            (new.mutedUntil, kind) = (until, .muted)
        case .pinned(let order): (new.pinOrder, kind) = (order, .pinned)
        case .archived(let seq): (new.archivedSeq, kind) = (seq.map { min($0, lastSeq(user, id)) }, .archived)
        case .unread(let isMarked): new.unreadSeq = isMarked ? read : nil
        }
        guard new != old else { return .success(.done) }
        accounts[user, default: Account()].marks[id] = new
        tell(user, kind, id)
        return .success(.done)
    }

    /// Needs no key: what is there already changes nothing.
    private mutating func put(
        _ draft: Draft?, in id: ConversationID, by user: UserID
    ) -> Result<WriteResponse, Problem> {
        var account = accounts[user] ?? Account()
        let old = account.drafts[id]
        guard old?.text != draft?.text || old?.replyTo != draft?.replyTo else { return .success(.done) }
        guard isMember(user, id) else { return .failure(Problem(.forbidden, "not a member")) }
        guard draft == nil || old != nil || account.drafts.count < Self.draftsPerUser else {
            return .failure(Problem(.conflict, "drafts"))
        }
        clock += 1
        account.drafts[id] = draft.map { KeptDraft(text: $0.text, replyTo: $0.replyTo, at: now) }
        if let draft { account.everDrafted.insert(draft.text) }
        accounts[user] = account
        tell(user, .draft, id) { $0.draft = account.drafts[id] }
        return .success(.done)
    }

    package func draft(in id: ConversationID, of user: UserID) -> KeptDraft? { accounts[user]?.drafts[id] }

    /// What is told again has a draft where it is the one of now.
    private func replayed(_ change: PrivateChange, of user: UserID) -> PrivateChange {
        var change = withMarks(change, of: user)
        guard change.kind == .draft, let account = accounts[user] else { return change }
        let last = account.changes.last { $0.kind == .draft && $0.conversationId == change.conversationId }
        change.draft = last?.useq == change.useq ? change.conversationId.flatMap { account.drafts[$0] } : nil
        return change
    }

    /// The marks of now, also of what is told again.
    private func withMarks(_ change: PrivateChange, of user: UserID) -> PrivateChange {
        guard let id = change.conversationId else { return change }
        let marks = accounts[user]?.marks[id] ?? Marks()
        var change = change
        switch change.kind {
        case .known(.muted): (change.mutedUntil, change.archivedSeq) = (marks.mutedUntil, marks.archivedSeq)
        case .known(.pinned): change.pinOrder = marks.pinOrder
        case .known(.archived): change.archivedSeq = marks.archivedSeq
        case .known(.markedUnread):
            let read = min(rooms[id]?.readSeq[user] ?? 0, rooms[id]?.lastSeq ?? 0)
            (change.markedUnread, change.readSeq) = (marks.unreadSeq.map { $0 >= read } ?? false, read)
        default: break
        }
        return change
    }

    private mutating func read(_ seq: Int64, in id: ConversationID, by user: UserID) {
        let seq = min(seq, rooms[id]!.lastSeq)
        guard seq > rooms[id]!.readSeq[user] ?? 0 else { return }
        rooms[id]!.readSeq[user] = seq
        tell(user, .readMoved, id) { $0.readSeq = seq }
        moveStatus(of: user, in: id)
    }

    /// Takes a `delivered` frame.
    package mutating func delivered(_ seq: Int64, in id: ConversationID, by user: UserID) {
        guard isMember(user, id), seq > rooms[id]!.deliveredSeq[user] ?? 0 else { return }
        rooms[id]!.deliveredSeq[user] = min(seq, rooms[id]!.lastSeq)
        moveStatus(of: user, in: id)
    }

    private mutating func moveStatus(of user: UserID, in id: ConversationID) {
        rooms[id]!.statusVersion += 1
        rooms[id]!.statusVersionOf[user] = rooms[id]!.statusVersion
        for member in rooms[id]!.members where rooms[id]!.asked[member] == nil {
            announcements.append(Announcement(user: member, frame: .status(status(of: id, after: nil, only: user))))
        }
    }

    private func status(of id: ConversationID, after: Int64?, only: UserID?) -> FrameFromServer.Status {
        let room = rooms[id]!
        let users = room.members.filter { only == nil || $0 == only }
        func seqs(_ of: [UserID: Int64]) -> [UserID: Int64] {
            Dictionary(uniqueKeysWithValues: users.compactMap { user in of[user].map { (user, $0) } })
        }
        return .init(
            conversationId: id, statusVersion: max(1, room.statusVersion), delivered: seqs(room.deliveredSeq),
            read: seqs(room.readSeq), at: now)
    }

    private mutating func rename(_ id: ConversationID, _ title: String, by user: UserID) {
        clock += 1
        let seq = append(Entry(kind: .conversationRenamed, at: now, actor: user, title: title), to: id)
        show(seq, .conversationRenamed, in: id, by: user)
        announce(seq, of: id)
    }

    /// The change has them all.
    private mutating func permit(_ new: RequestBody.NewPermissions, in id: ConversationID, by user: UserID) {
        var permissions = rooms[id]!.permissions
        permissions.addMembers = new.addMembers ?? permissions.addMembers
        permissions.rename = new.rename ?? permissions.rename
        permissions.write = new.write ?? permissions.write
        if let roles = new.mentionAll { permissions.mentionAll = roles == .admins ? nil : roles }
        guard permissions != rooms[id]!.permissions else { return }
        clock += 1
        rooms[id]!.permissions = permissions
        let entry = Entry(kind: .permissionsChanged, at: now, actor: user, permissions: permissions)
        announce(append(entry, to: id), of: id)
    }

    private mutating func setLifetime(
        _ seconds: Int?, from start: LifetimeStart, in id: ConversationID, by user: UserID
    ) {
        let lifetime = seconds.map { MessageLifetime(seconds: $0, from: start, sinceSeq: rooms[id]!.lastSeq + 1) }
        let present = rooms[id]!.lifetime
        guard lifetime?.seconds != present?.seconds || lifetime?.from != present?.from else { return }
        clock += 1
        rooms[id]!.lifetime = lifetime
        announce(append(Entry(kind: .lifetimeChanged, at: now, actor: user, lifetime: lifetime), to: id), of: id)
    }

    /// The time of all messages is over that were sent with the present lifetime. That is no activity.
    package mutating func expire(in id: ConversationID) {
        guard let lifetime = rooms[id]?.lifetime else { return }
        let over = rooms[id]!.messages.values.compactMap(\.last)
            .filter { $0.seq > lifetime.sinceSeq && $0.kind != .system && !$0.deletedForEveryone }
            .sorted { $0.seq < $1.seq }
        for message in over {
            change(message.id, in: id, by: message.senderId, .messageDeleted, at: rooms[id]!.log.last!.at) {
                $0.bury()
                $0.expired = true
            }
        }
    }

    private mutating func setRole(
        of other: UserID, to role: MemberRole, in id: ConversationID, by user: UserID
    ) {
        guard rooms[id]!.stays[other]?.last.map({ $0.to == nil }) ?? false, rooms[id]!.roles[other] != role else {
            return
        }
        clock += 1
        rooms[id]!.roles[other] = role
        let seq = append(Entry(kind: .memberChanged, at: now, actor: user, user: other, role: role), to: id)
        show(seq, .memberChanged, in: id, by: user)
        announce(seq, of: id)
    }

    /// Of those who were asked nobody asks again here.
    private mutating func add(_ other: UserID, to id: ConversationID, by user: UserID) {
        guard !isMember(other, id), rooms[id]!.asked[other] == nil else { return }
        clock += 1
        let isNew = rooms[id]!.stays[other] == nil
        let seq = append(Entry(kind: .memberAdded, at: now, actor: user, user: other, role: .member), to: id)
        rooms[id]!.stays[other, default: []].append(Window(from: seq))
        rooms[id]!.roles[other] = .member
        rooms[id]!.bans[other] = nil
        let hasAsked = rooms[id]!.joinRequests.removeValue(forKey: other) != nil
        show(seq, .memberAdded, in: id, by: user)
        if !isNew || user == other || hasAsked || !ask(other, about: id, by: user) {
            tell(other, .conversationJoined, id) { $0.lastSeq = seq - 1 }
        }
        announce(seq, of: id)
    }

    private mutating func remove(_ other: UserID, from id: ConversationID, by user: UserID) {
        guard rooms[id]!.stays[other]?.last.map({ $0.to == nil }) ?? false, rooms[id]!.members.count > 1 else { return }
        clock += 1
        let role = rooms[id]!.roles[other]
        let seq = append(Entry(kind: .memberRemoved, at: now, actor: user, user: other, role: role), to: id)
        let last = rooms[id]!.stays[other]!.count - 1
        rooms[id]!.stays[other]![last].to = seq
        if other != user { rooms[id]!.bans[other] = Ban(userId: other, at: now, actorId: user) }
        accounts[other]?.drafts[id] = nil
        let isWaiting = isAsked(other, id)
        if rooms[id]!.asked[other] != nil { rooms[id]!.asked[other]!.state = .takenBack }
        show(seq, .memberRemoved, in: id, by: user)
        announce(seq, of: id)
        if isWaiting || rooms[id]!.asked[other] == nil { tell(other, .conversationLeft, id) }
    }

    // MARK: Requests

    /// Those that wait, the latest first.
    package func requests(of user: UserID) -> [MessageRequest] {
        rooms.keys.filter { isAsked(user, $0) }.map { id in
            let asked = rooms[id]!.asked[user]!
            return MessageRequest(at: asked.at, userId: asked.by, conversation: conversation(id, for: user)!)
        }.sorted { ($0.at, $0.conversation.id.uuid) > ($1.at, $1.conversation.id.uuid) }
    }

    /// Returns false for whom the user knows.
    private mutating func ask(_ user: UserID, about id: ConversationID, by other: UserID) -> Bool {
        let pair = directId(user, other)
        let isKnown = id != pair && rooms[pair] != nil && rooms[pair]!.asked[user] == nil
        guard asksAboutStrangers, user != other, !isKnown else { return false }
        rooms[id]!.asked[user] = Asked(by: other, at: now)
        tell(user, .request, id) { $0.waiting = true }
        return true
    }

    private mutating func decide(
        _ accepts: Bool, _ id: ConversationID, by user: UserID
    ) -> Result<WriteResponse, Problem> {
        if accepts, isMember(user, id) { return .success(.done) }
        switch rooms[id]!.asked[user]?.state {
        case .waiting where !accepts:
            rooms[id]!.asked[user]!.state = .declined(lastSeq(user, id))
            tell(user, .request, id) { $0.waiting = false }
        case .waiting: accept(id, by: user)
        case .declined:
            if accepts {
                rooms[id]!.asked[user]!.state = .waiting
                accept(id, by: user)
            }
        case .takenBack, nil: return .failure(Problem(isMember(user, id) ? .conflict : .forbidden, "no request"))
        }
        return .success(.done)
    }

    /// Whoever answers accepts.
    private mutating func accept(_ id: ConversationID, by user: UserID) {
        guard isAsked(user, id) else { return }
        rooms[id]!.asked[user] = nil
        let last = lastSeq(user, id)
        tell(user, .conversationJoined, id) { $0.lastSeq = last }
    }

    // MARK: Blocks

    /// Whom a user has blocked.
    package func blocked(by user: UserID) -> [UserID] { (accounts[user]?.blocked ?? []).sorted() }

    private func directId(_ user: UserID, _ other: UserID) -> ConversationID {
        ConversationID(UUIDBytes(hashOf: [user.name, other.name].sorted().joined(separator: "/")))
    }

    private mutating func block(
        _ other: UserID, _ isBlocked: Bool, _ row: OutboxRow, by user: UserID
    ) -> Result<WriteResponse, Problem> {
        var account = accounts[user] ?? Account()
        guard account.outcomes.insert(row.idempotencyKey).inserted, account.blocked.contains(other) != isBlocked else {
            return .success(.done)
        }
        clock += 1
        if isBlocked { account.blocked.insert(other) } else { account.blocked.remove(other) }
        let id = directId(user, other)
        if !isBlocked, windows(user, id) != nil { account.removed.remove(id) }
        accounts[user] = account
        if rooms[id]?.asked[user] != nil {
            rooms[id]!.asked[user]!.state = .takenBack
        } else if windows(user, id) != nil {
            setStay(in: id, of: user, isOpen: !isBlocked)
        }
        if isBlocked { accounts[user]!.drafts[id] = nil }
        tell(user, .blocked, id) {
            $0.userId = other
            $0.blocked = isBlocked
        }
        return .success(.done)
    }

    /// No change tells of it. A stay in which nothing has come is taken back.
    private mutating func setStay(in id: ConversationID, of user: UserID, isOpen: Bool) {
        let last = rooms[id]!.lastSeq
        var stays = rooms[id]!.stays[user]!
        if isOpen {
            stays.append(Window(from: last + 1))
        } else if stays.last!.from > last {
            stays.removeLast()
        } else {
            stays[stays.count - 1].to = last
        }
        rooms[id]!.stays[user] = stays
    }

    // MARK: Profiles

    /// Version 0 where it is not to be read.
    package func profile(of user: UserID, for reader: UserID) -> Profile {
        guard let account = accounts[user], user == reader || rooms.values.contains(where: { $0.haveMet(user, reader) })
        else { return Profile(userId: user, version: 0) }
        return account.profile(of: user)
    }

    /// Others are told where they have an open conversation with the user.
    @discardableResult
    package mutating func setProfile(_ new: RequestBody.NewProfile, of user: UserID) -> Profile {
        var account = accounts[user] ?? Account()
        guard account.profile != new else { return account.profile(of: user) }
        account.profile = new
        account.profileVersion += 1
        accounts[user] = account
        let version = account.profileVersion
        tell(user, .profileChanged, nil) { $0.profileVersion = version }
        for other in whoSees(user) where other != user {
            announcements.append(
                Announcement(user: other, frame: .profile(.init(userId: user, version: version))))
        }
        return account.profile(of: user)
    }

    /// Those who have an open conversation with somebody, with them.
    package func whoSees(_ user: UserID) -> [UserID] {
        let open = rooms.filter { $0.value.members.contains(user) }
        return Set(open.flatMap { id, room in room.members.filter { isMember($0, id) } }).union([user]).sorted()
    }

    private mutating func changeSettings(_ row: OutboxRow, by user: UserID) -> Result<WriteResponse, Problem> {
        guard case .settings(let new) = row.write else { preconditionFailure("only settings are of no conversation") }
        var account = accounts[user] ?? Account()
        if account.outcomes.insert(row.idempotencyKey).inserted {
            if let choice = new.readReceipts { account.settings.readReceipts = choice != .off }
            if let choice = new.presence { account.settings.presence = choice != .off }
            accounts[user] = account
            tell(user, .settingsChanged, nil) {
                $0.readReceipts = account.settings.readReceipts
                $0.presence = account.settings.presence
            }
        }
        return .success(.settings(accounts[user]!.settings))
    }
}

extension ScriptedServer.Account {
    fileprivate func profile(of user: UserID) -> Profile {
        Profile(
            userId: user, version: profileVersion, displayName: profile.displayName, avatarUrl: profile.avatarUrl,
            extra: profile.extra)
    }
}

extension ScriptedServer.Room {
    /// Whether they were here at the same time. Who blocks is in the direct conversation for the other.
    fileprivate func haveMet(_ one: UserID, _ other: UserID) -> Bool {
        guard let stays = stays[one], let others = self.stays[other] else { return false }
        return kind == .direct
            || stays.contains { stay in
                others.contains { $0.from <= stay.to ?? .max && stay.from <= $0.to ?? .max }
            }
    }
}

extension Message {
    fileprivate mutating func bury() {
        text = nil
        sealed = nil
        poll = nil
        forwarded = nil
        attachments = nil
        extra = nil
        pinned = nil
        deletedForEveryone = true
        deletedAt = createdAt
        tapbacks = []
        tapbackCounts = [:]
        mentions = []
        mentionsAll = false
    }

    fileprivate mutating func set(_ kind: TapbackKind?, of user: UserID) {
        if let index = tapbacks.firstIndex(where: { $0.userId == user }) {
            let old = tapbacks.remove(at: index).kind
            tapbackCounts[old] = tapbackCounts[old].flatMap { $0 > 1 ? $0 - 1 : nil }
        }
        guard let kind else { return }
        tapbacks.append(Tapback(userId: user, kind: kind))
        tapbackCounts[kind, default: 0] += 1
    }
}

// MARK: Reading

extension ScriptedServer {
    package func response(to call: SyncCall, for user: UserID) -> SyncResponse {
        if let id = call.conversation, windows(user, id) == nil {
            return .failure(.refused(ProblemDetails(Problem(.notFound, "conversation")), retryAfter: nil))
        }
        switch call {
        case .conversations(let before): return .conversations(page(of: user, before: before))
        case .conversation(let id): return .conversation(conversation(id, for: user)!)
        case .changes(let id, let after): return .changes(changes(of: id, after: after, for: user))
        case .history(let id, let place): return .history(history(of: id, place, for: user))
        case .members(let id, _): return .members(members(of: id))
        case .revisions: return .revisions(Revisions(revisions: []))
        case .settings: return .settings(accounts[user]?.settings ?? Account().settings)
        case .blocks:
            let users = blocked(by: user).map { BlockedUser(userId: $0, at: now) }
            return .blocks(BlockList(users: users))
        case .requests: return .requests(MessageRequestList(requests: requests(of: user)))
        case .profiles(let users, let versions):
            let all = zip(users, versions).filter { profile(of: $0, for: user).version != $1 }
            return .profiles(ProfileList(profiles: all.map { profile(of: $0.0, for: user) }))
        case .sync(let since): return .sync(sync(user, since: since))
        case .digest(let id, _):
            let page = HistoryDigest.Page(
                fromSeq: 1, toSeq: lastSeq(user, id), changes: "", state: digest(of: id, for: user))
            return .digest(
                HistoryDigest(
                    lastSeq: lastSeq(user, id), useq: accounts[user]?.useq ?? 0, pages: [page], more: false))
        }
    }

    private func page(of user: UserID, before: String?) -> ConversationPage {
        // The cursor is the activity after which the page begins, as a conversation that moved up is not repeated.
        let all = list(of: user).filter { id in
            guard let before else { return true }
            let parts = before.split(separator: "/")
            let place = (activity(user, id).milliseconds, id.uuid)
            return place < (Int64(parts[0])!, UUIDBytes(String(parts[1]))!)
        }
        let page = all.prefix(Self.conversationsPerPage)
        let cursor = page.last.map { "\(activity(user, $0).milliseconds)/\($0)" }
        return ConversationPage(
            conversations: page.map { conversation($0, for: user)! },
            nextCursor: page.count < all.count ? cursor : nil)
    }

    private func changes(of id: ConversationID, after: Int64, for user: UserID) -> ChangePage {
        let last = lastSeq(user, id)
        let seqs = (after < last ? Array(after + 1...last) : []).filter { sees(user, $0, in: id) }
        return ChangePage(
            changes: seqs.prefix(Self.changesPerPage).map { change($0, of: id, for: user, isLive: false) },
            lastSeq: last, more: seqs.count > Self.changesPerPage)
    }

    private func history(of id: ConversationID, _ place: HistoryPlace, for user: UserID) -> History {
        let all = messages(of: id, for: user)
        let size = Self.messagesPerPage
        let range: Range<Int>
        switch place {
        case .newest: range = max(0, all.count - size)..<all.count
        case .before(let seq):
            let end = all.firstIndex { $0.seq >= seq } ?? all.count
            range = max(0, end - size)..<end
        case .after(let seq):
            let start = all.firstIndex { $0.seq > seq } ?? all.count
            range = start..<min(all.count, start + size)
        case .around(let seq):
            let middle = all.firstIndex { $0.seq >= seq } ?? all.count
            range = max(0, middle - size / 2)..<min(all.count, middle + size / 2)
        }
        return History(
            messages: Array(all[range]), hasMoreBefore: range.lowerBound > 0,
            hasMoreAfter: range.upperBound < all.count,
            lastSeq: lastSeq(user, id))
    }

    private func members(of id: ConversationID) -> MemberPage {
        MemberPage(
            members: rooms[id]!.members.map { user in
                Membership(
                    userId: user, role: rooms[id]!.roles[user]!, joinedSeq: rooms[id]!.stays[user]!.last!.from,
                    deliveredSeq: rooms[id]!.deliveredSeq[user] ?? 0, readSeq: rooms[id]!.readSeq[user] ?? 0)
            }, nextCursor: nil)
    }

    /// The cursor is the positions of the clock and of the private stream.
    private func sync(_ user: UserID, since: String?) -> SyncPage {
        let parts = since?.split(separator: "/").map { Int64($0)! } ?? [0, accounts[user]?.useq ?? 0]
        let changes = accounts[user]?.changes ?? []
        let missed = changes.filter { $0.useq > parts[1] }
        let isReload = missed.count > Self.keptPrivateChanges
        let conversations = list(of: user).filter { isReload || activity(user, $0).milliseconds >= parts[0] }
        return SyncPage(
            conversations: conversations.map { conversation($0, for: user)! },
            private: isReload ? [] : missed.map { replayed($0, of: user) },
            reload: isReload, cursor: "\(clock)/\(changes.last?.useq ?? 0)", more: false)
    }

    // MARK: Sessions

    /// The frames with which a session begins. Everything after comes by `announcements`.
    package func begin(_ hello: FrameFromClient.Hello, for user: UserID) -> [FrameFromServer] {
        let listed = list(of: user)
        let first = listed.prefix(Self.conversationsInWelcome)
        let account = accounts[user] ?? Account()
        let welcome = FrameFromServer.Welcome(
            userId: user, sessionId: .zero, serverTime: now, logId: logId, useq: account.useq, heartbeatSeconds: 25,
            conversations: first.map { conversation($0, for: user)! }, more: listed.count > first.count,
            blocked: account.blocked.sorted())
        guard hello.logId == nil || hello.logId == logId.description else {
            return [.welcome(welcome), .reset(conversationId: nil)]
        }
        var frames: [FrameFromServer] = [.welcome(welcome)] + privateReplay(user, after: hello.useq)
        for (id, cursor) in (hello.cursors ?? [:]).sorted(by: { $0.key.uuid < $1.key.uuid }) {
            frames += replay(id, after: cursor, for: user)
            guard isMember(user, id), let room = rooms[id] else { continue }
            if room.statusVersion > hello.statusVersions?[id] ?? 0 {
                frames.append(.status(status(of: id, after: nil, only: nil)))
            }
        }
        return frames
    }

    private func privateReplay(_ user: UserID, after useq: Int64?) -> [FrameFromServer] {
        guard let useq, let account = accounts[user] else { return [] }
        let missed = account.changes.filter { $0.useq > useq }
        guard missed.count <= Self.keptPrivateChanges else { return [.reload(.init(useq: account.useq))] }
        return missed.map { change in
            var change = replayed(change, of: user)
            if change.kind == .conversationJoined, let id = change.conversationId { change.lastSeq = lastSeq(user, id) }
            return .private(change)
        }
    }

    private func replay(_ id: ConversationID, after cursor: Int64, for user: UserID) -> [FrameFromServer] {
        guard windows(user, id) != nil else { return [] }
        let last = lastSeq(user, id)
        guard cursor <= last else { return [.reset(conversationId: id)] }
        let seqs = (cursor < last ? Array(cursor + 1...last) : []).filter { sees(user, $0, in: id) }
        guard seqs.count <= Self.replayedChanges else { return [.reload(.init(conversationId: id, lastSeq: last))] }
        return seqs.map { .change(change($0, of: id, for: user, isLive: false)) }
    }
}

// MARK: What somebody asks once

extension ScriptedServer {
    private mutating func schedule(
        _ message: MessageID, _ new: RequestBody.NewScheduledMessage, in id: ConversationID, by user: UserID
    ) -> Result<any Sendable, Problem> {
        guard isMember(user, id) else { return .failure(Problem(.forbidden, "not a member")) }
        guard rooms[id]?.messages[message] == nil else { return .failure(Problem(.conflict, "messageId")) }
        clock += 1
        let scheduled = ScheduledMessage(
            conversationId: id, id: message, useq: (accounts[user]?.useq ?? 0) + 1, at: new.at ?? now, text: new.text,
            replyTo: new.replyTo, mentions: new.mentions ?? [], mentionsAll: new.mentionsAll, extra: new.extra)
        accounts[user, default: Account()].scheduled[id, default: [:]][message] = scheduled
        tell(user, .scheduled, id) {
            $0.messageId = message
            $0.scheduled = scheduled
        }
        if new.at == nil { come(in: id, of: user) }
        return .success(NoContent())
    }

    private mutating func cancelScheduled(
        _ message: MessageID, in id: ConversationID, by user: UserID
    ) -> Result<any Sendable, Problem> {
        guard rooms[id]?.messages[message] == nil else { return .failure(Problem(.conflict, "messageId")) }
        guard accounts[user]?.scheduled[id]?.removeValue(forKey: message) != nil else { return .success(NoContent()) }
        tell(user, .scheduled, id) { $0.messageId = message }
        return .success(NoContent())
    }

    /// The time has come of all that a user has scheduled in a conversation.
    package mutating func come(in id: ConversationID, of user: UserID) {
        let due = accounts[user]?.scheduled[id] ?? [:]
        for message in due.values.sorted(by: { $0.at < $1.at }) where message.failure == nil {
            clock += 1
            guard isMember(user, id) else {
                var failed = message
                failed.failure = ScheduledMessage.Failure(code: .forbidden, at: now)
                failed.useq = accounts[user]!.useq + 1
                accounts[user]?.scheduled[id]?[message.id] = failed
                tell(user, .scheduled, id) {
                    $0.messageId = message.id
                    $0.scheduled = failed
                }
                continue
            }
            accounts[user]?.scheduled[id]?[message.id] = nil
            let row = OutboxRow(
                key: 0, conversation: id, message: message.id,
                write: .send(
                    text: message.text, replyTo: message.replyTo, mentions: message.mentions, sentAt: now,
                    extra: message.extra, mentionsAll: message.mentionsAll == true), idempotencyKey: .zero, at: now)
            _ = send(row, in: id, by: user)
            tell(user, .scheduled, id) { $0.messageId = message.id }
        }
    }

    package func reports(in id: ConversationID) -> [Reported] { (rooms[id]?.reports.values).map(Array.init) ?? [] }

    package func memberIds(of id: ConversationID) -> [UserID] { rooms[id]?.members ?? [] }

    package mutating func response(to subject: InquirySubject, for user: UserID) -> Result<any Sendable, Problem> {
        switch subject {
        case .message(let id, let message):
            guard let found = messages(of: id, for: user).first(where: { $0.id == message }) else {
                return .failure(Problem(.notFound, "message"))
            }
            return .success(found)
        case .search(let words, let id, let limit):
            let all = id.map { [$0] } ?? list(of: user)
            let found = all.flatMap { messages(of: $0, for: user) }.filter { $0.text?.contains(words) ?? false }
            let results = found.sorted { $0.createdAt > $1.createdAt }.prefix(limit)
            return .success(SearchPage(results: results.map { SearchResult(message: $0, snippet: $0.text ?? "") }))
        case .receipts(let id, let message, _): return receipts(of: message, in: id, for: user)
        case .bans(let id, _):
            guard let room = rooms[id], isMember(user, id), room.roles[user] != .member else {
                return .failure(Problem(.forbidden, "for owners and admins"))
            }
            return .success(BanPage(bans: room.bans.values.sorted { $0.userId < $1.userId }))
        case .pinned(let id, let before):
            guard rooms[id] != nil else { return .failure(Problem(.notFound, "conversation")) }
            let pinned = messages(of: id, for: user).filter { $0.pinned.map { $0.seq < before ?? .max } ?? false }
            let latestFirst = pinned.sorted { $0.pinned!.seq > $1.pinned!.seq }
            return .success(PinnedMessages(messages: latestFirst, more: false))
        case .mentions(let id, let after):
            guard rooms[id] != nil else { return .failure(Problem(.notFound, "conversation")) }
            // One message of others is looked at, so that pages are empty that have a next one.
            let behind = messages(of: id, for: user).filter {
                $0.seq > after && ($0.mentionsAll || !$0.mentions.isEmpty)
            }
            guard let next = behind.first else { return .success(MentionPage(messages: [])) }
            let through = behind.count > 1 ? next.seq : nil
            return .success(MentionPage(messages: next.mentions(user) ? [next] : [], through: through))
        case .scheduled(let id, let after):
            let all = (accounts[user]?.scheduled ?? [:]).filter { id == nil || $0.key == id }.values.flatMap(\.values)
            let page = all.filter { $0.useq > after }.sorted { $0.useq < $1.useq }
            // Short pages, so that there are several.
            return .success(ScheduledMessages(scheduled: Array(page.prefix(2)), more: page.count > 2))
        case .schedule(let id, let message, let new, _): return schedule(message, new, in: id, by: user)
        case .cancelScheduled(let id, let message, _): return cancelScheduled(message, in: id, by: user)
        case .invitations(let id): return invitations(into: id, for: user)
        case .invite(let id, let new): return invite(into: id, new, by: user)
        case .revokeInvitation(let id, let invitation, _):
            rooms[id]?.invitations[invitation] = nil
            return .success(NoContent())
        case .invitation(let code):
            guard let (id, invitation) = opened(by: code, for: user), let room = rooms[id] else {
                return .failure(Problem(.notFound, "code: it opens nothing"))
            }
            return .success(
                InvitationPreview(
                    title: room.title, memberCount: room.members.count, approval: room.invitations[invitation]?.approval
                ))
        case .join(let code, _): return join(by: code, user)
        case .joinRequests(let id, _):
            guard let room = rooms[id], isMember(user, id), room.roles[user] != .member else {
                return .failure(Problem(.forbidden, "for owners and admins"))
            }
            let waiting = room.joinRequests.values.filter { !$0.isDeclined }.map(\.request)
            return .success(JoinRequestPage(requests: waiting.sorted { $0.userId < $1.userId }))
        case .declineJoinRequest(let id, let other, _):
            guard user == other || isMember(user, id) && rooms[id]?.roles[user] != .member else {
                return .failure(Problem(.forbidden, "for owners and admins"))
            }
            if user == other { rooms[id]?.joinRequests[other] = nil }
            rooms[id]?.joinRequests[other]?.isDeclined = true
            return .success(NoContent())
        case .report(let new): return report(new, by: user)
        case .devices: return .success(DeviceList(devices: accounts[user]?.devices ?? []))
        case .endDevice(let name):
            accounts[user]?.devices.removeAll { $0.deviceId == name }
            return .success(NoContent())
        case .endOtherDevices:
            accounts[user]?.devices.removeAll { !$0.current }
            return .success(NoContent())
        case .settings: return .success(SettingsInConversation(readReceipts: true, inherited: [.readReceipts]))
        case .direct(let other): return .success(direct(user, other))
        case .profile(let other):
            let profile = profile(of: other, for: user)
            return .success(ProfileList(profiles: profile.version == 0 ? [] : [profile]))
        case .putProfile(let new, _):
            guard new.displayName?.unicodeScalars.count ?? 0 <= ContractLimits.displayNameCharacters else {
                return .failure(Problem(.tooLarge, "displayName: at most 80 characters"))
            }
            return .success(setProfile(new, of: user))
        case .limits: return .success(FileLimits(mediaBytes: 10_000_000, replyToAttachments: false))
        case .digest(let id, let after):
            guard case .digest(let digest) = response(to: SyncCall.digest(id, after: after), for: user) else {
                return .failure(Problem(.notFound, "conversation"))
            }
            return .success(digest)
        }
    }

    private func mayInvite(_ user: UserID, into id: ConversationID) -> Bool {
        guard let room = rooms[id], room.kind == .group, isMember(user, id) else { return false }
        return room.permissions.addMembers.include(Open.known(room.roles[user] ?? .member))
    }

    private func invitations(into id: ConversationID, for user: UserID) -> Result<any Sendable, Problem> {
        guard let room = rooms[id], isMember(user, id) else { return .failure(Problem(.forbidden, "for members")) }
        let shown = room.invitations.values.filter { $0.creatorId == user || room.roles[user] != .member }
        let listed = shown.filter(isGood).sorted { $0.createdAt < $1.createdAt }.map { invitation in
            var invitation = invitation
            invitation.code = nil
            return invitation
        }
        return .success(InvitationList(invitations: listed))
    }

    private func isGood(_ invitation: Invitation) -> Bool {
        invitation.uses < invitation.maxUses ?? .max && now < invitation.expiresAt ?? .forever
    }

    private mutating func invite(
        into id: ConversationID, _ new: RequestBody.NewInvitation, by user: UserID
    ) -> Result<any Sendable, Problem> {
        guard mayInvite(user, into: id), new.approval != true || rooms[id]?.roles[user] != .member else {
            return .failure(Problem(.forbidden, "who may add members invites"))
        }
        clock += 1
        let invitation = Invitation(
            id: new.id, code: "code of \(new.id)", creatorId: user, createdAt: now, expiresAt: new.expiresAt,
            maxUses: new.maxUses, approval: new.approval)
        rooms[id]!.invitations[new.id] = invitation
        return .success(invitation)
    }

    private func opened(by code: String, for user: UserID) -> (ConversationID, InvitationID)? {
        for (id, room) in rooms where room.bans[user] == nil {
            let found = room.invitations.values.first {
                $0.code == code && isGood($0) && mayInvite($0.creatorId, into: id)
            }
            if let found { return (id, found.id) }
        }
        return nil
    }

    private mutating func join(by code: String, _ user: UserID) -> Result<any Sendable, Problem> {
        guard let (id, invitation) = opened(by: code, for: user) else {
            return .failure(Problem(.notFound, "code: it opens nothing"))
        }
        if isMember(user, id) { return .success(JoinResponse.joined(conversation(id, for: user)!)) }
        let asks = rooms[id]!.invitations[invitation]!.approval == true
        if asks, let asked = rooms[id]!.joinRequests[user]?.request {
            return .success(JoinResponse.asked(AskedToJoin(conversationId: id, requestedAt: asked.requestedAt)))
        }
        rooms[id]!.invitations[invitation]!.uses += 1
        guard asks else {
            add(user, to: id, by: user)
            return .success(JoinResponse.joined(conversation(id, for: user)!))
        }
        clock += 1
        let maker = rooms[id]!.invitations[invitation]!.creatorId
        rooms[id]!.joinRequests[user] = (JoinRequest(userId: user, requestedAt: now, inviterId: maker), false)
        tell(maker, .joinRequested, id) { $0.userId = user }
        return .success(JoinResponse.asked(AskedToJoin(conversationId: id, requestedAt: now)))
    }

    private mutating func report(
        _ new: RequestBody.NewReport, by user: UserID
    ) -> Result<any Sendable, Problem> {
        let id = new.conversationId
        let reported = Reported(report: new, reporter: user)
        if let known = rooms[id]?.reports[new.id] {
            return known == reported ? .success(NoContent()) : .failure(Problem(.conflict, "id: another report has it"))
        }
        let seesMessage = new.messageId.map { message in messages(of: id, for: user).contains { $0.id == message } }
        let seesUser = new.userId.map { rooms[id]?.stays[$0] != nil }
        guard windows(user, id) != nil, seesMessage ?? true, seesUser ?? true else {
            return .failure(Problem(.notFound, "there is no such message or person"))
        }
        rooms[id]!.reports[new.id] = reported
        return .success(NoContent())
    }

    private func receipts(
        of message: MessageID, in id: ConversationID, for user: UserID
    ) -> Result<any Sendable, Problem> {
        guard let seq = seq(of: message, in: id), let room = rooms[id] else {
            return .failure(Problem(.notFound, "message"))
        }
        let others = room.members.filter { $0 != user }
        func receipts(_ horizons: [UserID: Int64]) -> [Receipt] {
            others.filter { horizons[$0] ?? 0 >= seq }.map { Receipt(userId: $0, at: now) }
        }
        let (delivered, read) = (receipts(room.deliveredSeq), receipts(room.readSeq))
        return .success(
            ReceiptPage(
                delivered: delivered, read: read, deliveredCount: delivered.count, readCount: read.count,
                recipientCount: others.count))
    }

    package mutating func direct(_ user: UserID, _ other: UserID) -> Conversation {
        let id = directId(user, other)
        if rooms[id] == nil {
            createGroup(id, by: user, with: [other], title: nil)
            rooms[id]!.kind = .direct
        }
        accept(id, by: user)
        return conversation(id, for: user)!
    }
}
