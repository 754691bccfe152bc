import Foundation
import Models
import ParleyKit
import ParleyStorage

/// How long it takes until a message is stored.
enum Sending {
    static let count = 500

    static func measure() async throws {
        let folder = try Folder()
        let server = FramesServer()
        let parley = try await Parley.open(
            .init(directory: folder.url, transport: server.transport, token: { "token" }))
        let conversation = parley.conversation(talk)
        let bare = try LocalStore(path: folder.file("floor.db"))
        // In turns, so that both meet the same disk.
        var (sends, commits): ([Duration], [Duration]) = ([], [])
        let clock = ContinuousClock()
        for number in 0..<count {
            var began = clock.now
            _ = try await conversation.send(text)
            sends.append(clock.now - began)
            began = clock.now
            try bare.insertOutboxRow(number)
            commits.append(clock.now - began)
        }
        let (send, commit) = (sends.sorted()[count / 2], commits.sorted()[count / 2])
        KitLoad.print("a send returns, median", "\(Int(send.microseconds)) µs")
        KitLoad.print("  floor: one bare commit, median", "\(Int(commit.microseconds)) µs")
        KitLoad.print("  times the floor", String(format: "%.1f", send / commit))
        await parley.close()
    }
}

extension LocalStore {
    fileprivate func insertOutboxRow(_ number: Int) throws(StorageError) {
        try connection.run(
            """
            INSERT INTO outbox (conversation_id, message_id, kind, write, idempotency_key, at)
            VALUES (?1, ?2, 'send', ?3, ?4, 0)
            """, talk, messageId(number), "{\"send\":\(text)}", UUIDBytes(high: 3, low: UInt64(number)))
    }
}
