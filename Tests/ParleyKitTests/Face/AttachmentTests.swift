import Foundation
import Models
import ParleyKitTesting
import ParleyStorage
import ParleySync
import Testing

@testable import ParleyKit

@Suite struct AttachmentTests {
    private func bytes(_ count: Int) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
    }

    private func files(in parley: Parley) async -> [String] {
        await parley.engine.folder.names(before: .distantFuture)
    }

    @Test("a file is sent from a copy, and read by another with the same content, also when the server is away")
    func sendsAndReads() async throws {
        let world = try FaceWorld()
        let content = bytes(2_500_000)
        let (sender, reader) = (try await world.connected(), try await world.connected(ben))
        let talk = sender.conversation(world.group)
        let original = try world.folder.local("walk.png", content)
        let id = try await talk.send(attachments: [original])
        try FileManager.default.removeItem(at: original.url)
        try await talk.send("behind")
        let theirs = reader.conversation(world.group)
        let update = await first(theirs.timeline()) { $0.texts == [nil, "behind"] }
        let attachment = try #require(update?.rows.first { $0.id == id }?.attachments.first)
        #expect(attachment.attachment.name == "walk.png" && attachment.attachment.width == 3)
        #expect(attachment.content == nil)
        let url = try await theirs.content(of: attachment)
        #expect(try Data(contentsOf: url) == content)
        world.network.isReachable = false
        let kept = await first(theirs.timeline()) { $0.rows.first { $0.id == id }?.attachments.first?.content != nil }
        let row = try #require(kept?.rows.first { $0.id == id }?.attachments.first)
        #expect(row.content == url)
        #expect(try await theirs.content(of: row) == url)
        // The sender has it without loading it.
        let own = await first(talk.timeline()) { $0.areAllStored && $0.texts.count == 2 }
        let sent = try #require(own?.rows.first { $0.id == id }?.attachments.first)
        #expect(try Data(contentsOf: try await talk.content(of: sent)) == content)
        #expect(!world.network.takeCalls().isEmpty)
        await sender.close()
        await reader.close()
    }

    @Test("a process that ends during an upload goes on where the server is")
    func resumes() async throws {
        let world = try FaceWorld()
        let content = bytes(3_000_000)
        let before = try await world.connected()
        let talk = before.conversation(world.group)
        let id = try await talk.send("with a file", attachments: [try world.folder.local("a.bin", content)])
        try await talk.send("behind")
        for await progress in talk.uploadProgress(of: id) where progress.sentBytes > 0 {
            #expect(progress.totalBytes == 3_000_000)
            break
        }
        await before.close()
        let after = try await world.connected()
        let done = await first(after.conversation(world.group).timeline()) {
            $0.areAllStored && $0.texts == ["with a file", "behind"]
        }
        #expect(done != nil)
        #expect(world.texts == ["with a file", "behind"])
        world.network.withServer { server in
            #expect(server.media.ids.count == 1)
            #expect(server.media.content(server.media.ids[0]) == content)
            #expect(server.media.receivedBytes == content.count)
        }
        await after.close()
    }

    @Test(
        "lost responses, an upload that expires and a file that is gone after it was ready delay a message, and no more"
    )
    func faults() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let talk = parley.conversation(world.group)
        world.network.loseResponses(4)
        try await talk.send("one", attachments: [try world.folder.local("a.bin", bytes(900_000))])
        _ = await first(parley.pendingWrites) { $0 == 0 }
        #expect(world.texts == ["one"])
        // The second one goes when it is ready, before its message could be sent: behind one that waits for its own file.
        world.network.withServer { $0.media.looksBeforeReady = 1_000_000 }
        try await talk.send("two", attachments: [try world.folder.local("b.bin", bytes(10))])
        let isThere = await soon {
            world.network.withServer { server in
                server.media.ids.contains { server.media.content($0)?.count == 10 }
            }
        }
        #expect(isThere)
        world.network.withServer { server in
            for id in server.media.ids where server.media.content(id)?.count == 10 { server.media.lose(id) }
            server.media.looksBeforeReady = 1
        }
        _ = await first(parley.pendingWrites) { $0 == 0 }
        #expect(world.texts == ["one", "two"])
        await parley.close()
    }

    @Test("a server that is busy is asked again, for what is sent and for what is read")
    func busyServer() async throws {
        let world = try FaceWorld()
        let (sender, reader) = (try await world.connected(), try await world.connected(ben))
        world.network.withServer { $0.media.busyCalls = 3 }
        try await sender.conversation(world.group).send("one", attachments: [try world.folder.local("a.bin", bytes(9))])
        let theirs = reader.conversation(world.group)
        let update = await first(theirs.timeline()) { $0.texts == ["one"] }
        world.network.withServer { $0.media.busyCalls = 3 }
        let file = try #require(update?.rows.last?.attachments.first)
        #expect(try Data(contentsOf: try await theirs.content(of: file)) == bytes(9))
        await sender.close()
        await reader.close()
    }

    @Test("a file that the server refuses fails its message with the reason; discarding it frees those behind")
    func refusal() async throws {
        let world = try FaceWorld()
        world.network.withServer { $0.media.refusedNames = ["bad.png"] }
        let parley = try await world.connected()
        let talk = parley.conversation(world.group)
        let id = try await talk.send(
            attachments: [try world.folder.local("bad.png"), try world.folder.local("good.png")])
        try await talk.send("behind")
        let failed = await first(talk.timeline()) { update in
            if case .failed(let problem) = update.rows.first?.state {
                problem.detail == "wrongType"
            } else {
                false
            }
        }
        #expect(failed?.texts == [nil, "behind"])
        world.network.withServer { $0.media.refusedNames = [] }
        try await talk.retry(id)
        _ = await first(parley.pendingWrites) { $0 == 0 }
        #expect(world.texts == [nil, "behind"])
        await parley.close()
    }

    @Test("a message that is discarded or deleted before it was sent takes its upload back")
    func takesBack() async throws {
        let world = try FaceWorld()
        world.network.withServer { $0.media.looksBeforeReady = .max }
        let parley = try await world.connected()
        let talk = parley.conversation(world.group)
        let one = try await talk.send("one", attachments: [try world.folder.local("a.bin")])
        let two = try await talk.send("two", attachments: [try world.folder.local("b.bin")])
        try await talk.send("three")
        #expect(await soon { world.network.withServer { $0.media.ids.count } == 2 })
        try await talk.delete(one, .forMe)
        try await talk.discard(two)
        #expect(await soon { world.network.withServer { $0.media.terminated.count } == 2 })
        #expect(await soon { await files(in: parley).isEmpty })
        _ = await first(parley.pendingWrites) { $0 == 0 }
        #expect(world.texts == ["three"])
        await parley.close()
    }

    @Test("a message that is deleted for everyone takes its file off every device")
    func deletion() async throws {
        let world = try FaceWorld()
        let (sender, reader) = (try await world.connected(), try await world.connected(ben))
        let (ours, theirs) = (sender.conversation(world.group), reader.conversation(world.group))
        let id = try await ours.send("look", attachments: [try world.folder.local("a.png", bytes(1_000))])
        let update = await first(theirs.timeline()) { $0.texts == ["look"] }
        _ = try await theirs.content(of: try #require(update?.rows.last?.attachments.first))
        _ = await first(sender.pendingWrites) { $0 == 0 }
        #expect(await files(in: reader).count == 1)
        #expect(await files(in: sender).count == 1)
        try await ours.delete(id, .everyone)
        #expect(await soon { await files(in: reader).isEmpty })
        #expect(await soon { await files(in: sender).isEmpty })
        let gone = await first(theirs.timeline()) { $0.rows.last?.message.deletedForEveryone ?? false }
        #expect(gone?.rows.last?.attachments == [])
        await sender.close()
        await reader.close()
    }

    @Test("what is not the file of the message is not shown, and what was interrupted goes on")
    func damagedDownload() async throws {
        let world = try FaceWorld()
        let sender = try await world.connected()
        let content = bytes(2_200_000)
        try await sender.conversation(world.group).send(attachments: [try world.folder.local("a.png", content)])
        let reader = try await world.connected(ben)
        let theirs = reader.conversation(world.group)
        let update = await first(theirs.timeline()) { $0.texts == [nil] && $0.rows.last?.message.attachments != nil }
        let attachment = try #require(update?.rows.last?.attachments.first)
        _ = world.network.takeCalls()
        // As an earlier process left it: a part that is right.
        let name = try await reader.engine.beginFile(
            attachment.id, .content, bytes: Int64(content.count), of: attachment.message, in: world.group)
        let folder = await reader.engine.folder
        try folder.createEmpty(name)
        try folder.append(content.prefix(1_500_000), to: name)
        #expect(try Data(contentsOf: try await theirs.content(of: attachment)) == content)
        #expect(world.network.takeCalls().filter { $0 == "read" }.count == 1)
        // And one that is wrong.
        await reader.engine.forgetFile(attachment.id, .content)
        let other = try await reader.engine.beginFile(
            attachment.id, .content, bytes: Int64(content.count), of: attachment.message, in: world.group)
        try folder.createEmpty(other)
        try folder.append(Data(repeating: 9, count: 1_000), to: other)
        await #expect(throws: ParleyError.damagedFile) { try await theirs.content(of: attachment) }
        #expect(try Data(contentsOf: try await theirs.content(of: attachment)) == content)
        await sender.close()
        await reader.close()
    }

    @Test("what is too large, or too much for one message, is told at once, as far as the limits are known")
    func limits() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let talk = parley.conversation(world.group)
        let large = try world.folder.local("large", Data(count: 10_000_001))
        #expect(
            await soon {
                do throws(ParleyError) { try await talk.send(attachments: [large]) } catch {
                    return error == .file(.tooLarge(name: "large", limit: 10_000_000))
                }
                return false
            })
        let small = try world.folder.local("small")
        await #expect(throws: ParleyError.file(.tooMany(limit: 10))) {
            try await talk.send(attachments: Array(repeating: small, count: 11))
        }
        await parley.close()
    }

    @Test("signing out removes everything")
    func signsOut() async throws {
        let world = try FaceWorld()
        let parley = try await world.open()
        try await parley.conversation(world.group).send("x", attachments: [try world.folder.local("a.bin")])
        #expect(await files(in: parley).count == 1)
        let folder = await parley.engine.folder
        try await parley.signOut()
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test("what is being copied when the user signs out does not stay either")
    func signsOutDuringACopy() async throws {
        let world = try FaceWorld()
        let parley = try await world.open()
        let large = try world.folder.local("large", bytes(9_000_000))
        let folder = await parley.engine.folder
        async let sent = try? parley.conversation(world.group).send(attachments: Array(repeating: large, count: 10))
        #expect(await soon { !folder.names(before: .distantFuture).isEmpty })
        try await parley.signOut()
        _ = await sent
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test("what was sent and read stays within the limit of the application")
    func staysWithinTheLimit() async throws {
        let world = try FaceWorld()
        let parley = try await world.open(fileBytes: 1_500)
        await parley.connect()
        let talk = parley.conversation(world.group)
        // Whoever looks is told that files left.
        async let seen = first(talk.timeline()) { update in
            update.areAllStored && update.rows.count == 3
                && update.rows.filter { $0.attachments.first?.content != nil }.count == 1
        }
        for name in ["a", "b", "c"] { try await talk.send(attachments: [try world.folder.local(name, bytes(1_000))]) }
        #expect(await seen != nil)
        #expect(await soon { await files(in: parley).count == 1 })
        await parley.close()
    }
}
