import Bytes
import Edge
import Models
import ServiceKit
import Wire

/// The calls of the client contract that ingest serves.
enum Call: CaseIterable {
    case limits, document
    case createConversation, listConversations, conversation, members
    case send, sendBatch, history, message, changes, digest, receipts
    case rename, unlist, putMember, removeMember, clearHistory
    case putPermissions, putLifetime, bans, liftBan
    case invitations, createInvitation, revokeInvitation, invitation, join
    case joinRequests, declineJoinRequest
    case sync, search, unreadTotal
    case blocks, block, unblock
    case requests, acceptRequest, declineRequest
    case profiles, putProfile
    case mute, unmute, pin, unpin, archive, unarchive, markUnread, unmarkUnread
    case putDraft, removeDraft
    case scheduled, schedule, cancelScheduled
    case settings, putSettings, conversationSettings, putConversationSettings
    case eraseUser, revokeTokens
    case suspension, suspend, liftSuspension
    case createReport, reports, report, resolveReport
    case putRetention
    case acts
    case devices, endDevice, endOtherDevices
    case importRecords, dropImport, exportConversation, exportUser
    case edit, delete, revisions, setTapback, removeTapback, tapbacks, messageReceipts
    case pinnedMessages, pinMessage, unpinMessage, mentions
    case vote, votes, closePoll

    var needsToken: Bool { self != .limits && self != .document }

    /// Whether the call is for the application's backend only, which is not a user.
    var isForAdministrators: Bool {
        switch self {
        case .eraseUser, .revokeTokens, .suspension, .suspend, .liftSuspension, .reports, .report, .resolveReport,
            .putRetention, .acts, .importRecords, .dropImport, .exportConversation, .exportUser:
            true
        default: false
        }
    }
}

extension Call {
    /// What a user may do whom an administrator has suspended to reading only.
    enum OfReaders {
        /// Nobody else sees it, or it takes back what others saw.
        case open
        case refused
        /// About themselves alone, such as leaving.
        case openAboutThemselves
    }

    var ofReaders: OfReaders {
        switch self {
        case .limits, .document: .open
        case .listConversations, .conversation, .members, .history, .message, .changes, .digest, .bans, .invitations,
            .invitation, .sync, .search, .unreadTotal, .blocks, .requests, .profiles, .settings, .conversationSettings,
            .devices, .revisions, .tapbacks, .messageReceipts, .pinnedMessages, .mentions, .joinRequests,
            .scheduled, .votes:
            .open
        case .receipts, .unlist, .clearHistory, .mute, .unmute, .pin, .unpin, .archive, .unarchive, .markUnread,
            .unmarkUnread, .putDraft, .removeDraft, .putSettings, .putConversationSettings, .endDevice,
            .endOtherDevices, .block, .unblock, .declineRequest:
            .open
        case .delete, .removeTapback, .revokeInvitation, .cancelScheduled: .open
        // Administrators alone see it.
        case .createReport: .open
        case .removeMember, .declineJoinRequest: .openAboutThemselves
        case .createConversation, .send, .sendBatch, .schedule, .edit, .setTapback, .pinMessage, .unpinMessage, .vote,
            .closePoll, .rename,
            .putMember, .putPermissions, .putLifetime, .liftBan,
            .createInvitation, .join, .acceptRequest, .putProfile:
            .refused
        // An administrator is not suspended.
        case .eraseUser, .revokeTokens, .suspension, .suspend, .liftSuspension, .reports, .report, .resolveReport,
            .putRetention, .acts, .importRecords, .dropImport, .exportConversation, .exportUser:
            .open
        }
    }
}

/// The call that a request is for, and the identifiers in its path, which are parsed only after the caller is
/// authenticated.
struct Route {
    let call: Call
    private let conversationText: UnsafeRawBufferPointer
    /// The id of a message, an invitation or a report, the name of a member, user or device, or the code of an invitation.
    private let itemText: UnsafeRawBufferPointer

    private init(
        _ call: Call, conversation: UnsafeRawBufferPointer = .nothing, item: UnsafeRawBufferPointer = .nothing
    ) {
        self.call = call
        conversationText = conversation
        itemText = item
    }

    func conversation() throws(Problem) -> ConversationID {
        ConversationID(try uuid(conversationText, "conversationId: must be a UUID in lower case"))
    }

    func message() throws(Problem) -> MessageID {
        MessageID(try uuid(itemText, "messageId: must be a UUID in lower case"))
    }

    /// The message in the path that a client has made, or may make.
    func chosenMessage() throws(Problem) -> MessageID {
        let message = try message()
        guard message.uuid.isChosenByClient else {
            throw Problem(.invalid, "messageId: must be a UUID of version 4 or 7 in lower case")
        }
        return message
    }

