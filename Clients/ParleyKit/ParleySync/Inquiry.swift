import Foundation
import Models

/// What somebody asks the server once, and what is not part of the copy's synchronisation.
package struct Inquiry<Response: Decodable & Sendable>: Sendable {
    package let subject: InquirySubject

    private init(_ subject: InquirySubject) { self.subject = subject }

    /// Reads the body of a response of 2xx.
    package func response(_ body: Data) throws -> Response {
        if let nothing = NoContent() as? Response { return nothing }
        return try JSONDecoder().decode(Response.self, from: body)
    }
}

/// The response of what the server does and says nothing about.
package struct NoContent: Decodable, Sendable {
    package init() {}
}

package enum InquirySubject: Hashable, Sendable {
    case message(ConversationID, MessageID)
    case search(String, in: ConversationID?, limit: Int)
    case receipts(ConversationID, MessageID, after: UserID?)
    case bans(ConversationID, after: UserID?)
    case pinned(ConversationID, before: Int64?)
    case mentions(ConversationID, after: Int64)
    /// In one conversation, or in all.
    case scheduled(ConversationID?, after: Int64)
    case schedule(ConversationID, MessageID, RequestBody.NewScheduledMessage, key: UUIDBytes)
    case cancelScheduled(ConversationID, MessageID, key: UUIDBytes)
    case settings(ConversationID)
    case digest(ConversationID, after: Int64)
    case limits
    case profile(UserID)
    /// Replaces the user's own.
    case putProfile(RequestBody.NewProfile, key: UUIDBytes)
    /// Creates the direct conversation with a user, or finds it.
    case direct(UserID)
    case invitations(ConversationID)
    case invite(ConversationID, RequestBody.NewInvitation)
    case revokeInvitation(ConversationID, InvitationID, key: UUIDBytes)
    case invitation(code: String)
    case join(code: String, key: UUIDBytes)
    case joinRequests(ConversationID, after: UserID?)
    /// Declines it, or takes back the user's own.
    case declineJoinRequest(ConversationID, UserID, key: UUIDBytes)
    case report(RequestBody.NewReport)
    case devices
    case endDevice(String)
    case endOtherDevices
}

extension Inquiry where Response == Message {
    package static func message(_ id: MessageID, in conversation: ConversationID) -> Self {
        Self(.message(conversation, id))
    }
}

extension Inquiry where Response == SearchPage {
    package static func search(_ words: String, in conversation: ConversationID?, limit: Int) -> Self {
        Self(.search(words, in: conversation, limit: limit))
    }
}

extension Inquiry where Response == ReceiptPage {
    package static func receipts(of id: MessageID, in conversation: ConversationID, after: UserID?) -> Self {
        Self(.receipts(conversation, id, after: after))
    }
}

extension Inquiry where Response == BanPage {
    package static func bans(of conversation: ConversationID, after: UserID?) -> Self {
        Self(.bans(conversation, after: after))
    }
}

extension Inquiry where Response == PinnedMessages {
    package static func pinned(in conversation: ConversationID, before: Int64?) -> Self {
        Self(.pinned(conversation, before: before))
    }
}

extension Inquiry where Response == MentionPage {
    package static func mentions(in conversation: ConversationID, after: Int64) -> Self {
        Self(.mentions(conversation, after: after))
    }
}

extension Inquiry where Response == ScheduledMessages {
    package static func scheduled(in conversation: ConversationID?, after: Int64) -> Self {
        Self(.scheduled(conversation, after: after))
    }
}

extension Inquiry where Response == SettingsInConversation {
    package static func settings(in conversation: ConversationID) -> Self { Self(.settings(conversation)) }
}

extension Inquiry where Response == HistoryDigest {
    package static func digest(of conversation: ConversationID, after: Int64) -> Self {
        Self(.digest(conversation, after: after))
    }
}

/// What `GET /v1/limits` says of files; nil from a server without them.
package struct FileLimits: Hashable, Sendable, Decodable {
    /// The size of one file.
    package var mediaBytes: Int64?
    package var replyToAttachments: Bool?

    package init(mediaBytes: Int64?, replyToAttachments: Bool?) {
        self.mediaBytes = mediaBytes
        self.replyToAttachments = replyToAttachments
    }
}

extension Inquiry where Response == FileLimits {
    package static var limits: Self { Self(.limits) }
}

extension Inquiry where Response == Conversation {
    package static func direct(with user: UserID) -> Self { Self(.direct(user)) }
}

/// What comes of a code: the conversation, or what the user asks where others decide.
package enum JoinResponse: Decodable, Sendable {
    case joined(Conversation)
    case asked(AskedToJoin)

    package init(from decoder: any Decoder) throws {
        let isConversation = try decoder.container(keyedBy: Key.self).contains(.kind)
        self = isConversation ? .joined(try Conversation(from: decoder)) : .asked(try AskedToJoin(from: decoder))
    }

    private enum Key: CodingKey { case kind }
}

extension Inquiry where Response == JoinResponse {
    package static func join(by code: String, key: UUIDBytes) -> Self { Self(.join(code: code, key: key)) }
}

extension Inquiry where Response == JoinRequestPage {
    package static func joinRequests(in conversation: ConversationID, after: UserID?) -> Self {
        Self(.joinRequests(conversation, after: after))
    }
}

extension Inquiry where Response == InvitationList {
    package static func invitations(into conversation: ConversationID) -> Self { Self(.invitations(conversation)) }
}

extension Inquiry where Response == Invitation {
    package static func invite(into conversation: ConversationID, _ new: RequestBody.NewInvitation) -> Self {
        Self(.invite(conversation, new))
    }
}

extension Inquiry where Response == InvitationPreview {
    package static func invitation(_ code: String) -> Self { Self(.invitation(code: code)) }
}

extension Inquiry where Response == DeviceList {
    package static var devices: Self { Self(.devices) }
}

extension Inquiry where Response == NoContent {
    package static func revoke(_ id: InvitationID, into conversation: ConversationID, key: UUIDBytes) -> Self {
        Self(.revokeInvitation(conversation, id, key: key))
    }
    package static func declineJoinRequest(of user: UserID, in conversation: ConversationID, key: UUIDBytes) -> Self {
        Self(.declineJoinRequest(conversation, user, key: key))
    }
    package static func schedule(
        _ new: RequestBody.NewScheduledMessage, _ id: MessageID, in conversation: ConversationID, key: UUIDBytes
    ) -> Self {
        Self(.schedule(conversation, id, new, key: key))
    }
    package static func cancelScheduled(_ id: MessageID, in conversation: ConversationID, key: UUIDBytes) -> Self {
        Self(.cancelScheduled(conversation, id, key: key))
    }
    package static func report(_ new: RequestBody.NewReport) -> Self { Self(.report(new)) }
    package static func endDevice(_ name: String) -> Self { Self(.endDevice(name)) }
    package static var endOtherDevices: Self { Self(.endOtherDevices) }
}

extension Inquiry where Response == ProfileList {
    package static func profile(of user: UserID) -> Self { Self(.profile(user)) }
}

extension Inquiry where Response == Profile {
    package static func putProfile(_ new: RequestBody.NewProfile, key: UUIDBytes) -> Self {
        Self(.putProfile(new, key: key))
    }
}
