import Models
import ParleyKit
import ParleyPresentation
import ParleyStorage
import ParleySync

/// What the screen learns.
enum ChatUpdate {
    case resized(Size)
    case list([ListEntry], hasMore: Bool)
    /// How many messages are unread in all conversations that are neither muted nor archived, also in those that the list
    /// does not show yet.
    case unread(Int)
    /// What the list has, or would have, of a conversation.
    case info(ListEntry)
    /// A request that is open is not there any more.
    case gone(ConversationID)
    /// How many requests wait.
    case requests(Int)
    case timeline(ConversationID, TimelineState)
    case receipts(ConversationID, [MessageID: MessageReceipts])
    case members(ConversationID, [Membership])
    case typing(ConversationID, [UserID])
    case presence(online: Set<UserID>, lastSeen: [UserID: Timestamp])
    /// What could not be sent after all.
    case draft(ConversationID, Draft)
    case uploads(ConversationID, [MessageID: UploadProgress])
    /// Whether messages with files may be replied to.
    case repliesToAttachments(Bool)
    case connection(ConnectionState)
    /// There can be no connection, for a reason that the user has to know.
    case untrusted(String)
    case found(String, [Message])
    /// What is pinned in a conversation, latest pin first.
    case pinned(ConversationID, [Message])
    /// The next message that mentions the user; nil: there is none.
    case mention(ConversationID, Message?)
    /// What the user has scheduled in a conversation, the earliest first.
    case scheduled(ConversationID, [ScheduledMessage])
    /// It has changed in these.
    case scheduledChanged([ConversationID])
    case settings(Settings?)
    /// Whom the user has blocked, by name.
    case blocked([UserID])
    case names(UserNames)
    case settingsHere(ConversationID, SettingsInConversation?)
    /// Who was removed; nil: that cannot be had.
    case bans(ConversationID, [Ban]?)
    /// The invitations of a group; nil: they cannot be had.
    case invitations(ConversationID, [Invitation]?)
    /// Who asks to join; nil: that cannot be had.
    case joinRequests(ConversationID, [JoinRequest]?)
    /// Somebody has asked to join these groups, or the user this one.
    case joinRequested([ConversationID]), asked
    /// One was made, with its code.
    case invited(ConversationID, Invitation)
    /// What a code opens.
    case invitation(String, InvitationPreview)
    /// The user's devices; nil: they cannot be had.
    case devices([Device]?)
    case revisions(MessageID, [Revision])
    /// The server has it.
    case reported(ReportID)
    /// To be told to the user.
    case notice(String)
    /// The seconds pass: what is shown may be outdated.
    case time
}

/// The part of a conversation that is loaded.
struct TimelineState: Equatable {
    var rows: [TimelineRow] = []
    var hasMoreBefore = false
    var hasMoreAfter = false
    /// The first message that the user had not read when the conversation was opened.
    var firstUnread: MessageID?
}

/// Which part of the list is shown.
enum ListFolder: Equatable {
    case inbox, archive
    /// What the user is asked about.
    case requests
}

/// A conversation in the list.
struct ListEntry: Equatable {
    var conversation: Conversation
    /// The other user of a direct conversation, where known.
    var other: UserID?
    /// The latest message, which may be one that is on its way.
    var latest: TimelineRow?
    /// What is being written, on whichever device.
    var draft: Draft?
    /// Whether the server refused a message that is still there.
    var hasFailed = false
    /// Whether the other user of a direct conversation is blocked.
    var isBlocked = false
    /// Who has brought the user into what they are asked about.
    var requester: UserID?
}

/// What the screen wants to be done. Whatever is about messages is about the conversation that is open.
enum ChatEffect: Equatable {
    case open(ConversationID)
    case loadBefore, loadAfter, showNewest
    case show(MessageID)
    case loadMoreConversations
    /// Shows another part of the list.
    case showFolder(ListFolder)
    /// What the user keeps to themselves about a conversation of the list.
    case mute(ConversationID, Bool), pin(ConversationID, Bool), archive(ConversationID, Bool)
    case markUnread(ConversationID, Bool)
    /// Decides about the request that is open.
    case accept, decline
    case send(String, replyTo: MessageID?)
    case forward(Forwarding, to: ConversationID)
    /// The path is as the user wrote it.
    case sendFile(path: String, String, replyTo: MessageID?)
    /// Saves a file of a message. Nothing is overwritten.
    case saveFile(AttachmentRow, path: String)
    case edit(MessageID, String)
    case delete(MessageID, forEveryone: Bool)
    case react(MessageID, TapbackKind?)
    case sendPoll(String, [String], multiple: Bool)
    case vote(MessageID, [Int])
    case closePoll(MessageID)
    case pinMessage(MessageID, Bool)
    case loadPinned
    case findMention
    case loadScheduled
    case schedule(String, at: Timestamp, replyTo: MessageID?)
    case sendScheduledNow(ScheduledMessage)
    case cancelScheduled(MessageID)
    case retry(MessageID)
    case discard(MessageID)
    case markRead(Int64)
    case typing(Bool)
    case keepDraft(ConversationID, Draft?)
    /// What could not be sent in a conversation that was left is kept there, before what was begun since.
    case addToDraft(ConversationID, Draft)
    /// The user has turned away: other devices have the draft at once.
    case putDraft(ConversationID)
    case search(String)
    case createGroup([UserID], title: String?)
    case direct(UserID)
    case rename(String)
    /// Without a role: as a member.
    case put(UserID, MemberRole?)
    case remove(UserID)
    case leaveGroup, removeFromList
    case permit(GroupPermission, PermittedRoles)
    case setLifetime(Int?, from: LifetimeStart = .sending)
    case loadBans
    case liftBan(UserID)
    case loadInvitations
    /// Whether others are let in by it, or ask.
    case invite(approval: Bool)
    case loadJoinRequests
    case declineJoinRequest(UserID)
    case revoke(InvitationID)
    /// By its code.
    case lookAtInvitation(String), join(String)
    case report(NewReport)
    case loadDevices, endOtherDevices
    case endDevice(String)
    case set(readReceipts: Bool?, presence: Bool?)
    /// Blocks a user, or ends that.
    case block(UserID, Bool)
    /// What the user is called; nil: by their id.
    case setName(String?)
    /// In this conversation; nil as in the user's settings.
    case setReadReceiptsHere(Bool?)
    /// To be told of, until something else is watched or another conversation is opened.
    case watchSettingsHere
    case watchRevisions(MessageID)
    case reconnect
    case redraw
    case quit
}

/// A message that is to be forwarded.
package struct Forwarding: Hashable, Sendable {
    package let message: MessageID
    package let source: ConversationID
    package let showsOrigin: Bool
}
