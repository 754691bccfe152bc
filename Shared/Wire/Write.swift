import Bytes
import Models

/// `write`: a write of a user to a conversation, other than sending messages. May be repeated under its key at any
/// time.
///
/// Layout: conversation 16 · actor name · key 16 (zero: none) · action 1 · the action's fields.
/// Response: 200 with the content that the action defines, 204 without a body, or a `Problem`. A repetition gets the
/// first one's outcome, with the current content.
public struct Write: WireCodable, Hashable {
    public var conversation: ConversationID
    public var actor: UserID
    public var key: UUIDBytes?
    public var action: Action

    public init(_ conversation: ConversationID, by actor: UserID, key: UUIDBytes?, _ action: Action) {
        self.conversation = conversation
        self.actor = actor
        self.key = key
        self.action = action
    }

    public enum Action: Hashable, Sendable {
        /// 200 with the message. Fields: message 16 · text to the end.
        case edit(MessageID, text: String)
        /// As `edit`, of a sealed message. Fields: message 16 · base64 to the end.
        case editSealed(MessageID, String)
        /// 204. Fields: message 16.
        case deleteForEveryone(MessageID)
        /// 204. Fields: message 16.
        case hide(MessageID)
        /// 200 with the message. Fields: message 16 · kind name.
        case setTapback(MessageID, String)
        /// 204. Fields: message 16.
        case removeTapback(MessageID)
        /// 200 with the message. Fields: message 16.
        case pinMessage(MessageID)
        /// 204. Fields: message 16.
        case unpinMessage(MessageID)
        /// 200 with the message. Fields: message 16 · `PollOptions` 2 (0: the vote is withdrawn).
        case vote(MessageID, PollOptions)
        /// 200 with the message. Fields: message 16.
        case closePoll(MessageID)
        /// 200 with the member. Fields: user name · role 1 (0: unchanged, or member) · `Introduction`.
        case putMember(UserID, MemberRole?, Introduction = Introduction())
        /// 204. Fields: user name.
        case removeMember(UserID)
        /// 200 with the conversation. Fields: title to the end.
        case rename(String)
        /// 204. Fields: through 8 (0: up to the latest change).
        case clearHistory(through: Int64)
        /// 200 with the settings in force. Fields: read receipts 1.
        case putSettings(readReceipts: SettingChange)
        /// 204. For a conversation that the actor has left. No fields.
        case unlist
        /// 204. Fields: see `Mark`.
        case mark(Mark)
        /// 204. In the direct conversation of the two, which need not exist. Fields: user name · 1: block, 0: no longer.
        case block(UserID, Bool)
        /// 204. No fields.
        case acceptRequest
        /// 204. No fields.
        case declineRequest
        /// 200 with the conversation. Fields: see `GroupPermissions`.
        case setPermissions(GroupPermissions)
        /// 200 with the conversation. Fields: seconds 4 (0: messages stay).
        case setLifetime(seconds: UInt32, from: LifetimeStart = .sending)
        /// 204. Fields: user name.
        case liftBan(UserID)
        /// 204. Who asks to join, or the actor, who asks no more. Fields: user name.
        case declineJoinRequest(UserID)
        /// 201 with the invitation and its code. Fields: see `NewInvitation`.
        case createInvitation(NewInvitation)
        /// 204. Fields: invitation 16.
        case revokeInvitation(InvitationID)
        /// 200 with the conversation: the actor becomes a member by an invitation. 202 with what they ask, where others decide. Fields:
        /// its secret 16.
        case join(secret: UUIDBytes)
        /// 201 with the report, or 200 with the one of before. Fields: see `NewReport`.
        case report(NewReport)
        /// 200 with the report, for administrators, of whom the actor is one. Fields: see `ReportResolution`.
        case resolveReport(ReportResolution)
        /// 204, for administrators, of whom the actor is one. Nil: as in all conversations. Fields: days 4 (0: nil).
        case setRetention(days: Int32?)

        /// 204. Fields: see `NewScheduled`.
        case schedule(NewScheduled)
        /// 204. Fields: message 16.
        case cancelScheduled(MessageID)

        /// 204. Fields: the message that it replies to 16 (zero: none) · text to the end (empty: no draft).
        case draft(String, replyTo: MessageID?)

