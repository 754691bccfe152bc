import Foundation
import Models
import ParleyStorage

/// A request as HTTP has it, without the token.
package struct HTTPForm: Hashable, Sendable {
    package enum Method: String, Sendable {
        case get = "GET", head = "HEAD", post = "POST", put = "PUT", patch = "PATCH", delete = "DELETE"
    }

    package var method: Method
    /// With its query, percent-encoded.
    package var path: String
    package var body: Data?
    package var idempotencyKey: UUIDBytes?
    package var contentType = "application/json"
    /// Further header fields.
    package var headers: [String: String] = [:]

    init(_ method: Method, _ path: String, idempotencyKey: UUIDBytes? = nil) {
        self.method = method
        self.path = path
        self.idempotencyKey = idempotencyKey
    }

    init(_ method: Method, _ path: String, _ body: some Encodable, idempotencyKey: UUIDBytes? = nil) {
        self.init(method, path, idempotencyKey: idempotencyKey)
        // The contract's types always encode. A repetition has to be the same to the byte, so the application's own keys are
        // in order.
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        self.body = try? encoder.encode(body)
    }
}

private func conversationPath(_ id: ConversationID) -> String { "/v1/conversations/\(id)" }

private func messagePath(_ id: ConversationID, _ message: MessageID) -> String {
    "/v1/conversations/\(id)/messages/\(message)"
}

private func profilesPath(_ users: [UserID], _ versions: [Int64]) -> String {
    let path = "/v1/profiles?ids=" + encoded(users.map(\.name).joined(separator: ","))
    guard !versions.isEmpty else { return path }
    return path + "&versions=" + encoded(versions.map(String.init).joined(separator: ","))
}

/// Percent-encodes a part of a path or query: a user id may have `+`, a cursor may have anything.
private func encoded(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .unreserved) ?? ""
}

extension CharacterSet {
    fileprivate static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

extension SyncCall {
    private static let messagesPerPage = 100

    package var form: HTTPForm {
        switch self {
        case .conversations(let before):
            HTTPForm(.get, "/v1/conversations?limit=200" + (before.map { "&before=\(encoded($0))" } ?? ""))
        case .conversation(let id): HTTPForm(.get, conversationPath(id))
        case .changes(let id, let after): HTTPForm(.get, conversationPath(id) + "/changes?after=\(after)&limit=1000")
        case .history(let id, let place):
            HTTPForm(.get, conversationPath(id) + "/messages?limit=\(Self.messagesPerPage)" + place.query)
        case .members(let id, let after):
            HTTPForm(
                .get, conversationPath(id) + "/members?limit=1000" + (after.map { "&after=\(encoded($0.name))" } ?? ""))
        case .revisions(let id, let message): HTTPForm(.get, messagePath(id, message) + "/revisions")
        case .settings: HTTPForm(.get, "/v1/settings")
        case .blocks: HTTPForm(.get, "/v1/blocks")
        case .requests: HTTPForm(.get, "/v1/requests")
        case .profiles(let users, let versions): HTTPForm(.get, profilesPath(users, versions))
        case .sync(let since): HTTPForm(.get, "/v1/sync" + (since.map { "?since=\(encoded($0))" } ?? ""))
        case .digest(let id, let after): HTTPForm(.get, conversationPath(id) + "/digest?after=\(after)")
        }
    }

