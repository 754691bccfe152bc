import Models
import ParleyStorage
import Testing

@testable import ParleySync

@Suite struct OutboxSenderTests {
    private let other = ConversationID(UUIDBytes(high: 1, low: 2))

    private func row(
        _ key: Int64, _ write: PendingWrite, in conversation: ConversationID? = talk, about message: UInt64? = nil
    ) -> OutboxRow {
        OutboxRow(
            key: key, conversation: conversation, message: message.map { messageId($0) }, write: write,
            idempotencyKey: .zero, at: time(0))
    }

    private func keys(_ calls: [(id: Int, call: OutboxCall)]) -> [[Int64]] { calls.map { $0.call.rows.map(\.key) } }

    @Test("one message goes by itself, several in one request, up to a reply, which might be refused")
    func batches() {
        var sender = OutboxSender(seed: 1)
        #expect(keys(sender.plan([row(1, send("a"), about: 1)], at: .zero)) == [[1]])
        sender = OutboxSender(seed: 1)
        let rows = [
            row(1, send("a"), about: 1), row(2, send("b"), in: other, about: 2),
            row(3, send("c", replyTo: messageId(1)), about: 3), row(4, send("d"), about: 4),
        ]
        #expect(keys(sender.plan(rows, at: .zero)) == [[1, 2, 3]])
        #expect(sender.plan(rows, at: .zero).isEmpty)
    }

    @Test("edits wait for their message, members for the messages before, conversations for nothing")
    func lanes() {
        var sender = OutboxSender(seed: 1)
        let rows = [
            row(1, send("a"), about: 1), row(2, .edit(text: "b"), about: 1), row(3, .removeMember(anna)),
            row(4, .setTapback(.love), about: 9), row(5, .rename(title: "x"), in: other), row(6, .read(seq: 4)),
            row(7, send("c"), about: 7),
        ]
        #expect(keys(sender.plan(rows, at: .zero)) == [[1], [4], [5], [6]])
    }

    @Test("a draft is put after a pause in writing, after half a minute, or when the user turns away")
    func drafts() {
        var sender = OutboxSender(seed: 1)
        let draft = PendingWrite.draft(Draft(text: "text"), isTold: false)
        #expect(sender.plan([row(1, draft)], at: .zero).isEmpty && sender.wakeAt == nil)
        sender.connected(true, at: .zero)
        #expect(sender.plan([row(1, draft)], at: .zero).isEmpty && sender.wakeAt == .seconds(2))
        #expect(keys(sender.plan([row(1, draft)], at: .seconds(2))) == [[1]])
        sender.restart()
        for second in 10..<40 {
            sender.writes(in: talk, at: .seconds(second))
            #expect(sender.plan([row(2, draft)], at: .seconds(second)).isEmpty)
            #expect(sender.wakeAt == .seconds(min(second + 3, 40)))
        }
        #expect(keys(sender.plan([row(2, draft)], at: .seconds(40))) == [[2]])
        #expect(sender.wakeAt == nil)
        sender.restart()
        sender.writes(in: talk, at: .seconds(50))
        sender.turnsAway(from: talk)
        #expect(keys(sender.plan([row(3, draft), row(4, draft)], at: .seconds(50))) == [[3]], "one after the other")
        sender.connected(false, at: .seconds(50))
        #expect(sender.plan([row(5, draft, in: other)], at: .seconds(60)).isEmpty)
        sender.caughtUp()
        #expect(keys(sender.plan([row(5, draft, in: other)], at: .seconds(60))) == [[5]])
    }

    @Test("after a temporary failure it waits as long as the server asks, and longer each time")
    func pauses() {
        var sender = OutboxSender(seed: 1)
        var now = Duration.zero
        var last = Duration.zero
        for _ in 0..<8 {
            let calls = sender.plan([row(1, send("a"), about: 1)], at: now)
            #expect(keys(calls) == [[1]])
            _ = sender.handle(
                .failure(.refused(problem(.overloaded), retryAfter: .seconds(3))), for: calls[0].id, at: now)
            let pause = sender.wakeAt! - now
            #expect(pause >= .seconds(3) && pause <= .seconds(60))
            #expect(sender.plan([row(1, send("a"), about: 1)], at: now + pause / 2).isEmpty)
            now += pause
            last = pause
        }
        #expect(last >= .seconds(30))
    }

    @Test(
        "a group that cannot be created for the moment is tried later and later, and holds up no other conversation",
        arguments: [Problem.Code.rateLimited, .overloaded])
    func putsOffGroups(code: Problem.Code) {
        var sender = OutboxSender(seed: 1)
        let create = row(1, .createGroup(members: [ben], title: nil))
        let rest = [
            row(2, send("a"), about: 2), row(3, .mark(.muted(until: nil), after: 0)),
            row(4, send("b"), in: other, about: 4),
        ]
        var now = Duration.zero
        var last = Duration.zero
        for _ in 0..<8 {
            let calls = sender.plan([create], at: now)
            #expect(keys(calls) == [[1]])
            _ = sender.handle(
                .failure(.refused(problem(code), retryAfter: .seconds(3))), for: calls[0].id, at: now)
            #expect(sender.isWaiting)
            let pause = sender.wakeAt! - now
            #expect(pause >= .seconds(3) && pause <= .seconds(60))
            let others = sender.plan([create] + rest, at: now + pause / 2)
            #expect(keys(others) == [[4]] && !sender.isWaiting)
            _ = sender.handle(.done(.message(message(4))), for: others[0].id, at: now + pause / 2)
            now += pause
            last = pause
        }
        #expect(last >= .seconds(30))
        let calls = sender.plan([create], at: now)
        _ = sender.handle(.done(.conversation(head(lastSeq: 0))), for: calls[0].id, at: now)
        #expect(keys(sender.plan(rest, at: now)) == [[2, 4], [3]])
    }

