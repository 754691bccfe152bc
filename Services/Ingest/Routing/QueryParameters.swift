import Bytes
import Edge
import JSON
import Models
import Wire

/// The query of a request, read strictly: a parameter that is malformed, empty or repeated is refused by its name,
/// because a client with a mistyped limit should not learn of it by missing messages. Unknown parameters are ignored.
struct QueryParameters {
    private let target: RequestTarget

    init(_ target: RequestTarget) { self.target = target }

    static let maximumSeq = JSONReader.maximumPosition

    func integer(_ name: StaticString, in range: ClosedRange<Int64>) throws(Problem) -> Int64? {
        guard let text = try value(name) else { return nil }
        guard let number = Self.number(text), range.contains(number) else {
            throw Problem(
                .invalid, "\(name): must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The position behind which a page begins: by default the first page.
    func after() throws(Problem) -> Int64 { try integer("after", in: 0...Self.maximumSeq) ?? 0 }

    func limit(_ fallback: Int64, atMost maximum: Int64) throws(Problem) -> UInt16 {
        UInt16(try integer("limit", in: 1...maximum) ?? fallback)
    }

    func cursor() throws(Problem) -> ActivityCursor {
        guard let text = try value("before") else { return .start }
        guard let decoded = percentDecoded(text, plusIsSpace: true), let cursor = ActivityCursor(text: decoded) else {
            throw Problem(.invalid, "before: must be the nextCursor of the previous page")
        }
        return cursor
    }

    func syncCursor() throws(Problem) -> SyncCursor? {
        guard let text = try value("since") else { return nil }
        guard let decoded = percentDecoded(text, plusIsSpace: true), let cursor = SyncCursor(text: decoded) else {
            throw Problem(.invalid, "since: must be the cursor of an earlier response")
        }
        return cursor
    }

    func searchCursor() throws(Problem) -> SearchCursor? {
        guard let text = try value("cursor") else { return nil }
        guard let decoded = percentDecoded(text, plusIsSpace: true), let cursor = SearchCursor(text: decoded) else {
            throw Problem(.invalid, "cursor: must be the nextCursor of the previous page")
        }
        return cursor
    }

    func reportCursor() throws(Problem) -> ReportCursor {
        guard let text = try value("after") else { return .start }
        guard let decoded = percentDecoded(text, plusIsSpace: true), let cursor = ReportCursor(text: decoded) else {
            throw Problem(.invalid, "after: must be the nextCursor of the previous page")
        }
        return cursor
    }

    /// Whether the open reports are asked for, or the resolved ones.
    func areOpen() throws(Problem) -> Bool {
        guard let state = try value("state") else { return true }
        if state.isEqual(to: "open") { return true }
        if state.isEqual(to: "resolved") { return false }
        throw Problem(.invalid, "state: must be open or resolved")
    }

    /// The maximum length of a search query in code points.
    static let wordsLimit = 256

    /// The search query: plain text without syntax.
    func words() throws(Problem) -> String {
        guard let text = try value("q") else { throw Problem(.invalid, "q: is required") }
        guard let words = percentDecoded(text, plusIsSpace: true), !words.utf8.contains(0) else {
            throw Problem(.invalid, "q: must be percent-encoded UTF-8 without U+0000")
        }
        guard words.unicodeScalars.count <= Self.wordsLimit else {
            throw Problem(.invalid, "q: must have at most \(Self.wordsLimit) characters")
        }
        guard !words.unicodeScalars.allSatisfy(\.properties.isWhitespace) else {
            throw Problem(.invalid, "q: must not be blank")
        }
        return words
    }

    func conversation() throws(Problem) -> ConversationID? {
        guard let text = try value("conversationId") else { return nil }
        guard let uuid = UUIDBytes(text: text), uuid.isWellFormed else {
            throw Problem(.invalid, "conversationId: must be a UUID in lower case")
        }
        return ConversationID(uuid)
    }

    /// Whether a message is deleted for everyone, or for the caller alone.
    func isForEveryone() throws(Problem) -> Bool {
        guard let scope = try value("scope") else { return false }
        if scope.isEqual(to: "everyone") { return true }
        if scope.isEqual(to: "me") { return false }
        throw Problem(.invalid, "scope: must be me or everyone")
    }

    /// The name of the user after which a page begins; empty for the first page.
    func user(_ name: StaticString) throws(Problem) -> String {
        guard let text = try value(name) else { return "" }
        // A plus in a query may mean a space, but user names contain pluses and no spaces.
        guard let decoded = percentDecoded(text), let user = UserID(decoded) else {
            throw Problem(.invalid, "\(name): must be a user id")
        }
        return user.name
    }

    /// `ids`, user ids with commas between them, and `versions`, as many numbers: 0, as without `versions`, for none.
    func profiles() throws(Problem) -> [ProfilesQuery.Item] {
        guard let text = try value("ids") else { throw .missing("ids") }
        // Some clients encode the comma. A plus is a plus.
        guard let ids = percentDecoded(text)?.split(separator: ",", omittingEmptySubsequences: false),
            ids.count <= ContractLimits.profilesPerRequest
        else {
            throw Problem(
                .invalid, "ids: at most \(ContractLimits.profilesPerRequest) user ids, with commas between them")
        }
        let versions = try self.versions() ?? Array(repeating: 0, count: ids.count)
        guard versions.count == ids.count else { throw Problem(.invalid, "versions: must be as many as ids") }
        return try zip(ids, versions).map { (id, version) throws(Problem) in
            guard let user = UserID(String(id)) else { throw Problem(.invalid, "ids: must be user ids") }
            return ProfilesQuery.Item(user, version: version)
        }
    }

    private func versions() throws(Problem) -> [Int64]? {
        guard let text = try value("versions") else { return nil }
        guard let decoded = percentDecoded(text) else { throw Self.versionsAreMalformed }
        return try decoded.split(separator: ",", omittingEmptySubsequences: false).map { (digits) throws(Problem) in
            var digits = String(digits)
            guard let number = digits.withUTF8({ Self.number(UnsafeRawBufferPointer($0)) }),
                number <= Self.maximumSeq
            else { throw Self.versionsAreMalformed }
            return number
        }
    }

    private static let versionsAreMalformed = Problem(
        .invalid, "versions: must be whole numbers with commas between them")

    func anchor() throws(Problem) -> HistoryQuery.Anchor {
        let before = try integer("before", in: 1...Self.maximumSeq)
        let after = try integer("after", in: 0...Self.maximumSeq)
        let around = try integer("around", in: 1...Self.maximumSeq)
        return switch (before, after, around) {
        case (nil, nil, nil): .latest
        case (let seq?, nil, nil): .before(seq)
        case (nil, let seq?, nil): .after(seq)
        case (nil, nil, let seq?): .around(seq)
        default: throw Problem(.invalid, "before, after and around: only one of them may be given")
        }
    }

    private func value(_ name: StaticString) throws(Problem) -> UnsafeRawBufferPointer? {
        let values = target.queryValues(name)
        guard let value = values.first else { return nil }
        guard values.count == 1 else { throw Problem(.invalid, "\(name): must be given once") }
        guard !value.isEmpty else { throw Problem(.invalid, "\(name): must not be empty") }
        return value
    }

    /// Parses digits without a sign and leading zeros.
    private static func number(_ text: UnsafeRawBufferPointer) -> Int64? {
        guard text.count <= 18, text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            text.count == 1 || text[0] != UInt8(ascii: "0")
        else { return nil }
        return text.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }
}