    /// Reads the body of a response of 2xx.
    package func response(_ body: Data) throws -> SyncResponse {
        let decoder = JSONDecoder()
        return switch self {
        case .conversations: .conversations(try decoder.decode(ConversationPage.self, from: body))
        case .conversation: .conversation(try decoder.decode(Conversation.self, from: body))
        case .changes: .changes(try decoder.decode(ChangePage.self, from: body))
        case .history: .history(try decoder.decode(History.self, from: body))
        case .members: .members(try decoder.decode(MemberPage.self, from: body))
        case .revisions: .revisions(try decoder.decode(Revisions.self, from: body))
        case .settings: .settings(try decoder.decode(Settings.self, from: body))
        case .blocks: .blocks(try decoder.decode(BlockList.self, from: body))
        case .requests: .requests(try decoder.decode(MessageRequestList.self, from: body))
        case .profiles: .profiles(try decoder.decode(ProfileList.self, from: body))
        case .sync: .sync(try decoder.decode(SyncPage.self, from: body))
        case .digest: .digest(try decoder.decode(HistoryDigest.self, from: body))
        }
    }
}

extension InquirySubject {
    package var form: HTTPForm {
        switch self {
        case .message(let id, let message): HTTPForm(.get, messagePath(id, message))
        case .search(let words, let id, let limit):
            HTTPForm(
                .get, "/v1/search?q=\(encoded(words))&limit=\(limit)" + (id.map { "&conversationId=\($0)" } ?? ""))
        case .receipts(let id, let message, let after):
            HTTPForm(
                .get,
                messagePath(id, message) + "/receipts?limit=1000"
                    + (after.map { "&after=\(encoded($0.name))" } ?? ""))
        case .pinned(let id, let before):
            HTTPForm(.get, conversationPath(id) + "/pinned?limit=100" + (before.map { "&before=\($0)" } ?? ""))
        case .mentions(let id, let after):
            HTTPForm(.get, conversationPath(id) + "/mentions?limit=1&after=\(after)")
        case .bans(let id, let after):
            HTTPForm(
                .get, conversationPath(id) + "/bans?limit=1000" + (after.map { "&after=\(encoded($0.name))" } ?? ""))
        case .scheduled(let id, let after):
            HTTPForm(.get, "/v1/scheduled?limit=100&after=\(after)" + (id.map { "&conversationId=\($0)" } ?? ""))
        case .schedule(let id, let message, let new, let key):
            HTTPForm(.put, conversationPath(id) + "/scheduled/\(message)", new, idempotencyKey: key)
        case .cancelScheduled(let id, let message, let key):
            HTTPForm(.delete, conversationPath(id) + "/scheduled/\(message)", idempotencyKey: key)
        case .settings(let id): HTTPForm(.get, conversationPath(id) + "/settings")
        case .digest(let id, let after): SyncCall.digest(id, after: after).form
        case .limits: HTTPForm(.get, "/v1/limits")
        case .profile(let user): HTTPForm(.get, profilesPath([user], []))
        case .putProfile(let new, let key): HTTPForm(.put, "/v1/profile", new, idempotencyKey: key)
        case .direct(let user): HTTPForm(.post, "/v1/conversations", RequestBody.NewConversation(directWith: user))
        case .invitations(let id): HTTPForm(.get, conversationPath(id) + "/invitations")
        case .invite(let id, let new): HTTPForm(.post, conversationPath(id) + "/invitations", new)
        case .revokeInvitation(let id, let invitation, let key):
            HTTPForm(.delete, conversationPath(id) + "/invitations/\(invitation)", idempotencyKey: key)
        case .invitation(let code): HTTPForm(.get, "/v1/invitations/" + encoded(code))
        case .join(let code, let key): HTTPForm(.post, "/v1/invitations/" + encoded(code), idempotencyKey: key)
        case .joinRequests(let id, let after):
            HTTPForm(
                .get,
                conversationPath(id) + "/join-requests?limit=1000" + (after.map { "&after=\(encoded($0.name))" } ?? ""))
        case .declineJoinRequest(let id, let user, let key):
            HTTPForm(.delete, conversationPath(id) + "/join-requests/" + encoded(user.name), idempotencyKey: key)
        case .report(let new): HTTPForm(.post, "/v1/reports", new)
        case .devices: HTTPForm(.get, "/v1/devices")
        case .endDevice(let name): HTTPForm(.delete, "/v1/devices/" + encoded(name))
        case .endOtherDevices: HTTPForm(.delete, "/v1/devices")
        }
    }
}

extension HistoryPlace {
    fileprivate var query: String {
        switch self {
        case .newest: ""
        case .before(let seq): "&before=\(seq)"
        case .after(let seq): "&after=\(seq)"
        case .around(let seq): "&around=\(seq)"
        }
    }
}

extension OutboxCall {
    package var form: HTTPForm {
        switch self {
        case .single(let row): row.form
        case .batch(let rows):
            HTTPForm(
                .post, "/v1/messages:batch",
                RequestBody.Batch(
                    messages: rows.compactMap { row in
                        guard let conversation = row.conversation, let message = row.newMessage else { return nil }
                        return .init(conversationId: conversation, message: message)
                    }))
        }
    }

