import Foundation
import Models
import ParleyKit
import ParleyStorage
import Synchronization
import Testing

@Suite struct MessageStoreTests {
    private let folder: TemporaryFolder
    private var directory: URL { URL(fileURLWithPath: folder.file("copy")) }

    init() throws { folder = try TemporaryFolder() }

    @Test("messages survive a new instance, as they were, with their dates to the millisecond")
    func restart() async {
        var message = said(1, by: anna, "one", at: Timestamp(milliseconds: 1_763_726_400_123))
        message.editedAt = Timestamp(milliseconds: 1_763_726_400_457)
        message.tapbacks = [Tapback(userId: ben, kind: .love)]
        message.tapbackCounts = [.love: 1]
        await MessageStore(directory: directory).saveAll([message, said(2)])
        #expect(await MessageStore(directory: directory).loadMessages(talk) == [message, said(2)])
    }

    @Test("a conversation that nobody knows is empty, and no error")
    func unknownConversation() async {
        let errors = Mutex(0)
        let store = MessageStore(directory: directory) { _ in errors.withLock { $0 += 1 } }
        #expect(await store.loadMessages(talk).isEmpty)
        await store.clearHistory(talk)
        #expect(errors.withLock { $0 } == 0)
    }

    @Test("streams that overlap, and come in any order, make no duplicates")
    func overlap() async {
        let store = MessageStore(directory: directory)
        await store.saveAll([said(2), said(3)])
        await store.saveAll([said(1), said(2)])
        await store.save(said(3))
        #expect(await store.loadMessages(talk).map(\.seq) == [1, 2, 3])
    }

    @Test("of two states of a message the newer one stays, whichever comes first")
    func states() async {
        var edited = said(1, "edited")
        edited.changeSeq = 5
        let store = MessageStore(directory: directory)
        await store.saveAll([edited, said(1, "first")])
        #expect(await store.loadMessages(talk) == [edited])
    }

    @Test("clearing takes a conversation's messages away, and no other's; later ones are stored again")
    func clearing() async {
        let store = MessageStore(directory: directory)
        let other = ConversationID(UUIDBytes(high: 1, low: 2))
        var elsewhere = said(1)
        elsewhere.conversationId = other
        await store.saveAll([said(1), said(2), elsewhere])
        await store.clearHistory(talk)
        #expect(await store.loadMessages(talk).isEmpty)
        #expect(await store.loadMessages(other) == [elsewhere])
        await store.save(said(2))
        #expect(await store.loadMessages(talk) == [said(2)])
    }

    @Test("a database that cannot be opened is reported, and shows nothing")
    func unusable() async throws {
        try Data().write(to: directory)  // A file where the folder has to be.
        let errors = Mutex<[String]>([])
        let store = MessageStore(directory: directory) { error in errors.withLock { $0.append(error.description) } }
        await store.save(said(1, "secret"))
        #expect(await store.loadMessages(talk).isEmpty)
        #expect(errors.withLock { $0.count } == 2)
        #expect(!errors.withLock { $0.joined() }.contains("secret"))
    }
}
