import Foundation
import Models
import ParleyStorage

/// Messages on this device, by conversation, for a screen that wants no more than that.
///
/// It never throws: what cannot be read is not there, what cannot be written is reported, and the screen goes on.
/// `Parley` keeps the same database up to date by itself; with it, only reading is of use.
public actor MessageStore {
    private let path: String
    private let report: @Sendable (StorageError) -> Void
    private var opened: LocalDatabase?

    /// - Parameters:
    ///   - directory: that of `Parley.Configuration`, or one of its own. It is made if there is none.
    ///   - report: told of what went wrong. The default writes it to standard error; message texts are not in it.
    public init(
        directory: URL, report: @escaping @Sendable (StorageError) -> Void = { MessageStore.log($0) }
    ) {
        try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        path = directory.appendingPathComponent("parley.db").path
        self.report = report
    }

    /// The messages of a conversation, ascending. None of a conversation that nobody knows.
    public func loadMessages(_ conversation: ConversationID) async -> [Message] {
        await attempt { database throws(StorageError) in
            try await database.read { store throws(StorageError) in try store.keptMessages(of: conversation) }
        } ?? []
    }

    /// Stores a message that the server has. Of two states of one message the newer one stays.
    public func save(_ message: Message) async { await saveAll([message]) }

    /// Stores all of these messages, or none.
    public func saveAll(_ messages: [Message]) async {
        await attempt { database throws(StorageError) in
            try await database.write { store throws(StorageError) in try store.keep(messages) }
        }
    }

    /// Removes the messages of a conversation from this device. For the user, on all devices: `Talk.clearHistory`.
    public func clearHistory(_ conversation: ConversationID) async {
        await attempt { database throws(StorageError) in
            try await database.write { store throws(StorageError) in try store.forgetMessages(of: conversation) }
        }
    }

    @discardableResult
    private func attempt<Value: Sendable>(
        _ body: @Sendable (LocalDatabase) async throws(StorageError) -> Value
    ) async -> Value? {
        do throws(StorageError) {
            return try await body(database())
        } catch {
            report(error)
            return nil
        }
    }

    private func database() throws(StorageError) -> LocalDatabase {
        if let opened { return opened }
        let database = try LocalDatabase(path: path)
        opened = database
        return database
    }

    /// Writes an error to standard error.
    public static func log(_ error: StorageError) {
        FileHandle.standardError.write(Data("parley: \(error.description)\n".utf8))
    }
}