    /// Reads the body of a response of 2xx.
    package func response(_ body: Data) throws -> OutboxResponse {
        let decoder = JSONDecoder()
        guard case .single(let row) = self else { return .batch(try decoder.decode(BatchResults.self, from: body)) }
        return switch row.write {
        case .send, .forward, .edit, .setTapback, .pinMessage(true), .vote, .closePoll:
            .done(.message(try decoder.decode(Message.self, from: body)))
        case .rename, .permissions, .lifetime, .createGroup:
            .done(.conversation(try decoder.decode(Conversation.self, from: body)))
        case .putMember: .done(.member(try decoder.decode(Membership.self, from: body)))
        case .settings: .done(.settings(try decoder.decode(Settings.self, from: body)))
        case .settingsInConversation:
            .done(.settingsInConversation(try decoder.decode(SettingsInConversation.self, from: body)))
        case .deleteForMe, .deleteForEveryone, .removeTapback, .read, .clearHistory, .removeMember, .liftBan,
            .removeFromList, .mark, .block, .accept, .decline, .draft, .pinMessage(false):
            .done(.done)
        }
    }
}

extension OutboxRow {
    fileprivate var newMessage: RequestBody.NewMessage? {
        guard let message else { return nil }
        if case .forward(let source, _, let sentAt) = write {
            return .init(id: message, text: nil, forward: source, sentAt: sentAt)
        }
        guard
            case .send(let text, let parent, let mentions, let sentAt, let extra, let all, let sealed, let poll) = write
        else { return nil }
        let isSealed = sealed == true
        let attachments = files.compactMap { $0.mediaId.map(RequestBody.AttachmentReference.init) }
        return .init(
            id: message, text: isSealed || text.isEmpty && !attachments.isEmpty ? nil : text,
            sealed: isSealed ? text : nil, poll: poll,
            attachments: attachments.isEmpty ? nil : attachments, replyTo: parent,
            mentions: mentions.isEmpty ? nil : mentions, mentionsAll: all == true ? true : nil, extra: extra,
            sentAt: sentAt)
    }

    fileprivate var form: HTTPForm {
        guard let conversation else { return ownForm }
        let path = conversationPath(conversation)
        switch write {
        case .send, .forward: return HTTPForm(.post, path + "/messages", newMessage)
        case .read(let seq): return HTTPForm(.post, path + "/receipts", RequestBody.Receipt(readSeq: seq))
        case .createGroup(let members, let title):
            return HTTPForm(
                .post, "/v1/conversations",
                RequestBody.NewConversation(group: conversation, members: members, title: title))
        case .clearHistory(let through):
            return HTTPForm(.delete, path + "/history?through=\(through)", idempotencyKey: idempotencyKey)
        case .rename(let title):
            return HTTPForm(.patch, path, RequestBody.Renaming(title: title), idempotencyKey: idempotencyKey)
        case .putMember(let user, let role):
            return HTTPForm(
                .put, path + "/members/\(encoded(user.name))",
                RequestBody.Role(role.flatMap(MemberRole.init(rawValue:))), idempotencyKey: idempotencyKey)
        case .removeMember(let user):
            return HTTPForm(.delete, path + "/members/\(encoded(user.name))", idempotencyKey: idempotencyKey)
        case .permissions(let new):
            return HTTPForm(.put, path + "/permissions", new, idempotencyKey: idempotencyKey)
        case .lifetime(let seconds, let isFromReading):
            let start = isFromReading ?? false ? LifetimeStart.reading : .sending
            return HTTPForm(
                .put, path + "/lifetime", RequestBody.NewMessageLifetime(seconds: seconds, from: start),
                idempotencyKey: idempotencyKey)
        case .liftBan(let user):
            return HTTPForm(.delete, path + "/bans/\(encoded(user.name))", idempotencyKey: idempotencyKey)
        case .removeFromList: return HTTPForm(.delete, path, idempotencyKey: idempotencyKey)
        case .settingsInConversation(let new):
            return HTTPForm(.put, path + "/settings", new, idempotencyKey: idempotencyKey)
        case .mark(let mark, _): return form(mark, path)
        case .accept: return HTTPForm(.put, path + "/acceptance", idempotencyKey: idempotencyKey)
        case .decline: return HTTPForm(.delete, path + "/acceptance", idempotencyKey: idempotencyKey)
        // Repeatable without a key.
        case .draft(let draft, _):
            return Draft.kept(draft).map {
                HTTPForm(.put, path + "/draft", RequestBody.NewDraft(text: $0.text, replyTo: $0.replyTo))
            }
                ?? HTTPForm(.delete, path + "/draft")
        case .settings, .block: return ownForm
        case .edit, .deleteForMe, .deleteForEveryone, .setTapback, .removeTapback, .pinMessage, .vote, .closePoll:
            return messageForm(conversation)
        }
    }

