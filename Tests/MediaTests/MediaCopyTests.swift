import Foundation
import Models
import Testing
import Wire

@testable import Media

@Suite struct MediaCopyTests {
    private let file = MediaID(UUIDBytes(high: 0x0123_4567_89ab_4def, low: 0x8123_4567_89ab_cdef))
    private let conversation = ConversationID(UUIDBytes(high: 1, low: 2))
    private let message = MessageID(UUIDBytes(high: 3, low: 4))

    @Test("a copy has the same id each time, another one for everything else, and is in its user's slot")
    func ids() {
        let bob = UserID("bob")!
        func ids(_ message: MessageID, _ conversation: ConversationID, _ user: UserID, _ files: MediaID...) -> [MediaID] {
            CopyMedia(
                MessageMedia(self.message, files), in: self.conversation, for: message, in: conversation, by: user
            ).copies
        }
        let other = MediaID.random(of: bob)
        let copies = ids(message, conversation, bob, file, other)
        #expect(copies == ids(message, conversation, bob, file, other))
        #expect(copies.allSatisfy { $0.slot == bob.slot && $0.description.dropFirst(14).first == "4" })
        let more = [
            copies, ids(MessageID(UUIDBytes(high: 5, low: 6)), conversation, bob, file), ids(message, ConversationID(UUIDBytes(high: 7, low: 8)), bob, file),
            ids(message, conversation, UserID("carol")!, file), [file, other],
        ].flatMap { $0 }
        #expect(Set(more).count == more.count)
    }

    @Test("a copy in a directory has all parts, may be made again, and stays when the first file goes")
    func directory() throws {
        let root = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: root) }
        let storage = FileStorage(root: root.path)
        try storage.prepare(isSpool: false)
        let kept = KeptObject(
            id: file, version: 7, sha256: "", size: 3, thumbnails: #"[{"size":"small","width":1,"height":1}]"#)
        #expect(kept.parts == [.content, .small])
        let copy = MediaID(UUIDBytes(high: 1, low: 2))
        #expect(throws: FileError.self) { try storage.copy(kept, to: copy) }
        for part in kept.parts {
            try Data("\(part)".utf8).write(to: URL(filePath: storage.object(file, 7, part)))
        }
        for _ in 0..<2 { try storage.copy(kept, to: copy) }
        try storage.removeObject(file, 7)
        for part in kept.parts {
            #expect(try Data(contentsOf: URL(filePath: storage.object(copy, 7, part))) == Data("\(part)".utf8))
        }
    }
}
