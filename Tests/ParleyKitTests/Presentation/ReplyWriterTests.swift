import Models
import ParleyStorage
import Testing

@testable import ParleyKit

@Suite struct ReplyWriterTests {
    @Test("a reply shows at once and names its immediate parent, also where that is a reply itself")
    func immediateParent() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let talk = parley.conversation(world.group)
        let question = try await talk.send("question")
        let first = try await rows(talk, 1)
        let answer = try await ReplyWriter(talk).reply(to: first[0].message, text: "answer")
        let second = try await rows(talk, 2)
        #expect(second[1].parent?.id == question && second[1].parent?.preview == "question")
        try await ReplyWriter(talk).reply(to: second[1].message, text: "further")
        let third = try await rows(talk, 3)
        #expect(third[2].parent?.id == answer && third[2].parent?.preview == "answer")
        await parley.close()
    }

    @Test("what cannot be replied to is refused before anything is shown")
    func refusal() async throws {
        let world = try FaceWorld()
        let parley = try await world.open()
        let talk = parley.conversation(world.group)
        var deleted = said(1)
        deleted.conversationId = world.group
        deleted.deletedForEveryone = true
        await #expect(throws: ParleyError.refused(ProblemDetails(Problem(.notReplyable, "replyTo")))) {
            try await ReplyWriter(talk).reply(to: deleted, text: "too late")
        }
        await #expect(throws: ParleyError.self) { try await ReplyWriter(talk).reply(to: said(1), text: "elsewhere") }
        for await unsent in MessageSendWorker(parley).unsent {
            #expect(unsent.isEmpty)
            break
        }
        await parley.close()
    }

    private func rows(_ talk: Talk, _ count: Int) async throws -> [TimelineRow] {
        try #require(await first(talk.timeline()) { $0.spoken.count == count }).spoken
    }
}

@Suite struct MessageSendWorkerTests {
    @Test("what is written while it rests is sent, in order, when it starts")
    func sending() async throws {
        let world = try FaceWorld()
        let parley = try await world.connected()
        let worker = MessageSendWorker(parley)
        await worker.stop()
        let talk = parley.conversation(world.group)
        for number in 1...5 { try await talk.send("\(number)") }
        let waiting = await first(worker.unsent) { $0.count == 5 }
        #expect(waiting?.map(\.state) == Array(repeating: .sending, count: 5))
        #expect(world.texts.isEmpty)
        await worker.start()
        #expect(await first(worker.unsent) { $0.isEmpty } != nil)
        #expect(world.texts == (1...5).map { "\($0)" })
        await parley.close()
    }
}

extension TimelineUpdate {
    /// Without what the server says of the conversation.
    fileprivate var spoken: [TimelineRow] { rows.filter { $0.message.kind != .system } }
}