    private func form(_ mark: ConversationMark, _ path: String) -> HTTPForm {
        let key = idempotencyKey
        return switch mark {
        case .muted(let until?): HTTPForm(.put, path + "/mute", RequestBody.NewMute(until: until), idempotencyKey: key)
        case .muted(nil): HTTPForm(.delete, path + "/mute", idempotencyKey: key)
        case .pinned(let order?): HTTPForm(.put, path + "/pin", RequestBody.NewPin(order: order), idempotencyKey: key)
        case .pinned(nil): HTTPForm(.delete, path + "/pin", idempotencyKey: key)
        case .archived(let seq?):
            HTTPForm(.put, path + "/archive", RequestBody.NewArchive(throughSeq: seq), idempotencyKey: key)
        case .archived(nil): HTTPForm(.delete, path + "/archive", idempotencyKey: key)
        case .unread(let isMarked): HTTPForm(isMarked ? .put : .delete, path + "/unread", idempotencyKey: key)
        }
    }

    private var ownForm: HTTPForm {
        switch write {
        case .settings(let new): HTTPForm(.put, "/v1/settings", new, idempotencyKey: idempotencyKey)
        case .block(let user, let isBlocked, _):
            HTTPForm(isBlocked ? .put : .delete, "/v1/blocks/\(encoded(user.name))", idempotencyKey: idempotencyKey)
        default: preconditionFailure("only settings and blocks are of no conversation")
        }
    }

    private func messageForm(_ conversation: ConversationID) -> HTTPForm {
        guard let message else { preconditionFailure("a write to a message names it") }
        let path = messagePath(conversation, message)
        return switch write {
        case .edit(let text, let isSealed):
            HTTPForm(
                .patch, path, isSealed == true ? RequestBody.Edit(sealed: text) : RequestBody.Edit(text: text),
                idempotencyKey: idempotencyKey)
        case .deleteForMe: HTTPForm(.delete, path + "?scope=me", idempotencyKey: idempotencyKey)
        case .deleteForEveryone: HTTPForm(.delete, path + "?scope=everyone", idempotencyKey: idempotencyKey)
        case .setTapback(let kind):
            HTTPForm(.put, path + "/tapback", RequestBody.NewTapback(kind: kind), idempotencyKey: idempotencyKey)
        case .vote(let options):
            HTTPForm(.put, path + "/vote", RequestBody.NewVote(options: options), idempotencyKey: idempotencyKey)
        case .closePoll: HTTPForm(.post, path + "/close", idempotencyKey: idempotencyKey)
        case .pinMessage(let isPinned):
            HTTPForm(isPinned ? .put : .delete, path + "/pin", idempotencyKey: idempotencyKey)
        default: HTTPForm(.delete, path + "/tapback", idempotencyKey: idempotencyKey)
        }
    }
}
