import Foundation
import Models
import Testing

@testable import ParleyStorage

@Suite struct OpeningTests {
    private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Fixtures")

    @Test("a database of every earlier version opens with all that it had", arguments: 1...9)
    func migration(version: Int) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("copy.db")
        try Connection(path: path).execute(Self.dump(version))

        let opened = try LocalStore.open(path: path)
        #expect(opened.setAside == nil)
        let store = opened.store
        #expect(try store.connection.schemaVersion() == Migration.latestVersion)
        #expect(try store.texts() == ["text 1", "edited", "Yes!"])
        #expect(try store.rows()[0].message.tapbacks == [Tapback(userId: ben, kind: TapbackKind("🧗")!)])
        #expect(try store.rows()[2].state == .sending)
        // It is put, as if it had been written now.
        let draft = try store.draft(in: talk)
        #expect(draft?.text == "Not yet" && draft?.replyTo == (version < 7 ? nil : messageId(2)))
        let put = try store.sendable(limit: 10).filter { $0.write.kind == "draft" }
        #expect(put.map(\.write) == [.draft(draft, isTold: false)])
        try store.setDraft(nil, in: talk, at: time(9), key: key(9))
        #expect(try store.sendable(limit: 10).allSatisfy { $0.write.kind != "draft" })
        #expect(try store.syncPosition().streams.map(\.stream.cursor) == [2])
        // What it was told of marks, drafts and permissions it has passed over: the list is loaded again. So is that of requests.
        #expect(try !store.syncPosition().isListComplete && store.conversation(talk)?.permissions == nil)
        #expect(try !store.hasRequests() && store.requests().isEmpty)
        #expect(try store.search("edit").count == 1)
        #expect(try store.search("text").count == 1)
        #expect(try store.settings() == Settings(readReceipts: false, presence: true))
        #expect(try store.conversation(talk)?.pinOrder == (version < 5 ? nil : 3))
        // Nobody is blocked until a session says so; then it is in force.
        #expect(try store.blockedUsers().isEmpty)
        try store.apply([.blocks([ben], useq: 9)])
        #expect(try store.texts() == ["edited", "Yes!"])
        // Nobody has a name until they are asked for.
        #expect(try store.userNames() == UserNames())
        try store.apply([.profiles([Profile(userId: ben, version: 2, displayName: "Ben")])])
        #expect(try store.userNames()[ben] == "Ben")
        let check = try store.connection.all("PRAGMA integrity_check") { $0.text(0) }
        #expect(check == ["ok"])
    }

    private static func dump(_ version: Int) throws -> String {
        try String(contentsOf: fixtures.appendingPathComponent("version\(version).sql"), encoding: .utf8)
    }

    @Test("of a copy whose list was being loaded in version 1 it is not known what the user has hidden")
    func migrationWhileUnsure() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("copy.db")
        try Connection(path: path).execute(Self.dump(1) + "UPDATE account SET is_list_complete = 0")
        let store = try LocalStore(path: path)
        try store.apply([.change(created(message(3)), movesCursor: true)])
        #expect(try store.storedRanges(of: talk) == [1...2])
        try store.apply([
            .conversation(head(lastSeq: 3), follows: false), .change(created(message(4)), movesCursor: true),
        ])
        #expect(try store.storedRanges(of: talk) == [1...2, 4...4])
    }

    @Test("a message whose files version 3 did not keep is loaded again, and then has them")
    func migrationWithoutFiles() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("copy.db")
        let textless = "UPDATE messages SET text = NULL WHERE key = 1; PRAGMA user_version = 3"
        try Connection(path: path).execute(Self.dump(3) + textless)
        let store = try LocalStore(path: path)
        #expect(try store.storedRanges(of: talk).isEmpty)
        let photo = Attachment(id: mediaId(1), name: "Walk.png", type: "image/png", size: 9)
        var whole = message(1)
        whole.text = nil
        whole.attachments = [photo]
        try store.apply([.message(whole)])
        #expect(try store.message(messageId(1), in: talk)?.attachments == [photo])
        #expect(try store.search("walk").map(\.id) == [messageId(1)])
    }

    @Test("what the database needs for a moment is in no temporary file")
    func temporaries() throws {
        let folder = try TemporaryFolder()
        let store = try LocalStore(path: folder.file("copy.db"))
        #expect(try store.connection.first("PRAGMA temp_store") { $0.integer(0) } == 2)
    }

    @Test("a message is not sent without a file that a damaged database has lost")
    func damageOfFiles() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("copy.db")
        do {
            let store = try LocalStore(path: path)
            try store.enqueue(send("whole"), messageId(1), files: [folder.copied("a", in: store)])
            try store.enqueue(send("torn"), messageId(2), files: [folder.copied("b", in: store)], key: 2)
            try store.connection.execute("DELETE FROM uploads WHERE key = 2")
            try store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA writable_schema = ON")
            try store.connection.execute("UPDATE sqlite_schema SET rootpage = 9999 WHERE name = 'conversations'")
        }
        let rows = try LocalStore.open(path: path).store.outbox()
        #expect(rows.map(\.state) == [.waiting, .failed])
        #expect(rows[0].files.map(\.attachment.name) == ["a"])
    }

    @Test("a database of a later version is left alone")
    func laterVersion() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("copy.db")
        try Connection(path: path).execute("PRAGMA user_version = 1000")
        let error = #expect(throws: StorageError.self) { _ = try LocalStore.open(path: path) }
        #expect(error?.reason == .newerVersion)
        #expect(try Connection(path: path).schemaVersion() == 1000)
    }

    @Test("a damaged file is set aside, and what was not sent is taken over")
    func damage() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("copy.db")
        do {
            let store = try LocalStore(path: path)
            try store.apply([.session(userId: anna, logId: UUIDBytes(high: 9, low: 9), useq: 0)])
            try store.enqueue(send("still to be sent"), messageId(1))
            try store.setDraft(Draft(text: "half a"), in: talk, at: time(1), key: key(9))
            try store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA writable_schema = ON")
            // The table of conversations is lost.
            try store.connection.execute("UPDATE sqlite_schema SET rootpage = 9999 WHERE name = 'conversations'")
        }
        let opened = try LocalStore.open(path: path)
        #expect(opened.setAside == path + ".unreadable-1")
        #expect(FileManager.default.fileExists(atPath: path + ".unreadable-1"))
        #expect(opened.salvaged == 2)
        #expect(try opened.store.outbox().first?.write == send("still to be sent"))
        #expect(try opened.store.draft(in: talk)?.text == "half a")
        #expect(try opened.store.userId() == anna)
    }

    @Test("a file that is no database is set aside, and does not stop the application")
    func noDatabase() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("copy.db")
        try Data(repeating: 7, count: 5_000).write(to: URL(fileURLWithPath: path))
        let opened = try LocalStore.open(path: path)
        #expect(opened.salvaged == 0)
        #expect(try Data(contentsOf: URL(fileURLWithPath: opened.setAside!)) == Data(repeating: 7, count: 5_000))
        #expect(try opened.store.conversations(limit: 1).isEmpty)
    }

    @Test("when the disk is full the caller learns it, and what was stored before stays")
    func fullDisk() throws {
        let store = try copy()
        try store.enqueue(send("first"), messageId(1))
        try store.connection.execute("PRAGMA max_page_count = 1")
        let error = #expect(throws: StorageError.self) {
            for number in 2...2_000 {
                try store.enqueue(send(String(repeating: "x", count: 2_000)), messageId(UInt64(number)))
            }
        }
        #expect(error?.reason == .full)
        #expect(try store.outbox().first?.write == send("first"))
        try store.connection.execute("PRAGMA max_page_count = 100000")
        try store.enqueue(send("last"), messageId(9_999))
        #expect(try store.outbox().last?.write == send("last"))
    }

    @Test("when nothing can be written the caller learns it, and can still read")
    func readOnly() throws {
        let store = try copy()
        try store.connection.execute("PRAGMA query_only = ON")
        let error = #expect(throws: StorageError.self) { try store.enqueue(send("first"), messageId(1)) }
        #expect(error?.reason == .readOnly)
        #expect(try store.conversation(talk)?.title == "Sunday")
    }

    @Test("two processes share a database, and each notices what the other commits")
    func twoProcesses() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("copy.db")
        let (application, notifications) = (try LocalStore(path: path), try LocalStore(path: path))
        let before = try application.connection.dataVersion()
        try application.enqueue(send("mine"), messageId(1))
        #expect(try application.connection.dataVersion() == before)
        try notifications.apply([.conversation(head(lastSeq: 1), follows: true)])
        #expect(try application.connection.dataVersion() != before)
        #expect(try application.conversation(talk)?.lastSeq == 1)
        #expect(try notifications.outbox().count == 1)
    }

    @Test("signing out removes the file and its log, and what was set aside of it")
    func erase() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("copy.db")
        try Data(repeating: 7, count: 5_000).write(to: URL(fileURLWithPath: path))
        let store = try LocalStore.open(path: path).store
        for name in ["copy.db.unreadable-1-wal", "copy.db.unreadable-3", "other.db.unreadable-1"] {
            try Data("text".utf8).write(to: URL(fileURLWithPath: folder.file(name)))
        }
        try store.enqueue(send("mine"), messageId(1))
        #expect(FileManager.default.fileExists(atPath: path + "-wal"))
        #expect(FileManager.default.fileExists(atPath: path + ".unreadable-1"))
        try LocalStore.erase(path: path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["other.db.unreadable-1"])
    }
}