        /// Stored with outcomes, as is `PutProfile.number`: retired, never reused.
        public var number: UInt8 {
            switch self {
            case .edit: 1
            case .editSealed: 31
            case .deleteForEveryone: 2
            case .hide: 3
            case .setTapback: 4
            case .removeTapback: 5
            case .putMember: 6
            case .removeMember: 7
            case .rename: 8
            case .clearHistory: 9
            case .putSettings: 10
            case .unlist: 11
            case .mark: 12
            case .block: 13
            case .draft: 15
            case .acceptRequest: 16
            case .declineRequest: 17
            case .setPermissions: 18
            case .liftBan: 19
            // A store that lets everybody in must not make one of whom others decide.
            case .createInvitation(let invitation): invitation.needsApproval ? 30 : 20
            case .revokeInvitation: 21
            case .join: 22
            case .report: 23
            case .resolveReport: 24
            case .pinMessage: 25
            case .unpinMessage: 26
            // A store that knows no other must not have messages go by when they were sent.
            case .setLifetime(_, let start): start == .sending ? 27 : 28
            case .declineJoinRequest: 29
            case .schedule: 33
            case .cancelScheduled: 34
            case .vote: 35
            case .closePoll: 36
            case .setRetention: 37
            }
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.conversation()
        actor = try reader.user()
        let uuid = try reader.uuid()
        key = uuid == .zero ? nil : uuid
        action = try Action(from: &reader)
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(conversation)
        buffer.append(actor)
        buffer.append(bigEndian: key ?? .zero)
        action.write(to: &buffer)
    }
}

extension Write.Action: WireCodable {
    public init(from reader: inout ByteReader) throws(WireError) {
        let number: UInt8 = try reader.number()
        self =
            switch number {
            case 1: .edit(try reader.message(), text: reader.rest())
            case 2: .deleteForEveryone(try reader.message())
            case 3: .hide(try reader.message())
            case 4: .setTapback(try reader.message(), String(decoding: try reader.name(), as: UTF8.self))
            case 5: .removeTapback(try reader.message())
            case 6:
                .putMember(
                    try reader.user(), MemberRole(rawValue: try reader.number()),
                    try Introduction(from: &reader, count: 1))
            case 7: .removeMember(try reader.user())
            case 8: .rename(reader.rest())
            case 9: .clearHistory(through: try reader.position())
            case 10: .putSettings(readReceipts: try reader.settingChange())
            case 11: .unlist
            case 12: .mark(try Mark(from: &reader))
            case 13: .block(try reader.user(), try reader.number(UInt8.self) == 1)
            case 15: try reader.draft()
            case 16: .acceptRequest
            case 17: .declineRequest
            case 18: .setPermissions(GroupPermissions(number: try reader.number()))
            case 19: .liftBan(try reader.user())
            case 20: .createInvitation(try NewInvitation(from: &reader))
            case 21: .revokeInvitation(try reader.invitation())
            case 22: .join(secret: try reader.uuid())
            case 23: .report(try NewReport(from: &reader))
            case 24: .resolveReport(try ReportResolution(from: &reader))
            case 25: .pinMessage(try reader.message())
            case 26: .unpinMessage(try reader.message())
            case 27: .setLifetime(seconds: try reader.number())
            case 28: .setLifetime(seconds: try reader.number(), from: .reading)
            case 29: .declineJoinRequest(try reader.user())
            case 30: .createInvitation(try NewInvitation(from: &reader).needingApproval())
            case 31: .editSealed(try reader.message(), reader.rest())
            case 33: .schedule(try NewScheduled(from: &reader))
            case 34: .cancelScheduled(try reader.message())
            case 35: .vote(try reader.message(), PollOptions(bits: try reader.number()))
            case 36: .closePoll(try reader.message())
            case 37: .setRetention(days: try reader.days())
            default: throw .unknownValue(field: "action", UInt64(number))
            }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(number)
        switch self {
        case .edit(let message, let text), .editSealed(let message, let text):
            buffer.append(message)
            buffer.append(utf8: text)
        case .deleteForEveryone(let message), .hide(let message), .removeTapback(let message), .pinMessage(let message),
            .unpinMessage(let message), .cancelScheduled(let message), .closePoll(let message):
            buffer.append(message)
        case .vote(let message, let options):
            buffer.append(message)
            buffer.append(bigEndian: options.bits)
        case .setTapback(let message, let kind):
            buffer.append(message)
            buffer.append(name: kind)
        case .putMember(let user, let role, let introduction):
            buffer.append(user)
            buffer.append(role?.rawValue ?? 0)
            introduction.write(to: &buffer)
        case .removeMember(let user), .liftBan(let user), .declineJoinRequest(let user):
            buffer.append(user)
        case .rename(let title):
            buffer.append(utf8: title)
        case .clearHistory(let through):
            buffer.append(bigEndian: through)
        case .putSettings(let readReceipts):
            buffer.append(readReceipts.rawValue)
        case .unlist, .acceptRequest, .declineRequest: break
        case .setPermissions(let permissions): buffer.append(permissions.number)
        case .setLifetime(let seconds, _): buffer.append(bigEndian: seconds)
        case .mark(let mark): mark.write(to: &buffer)
        case .schedule(let message): message.write(to: &buffer)
        case .createInvitation(let invitation): invitation.write(to: &buffer)
        case .revokeInvitation(let invitation): buffer.append(invitation)
        case .join(let secret): buffer.append(bigEndian: secret)
        case .report(let report): report.write(to: &buffer)
        case .resolveReport(let resolution): resolution.write(to: &buffer)
        case .setRetention(let days): buffer.append(days: days)
        case .block(let user, let isBlocked):
            buffer.append(user)
            buffer.append(isBlocked ? 1 : 0 as UInt8)
        case .draft(let text, let replyTo):
            buffer.append(replyTo)
            buffer.append(utf8: text)
        }
    }
}

extension ByteReader {
    fileprivate mutating func rest() -> String { String(decoding: readRest(), as: UTF8.self) }

    fileprivate mutating func draft() throws(WireError) -> Write.Action {
        let replyTo = try optionalMessage()
        return .draft(rest(), replyTo: replyTo)
    }
}
