import Foundation
import Models
import ParleyKit
import Synchronization

/// 1,000 receipts in a second: how often they are shown.
enum Receipts {
    static func measure() async throws {
        let folder = try Folder()
        let (stream, frames) = AsyncStream.makeStream(of: Data.self)
        let source = FrameSource(stream)
        let server = FramesServer { try await source.next() }
        let parley = try await Parley.open(
            .init(directory: folder.url, transport: server.transport, token: { "token" }))
        let conversation = parley.conversation(talk)
        let receipts = Mutex(0)
        let timelines = Mutex(0)
        frames.yield(ownMessage)
        await parley.connect()
        for await update in conversation.timeline() where !update.rows.isEmpty { break }
        for await members in conversation.members where members.isComplete { break }
        let tasks = [
            Task { for await _ in conversation.receipts { receipts.withLock { $0 += 1 } } },
            Task { for await _ in conversation.timeline() { timelines.withLock { $0 += 1 } } },
        ]
        try await Task.sleep(for: .milliseconds(500))
        let before = (receipts.withLock { $0 }, timelines.withLock { $0 })
        let clock = ContinuousClock()
        let time = await clock.measure { await send(frames) }
        let during = receipts.withLock { $0 } - before.0
        try await Task.sleep(for: .milliseconds(300))
        KitLoad.print(
            "1,000 receipts in \(String(format: "%.2f", time.seconds)) s: updates of the receipts", "\(during)")
        KitLoad.print("  until all were shown", "\(receipts.withLock { $0 } - before.0)")
        KitLoad.print("  updates of the timeline", "\(timelines.withLock { $0 } - before.1)")
        for task in tasks { task.cancel() }
        await parley.close()
    }

    /// Each moves a member's position, so that each could be shown.
    private static func send(_ frames: AsyncStream<Data>.Continuation) async {
        let clock = ContinuousClock()
        let began = clock.now
        for number in 1...1_000 {
            frames.yield(
                Data(
                    """
                    {"type":"status","conversationId":"\(talk)","statusVersion":\(number),"at":"2026-07-01T09:00:00.000Z",\
                    "counts":[{"seq":2,"deliveredCount":\(number),"readCount":\(number)}]}
                    """.utf8))
            try? await clock.sleep(until: began + .milliseconds(number))
        }
    }

    private static var ownMessage: Data {
        Data(
            """
            {"type":"change","change":{"conversationId":"\(talk)","seq":2,"kind":"message.created",\
            "at":"2026-07-01T09:00:00.000Z","actorId":"anna","message":{"id":"\(messageId(2))",\
            "conversationId":"\(talk)","seq":2,"changeSeq":2,"senderId":"anna","kind":"text","text":"\(text)",\
            "sentAt":"2026-07-01T09:00:00.000Z","createdAt":"2026-07-01T09:00:00.000Z","tapbacks":[],\
            "tapbackCounts":{},"mentions":[]}}}
            """.utf8)
    }
}

/// Frames that come one by one.
private actor FrameSource {
    private var iterator: AsyncStream<Data>.AsyncIterator

    init(_ stream: AsyncStream<Data>) { iterator = stream.makeAsyncIterator() }

    func next() async throws -> [Data] {
        // Taken out while it waits: the actor has one reader.
        var iterator = iterator
        defer { self.iterator = iterator }
        guard let frame = await iterator.next(isolation: self) else { return try await NewMessages.never() }
        return [frame]
    }
}
