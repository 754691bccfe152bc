/// The limits of the contract that hold in every deployment, or that a deployment may only lower. Each is defined here
/// only: services enforce these values, SQL receives them, and `GET /v1/limits` publishes them.
///
/// Sizes are bytes of UTF-8 or of a whole body. Everything else is a count unless its type says otherwise.
public enum ContractLimits {
    // MARK: Requests

    /// The text of one message.
    public static let textBytes = 16 * 1024
    /// The body of any request except a batch.
    public static let bodyBytes = 128 * 1024
    /// A line of an import: a message with all texts that an export has of it.
    public static let importLineBytes = 512 * 1024
    public static let batchBytes = 4 * 1024 * 1024
    public static let batchMessages = 500
    /// The members that one request may create a conversation with.
    public static let membersPerRequest = 1_000
    /// The length of a title in Unicode scalars.
    public static let titleCharacters = 200
    public static let mentionsPerMessage = 100
    /// The messages that are pinned in one conversation at a time.
    public static let pinnedMessages = 100
    /// The options of a poll, which has two at least. A vote is a bit for each, of 16.
    public static let pollOptions = 12
    /// The length of an option in Unicode scalars.
    public static let pollOptionCharacters = 100
    /// The application's own JSON in a message.
    public static let messageExtraBytes = 4 * 1024
    /// What is sealed, in base64: twice a text, because encryption pads and signs. An export has at least the first and the
    /// present one of a message.
    public static let sealedBytes = 32 * 1024
    /// The levels of arrays and objects in the application's own JSON, itself included.
    public static let extraDepth = 16

    // MARK: Profiles

    /// The length of a display name in Unicode scalars, each of which has four bytes at most.
    public static let displayNameCharacters = 80
    public static let avatarURLBytes = 1_024
    /// The application's own JSON in a profile.
    public static let profileExtraBytes = 2 * 1024

    // MARK: Attachments

    public static let attachmentsPerMessage = 10
    /// What a message says of one attachment, as JSON.
    public static let attachmentBytes = 2 * 1024
    /// The name of a file.
    public static let mediaNameBytes = 255
    /// One file.
    public static let mediaBytes = 100_000_000
    /// The pixels of a picture, or of one of a video, in millions.
    public static let megapixels = 64
    /// The bytes that a user may upload in a day in UTC.
    public static let mediaBytesPerDay = 2_000_000_000
    /// The time after which an upload that is not finished ends.
    public static let uploadLifetime = Duration.seconds(24 * 3600)

    // MARK: Devices

    /// The name of a device that is listed.
    public static let deviceBytes = 128
    /// The devices of a user that are listed: the latest. As many revocations of tokens of devices are kept.
    public static let devicesPerUser = 100

    // MARK: Suspensions

    /// Unicode code points of the reason.
    public static let suspensionReasonCharacters = 500

    // MARK: Reports

    /// Unicode code points of what a reporter writes, and of an administrator's note.
    public static let reportCharacters = 1_000
    /// The open reports of one user in one conversation.
    public static let openReportsPerReporter = 20
    /// Where so many are open in a conversation, each user has one: some cannot keep all others from reporting.
    public static let openReportsPerConversation = 1_000
    /// How long a report is kept after it was resolved.
    public static let resolvedReportLifetime = Duration.seconds(90 * 24 * 3600)

    // MARK: Conversations

    /// What a deployment may raise to `mostMembersPerConversation`.
    public static let membersPerConversation = 10_000
    public static let mostMembersPerConversation = 100_000
    public static let conversationsPerUser = 20_000
    /// The conversations that one user may have pinned.
    public static let pinnedConversations = 100
    /// The conversations in which one user may have a draft.
    public static let draftsPerUser = 100
    /// The messages that one user may have scheduled, with those that could not be sent.
    public static let scheduledPerUser = 100
    /// The users that one user may block.
    public static let blockedUsers = 1_000
    /// The requests of direct conversations that a user is shown and told of, and as many of groups.
    public static let waitingRequests = 50
    /// The groups about which one user may ask another who does not know them, for as long as the other has not accepted.
    public static let requestsPerStranger = 5
    /// The invitations of one group that are good at a time.
    public static let invitationsPerConversation = 100
    /// Those who wait for a decision whether they join a group. As many are kept of whom it was made, or who have taken it back.
    public static let joinRequestsPerConversation = 1_000
    /// How long somebody who asks to join waits, whatever was decided.
    public static let joinRequestLifetime = Duration.seconds(30 * 24 * 3600)
    /// In conversations with up to this many members, receipts name who has received and read, and members see who is
    /// online. In larger ones receipts are counted and presence is not shown, because somebody always comes or goes.
    public static let namedMembers = 50
    /// The latest messages of each sender for which receipts are counted, in a conversation with counted receipts.
    public static let countedMessages = 50

    // MARK: Time

    /// The time after sending in which a message's text may be changed.
    public static let editWindow = Duration.seconds(15 * 60)
    /// How often it may be. Each text that it had is kept, and all are read at once.
    public static let editsPerMessage = 100
    /// How long messages that disappear stay. The shortest also says how often a store looks at a conversation without any.
    public static let messageLifetime = Duration.seconds(60)...Duration.seconds(366 * 24 * 3600)
    /// How many days the messages of a conversation may stay, where they do not stay without an end.
    public static let retentionDays = 1...36_500
    /// In conversations with up to this many members a lifetime may count from reading on: how far each of them has read is looked up.
    public static let readingLifetimeMembers = namedMembers

    /// How far ahead a message may be scheduled.
    public static let scheduledAhead = Duration.seconds(366 * 24 * 3600)
    /// How long ago the time of a message may be that is scheduled, which is then sent at once: a client's clock is behind.
    public static let scheduledBehind = Duration.seconds(10 * 60)

    // MARK: Pages

    /// The size at which any page ends, even with fewer items than its limit.
    public static let pageBytes = 512 * 1024
    public static let conversationsPerPage: Int64 = 200
    public static let membersPerPage: Int64 = 1_000
    public static let messagesPerPage: Int64 = 200
    public static let mentionsPerPage: Int64 = 100
    public static let changesPerPage: Int64 = 1_000
    public static let scheduledPerPage: Int64 = 100
    public static let pagesPerDigest: Int64 = 20
    public static let resultsPerPage: Int64 = 100
    public static let reportsPerPage: Int64 = 50
    public static let actsPerPage: Int64 = 500
    /// The profiles that one request may ask for.
    public static let profilesPerRequest = 100
    /// The tapbacks that a message names, besides the reader's own. The rest are counted.
    public static let namedTapbacks = 20

    // MARK: WebSocket

    /// The size of a client's frame, except the first.
    public static let frameBytes = 64 * 1024
    /// The size of the first frame: a `hello` with cursors of thousands of conversations is larger.
    public static let helloBytes = 1024 * 1024
    /// The changes of one conversation or private stream that are replayed to a resumed session. Beyond that the client
    /// pages by HTTP.
    public static let replayChanges = 1_000
}
