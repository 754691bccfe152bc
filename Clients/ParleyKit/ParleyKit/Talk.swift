import Foundation
import Models
import ParleyStorage
import ParleySync

/// One conversation: what is in it, and what the user does in it.
public struct Talk: Sendable, Identifiable {
    public let id: ConversationID
    let parley: Parley

    private var engine: Engine { parley.engine }
    private var observation: ObservationContext { parley.observation }

    // MARK: Reading

    /// The messages, from the newest on, around one of them, or around the first unread one. Those of a request are read again
    /// every 10 seconds while they are watched.
    public func timeline(_ start: TimelineStart = .newest()) -> Timeline { Timeline(start, of: id, observation) }

    /// The conversation's row in the list: title, role, unread messages and so on. Nil if the user is in no such
    /// conversation, as far as the copy knows.
    public var info: Updates<ConversationRow?> {
        observation.updates(of: concerning { [.conversation($0), .members($0), .draft($0)] }) { [observation, id] in
            try await observation.reader.read { store throws(StorageError) in try store.listRow(id) }
        }
    }

    /// The members, in the order of their names' bytes. They are loaded when somebody looks.
    public var members: Updates<MembersUpdate> { MembersUpdate.updates(of: id, observation) }

    /// How far the user's own latest messages have got. Receipts that come within a tenth of a second are one update; the
    /// rows of the timeline do not change with them.
    public var receipts: Updates<ReceiptsUpdate> {
        observation.updates(of: concerning { [.receipts($0), .members($0)] }, gathering: .milliseconds(100)) {
            [observation, id] in
            try await observation.reader.read { store throws(StorageError) in
                ReceiptsUpdate(try store.latestReceipts(in: id))
            }
        }
    }

    /// Who has received and read one of the user's own messages, and when: asked of the server.
    public func receipts(of message: MessageID) async throws(ParleyError) -> ReceiptPage {
        var whole = try await engine.ask(.receipts(of: message, in: id, after: nil))
        while let next = whole.nextCursor {
            let page = try await engine.ask(.receipts(of: message, in: id, after: next))
            whole.delivered += page.delivered
            whole.read += page.read
            whole.nextCursor = page.nextCursor
        }
        return whole
    }

    /// The earlier texts of a message, the present one last. They are loaded when somebody looks.
    public func revisions(of message: MessageID) -> Updates<[Revision]> {
        Updates { [observation, id] in
            let signal = observation.hub.signal { $0 == .conversation(id) }
            let observer = Observer<[Revision]>(signal: signal, in: observation) { last, topics in
                if topics.contains(.view) { await observation.engine.look(.revisions(id, message)) }
                let revisions = try await observation.reader.read { store throws(StorageError) in
                    try store.revisions(of: message, in: id)
                }
                return revisions == last ? nil : revisions
            }
            return { await observer.next() }
        }
    }

    /// Compares the copy with the server's digests, page by page: a proof that both are the same.
    public func compare() async throws(ParleyError) -> CopyComparison { try await engine.compare(id) }

    /// Who is typing, in the order of their names' bytes. Not who is blocked.
    public var typing: Updates<[UserID]> {
        observation.updates(of: concerning { [.typing($0)] }) { [observation, id] in
            let users = observation.hub.read { $0.typing[id, default: []] }
            guard !users.isEmpty else { return [] }
            let hidden = try await observation.reader.read { store throws(StorageError) in
                try store.hidden(users, in: id)
            }
            return users.subtracting(hidden).sorted()
        }
    }

    // MARK: Writing. Each returns when it is stored, not when the server answers.

    /// Sends a message. Messages of a conversation arrive in the order of writing.
    ///
    /// - Parameters:
    ///   - mentionsAll: mentions everybody in a group, where its permissions let the user (`Conversation.mayMentionAll`).
    ///   - extra: the application's own fields, at most 4 KiB as JSON. The text is what they are to a client that does
    ///     not know them.
    @discardableResult
    public func send(
        _ text: String, replyTo parent: MessageID? = nil, mentions: [UserID] = [], mentionsAll: Bool = false,
        extra: [String: JSONValue]? = nil
    ) async throws(ParleyError) -> MessageID {
        try await engine.send(
            text, replyTo: parent, mentions: mentions, mentionsAll: mentionsAll, extra: extra, isSealed: false, in: id)
    }

