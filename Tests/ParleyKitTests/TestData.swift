import Foundation
import Models
import ParleyStorage

let anna = UserID("anna")!
let ben = UserID("ben")!
let talk = ConversationID(UUIDBytes(high: 1, low: 1))

func messageId(_ number: UInt64) -> MessageID { MessageID(UUIDBytes(high: 2, low: number)) }

func mediaId(_ number: UInt64) -> MediaID { MediaID(UUIDBytes(high: 0x4000, low: 1 << 63 | number)) }

func time(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

func key(_ number: UInt64) -> UUIDBytes { UUIDBytes(high: 3, low: number) }

/// A conversation as the server tells it.
func head(
    lastSeq: Int64, windows: [Window] = [Window(from: 1)], unread: Int = 0, mentions: Int? = nil, readSeq: Int64 = 0,
    memberCount: Int = 2
) -> Conversation {
    Conversation(
        id: talk, kind: .group, title: "Sunday", createdAt: time(1_000), lastSeq: lastSeq,
        lastActivityAt: time(1_000 + lastSeq), memberCount: memberCount, role: .member, windows: windows,
        unreadCount: unread, unreadMentions: mentions, readSeq: readSeq)
}

func message(
    _ seq: Int64, by sender: UserID = ben, text: String? = nil, changeSeq: Int64? = nil, mentions: [UserID] = [],
    mentionsAll: Bool = false
) -> Message {
    Message(
        id: messageId(UInt64(seq)), conversationId: talk, seq: seq, changeSeq: changeSeq ?? seq, senderId: sender,
        kind: .text, text: text ?? "text \(seq)", sentAt: time(seq), createdAt: time(1_000 + seq),
        mentions: mentions, mentionsAll: mentionsAll)
}

func created(_ message: Message) -> Change {
    Change(
        conversationId: talk, seq: message.seq, kind: .messageCreated, at: message.createdAt, actorId: message.senderId,
        message: message)
}

func history(_ seqs: ClosedRange<Int64>, of lastSeq: Int64) -> History {
    History(
        messages: seqs.map { message($0) }, hasMoreBefore: seqs.lowerBound > 1, hasMoreAfter: seqs.upperBound < lastSeq,
        lastSeq: lastSeq)
}

/// A copy in memory, of anna's, with one conversation.
func copy(lastSeq: Int64 = 10) throws -> LocalStore {
    let store = try LocalStore(path: ":memory:")
    try store.apply([
        .session(userId: anna, logId: UUIDBytes(high: 9, low: 9), useq: 0),
        .conversation(head(lastSeq: lastSeq), follows: true),
    ])
    return store
}

func send(_ text: String, replyTo parent: MessageID? = nil) -> PendingWrite {
    .send(text: text, replyTo: parent, mentions: [], sentAt: time(7))
}

extension LocalStore {
    func enqueue(
        _ write: PendingWrite, _ message: MessageID? = nil, files: [CopiedFile] = [], key number: UInt64 = 1
    ) throws {
        try enqueue(write, in: talk, message: message, files: files, at: time(5_000), key: key(number))
    }

    func rows() throws -> [TimelineRow] { try timeline(of: talk, .newest, limit: 100).rows }

    func texts() throws -> [String?] { try rows().map(\.message.text) }
}

/// A folder that is removed when the test ends.
final class TemporaryFolder: Sendable {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("parleykit-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }

    /// A file of the user with this name, and as a copy that is ready to be stored.
    func local(_ name: String, _ content: Data = Data("content".utf8)) throws -> LocalFile {
        let url = URL(fileURLWithPath: file(name))
        try content.write(to: url)
        return LocalFile(url)
    }

    func copied(_ name: String, in store: LocalStore) throws -> CopiedFile {
        try store.files.create()
        return try CopiedFile(
            local(name), id: mediaId(.random(in: 1_000...9_999_999)), in: store.files, limit: 1_000_000)
    }
}

func problem(_ code: Problem.Code) -> ProblemDetails { ProblemDetails(Problem(code, "for a test")) }
