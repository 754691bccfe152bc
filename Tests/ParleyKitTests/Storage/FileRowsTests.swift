import Foundation
import Models
import ParleySync
import Testing

@testable import ParleyStorage

@Suite struct FileRowsTests {
    private let photo = Models.Attachment(
        id: mediaId(1), name: "Sunday Walk.png", type: "image/png", size: 9, width: 4, height: 3, thumbhash: "abc=")
    private let voice = Models.Attachment(
        id: mediaId(2), name: "memo.ogg", type: "audio/ogg", size: 5, duration: 1.25, waveform: [0, 255])

    private func carrier(_ seq: Int64, _ attachments: [Models.Attachment], text: String? = nil) -> Message {
        var result = message(seq)
        result.text = text
        result.attachments = attachments
        return result
    }

    /// A copy on the disk with two messages that carry files.
    private func copy(in folder: TemporaryFolder) throws -> LocalStore {
        let store = try LocalStore(path: folder.file("copy.db"))
        try store.files.create()
        store.mostFileBytes = 100
        try store.apply([
            .session(userId: anna, logId: UUIDBytes(high: 9, low: 9), useq: 0),
            .conversation(head(lastSeq: 2), follows: true),
            .history(
                talk,
                History(
                    messages: [carrier(1, [photo, voice]), carrier(2, [photo], text: "again")], hasMoreBefore: false,
                    hasMoreAfter: false, lastSeq: 2), place: .newest),
        ])
        return store
    }