    /// Sends files, with a text or without. They are copied before this returns, so that the originals may vanish; they are
    /// uploaded in the background, and go on after an interruption where they were. The message keeps its place: later ones
    /// wait for it.
    @discardableResult
    public func send(
        _ text: String? = nil, attachments: [LocalFile], replyTo parent: MessageID? = nil, mentions: [UserID] = [],
        mentionsAll: Bool = false, extra: [String: JSONValue]? = nil
    ) async throws(ParleyError) -> MessageID {
        try await engine.send(
            text ?? "", attachments, replyTo: parent, mentions: mentions, mentionsAll: mentionsAll, extra: extra,
            isSealed: false, in: id)
    }

    /// Sends what the application has encrypted, at most 24 KiB: everybody gets it as `Message.sealed`, in base64, and only who has
    /// the application's key can read it. The server does not look into it, nor does a search. What it replies to, the names of
    /// files and all else that is nobody's business belongs inside; what is given here beside it, the server knows.
    @discardableResult
    public func send(
        sealed: Data, attachments: [LocalFile] = [], mentions: [UserID] = [], mentionsAll: Bool = false,
        extra: [String: JSONValue]? = nil
    ) async throws(ParleyError) -> MessageID {
        try await engine.send(
            sealed.base64EncodedString(), attachments, replyTo: nil, mentions: mentions, mentionsAll: mentionsAll,
            extra: extra, isSealed: true, in: id)
    }

    /// Sends a poll: a question with two to twelve different options, each a line of at most 100 characters. They stay as they
    /// are. `Message.poll` has how many have chosen each.
    ///
    /// - Parameter multiple: whether one may choose several.
    @discardableResult
    public func send(
        poll question: String, options: [String], multiple: Bool = false
    ) async throws(ParleyError) -> MessageID {
        try await engine.send(
            question, replyTo: nil, mentions: [], mentionsAll: false, extra: nil, isSealed: false,
            poll: RequestBody.NewPoll(options: options, multiple: multiple ? true : nil), in: id)
    }

    /// Votes in a poll, in the place of the vote before: positions of options, from 0. None: the vote is withdrawn. It shows at
    /// once, and is sent when there is a connection.
    public func vote(_ message: MessageID, _ options: [Int]) async throws(ParleyError) {
        try await engine.write(.vote(Set(options).sorted()), in: id, message: message)
    }

    /// Closes a poll of one's own, or, as an owner or an admin, any in the group: nobody votes in it any more.
    public func closePoll(_ message: MessageID) async throws(ParleyError) {
        try await engine.write(.closePoll, in: id, message: message)
    }

    /// Sends what a message of this conversation says to another one, as a message of one's own, now or when there is a connection. The
    /// server takes the text that its user may read then.
    ///
    /// - Parameter showingOrigin: Whether everybody there sees who wrote it. Else nothing shows that it was forwarded.
    @discardableResult
    public func forward(
        _ message: MessageID, to other: ConversationID, showingOrigin: Bool
    ) async throws(ParleyError) -> MessageID {
        try await engine.forward(message, of: id, to: other, showingOrigin: showingOrigin)
    }

    /// Changes the text of a message of one's own. What is not sent yet is changed before it is.
    public func edit(_ message: MessageID, text: String) async throws(ParleyError) {
        try await engine.write(.edit(text: text), in: id, message: message)
    }

    /// Changes what a sealed message of one's own has, within the same time.
    public func edit(_ message: MessageID, sealed: Data) async throws(ParleyError) {
        try await engine.write(.edit(text: sealed.base64EncodedString(), isSealed: true), in: id, message: message)
    }

    /// For whom a message is deleted.
    public enum DeletionScope: Hashable, Sendable {
        /// For everyone, by its sender: a tombstone stays.
        case everyone
        /// For the user alone, on all devices.
        case forMe
    }

    public func delete(_ message: MessageID, _ scope: DeletionScope) async throws(ParleyError) {
        try await engine.write(scope == .everyone ? .deleteForEveryone : .deleteForMe, in: id, message: message)
    }

    /// Sets the user's tapback on a message; nil takes it away.
    public func react(_ message: MessageID, _ kind: TapbackKind?) async throws(ParleyError) {
        try await engine.write(kind.map { .setTapback($0) } ?? .removeTapback, in: id, message: message)
    }

    /// Pins a message for everybody in the conversation, or takes it down. Whoever may write may.
    public func setPinned(_ isPinned: Bool, _ message: MessageID) async throws(ParleyError) {
        try await engine.write(.pinMessage(isPinned), in: id, message: message)
    }

