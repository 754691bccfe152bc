import Foundation
import ParleyKit
import ParleyStorage

/// 100,000 changes that arrive as fast as they are taken.
enum Applying {
    static let count = 100_000
    static let perBatch = 500

    static func measure() async throws {
        let folder = try Folder()
        Usage.resetPeak()
        let whole = try await applied(in: folder)
        let peak = Usage.peakMegabytes
        let floor = try inserted(folder.file("floor.db"))
        KitLoad.print(
            "apply \(count) changes, batches of \(perBatch): changes/s", "\(Int(Double(count) / whole.seconds))")
        KitLoad.print(
            "  floor: the same rows, same batches, SQLite alone: rows/s", "\(Int(Double(count) / floor.seconds))")
        KitLoad.print("  of the floor", "\(Int(100 * floor.seconds / whole.seconds)) %")
        KitLoad.print("  peak memory", "\(peak) MB")
    }

    private static func applied(in folder: Folder) async throws -> Duration {
        let messages = NewMessages(count: count, perBatch: perBatch)
        let server = FramesServer { try await messages.next() }
        let parley = try await Parley.open(
            .init(directory: folder.url, transport: server.transport, token: { "token" }))
        let clock = ContinuousClock()
        let began = clock.now
        await parley.connect()
        // A screen is open.
        for await update in parley.conversation(talk).timeline()
        where update.rows.last?.message.seq == Int64(count + 1) { break }
        let time = clock.now - began
        await parley.close()
        return time
    }

    private static func inserted(_ path: String) throws -> Duration {
        let store = try LocalStore(path: path)
        try store.connection.run("INSERT INTO conversations (key, id) VALUES (1, ?1)", talk)
        let clock = ContinuousClock()
        let began = clock.now
        for start in stride(from: 2, through: count + 1, by: perBatch) {
            try store.write { () throws(StorageError) in
                for seq in start..<min(start + perBatch, count + 2) { try store.insertBare(seq) }
            }
        }
        return clock.now - began
    }
}

extension LocalStore {
    /// A message's row, and nothing about it.
    func insertBare(_ seq: Int) throws(StorageError) {
        try connection.run(
            """
            INSERT INTO messages (conversation, seq, change_seq, id, sender_id, kind, text, sent_at, created_at)
            VALUES (1, ?1, ?1, ?2, 'ben', 'text', ?3, 1782896400000, 1782896400000)
            """, Int64(seq), messageId(seq), text)
    }
}
