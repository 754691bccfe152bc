/// The limits in force in a deployment, as reported by `GET /v1/limits`: those of `ContractLimits`, some of which it
/// may lower, and its own.
public struct Limits: Hashable, Sendable, Codable {
    /// The size of one message's text in bytes of UTF-8.
    public var textBytes: Int
    /// The size of a request's body in bytes, except a batch.
    public var bodyBytes: Int
    public var batchBytes: Int
    public var batchMessages: Int
    public var membersPerRequest: Int
    public var membersPerConversation: Int
    /// The conversations in one user's list, including those they have left.
    public var conversationsPerUser: Int
    /// Absent from a server without pins.
    public var pinnedConversations: Int?
    /// The conversations in which one user may have a draft. Absent from a server without drafts.
    public var draftsPerUser: Int?
    /// The messages that one user may have scheduled. Absent, like the next, from a server that schedules none.
    public var scheduledPerUser: Int?
    /// How far ahead a message may be scheduled, in seconds.
    public var scheduledAheadSeconds: Int?
    /// The users that one user may block. Absent from a server without blocks.
    public var blockedUsers: Int?
    /// The devices of a user that are listed. Absent from a server without that list.
    public var devicesPerUser: Int?
    /// The requests of direct conversations that a user is shown, and as many of groups. Absent, like what follows, from a
    /// server without requests.
    public var waitingRequests: Int?
    /// Who has to ask before they reach a user.
    public var messageRequests: Open<MessageRequests>?
    /// The invitations of one group that are good at a time. Absent from a server without invitations.
    public var invitationsPerConversation: Int?
    /// The length of a report's text in Unicode scalars. Absent, like what follows, from a server without reports.
    public var reportCharacters: Int?
    /// The open reports of one user in one conversation.
    public var openReportsPerReporter: Int?
    /// The length of a display name in Unicode scalars. Absent, like what follows up to `profileWriters`, from a server
    /// without profiles.
    public var displayNameCharacters: Int?
    public var avatarUrlBytes: Int?
    /// The size of a profile's `extra` in bytes.
    public var profileExtraBytes: Int?
    /// The profiles that one request may ask for.
    public var profilesPerRequest: Int?
    /// Who sets profiles.
    public var profileWriters: Open<ProfileWriters>?
    /// The length of a title in Unicode scalars.
    public var titleCharacters: Int
    public var mentionsPerMessage: Int
    /// The messages that are pinned in one conversation at a time. Absent from a server without them.
    public var pinnedMessages: Int?
    public var pollOptions: Int?
    public var pollOptionCharacters: Int?
    /// The size of a message's `extra` in bytes. Absent from a server without it.
    public var messageExtraBytes: Int?
    /// The length of what is sealed, in base64. Absent from a server without it.
    public var sealedBytes: Int?
    /// Absent, like what follows up to `uploadSeconds`, from a server without attachments.
    public var attachmentsPerMessage: Int?
    /// Whether a message with attachments may be replied to.
    public var replyToAttachments: Bool?
    /// The size of one file in bytes.
    public var mediaBytes: Int?
    /// The length of a file's name in bytes of UTF-8.
    public var mediaNameBytes: Int?
    /// The pixels of a picture, in millions.
    public var megapixels: Int?
    /// The bytes that one user may upload in a day in UTC.
    public var mediaBytesPerDay: Int?
    /// The time after which an upload that is not finished ends.
    public var uploadSeconds: Int?
    /// The size in bytes at which a page ends.
    public var pageBytes: Int
    public var conversationsPerPage: Int
    public var membersPerPage: Int
    public var messagesPerPage: Int
    public var changesPerPage: Int
    public var pagesPerDigest: Int
    /// The time after `createdAt` in which a message may be edited.
    public var editWindowSeconds: Int
    /// The shortest and the longest time that messages which disappear may stay. Absent from a server without them.
    public var shortestLifetimeSeconds: Int?
    public var longestLifetimeSeconds: Int?
    /// The members of a conversation whose messages may disappear from reading on. Absent from a server without that.
    public var readingLifetimeMembers: Int?
    /// How many days messages stay. Absent: without an end.
    public var retentionDays: Int?
    /// The size of a WebSocket message from a client in bytes, except the first.
    public var frameBytes: Int
    /// The size of a client's first WebSocket message in bytes.
    public var helloBytes: Int
    /// The longest gap that is replayed, in changes.
    public var replayChanges: Int
    /// The open WebSockets of one user on one fanout.
    public var sessionsPerUser: Int
    public var framesPerSecond: Int
    public var frameBurst: Int
    public var receiptsPerSecond: Int
    /// The cost, by `costs`, that one user may use in a second.
    public var costPerSecond: Int
    /// The cost that one user may use at once after a rest.
    public var costBurst: Int
    /// The cost of one user's requests in flight.
    public var costInFlight: Int
    /// The size of the bodies of one user's requests in flight, in bytes.
    public var bytesInFlight: Int
    /// Where the WebSocket is, if not at this service's origin.
    public var socketUrl: String?
    /// What users may less whose account is new. Absent: no account is.
    public var newAccount: NewAccountLimits?
    /// The costs by the call's name (`operationId`). A call that is not listed costs 1.
    public var costs: [String: Cost]

    /// The cost of one call.
    public struct Cost: Hashable, Sendable, Codable {
        public var base: Int
        public var perHundredItems: Int?
        /// How many of one user's requests are handled at a time.
        public var atOnce: Int?
    }
}

/// What users may less whose account is new, as the claim `since` of their token says.
public struct NewAccountLimits: Hashable, Sendable, Codable {
    /// For how long an account is new.
    public var seconds: Int
    /// Whom one user may bring into conversations within a day, which begins with the first.
    public var peoplePerDay: Int
    /// In place of those of all.
    public var costPerSecond: Int
    public var costBurst: Int
}