    /// The first message of others behind a position that mentions the user, by name or with everybody; nil if there is none.
    /// Asked of the server, which knows those, too, that are not in the copy.
    ///
    /// - Parameter seq: nil: the position up to which the user has read.
    public func nextMention(after seq: Int64? = nil) async throws(ParleyError) -> Message? {
        var next = seq
        if next == nil { next = try await engine.readSeq(in: id) }
        while let after = next {
            let page = try await engine.ask(.mentions(in: id, after: after))
            if let message = page.messages.first { return message }
            next = page.through
        }
        return nil
    }

    /// The pinned messages that the user sees, latest pin first: asked of the server, which knows those, too, that are not in the
    /// copy.
    public func pinnedMessages() async throws(ParleyError) -> [Message] {
        var page = try await engine.ask(.pinned(in: id, before: nil))
        var messages = page.messages
        while page.more, let before = page.messages.last?.pinned?.seq {
            page = try await engine.ask(.pinned(in: id, before: before))
            messages += page.messages
        }
        return messages
    }

    /// Sends a message again that the server refused. Should its id be in use, it gets another one.
    public func retry(_ message: MessageID) async throws(ParleyError) { try await engine.retry(message, in: id) }

    /// Takes back a message that the server does not have.
    public func discard(_ message: MessageID) async throws(ParleyError) { try await engine.discard(message, in: id) }

    /// The user has read everything up to a position: a row's `message.seq`. To be called only while the messages are on
    /// the screen and the application is in front.
    public func markRead(upTo seq: Int64) async throws(ParleyError) { try await engine.markRead(upTo: seq, in: id) }

    /// The user types, or has stopped. To be called with every key: others are told as often as is of use.
    public func setTyping(_ isTyping: Bool) async { await engine.setTyping(isTyping, in: id) }

    /// Clears the history for the user, up to a position.
    public func clearHistory(through seq: Int64) async throws(ParleyError) {
        try await engine.write(.clearHistory(through: seq), in: id)
    }

    // MARK: Reports

    /// Reports a message, or a person, to those who run the service. Nobody else learns of it, and the user not what becomes of it.
    /// Repeat it with the same `NewReport` after `ParleyError.unreachable`. It is refused where the user does not see the message or
    /// the person (404), so report a request before you block who made it, and while many reports of the user are open (409).
    public func report(_ report: NewReport) async throws(ParleyError) { try await engine.report(report, in: id) }

    // MARK: Files

    /// How far the files of messages are that the server does not have yet.
    public var uploads: Updates<[MessageID: UploadProgress]> {
        observation.updates(of: concerning { [.uploads($0), .conversation($0)] }) { [observation, id] in
            try await observation.reader.read { store throws(StorageError) in try store.uploadProgress(in: id) }
        }
    }

