import JSON
import Models
import Reactor

/// Reads a conversation as one of its users, through changes and history, and compares it with the server's digest page
/// by page. A conversation of any length needs the memory of one page.
@Reactor
public struct Verification {
    private let api: ParleyAPI
    private let token: String
    private let conversation: ConversationID

    /// How often a page is read again that changed in the meantime.
    private static let attempts = 10

    public struct Outcome: Sendable {
        /// The number of positions in the conversation, and of its digest pages.
        public var positions: Int64 = 0
        public var pages = 0
        /// The differences, in words. Empty when the user reads what the server has.
        public var differences: [String] = []
    }

    /// - Parameter token: the token of the user who reads the conversation.
    public init(api: ParleyAPI, token: String, conversation: ConversationID) {
        self.api = api
        self.token = token
        self.conversation = conversation
    }

    public func run() async throws(APIError) -> Outcome {
        var outcome = Outcome()
        var after: Int64 = 0
        while true {
            let response = try await api.digest(of: conversation, after: after, token: token)
            for entry in response.entries {
                outcome.differences += try await differences(from: entry)
                outcome.pages += 1
                after = entry.last
            }
            outcome.positions = response.lastSeq
            guard response.hasMore, !response.entries.isEmpty else { return outcome }
        }
    }

    /// Returns what differs although the digest was the same before and after the page was read.
    private func differences(from entry: DigestPage.Entry) async throws(APIError) -> [String] {
        var before = entry
        for _ in 0..<Self.attempts {
            let found = try await read(before).differences(from: [before])
            if found.isEmpty { return [] }
            let now = try await api.digest(of: conversation, after: before.first - 1, limit: 1, token: token)
            guard let after = now.entries.first, after != before else { return found }
            before = after
        }
        return ["positions \(entry.first) to \(entry.last) change all the time"]
    }

    private func read(_ page: DigestPage.Entry) async throws(APIError) -> ConversationCopy {
        var copy = ConversationCopy()
        do {
            try await readChanges(page, into: &copy)
            try await readMessages(page, into: &copy)
        } catch let error as APIError {
            throw error
        } catch {
            throw APIError(request: "GET …/\(conversation)", status: 200, detail: "\(error)")
        }
        return copy
    }

    private func readChanges(_ page: DigestPage.Entry, into copy: inout ConversationCopy) async throws {
        var after = page.first - 1
        while after < page.last {
            let read = try await api.changes(of: conversation, after: after, token: token)
            for change in read.changes {
                after = try Place(document: change).seq
                guard after <= page.last else { return }
                try change.withUnsafeBytes { try copy.take(changeOnly: $0) }
            }
            guard read.hasMore, !read.changes.isEmpty else { return }
        }
    }

    private func readMessages(_ page: DigestPage.Entry, into copy: inout ConversationCopy) async throws {
        var after = page.first - 1
        while after < page.last {
            let read = try await api.encodedHistory(of: conversation, after: after, token: token)
            for message in read.messages {
                after = try Place(document: message).seq
                guard after <= page.last else { return }
                try message.withUnsafeBytes { try copy.take(message: $0) }
            }
            guard read.hasMoreAfter, !read.messages.isEmpty else { return }
        }
    }
}

/// The position of a change or a message.
private struct Place: JSONObject {
    var seq: Int64 = 0

    mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
        if key == "seq" { seq = try reader.integer() } else { try reader.skip() }
    }
}
