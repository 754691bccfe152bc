// Pages end at their `limit` or at 512 KiB. Only `more`, `hasMore…` and `nextCursor` say whether there is more.

public struct ConversationPage: Hashable, Sendable, Codable {
    /// Latest activity first.
    public var conversations: [Conversation]
    /// Pass it as `before`; nil on the last page.
    public var nextCursor: String?

    public init(conversations: [Conversation], nextCursor: String? = nil) {
        self.conversations = conversations
        self.nextCursor = nextCursor
    }
}

public struct MemberPage: Hashable, Sendable, Codable {
    /// In byte order of the user ids.
    public var members: [Membership]
    /// Pass it as `after`; nil on the last page.
    public var nextCursor: UserID?

    public init(members: [Membership], nextCursor: UserID? = nil) {
        self.members = members
        self.nextCursor = nextCursor
    }
}

public struct BanPage: Hashable, Sendable, Codable {
    /// In byte order of the user ids.
    public var bans: [Ban]
    /// Pass it as `after`; nil on the last page.
    public var nextCursor: UserID?

    public init(bans: [Ban], nextCursor: UserID? = nil) {
        self.bans = bans
        self.nextCursor = nextCursor
    }
}

/// Pinned messages, latest pin first.
public struct PinnedMessages: Hashable, Sendable, Codable {
    public var messages: [Message]
    /// Whether there are messages that were pinned before these.
    public var more: Bool

    public init(messages: [Message], more: Bool) {
        self.messages = messages
        self.more = more
    }
}

/// Messages of others that mention the caller, in the order of their positions.
public struct MentionPage: Hashable, Sendable, Codable {
    public var messages: [Message]
    /// The next page begins after it; nil when there is none. A page may be empty and have a next one.
    public var through: Int64?

    public init(messages: [Message], through: Int64? = nil) {
        self.messages = messages
        self.through = through
    }
}

/// A page of messages, from one snapshot.
public struct History: Hashable, Sendable, Codable {
    /// Ascending by `seq`.
    public var messages: [Message]
    /// Whether the user may see messages before the first one on the page.
    public var hasMoreBefore: Bool
    /// Whether the user may see messages after the last one on the page.
    public var hasMoreAfter: Bool
    /// The page includes exactly the changes up to here: continue with the changes after it.
    public var lastSeq: Int64

    public init(messages: [Message], hasMoreBefore: Bool, hasMoreAfter: Bool, lastSeq: Int64) {
        self.messages = messages
        self.hasMoreBefore = hasMoreBefore
        self.hasMoreAfter = hasMoreAfter
        self.lastSeq = lastSeq
    }
}

public struct ChangePage: Hashable, Sendable, Codable {
    /// Ascending by `seq`, without gaps within a window.
    public var changes: [Change]
    /// The last position that the user may see.
    public var lastSeq: Int64
    public var more: Bool

    public init(changes: [Change], lastSeq: Int64, more: Bool) {
        self.changes = changes
        self.lastSeq = lastSeq
        self.more = more
    }
}

/// The texts of a message.
public struct Revisions: Hashable, Sendable, Codable {
    /// Oldest first, the present text last.
    public var revisions: [Revision]

    public init(revisions: [Revision]) {
        self.revisions = revisions
    }
}

public struct TapbackPage: Hashable, Sendable, Codable {
    /// A tapback with its date.
    public struct Entry: Hashable, Sendable, Codable {
        public var userId: UserID
        public var kind: TapbackKind
        public var at: Timestamp

        public init(userId: UserID, kind: TapbackKind, at: Timestamp) {
            self.userId = userId
            self.kind = kind
            self.at = at
        }
    }

    /// In byte order of the user ids.
    public var tapbacks: [Entry]
    /// The counts over all pages.
    public var counts: [TapbackKind: Int]
    /// Pass it as `after`; nil on the last page.
    public var nextCursor: UserID?

    public init(tapbacks: [Entry], counts: [TapbackKind: Int], nextCursor: UserID? = nil) {
        self.tapbacks = tapbacks
        self.counts = counts
        self.nextCursor = nextCursor
    }
}

/// Who has chosen what in a poll.
public struct VotePage: Hashable, Sendable, Codable {
    /// A vote with its date.
    public struct Entry: Hashable, Sendable, Codable {
        public var userId: UserID
        /// Positions of options, from 0, ascending.
        public var options: [Int]
        public var at: Timestamp

        public init(userId: UserID, options: [Int], at: Timestamp) {
            self.userId = userId
            self.options = options
            self.at = at
        }
    }

    /// In byte order of the user ids.
    public var votes: [Entry]
    /// Pass it as `after`; nil on the last page.
    public var nextCursor: UserID?