    func invitation() throws(Problem) -> InvitationID {
        InvitationID(try uuid(itemText, "invitationId: must be a UUID in lower case"))
    }

    func report() throws(Problem) -> ReportID {
        ReportID(try uuid(itemText, "reportId: must be a UUID in lower case"))
    }

    /// What is no code at all is like one that nobody has given out.
    func code() throws(Problem) -> InvitationCode {
        guard let code = InvitationCode(text: String(decoding: itemText, as: UTF8.self)) else {
            throw .unknownInvitation
        }
        return code
    }

    /// Whether a user may make the request who may only read.
    func isOpen(toReader user: UserID) -> Bool {
        switch call.ofReaders {
        case .open: true
        case .refused: false
        // What is no user id is refused for what it is.
        case .openAboutThemselves: (try? self.user()).map { $0 == user } ?? true
        }
    }

    /// The member in the path.
    func member() throws(Problem) -> UserID { try user() }

    /// The user in the path, possibly percent-encoded. A plus is a plus.
    func user() throws(Problem) -> UserID {
        guard let name = percentDecoded(itemText), let user = UserID(name) else {
            throw Problem(.invalid, "userId: must be 1 to 64 characters of A-Z a-z 0-9 . _ - @ : +")
        }
        return user
    }

    /// The device in the path, possibly percent-encoded.
    func device() throws(Problem) -> DeviceID {
        guard let device = percentDecoded(itemText).flatMap(DeviceID.init) else {
            throw Problem(
                .invalid, "deviceId: must be 1 to \(ContractLimits.deviceBytes) bytes without control characters")
        }
        return device
    }

    /// The conversation that the path names, be it by the code of an invitation.
    var namedConversation: ConversationID? {
        call == .join ? (try? code())?.conversation : try? conversation()
    }

    /// What else it names, as far as it may stand in a log: a code opens a group.
    var namedTarget: String {
        let text = call == .join ? nil : percentDecoded(itemText)
        return text.flatMap { $0.utf8.count <= 255 ? $0 : nil } ?? ""
    }

    private func uuid(_ text: UnsafeRawBufferPointer, _ requirement: String) throws(Problem) -> UUIDBytes {
        guard let uuid = UUIDBytes(text: text), uuid.isWellFormed else { throw Problem(.invalid, requirement) }
        return uuid
    }
}

extension Route {
    /// The result of routing a method and a path.
    enum Result {
        case route(Route)
        case notFound
        /// The path exists with other methods, as `Allow` lists them.
        case methodNotAllowed(allowed: StaticString)
    }

    static func find(_ method: Method, _ path: UnsafeRawBufferPointer) -> Result {
        guard path.count >= 4, path.part(0, 4) == "/v1/" else {
            return path == "/openapi.json" ? get(method, Route(.document)) : .notFound
        }
        var segments = ByteFields(path.part(4, path.count), separator: UInt8(ascii: "/"))
        let first = segments.next() ?? .nothing
        guard let identifier = segments.next() else { return collection(method, first) }
        if first == "users", !identifier.isEmpty {
            guard let action = segments.next() else { return delete(method, Route(.eraseUser, item: identifier)) }
            guard segments.next() == nil else { return .notFound }
            if action == "revoke" { return post(method, Route(.revokeTokens, item: identifier)) }
            return action == "suspension" ? suspension(method, of: identifier) : .notFound
        }
        if first == "blocks", !identifier.isEmpty, segments.next() == nil {
            return putOrDelete(method, Route(.block, item: identifier), Route(.unblock, item: identifier))
        }
        if first == "invitations", !identifier.isEmpty, segments.next() == nil {
            return getOrPost(method, Route(.invitation, item: identifier), Route(.join, item: identifier))
        }
        if first == "devices", !identifier.isEmpty, segments.next() == nil {
            return delete(method, Route(.endDevice, item: identifier))
        }
        if first == "import", !identifier.isEmpty, segments.next() == nil {
            return delete(method, Route(.dropImport, conversation: identifier))
        }
        if first == "export", let item = segments.next(), !item.isEmpty, segments.next() == nil {
            if identifier == "conversations" { return get(method, Route(.exportConversation, conversation: item)) }
            return identifier == "users" ? get(method, Route(.exportUser, item: item)) : .notFound
        }
        guard first == "conversations", !identifier.isEmpty else { return .notFound }
        guard let part = segments.next() else { return conversation(method, identifier) }
        guard let item = segments.next() else { return self.part(method, identifier, part) }
        guard !item.isEmpty else { return .notFound }
        guard let detail = segments.next() else { return self.item(method, identifier, part, item) }
        guard segments.next() == nil else { return .notFound }
        if part == "reports", detail == "resolution" {
            return post(method, Route(.resolveReport, conversation: identifier, item: item))
        }
        guard part == "messages" else { return .notFound }
        return self.detail(method, identifier, item, detail)
    }