    /// A file of a message is loaded.
    @discardableResult
    private func load(
        _ attachment: Models.Attachment, _ part: FilePart = .content, of seq: UInt64 = 1, bytes: Int64 = 9,
        at: Int64 = 1, in store: LocalStore
    ) throws -> String {
        let name = UUID().uuidString
        #expect(
            try store.beginFile(
                attachment.id, part, name: name, bytes: bytes, of: messageId(seq), in: talk, at: time(at)))
        try store.files.createEmpty(name)
        try store.files.append(Data(repeating: 1, count: Int(bytes)), to: name)
        #expect(try store.finishFile(attachment.id, part, bytes: bytes))
        try store.removeOrphans()
        return name
    }

    private func names(in store: LocalStore) -> Set<String> { Set(store.files.names(before: .distantFuture)) }

    @Test("messages keep what they say of their files, and are found by their names")
    func attachments() throws {
        let folder = try TemporaryFolder()
        let store = try copy(in: folder)
        #expect(try store.rows().map(\.message.attachments) == [[photo, voice], [photo]])
        #expect(try store.rows().map(\.message.text) == [nil, "again"])
        #expect(try store.search("sunday wal").map(\.id) == [messageId(2), messageId(1)])
        #expect(try store.search("memo").map(\.id) == [messageId(1)])
        #expect(try store.search("again walk").map(\.id) == [messageId(2)])
        #expect(try store.conversation(talk)?.lastMessage?.attachments == [photo])
    }

    @Test("where there is no text, previews name the first file")
    func previews() throws {
        #expect(carrier(1, [photo, voice]).previewText == "Photo")
        #expect(carrier(1, [voice]).previewText == "Audio")
        #expect(carrier(1, [photo], text: "look").previewText == "look")
        let file = Models.Attachment(id: mediaId(3), name: "plan.pdf", type: "application/pdf", size: 1)
        #expect(carrier(1, [file]).previewText == "plan.pdf")
        let folder = try TemporaryFolder()
        let store = try copy(in: folder)
        var reply = message(3)
        reply.kind = .known(.reply)
        reply.replyTo = Reference(messageId: messageId(1), seq: 1)
        try store.apply([.change(created(reply), movesCursor: true)])
        #expect(try store.rows().last?.parent?.preview == "Photo")
    }

    @Test("rows tell what of their files is on this device")
    func rows() throws {
        let folder = try TemporaryFolder()
        let store = try copy(in: folder)
        let content = try load(photo, in: store)
        try load(photo, .small, in: store)
        let large = try load(photo, .large, in: store)
        let row = try store.rows()[0]
        #expect(row.attachments.map(\.id) == [photo.id, voice.id])
        #expect(row.attachments[0].content == store.files.url(content))
        #expect(row.attachments[0].thumbnail == store.files.url(large))
        #expect(row.attachments[1].content == nil)
    }

    @Test("a file goes with its message, however that goes", arguments: ["everyone", "hidden", "cleared", "discarded"])
    func deletion(way: String) throws {
        let folder = try TemporaryFolder()
        let store = try copy(in: folder)
        let name = try load(voice, in: store)
        let other = try load(photo, of: 2, in: store)
        #expect(names(in: store) == [name, other])
        switch way {
        case "everyone":
            var tombstone = message(1, changeSeq: 3)
            tombstone.text = nil
            tombstone.deletedForEveryone = true
            var change = created(tombstone)
            change.seq = 3
            change.kind = .known(.messageDeleted)
            try store.apply([.change(change, movesCursor: true)])
        case "hidden":
            try store.write { () throws(StorageError) in
                try store.hide(messageId(1), in: store.state(of: talk)!.key)
            }
        case "cleared":
            try store.write { () throws(StorageError) in
                try store.clear(store.state(of: talk)!.key, through: 1)
            }
        default: try store.apply([.discard(talk)])
        }
        try store.removeOrphans()
        #expect(names(in: store) == (way == "discarded" ? [] : [other]))
        #expect(try store.search("memo").isEmpty)
    }

    @Test("beyond the limit those go that nobody looked at for longest; the one that was asked for stays")
    func eviction() throws {
        let folder = try TemporaryFolder()
        let store = try copy(in: folder)
        let small = try load(photo, .small, bytes: 40, at: 1, in: store)
        let large = try load(photo, .large, bytes: 40, at: 2, in: store)
        try store.noteUse(of: photo.id, .small, at: time(3))
        let content = try load(photo, bytes: 40, at: 4, in: store)
        #expect(names(in: store) == [small, content])
        #expect(try store.fileBytes() == 80)
        #expect(try store.file(photo.id, .large) == nil)
        let huge = try load(voice, bytes: 500, at: 5, in: store)
        #expect(names(in: store) == [huge])
        #expect(large != small)
    }

    @Test("a sent file stays on the device with its message; one that was taken back does not")
    func sending() throws {
        let folder = try TemporaryFolder()
        let store = try copy(in: folder)
        try store.enqueue(send(""), messageId(101), files: [folder.copied("a.png", in: store)])
        try store.enqueue(send("b"), messageId(102), files: [folder.copied("b.txt", in: store)], key: 2)
        let rows = try store.rows().suffix(2)
        #expect(rows.map(\.message.text) == [nil, "b"])
        #expect(rows.flatMap(\.attachments).map(\.state) == [.uploading, .uploading])
        #expect(rows.map(\.message.previewText) == ["Photo", "b"])
        let uploads = try store.uploads(limit: 9)
        #expect(uploads.map(\.file.attachment.name) == ["a.png", "b.txt"])
        try store.apply(.created(mediaId(9)), to: uploads[0].file.key)
        var sent = photo
        sent.id = mediaId(9)
        try store.apply(.ready(sent), to: uploads[0].file.key)
        try store.discard(messageId(102), in: talk)
        let row = try #require(try store.outbox().first)
        #expect(!row.awaitsFiles)
        var stored = carrier(3, [sent])
        stored.id = messageId(101)
        stored.senderId = anna
        try store.complete(row, with: .message(stored))
        let kept = try #require(try store.rows().last?.attachments.first)
        #expect(kept.state == .stored && kept.content == store.files.url(uploads[0].file.file))
        #expect(try store.uploads(limit: 9).map(\.isTakenBack) == [true])
        #expect(try store.fileBytes() == 7)
    }

    @Test("what was sent counts against the limit, too")
    func evictionBySending() throws {
        let folder = try TemporaryFolder()
        let store = try copy(in: folder)
        try load(photo, bytes: 99, in: store)
        try store.enqueue(send("a"), messageId(101), files: [folder.copied("a.txt", in: store)])
        let file = try #require(try store.uploads(limit: 1).first).file
        try store.apply(.created(mediaId(9)), to: file.key)
        try store.apply(.ready(file.attachment), to: file.key)
        #expect(names(in: store).count == 2)
        var stored = carrier(3, [file.attachment], text: "a")
        stored.id = messageId(101)
        stored.senderId = anna
        try store.complete(store.outbox()[0], with: .message(stored))
        try store.removeOrphans()
        #expect(names(in: store) == [file.file])
    }

    @Test("files are removed in turns, all of them in the end")
    func removal() throws {
        let folder = try TemporaryFolder()
        let store = try copy(in: folder)
        store.mostFileBytes = .max
        let many = (1...120).map {
            Models.Attachment(id: mediaId(1_000 + $0), name: "\($0)", type: "image/png", size: 1)
        }
        try store.apply([.change(created(carrier(3, many)), movesCursor: true)])
        for attachment in many { try load(attachment, of: 3, bytes: 1, in: store) }
        try store.apply([.discard(talk)])
        var turns = 1
        while try store.removeOrphans() == LocalStore.orphansAtOnce { turns += 1 }
        #expect(turns == 3)
        #expect(names(in: store).isEmpty)
    }

    @Test("a message that is sent again begins the refused file anew; the others go on where they are")
    func retrying() throws {
        let folder = try TemporaryFolder()
        let store = try copy(in: folder)
        let files = try [folder.copied("bad", in: store), folder.copied("good", in: store)]
        try store.enqueue(send("a"), messageId(101), files: files)
        let keys = try store.uploads(limit: 9).map(\.file.key)
        for (key, id) in zip(keys, [mediaId(8), mediaId(9)]) {
            try store.apply(.created(id), to: key)
            try store.apply(.acknowledged(bytes: 5), to: key)
        }
        try store.apply(.refused(.refusedFile("wrongType")), to: keys[0])
        #expect(try store.outbox().map(\.state) == [.failed])
        #expect(try store.uploads(limit: 9).isEmpty)
        try store.retry(messageId(101), in: talk)
        #expect(try store.uploads(limit: 9).map(\.file.mediaId) == [nil, mediaId(9)])
        #expect(try store.uploads(limit: 9).map(\.file.sentBytes) == [0, 5])
    }

    @Test("however many messages wait behind a file, those of other conversations are sent")
    func noStarvation() throws {
        let folder = try TemporaryFolder()
        let store = try copy(in: folder)
        try store.enqueue(send("a"), messageId(101), files: [folder.copied("a.txt", in: store)])
        for number in UInt64(102)...110 { try store.enqueue(send("behind"), messageId(number), key: number) }
        let other = ConversationID(UUIDBytes(high: 1, low: 2))
        try store.enqueue(send("b"), in: other, message: messageId(111), at: time(0), key: key(111))
        #expect(try store.sendable(limit: 2).map(\.message) == [messageId(101), messageId(111)])
        try store.apply(.ready(photo), to: store.uploads(limit: 1)[0].file.key)
        #expect(try store.sendable(limit: 2).map(\.message) == [messageId(101), messageId(102)])
    }

    @Test("a message that was refused for a file that is gone has its files looked at once more, and only once")
    func checking() throws {
        let folder = try TemporaryFolder()
        let store = try copy(in: folder)
        try store.enqueue(send("a"), messageId(101), files: [folder.copied("a.png", in: store)])
        let key = try #require(try store.uploads(limit: 1).first).file.key
        try store.apply(.created(mediaId(9)), to: key)
        try store.apply(.ready(photo), to: key)
        try store.markTried([store.outbox()[0].key])
        try store.refuse(store.outbox()[0], problem(.notFound))
        #expect(try store.outbox().map(\.state) == [.waiting])
        #expect(try store.outbox().map(\.wasTried) == [false])
        #expect(try store.uploads(limit: 1).first?.file.isReady == false)
        try store.apply(.ready(photo), to: key)
        try store.refuse(store.outbox()[0], problem(.notFound))
        #expect(try store.outbox().map(\.state) == [.failed])
    }

    @Test("what is no file, cannot be read or is too large is told, and leaves nothing behind")
    func problems() throws {
        let folder = try TemporaryFolder()
        let store = try copy(in: folder)
        func take(_ file: LocalFile) throws { _ = try CopiedFile(file, id: mediaId(5), in: store.files, limit: 10) }
        #expect(throws: FileProblem.unreadable(name: "absent")) {
            try take(LocalFile(URL(fileURLWithPath: folder.file("absent"))))
        }
        #expect(throws: FileProblem.unreadable(name: "null")) {
            try take(LocalFile(URL(fileURLWithPath: "/dev/null")))
        }
        #expect(throws: FileProblem.tooLarge(name: "large", limit: 10)) {
            try take(folder.local("large", Data(repeating: 1, count: 11)))
        }
        #expect(names(in: store).isEmpty)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link"), withDestinationPath: folder.local("small").url.path)
        try take(LocalFile(URL(fileURLWithPath: folder.file("link"))))
        #expect(names(in: store).count == 1)
    }

    @Test("signing out removes the files")
    func erasing() throws {
        let folder = try TemporaryFolder()
        do { try load(photo, in: copy(in: folder)) }
        try LocalStore.erase(path: folder.file("copy.db"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
}
