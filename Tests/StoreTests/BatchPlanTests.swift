import Bytes
import Models
import Testing
import Wire

@testable import Store

/// Makes a message whose identifiers come from the numbers.
private func message(_ id: UInt64, replyTo parent: UInt64? = nil) -> NewMessage {
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    return NewMessage(
        id: MessageID(UUIDBytes(high: 7, low: id)), sentAt: Timestamp(milliseconds: 0),
        replyTo: parent.map { MessageID(UUIDBytes(high: 7, low: $0)) }, mentions: empty, text: empty)
}

private func send(_ conversation: UInt64, _ messages: NewMessage...) -> Command.Action {
    .send(
        Command.Send(
            conversation: ConversationID(UUIDBytes(high: 1, low: conversation)), sender: UserID("alice")!,
            messages: messages))
}

private func creation(_ conversation: UInt64) -> CreateConversation {
    CreateConversation(
        conversation: ConversationID(UUIDBytes(high: 1, low: conversation)), kind: .group, creator: UserID("alice")!,
        title: "", members: [])
}

private func create(_ conversation: UInt64) -> Command.Action { .step(creation(conversation)) }

extension Run: Equatable {
    fileprivate static func send(_ items: Range<Int>) -> Run { .send(items, SendLayout([])) }

    fileprivate static func create(_ command: Int) -> Run { .step(creation(0), of: command) }

    public static func == (left: Run, right: Run) -> Bool {
        switch (left, right) {
        case (.send(let left, _), .send(let right, _)): left == right
        case (.step(let left, let index), .step(let right, let other)):
            index == other && type(of: left) == type(of: right)
        case (.read, .read): true
        default: false
        }
    }
}

@Suite struct BatchPlanTests {
    @Test("messages of many commands and conversations share one run")
    func oneRun() {
        let plan = BatchPlan([send(1, message(1)), send(2, message(1), message(2)), send(1, message(3))])
        #expect(plan.runs == [.send(0..<4)])
        #expect(plan.items.map(\.command) == [0, 1, 1, 2])
    }

    @Test("the same message twice begins a new run, so that the second finds the first")
    func repetition() {
        #expect(BatchPlan([send(1, message(1)), send(1, message(1))]).runs == [.send(0..<1), .send(1..<2)])
    }

    @Test("the same id in another conversation is another message")
    func sameIDElsewhere() {
        #expect(BatchPlan([send(1, message(1)), send(2, message(1))]).runs == [.send(0..<2)])
    }

    @Test("a reply never shares a run with its parent, even within one command")
    func reply() {
        #expect(BatchPlan([send(1, message(1), message(2, replyTo: 1))]).runs == [.send(0..<1), .send(1..<2)])
        #expect(BatchPlan([send(1, message(1)), send(1, message(3, replyTo: 2))]).runs == [.send(0..<2)])
    }

    @Test("a creation stands alone, in its place between the messages")
    func creation() {
        let plan = BatchPlan([send(1, message(1)), create(2), send(2, message(2)), create(3)])
        #expect(plan.runs == [.send(0..<1), .create(1), .send(1..<2), .create(3)])
    }

    @Test("what accepts a request stands behind the acceptance, in its place between the others")
    func answering() {
        let conversation = ConversationID(UUIDBytes(high: 1, low: 2))
        let answer = AnswerRequest(of: conversation, by: UserID("alice")!, reopens: false)
        let plan = BatchPlan([
            send(1, message(1)), .answering(answer, send(2, message(2), message(3))), .answering(answer, create(3)),
        ])
        #expect(
            plan.runs == [
                .send(0..<1), .step(answer, of: 1), .send(1..<3), .step(answer, of: 2), .create(2),
            ])
        #expect(plan.items.map(\.command) == [0, 1, 1])
        #expect(plan.locks.conversations.map(\.uuid.low).sorted() == [1, 2, 3])
        #expect(plan.locks.newStreams == [UserID("alice")!])
    }

    @Test("read positions are one run behind all others: the highest of each user and conversation, in their order")
    func readPositions() {
        let entry = { (user: String, conversation: UInt64, seq: Int64) in
            ReadPositions.Entry(
                UserID(user)!, ConversationID(UUIDBytes(high: 1, low: conversation)), readSeq: seq)
        }
        let plan = BatchPlan([
            .read(ReadPositions([entry("bob", 2, 5), entry("alice", 1, 1)])), send(1, message(1)),
            .read(ReadPositions([entry("bob", 1, 3), entry("bob", 2, 4), entry("alice", 1, 2)])),
        ])
        #expect(plan.runs == [.send(0..<1), .read])
        #expect(plan.reads.entries == [entry("alice", 1, 2), entry("bob", 1, 3), entry("bob", 2, 5)])
    }

    @Test("the conversations of all commands are locked, each once")
    func locks() {
        let plan = BatchPlan([send(2, message(1)), create(3), send(1, message(1)), send(2, message(2))])
        #expect(plan.locks.conversations.map(\.uuid.low).sorted() == [1, 2, 3])
    }

    @Test("messages of a conversation stand side by side, in order, with each sender's stream named once")
    func layout() {
        let plan = BatchPlan([
            send(1, message(1)), send(2, message(1)), send(1, message(2, replyTo: 9)), send(3, message(1)),
            send(2, message(2)),
        ])
        let layout = SendLayout(plan.items[...])
        #expect(layout.order == [0, 2, 1, 4, 3])
        #expect(layout.conversations.map(\.uuid.low) == [1, 2, 3])
        #expect(layout.ends == [2, 4, 5])
        #expect(layout.streams.map(\.conversation) == [0, 1, 2])
        #expect(layout.streamOfPlace == [0, 0, 1, 1, 2])
        #expect(layout.replies.map(\.place) == [1])
        #expect(layout.mentions.isEmpty)
    }
}