    public init(votes: [Entry], nextCursor: UserID? = nil) {
        self.votes = votes
        self.nextCursor = nextCursor
    }
}

/// The recipients who have a message of the caller, and those who have read it.
public struct ReceiptPage: Hashable, Sendable, Codable {
    public var delivered: [Receipt]
    public var read: [Receipt]
    public var deliveredCount: Int
    public var readCount: Int
    public var recipientCount: Int
    /// Pass it as `after`; nil on the last page.
    public var nextCursor: UserID?

    public init(
        delivered: [Receipt], read: [Receipt], deliveredCount: Int, readCount: Int, recipientCount: Int,
        nextCursor: UserID? = nil
    ) {
        self.delivered = delivered
        self.read = read
        self.deliveredCount = deliveredCount
        self.readCount = readCount
        self.recipientCount = recipientCount
        self.nextCursor = nextCursor
    }
}

/// The changes for the caller since a cursor.
public struct SyncPage: Hashable, Sendable, Codable {
    /// The conversations in their present state. One may repeat without a change; none is missed.
    public var conversations: [Conversation]
    public var `private`: [PrivateChange]
    /// Private changes since the cursor are no longer kept. All conversations are sent, and replace the present ones.
    @TrueOrAbsent public var reload: Bool
    public var cursor: String
    /// Continue at once with the new cursor.
    public var more: Bool

    public init(
        conversations: [Conversation], `private`: [PrivateChange], reload: Bool = false, cursor: String, more: Bool
    ) {
        self.conversations = conversations
        self.`private` = `private`
        _reload = TrueOrAbsent(wrappedValue: reload)
        self.cursor = cursor
        self.more = more
    }
}

public struct SearchPage: Hashable, Sendable, Codable {
    public var results: [SearchResult]
    /// Nil on the last page.
    public var nextCursor: String?

    public init(results: [SearchResult], nextCursor: String? = nil) {
        self.results = results
        self.nextCursor = nextCursor
    }
}

public struct SearchResult: Hashable, Sendable, Codable {
    public var message: Message
    /// An extract of the text around the first match, about 160 characters, with `…` where it is cut. Each match stands
    /// between U+0002 and U+0003, which occur nowhere else.
    public var snippet: String

    public init(message: Message, snippet: String) {
        self.message = message
        self.snippet = snippet
    }
}

/// The result for each message of a batch, in its order.
public struct BatchResults: Hashable, Sendable, Codable {
    /// The status that the message would have had alone, with its message below 400, otherwise its problem.
    public struct Result: Hashable, Sendable, Codable {
        public var status: Int
        public var message: Message?
        public var problem: ProblemDetails?

        public init(status: Int, message: Message? = nil, problem: ProblemDetails? = nil) {
            self.status = status
            self.message = message
            self.problem = problem
        }
    }

    public var results: [Result]

    public init(results: [Result]) {
        self.results = results
    }
}

/// A user's scheduled messages, in the order in which they were told of.
public struct ScheduledMessages: Hashable, Sendable, Codable {
    public var scheduled: [ScheduledMessage]
    /// Others were told of behind the last of these.
    public var more: Bool

    public init(scheduled: [ScheduledMessage], more: Bool) {
        self.scheduled = scheduled
        self.more = more
    }
}

/// Digests of a conversation, page by page, for comparing a copy.
public struct HistoryDigest: Hashable, Sendable, Codable {
    /// A page of 1,000 positions, from 1, 1,001, 2,001 and so on; the last page ends at `lastSeq`.
    public struct Page: Hashable, Sendable, Codable {
        public var fromSeq: Int64
        public var toSeq: Int64
        /// The digest of the changes on the page: SHA-256 in 64 hexadecimal digits.
        public var changes: String
        /// The digest of the messages created on the page, as the user sees them: SHA-256 in 64 hexadecimal digits.
        public var state: String

        public init(fromSeq: Int64, toSeq: Int64, changes: String, state: String) {
            self.fromSeq = fromSeq
            self.toSeq = toSeq
            self.changes = changes
            self.state = state
        }
    }

    /// The last position that the user may see. The digests are exact at it.
    public var lastSeq: Int64
    /// The position of the user's private stream. `state` leaves out what they hid and cleared up to it.
    public var useq: Int64
    /// Ascending. Pages that the user's windows do not touch are left out.
    public var pages: [Page]
    public var more: Bool

    public init(lastSeq: Int64, useq: Int64, pages: [Page], more: Bool) {
        self.lastSeq = lastSeq
        self.useq = useq
        self.pages = pages
        self.more = more
    }
}