    /// How far the files of one message are; it ends when the message is sent, or discarded.
    public func uploadProgress(of message: MessageID) -> AsyncStream<UploadProgress> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { [uploads] continuation in
            let task = Task {
                for await all in uploads {
                    guard let progress = all[message] else { break }
                    continuation.yield(progress)
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// The content of a file of a message: loaded if it is not on this device, as far as it is missing, and kept for when the
    /// server cannot be reached. The file belongs to ParleyKit: who wants to keep or change it copies it.
    public func content(of attachment: AttachmentRow) async throws(ParleyError) -> URL {
        if attachment.state != .stored, let content = attachment.content { return content }
        return try await engine.load(attachment.attachment, .content, of: attachment.message, in: id)
    }

    public enum ThumbnailSize: Hashable, Sendable { case small, large }

    /// A thumbnail of a picture or a video, as `content(of:)`. In place of one that cannot be loaded there is a picture itself,
    /// if it is on this device.
    public func thumbnail(
        of attachment: AttachmentRow, _ size: ThumbnailSize = .small
    ) async throws(ParleyError) -> URL {
        if attachment.state != .stored, let content = attachment.content { return content }
        do throws(ParleyError) {
            return try await engine.load(
                attachment.attachment, size == .small ? .small : .large, of: attachment.message, in: id)
        } catch {
            guard error == .unreachable, attachment.attachment.kind == .photo, let content = attachment.content else {
                throw error
            }
            return content
        }
    }

    // MARK: A request. `info` says whether it is one.

    /// Becomes a member, since the request was made, with all of it unread. So does who sends a message or reacts.
    public func accept() async throws(ParleyError) { try await engine.write(.accept, in: id) }

    /// Sees nothing more of it. Nobody is told, and no stranger asks again by adding the user again.
    public func decline() async throws(ParleyError) { try await engine.write(.decline, in: id) }

    // MARK: Scheduled messages. Of the user alone, on all devices; the server is asked, so there has to be a connection.

    /// Has the server send a message at a time, whatever devices are on then. It is a message like any other from then on.
    ///
    /// - Parameters:
    ///   - id: of what was scheduled before and is changed; nil: another message.
    ///   - at: nil: now.
    /// - Returns: the id of the message that it becomes.
    @discardableResult
    public func schedule(
        _ text: String, at time: Timestamp?, replyTo parent: MessageID? = nil, mentions: [UserID] = [],
        mentionsAll: Bool = false, extra: [String: JSONValue]? = nil, id: MessageID? = nil
    ) async throws(ParleyError) -> MessageID {
        let new = RequestBody.NewScheduledMessage(
            at: time, text: text, replyTo: parent, mentions: mentions.isEmpty ? nil : mentions,
            mentionsAll: mentionsAll ? true : nil, extra: extra)
        return try await engine.schedule(new, id, in: self.id)
    }

    /// Sends now what is scheduled, or what could not be sent at its time.
    public func sendNow(_ message: ScheduledMessage) async throws(ParleyError) {
        try await schedule(
            message.text, at: nil, replyTo: message.replyTo, mentions: message.mentions,
            mentionsAll: message.mentionsAll == true, extra: message.extra, id: message.id)
    }

    /// Has it not sent. The problem `conflict`: it was.
    public func cancelScheduled(_ message: MessageID) async throws(ParleyError) {
        try await engine.cancelScheduled(message, in: id)
    }

    /// What the user has scheduled here, the earliest first, with what could not be sent. `Parley.scheduledChanged` says when to ask
    /// again.
    public func scheduledMessages() async throws(ParleyError) -> [ScheduledMessage] {
        try await engine.scheduled(in: id)
    }

    // MARK: The draft

    /// What is being written, here or on another of the user's devices. `info` has it, too, and each that follows.
    public var draft: Draft? {
        get async { try? await observation.reader.read { [id] store throws(StorageError) in try store.draft(in: id) } }
    }

    /// Keeps what is being written, to be called whenever it has changed; nil when it was sent or given up. The user's other
    /// devices have it when the user pauses.
    public func setDraft(_ draft: Draft?) async throws(ParleyError) { try await engine.setDraft(draft, in: id) }

    /// The other devices have what is being written at once, as far as there is a connection: the user leaves the
    /// conversation, or the application goes to the background.
    public func putDraft() async { await engine.putDraft(in: id) }

    // MARK: The group

    public func rename(_ title: String) async throws(ParleyError) {
        try await engine.write(.rename(title: title), in: id)
    }

    /// Adds a member, or changes a member's role.
    public func add(_ user: UserID, role: MemberRole? = nil) async throws(ParleyError) {
        try await engine.write(.putMember(user, role: role?.rawValue), in: id)
    }

    public func remove(_ user: UserID) async throws(ParleyError) { try await engine.write(.removeMember(user), in: id) }

    /// Changes who may do something in the group. Its owners do this.
    public func permit(_ permission: GroupPermission, to roles: PermittedRoles) async throws(ParleyError) {
        try await engine.write(.permissions(.init(permission, roles)), in: id)
    }

    /// Decides how long messages stay that are sent from now on, in seconds (`Limits`); nil: until somebody deletes them. Owners and
    /// admins of a group do this, and both of a direct conversation. Those that are over vanish, here without a connection, too.
    ///
    /// - Parameter start: from when on the seconds count. From `reading` on, in conversations that are not too large for it (`Limits`),
    ///   a message goes when everybody else has read it for as long. Only the server knows when that is, so this device keeps it until
    ///   it is told.
    public func setMessageLifetime(seconds: Int?, from start: LifetimeStart = .sending) async throws(ParleyError) {
        try await engine.write(.lifetime(seconds, isFromReading: start == .reading ? true : nil), in: id)
    }

    /// Who was removed, and is brought back by owners and admins alone: asked of the server, which tells these.
    public func bans() async throws(ParleyError) -> [Ban] {
        var page = try await engine.ask(.bans(of: id, after: nil))
        var bans = page.bans
        while let next = page.nextCursor {
            page = try await engine.ask(.bans(of: id, after: next))
            bans += page.bans
        }
        return bans
    }

    /// Ends a ban, without bringing the user back. Owners and admins do this.
    public func liftBan(of user: UserID) async throws(ParleyError) { try await engine.write(.liftBan(user), in: id) }

    /// Makes an invitation, as whoever may add members does. Its `code` is told this once, and belongs into a link of the
    /// application, for `Parley.join(by:)`.
    ///
    /// After `ParleyError.unreachable` the invitation may be there all the same, without a code that anybody knows: `invitations`
    /// has it then.
    /// - Parameters:
    ///   - end: from when on it is good no more; nil: never.
    ///   - uses: how many may come by it; nil: as many as the group has room for.
    ///   - approval: whoever comes by it asks, and owners and admins decide. They make such ones.
    public func invite(
        until end: Timestamp? = nil, uses: Int? = nil, approval: Bool = false
    ) async throws(ParleyError) -> Invitation {
        try await engine.invite(into: id, until: end, uses: uses, approval: approval)
    }

    /// The invitations that are good, asked of the server: all for owners and admins, and one's own for members.
    public func invitations() async throws(ParleyError) -> [Invitation] {
        try await engine.ask(.invitations(into: id)).invitations
    }

    /// Makes an invitation good no more.
    public func revoke(_ invitation: InvitationID) async throws(ParleyError) {
        try await engine.revoke(invitation, into: id)
    }

    /// Who asks to join, the earliest first, asked of the server, which tells owners and admins. `add` lets them in.
    /// `Parley.joinRequested` says when to ask again.
    public func joinRequests() async throws(ParleyError) -> [JoinRequest] { try await engine.joinRequests(in: id) }

    /// Does not let somebody in who asks to join. They are not told.
    public func declineJoinRequest(of user: UserID) async throws(ParleyError) {
        try await engine.declineJoinRequest(of: user, in: id)
    }

    /// Leaves the group. What was seen can still be read.
    public func leave() async throws(ParleyError) {
        guard let user = await parley.userId else { throw .unreachable }
        try await engine.write(.removeMember(user), in: id)
    }

    /// Takes the conversation out of the user's list. The group has to be left before.
    public func removeFromList() async throws(ParleyError) { try await engine.write(.removeFromList, in: id) }

    // MARK: Marks. For the user alone, on all devices.

    /// Mutes the conversation, until a time or for ever: it does not count in `Parley.unread`, and stays in the archive.
    public func mute(until: Timestamp = .forever) async throws(ParleyError) {
        try await engine.mark(.muted(until: until), in: id)
    }

    public func unmute() async throws(ParleyError) { try await engine.mark(.muted(until: nil), in: id) }

    /// Pins the conversation: above all others that are pinned, or in a place among them, the lowest order first.
    public func pin(order: Int64? = nil) async throws(ParleyError) { try await engine.pin(id, order: order) }

    public func unpin() async throws(ParleyError) { try await engine.mark(.pinned(order: nil), in: id) }

    /// Puts the conversation into the archive, from which the next message brings it back, unless it is muted.
    public func archive() async throws(ParleyError) { try await engine.archive(id) }

    public func unarchive() async throws(ParleyError) { try await engine.mark(.archived(through: nil), in: id) }

    /// Marks the conversation as unread, until the user reads on in it.
    public func markUnread() async throws(ParleyError) { try await engine.mark(.unread(true), in: id) }

    /// Takes that mark away, to be called when the user opens the conversation. Without a mark it does nothing.
    public func unmarkUnread() async throws(ParleyError) { try await engine.unmarkUnread(id) }

    // MARK: Settings

    /// The user's settings in this conversation; nil until they are loaded.
    public var settings: Updates<SettingsInConversation?> {
        Updates { [observation, id] in
            let signal = observation.hub.signal { $0 == .settings(id) || $0 == .connection }
            let observer = Observer<SettingsInConversation?>(signal: signal, in: observation) { last, _ in
                let settings = try await observation.settings(in: id)
                return .some(settings) == last ? nil : .some(settings)
            }
            return { await observer.next() }
        }
    }

    /// Whether others in this conversation learn what the user reads; nil: as in the user's settings.
    public func set(readReceipts: Bool?) async throws(ParleyError) {
        let choice = readReceipts?.choice ?? .byDefault
        try await engine.write(.settingsInConversation(.init(readReceipts: choice)), in: id)
    }

    private func concerning(_ topics: (ConversationID) -> Set<Topic>) -> @Sendable (Topic) -> Bool {
        let topics = topics(id)
        return { topics.contains($0) }
    }
}