    @Test("a member who cannot be added for the moment holds up what was written after that, and nothing else")
    func putsOffMembers() {
        var sender = OutboxSender(seed: 1)
        let add = row(1, .putMember(ben, role: nil))
        let rest = [
            row(2, send("a"), about: 2), row(3, .edit(text: "b"), about: 2), row(4, .read(seq: 4)),
            row(5, .rename(title: "x"), in: other),
        ]
        var calls = sender.plan([add], at: .zero)
        _ = sender.handle(.failure(.refused(problem(.rateLimited), retryAfter: nil)), for: calls[0].id, at: .zero)
        #expect(keys(sender.plan([add] + rest, at: .milliseconds(1))) == [[4], [5]])
        sender.restart()
        // Without a response nothing is known of the server.
        calls = sender.plan([add], at: .seconds(60))
        _ = sender.handle(.failure(.lost), for: calls[0].id, at: .seconds(60))
        #expect(sender.plan([add] + rest, at: .seconds(60)).isEmpty)
        sender.resume()
        calls = sender.plan([add], at: .seconds(60))
        let refused = sender.handle(
            .failure(.refused(problem(.conflict), retryAfter: nil)), for: calls[0].id, at: .seconds(60))
        #expect(refused.refused.map(\.row.key) == [1])
        #expect(keys(sender.plan(rest, at: .seconds(60))) == [[2], [4], [5]])
    }

    @Test("of a batch what was stored is done, what was refused fails, and the rest is sent again")
    func results() {
        var sender = OutboxSender(seed: 1)
        let rows = (1...3).map { row(Int64($0), send("text"), about: UInt64($0)) }
        let calls = sender.plan(rows, at: .zero)
        let results = BatchResults(results: [
            .init(status: 201, message: message(1)), .init(status: 413, problem: problem(.tooLarge)),
            .init(status: 503, problem: problem(.skipped)),
        ])
        let step = sender.handle(.batch(results), for: calls[0].id, at: .zero)
        #expect(step.completed.map(\.row.key) == [1])
        #expect(step.refused.map(\.row.key) == [2])
        #expect(keys(sender.plan([rows[2]], at: .seconds(60))) == [[3]])
    }

    @Test("what the application refuses fails at once, alone or in a batch, and is not sent again")
    func refusedByApplication() {
        var sender = OutboxSender(seed: 1)
        let rows = (1...2).map { row(Int64($0), send("text"), about: UInt64($0)) }
        let single = sender.plan([rows[0]], at: .zero)
        let failure = CallFailure.refused(problem(.refusedByApplication), retryAfter: nil)
        #expect(sender.handle(.failure(failure), for: single[0].id, at: .zero).refused.map(\.row.key) == [1])
        let batch = sender.plan(rows, at: .zero)
        let results = BatchResults(results: [
            .init(status: 403, problem: problem(.refusedByApplication)), .init(status: 201, message: message(2)),
        ])
        let step = sender.handle(.batch(results), for: batch[0].id, at: .zero)
        #expect(step.refused.map(\.row.key) == [1] && step.completed.map(\.row.key) == [2])
        #expect(sender.plan([], at: .seconds(60)).isEmpty)
    }

    @Test("a batch that is refused as a whole is sent in parts, so that one message alone is refused")
    func halves() {
        var sender = OutboxSender(seed: 1)
        var rows = (1...4).map { row(Int64($0), send("text"), about: UInt64($0)) }
        var refused: [Int64] = []
        for _ in 0..<10 where !rows.isEmpty {
            for (id, call) in sender.plan(rows, at: .zero) {
                let step = sender.handle(.failure(.refused(problem(.tooLarge), retryAfter: nil)), for: id, at: .zero)
                refused += step.refused.map(\.row.key)
                rows.removeAll { row in step.refused.contains { $0.row.key == row.key } }
                #expect(call.rows.first?.key == rows.first?.key || !step.refused.isEmpty)
            }
        }
        #expect(refused == [1, 2, 3, 4])
    }

    @Test("without a valid token nothing is sent until there is a new one")
    func token() {
        var sender = OutboxSender(seed: 1)
        let rows = [row(1, send("a"), about: 1)]
        let calls = sender.plan(rows, at: .zero)
        let failure = CallFailure.refused(problem(.unauthenticated), retryAfter: nil)
        #expect(sender.handle(.failure(failure), for: calls[0].id, at: .zero).needsFreshToken)
        #expect(sender.plan(rows, at: .seconds(600)).isEmpty)
        sender.tokenArrived()
        #expect(keys(sender.plan(rows, at: .seconds(600))) == [[1]])
    }

    @Test("who is suspended from everything keeps what they wrote, and who may read is told that it was refused")
    func suspension() {
        var sender = OutboxSender(seed: 1)
        let rows = [row(1, send("a"), about: 1)]
        func refused(_ mode: SuspensionMode, for id: Int) -> OutboxStep {
            let problem = ProblemDetails(Problem(Problem.Suspended(mode, until: nil, at: time(0))))
            return sender.handle(.failure(.refused(problem, retryAfter: .seconds(3_600))), for: id, at: .zero)
        }
        #expect(refused(.out, for: sender.plan(rows, at: .zero)[0].id).refused.isEmpty)
        #expect(sender.plan(rows, at: .seconds(3_599)).isEmpty)
        sender.resume()
        #expect(refused(.readOnly, for: sender.plan(rows, at: .zero)[0].id).refused.map(\.row.key) == [1])
    }
}
