import Foundation
import Models
import ParleyKit
import ParleyTransport
import Synchronization

/// A transport without a network: a session that begins with one conversation, and then brings what a test gives it.
final class FramesServer: HTTPTransport, WebSocketTransport {
    /// Waits for the next messages of the session, and returns them.
    private let next: @Sendable () async throws -> [Data]

    init(next: @escaping @Sendable () async throws -> [Data] = { try await NewMessages.never() }) { self.next = next }

    var transport: Transport { Transport(http: self, webSocket: self) }

    func open() async throws -> any WebSocketChannel { Channel(self) }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let conversation = try JSONEncoder().encode(Self.conversation)
        switch request.path {
        case "/v1/settings": return .init(status: 200, body: Data(#"{"readReceipts":true,"presence":true}"#.utf8))
        case "/v1/conversations/\(talk)": return .init(status: 200, body: conversation)
        case let path where path.contains("/members"):
            return .init(
                status: 200,
                body: Data(
                    #"{"members":[{"userId":"anna","role":"owner","joinedSeq":1,"deliveredSeq":0,"readSeq":0},{"userId":"ben","role":"member","joinedSeq":1,"deliveredSeq":0,"readSeq":0}]}"#
                        .utf8))
        default: throw TransportFailure("not here")
        }
    }

    private static let conversation = Conversation(
        id: talk, kind: .group, title: "Sunday", createdAt: Timestamp(milliseconds: 0), lastSeq: 1,
        lastActivityAt: Timestamp(milliseconds: 0), memberCount: 2, role: .owner, windows: [Window(from: 1)])

    private static var welcome: Data {
        get throws {
            try JSONEncoder().encode(
                FrameFromServer.welcome(
                    .init(
                        userId: user, sessionId: .zero, serverTime: Timestamp(milliseconds: 0),
                        logId: UUIDBytes(high: 9, low: 9), useq: 0, heartbeatSeconds: 25, conversations: [conversation],
                        more: false)))
        }
    }

    private final class Channel: WebSocketChannel {
        private let server: FramesServer
        private let isGreeted = Mutex(false)

        init(_ server: FramesServer) { self.server = server }

        func receive() async throws -> [Data] {
            let isFirst = isGreeted.withLock { isGreeted in
                defer { isGreeted = true }
                return !isGreeted
            }
            if isFirst { return [try FramesServer.welcome] }
            return try await server.next()
        }

        func send(_ text: Data) async throws {}
        func close() {}
    }
}

/// The frames of a conversation that goes on, from position 2.
final class NewMessages: Sendable {
    private let count: Int
    private let perBatch: Int
    private let seq = Mutex<Int>(1)

    init(count: Int, perBatch: Int) {
        self.count = count
        self.perBatch = perBatch
    }

    static func never() async throws -> [Data] {
        try await Task.sleep(for: .seconds(86_400))
        return []
    }

    func next() async throws -> [Data] {
        let range = seq.withLock { seq in
            let first = seq + 1
            seq = min(seq + perBatch, count + 1)
            return first..<seq + 1
        }
        return range.isEmpty ? try await Self.never() : range.map(Self.frame)
    }

    private static func frame(_ seq: Int) -> Data {
        Data(
            """
            {"type":"change","change":{"conversationId":"\(talk)","seq":\(seq),"kind":"message.created",\
            "at":"2026-07-01T09:00:00.000Z","actorId":"ben","message":{"id":"\(messageId(seq))",\
            "conversationId":"\(talk)","seq":\(seq),"changeSeq":\(seq),"senderId":"ben","kind":"text",\
            "text":"\(text)","sentAt":"2026-07-01T09:00:00.000Z","createdAt":"2026-07-01T09:00:00.000Z",\
            "tapbacks":[],"tapbackCounts":{},"mentions":[]}}}
            """.utf8)
    }
}