    /// `/v1/…`
    private static func collection(_ method: Method, _ name: UnsafeRawBufferPointer) -> Result {
        if name == "limits" { return get(method, Route(.limits)) }
        if name == "sync" { return get(method, Route(.sync)) }
        if name == "unread" { return get(method, Route(.unreadTotal)) }
        if name == "blocks" { return get(method, Route(.blocks)) }
        if name == "devices" { return getOrDelete(method, Route(.devices), Route(.endOtherDevices)) }
        if name == "requests" { return get(method, Route(.requests)) }
        if name == "profiles" { return get(method, Route(.profiles)) }
        if name == "profile" { return put(method, Route(.putProfile)) }
        if name == "settings" { return getOrPut(method, Route(.settings), Route(.putSettings)) }
        if name == "audit" { return get(method, Route(.acts)) }
        if name == "reports" { return getOrPost(method, Route(.reports), Route(.createReport)) }
        if name == "import" { return post(method, Route(.importRecords)) }
        if name == "scheduled" { return get(method, Route(.scheduled)) }
        if name == "search" { return get(method, Route(.search)) }
        if name == "conversations" {
            return getOrPost(method, Route(.listConversations), Route(.createConversation))
        }
        // Some clients encode the colon.
        if name == "messages:batch" || name == "messages%3Abatch" || name == "messages%3abatch" {
            return post(method, Route(.sendBatch))
        }
        return .notFound
    }

    /// `/v1/users/{userId}/suspension`
    private static func suspension(_ method: Method, of user: UnsafeRawBufferPointer) -> Result {
        switch method {
        case .get: .route(Route(.suspension, item: user))
        case .put: .route(Route(.suspend, item: user))
        case .delete: .route(Route(.liftSuspension, item: user))
        default: .methodNotAllowed(allowed: "GET, HEAD, PUT, DELETE")
        }
    }

    /// `/v1/conversations/{c}`
    private static func conversation(_ method: Method, _ identifier: UnsafeRawBufferPointer) -> Result {
        switch method {
        case .get: .route(Route(.conversation, conversation: identifier))
        case .patch: .route(Route(.rename, conversation: identifier))
        case .delete: .route(Route(.unlist, conversation: identifier))
        default: .methodNotAllowed(allowed: "GET, HEAD, PATCH, DELETE")
        }
    }

    /// `/v1/conversations/{c}/…`
    private static func part(
        _ method: Method, _ identifier: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer
    ) -> Result {
        if part == "messages" {
            return getOrPost(
                method, Route(.history, conversation: identifier), Route(.send, conversation: identifier))
        }
        if part == "members" { return get(method, Route(.members, conversation: identifier)) }
        if part == "bans" { return get(method, Route(.bans, conversation: identifier)) }
        if part == "join-requests" { return get(method, Route(.joinRequests, conversation: identifier)) }
        if part == "mentions" { return get(method, Route(.mentions, conversation: identifier)) }
        if part == "pinned" { return get(method, Route(.pinnedMessages, conversation: identifier)) }
        if part == "invitations" {
            return getOrPost(
                method, Route(.invitations, conversation: identifier),
                Route(.createInvitation, conversation: identifier))
        }
        if part == "permissions" { return put(method, Route(.putPermissions, conversation: identifier)) }
        if part == "lifetime" { return put(method, Route(.putLifetime, conversation: identifier)) }
        if part == "retention" { return put(method, Route(.putRetention, conversation: identifier)) }
        if part == "changes" { return get(method, Route(.changes, conversation: identifier)) }
        if part == "digest" { return get(method, Route(.digest, conversation: identifier)) }
        if part == "receipts" { return post(method, Route(.receipts, conversation: identifier)) }
        if part == "settings" {
            return getOrPut(
                method, Route(.conversationSettings, conversation: identifier),
                Route(.putConversationSettings, conversation: identifier))
        }
        if part == "acceptance" {
            return putOrDelete(
                method, Route(.acceptRequest, conversation: identifier),
                Route(.declineRequest, conversation: identifier))
        }
        if part == "history" { return delete(method, Route(.clearHistory, conversation: identifier)) }
        guard let kept = keptToOneself.first(where: { part == $0.name }) else { return .notFound }
        return putOrDelete(
            method, Route(kept.set, conversation: identifier), Route(kept.remove, conversation: identifier))
    }

    private static let keptToOneself: [(name: StaticString, set: Call, remove: Call)] = [
        ("mute", .mute, .unmute), ("pin", .pin, .unpin), ("archive", .archive, .unarchive),
        ("unread", .markUnread, .unmarkUnread), ("draft", .putDraft, .removeDraft),
    ]

