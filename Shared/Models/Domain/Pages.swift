// Pages end at their `limit` or at 512 KiB. Only `more`, `hasMore…` and `nextCursor` say whether there is more.

public struct ConversationPage: Hashable, Sendable, Codable {
    /// Latest activity first.
    public var conversations: [Conversation]
    /// Pass it as `before`; nil on the last page.
    public var nextCursor: String?
}

public struct MemberPage: Hashable, Sendable, Codable {
    /// In byte order of the user ids.
    public var members: [Membership]
    /// Pass it as `after`; nil on the last page.
    public var nextCursor: UserID?
}

/// A page of messages, of one snapshot.
public struct History: Hashable, Sendable, Codable {
    /// Ascending by `seq`.
    public var messages: [Message]
    /// The user may see messages before the first of the page.
    public var hasMoreBefore: Bool
    /// The user may see messages after the last of the page.
    public var hasMoreAfter: Bool
    /// The page shows exactly the changes up to here: continue with the changes after it.
    public var lastSeq: Int64
}

public struct ChangePage: Hashable, Sendable, Codable {
    /// Ascending by `seq`, without holes within a window.
    public var changes: [Change]
    /// The last position that the user may see.
    public var lastSeq: Int64
    public var more: Bool
}

/// The texts of a message.
public struct Revisions: Hashable, Sendable, Codable {
    /// Oldest first, the present text last.
    public var revisions: [Revision]
}

public struct TapbackPage: Hashable, Sendable, Codable {
    /// A tapback with its date.
    public struct Entry: Hashable, Sendable, Codable {
        public var userId: UserID
        public var kind: TapbackKind
        public var at: Timestamp
    }

    /// In byte order of the user ids.
    public var tapbacks: [Entry]
    /// Of all pages.
    public var counts: [TapbackKind: Int]
    /// Pass it as `after`; nil on the last page.
    public var nextCursor: UserID?
}

/// Who has a message of the caller and who has read it.
public struct ReceiptPage: Hashable, Sendable, Codable {
    public var delivered: [Receipt]
    public var read: [Receipt]
    public var deliveredCount: Int
    public var readCount: Int
    public var recipientCount: Int
    /// Pass it as `after`; nil on the last page.
    public var nextCursor: UserID?
}

/// What changed for the caller since a cursor.
public struct SyncPage: Hashable, Sendable, Codable {
    /// As they are now. One may come again although nothing changed; none is missed.
    public var conversations: [Conversation]
    public var `private`: [PrivateChange]
    /// Private changes since the cursor are no longer kept: all conversations come, and replace what is there.
    @TrueOrAbsent public var reload: Bool
    public var cursor: String
    /// Go on at once with the new cursor.
    public var more: Bool
}

public struct SearchPage: Hashable, Sendable, Codable {
    public var results: [SearchResult]
    /// Nil on the last page.
    public var nextCursor: String?
}

public struct SearchResult: Hashable, Sendable, Codable {
    public var message: Message
    /// A piece of the text around the first match, about 160 characters, with `…` where it is cut. U+0002 stands before and
    /// U+0003 behind each match, and nowhere else.
    public var snippet: String
}

/// What came of each message of a batch, in its order.
public struct BatchResults: Hashable, Sendable, Codable {
    /// The status that the message sent alone would have had, with its message below 400, else its problem.
    public struct Result: Hashable, Sendable, Codable {
        public var status: Int
        public var message: Message?
        public var problem: ProblemDetails?
    }

    public var results: [Result]
}

/// Digests of a conversation, page by page, to compare a copy with.
public struct HistoryDigest: Hashable, Sendable, Codable {
    /// Of 1,000 positions: from 1, 1,001, 2,001 and so on; the last page ends at `lastSeq`.
    public struct Page: Hashable, Sendable, Codable {
        public var fromSeq: Int64
        public var toSeq: Int64
        /// Of what happened there: SHA-256 in 64 hexadecimal digits.
        public var changes: String
        /// Of the messages created there, as the user sees them: SHA-256 in 64 hexadecimal digits.
        public var state: String
    }

    /// The last position that the user may see: what the digests are exact at.
    public var lastSeq: Int64
    /// Where the user's private stream is: what they hid and cleared up to there is left out of `state`.
    public var useq: Int64
    /// Ascending. A page that the user's windows do not touch is left out.
    public var pages: [Page]
    public var more: Bool
}