    /// `/v1/conversations/{c}/messages/{m}`, `…/members/{userId}`, `…/bans/{userId}`, `…/join-requests/{userId}`,
    /// `…/invitations/{invitationId}`, `…/scheduled/{messageId}` and `…/reports/{reportId}`
    private static func item(
        _ method: Method, _ identifier: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer,
        _ item: UnsafeRawBufferPointer
    ) -> Result {
        func route(_ call: Call) -> Result { .route(Route(call, conversation: identifier, item: item)) }
        if part == "messages" {
            return switch method {
            case .get: route(.message)
            case .patch: route(.edit)
            case .delete: route(.delete)
            default: .methodNotAllowed(allowed: "GET, HEAD, PATCH, DELETE")
            }
        }
        if part == "bans" { return delete(method, Route(.liftBan, conversation: identifier, item: item)) }
        if part == "join-requests" {
            return delete(method, Route(.declineJoinRequest, conversation: identifier, item: item))
        }
        if part == "invitations" {
            return delete(method, Route(.revokeInvitation, conversation: identifier, item: item))
        }
        if part == "scheduled" {
            return putOrDelete(
                method, Route(.schedule, conversation: identifier, item: item),
                Route(.cancelScheduled, conversation: identifier, item: item))
        }
        if part == "reports" { return get(method, Route(.report, conversation: identifier, item: item)) }
        guard part == "members" else { return .notFound }
        return putOrDelete(
            method, Route(.putMember, conversation: identifier, item: item),
            Route(.removeMember, conversation: identifier, item: item))
    }

    /// `/v1/conversations/{c}/messages/{m}/…`
    private static func detail(
        _ method: Method, _ identifier: UnsafeRawBufferPointer, _ message: UnsafeRawBufferPointer,
        _ detail: UnsafeRawBufferPointer
    ) -> Result {
        func route(_ call: Call) -> Route { Route(call, conversation: identifier, item: message) }
        if detail == "revisions" { return get(method, route(.revisions)) }
        if detail == "tapbacks" { return get(method, route(.tapbacks)) }
        if detail == "receipts" { return get(method, route(.messageReceipts)) }
        if detail == "pin" { return putOrDelete(method, route(.pinMessage), route(.unpinMessage)) }
        if detail == "votes" { return get(method, route(.votes)) }
        if detail == "vote" { return put(method, route(.vote)) }
        if detail == "close" { return post(method, route(.closePoll)) }
        guard detail == "tapback" else { return .notFound }
        return putOrDelete(method, route(.setTapback), route(.removeTapback))
    }

    // MARK: Methods

    private static func get(_ method: Method, _ route: Route) -> Result {
        method == .get ? .route(route) : .methodNotAllowed(allowed: "GET, HEAD")
    }

    private static func post(_ method: Method, _ route: Route) -> Result {
        method == .post ? .route(route) : .methodNotAllowed(allowed: "POST")
    }

    private static func delete(_ method: Method, _ route: Route) -> Result {
        method == .delete ? .route(route) : .methodNotAllowed(allowed: "DELETE")
    }

    private static func put(_ method: Method, _ route: Route) -> Result {
        method == .put ? .route(route) : .methodNotAllowed(allowed: "PUT")
    }

    private static func putOrDelete(_ method: Method, _ put: Route, _ delete: Route) -> Result {
        switch method {
        case .put: .route(put)
        case .delete: .route(delete)
        default: .methodNotAllowed(allowed: "PUT, DELETE")
        }
    }

    private static func getOrPut(_ method: Method, _ get: Route, _ put: Route) -> Result {
        switch method {
        case .get: .route(get)
        case .put: .route(put)
        default: .methodNotAllowed(allowed: "GET, HEAD, PUT")
        }
    }

    private static func getOrDelete(_ method: Method, _ get: Route, _ delete: Route) -> Result {
        switch method {
        case .get: .route(get)
        case .delete: .route(delete)
        default: .methodNotAllowed(allowed: "GET, HEAD, DELETE")
        }
    }

    private static func getOrPost(_ method: Method, _ get: Route, _ post: Route) -> Result {
        switch method {
        case .get: .route(get)
        case .post: .route(post)
        default: .methodNotAllowed(allowed: "GET, HEAD, POST")
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate static var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    fileprivate static func == (bytes: Self, literal: StaticString) -> Bool {
        bytes.isEqual(to: literal)
    }
}

extension UUIDBytes {
    /// Whether it may name something: any but the nil UUID (RFC 9562, 5.9), as imports bring those of other systems.
    var isWellFormed: Bool { self != .zero }

    /// Whether a client may choose this UUID.
    var isChosenByClient: Bool { isStandardVariant && (version == 4 || version == 7) }
}
