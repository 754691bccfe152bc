import Models
import Testing

@testable import CommandSupport
@testable import ParleyCLI
@testable import ParleyClient

@Suite struct HistoryCheckTests {
    private let users = [UserID("ann")!, UserID("bob")!]
    private let plan = ReplayPlan.Conversation(
        id: ConversationID(UUIDBytes(high: 1, low: 1)), title: "c", members: [0, 1], listeners: [],
        messages: [
            .init(id: MessageID(UUIDBytes(high: 0, low: 1)), sender: 0, text: "one", parent: nil),
            .init(id: MessageID(UUIDBytes(high: 0, low: 2)), sender: 1, text: "two", parent: 0),
            .init(id: MessageID(UUIDBytes(high: 0, low: 3)), sender: 0, text: "three", parent: nil),
        ])

    /// The history that a correct server returns.
    private var history: [MessageView] {
        plan.messages.enumerated().map { index, message in
            MessageView(
                id: message.id, seq: Int64(index + 2), sender: users[message.sender],
                kind: message.parent == nil ? "text" : "reply", text: message.text,
                replyTo: message.parent.map { plan.messages[$0].id })
        }
    }

    private func mismatches(
        _ history: [MessageView], lastSeq: Int64 = 4, seqs: [Int64] = [2, 3, 4], fileOrder: Bool = false
    ) -> [String] {
        var check = HistoryCheck(plan, users: users, acknowledgedSeqs: seqs)
        check.check(history, lastSeq: lastSeq, fileOrder: fileOrder)
        #expect(check.mismatches.count == check.mismatches.samples.count)
        return check.mismatches.samples.map { String($0.split(separator: " ").dropFirst(3).joined(separator: " ")) }
    }

    @Test("a history with every message once, as sent, matches; the creation may or may not show as a system message")
    func perfect() {
        #expect(mismatches(history, fileOrder: true) == [])
        #expect(mismatches([MessageView(seq: 1, kind: "system")] + history) == [])
    }

    @Test("another order matches where the acknowledgements say the same, but not against the order of the file")
    func order() {
        var swapped = [history[0], history[2], history[1]]
        for index in swapped.indices { swapped[index].seq = Int64(index + 2) }
        #expect(mismatches(swapped, seqs: [2, 4, 3]) == [])
        #expect(mismatches(swapped, seqs: [2, 4, 3], fileOrder: true) == ["at 4 is out of the order of the file"])
        #expect(mismatches(swapped) == ["at 3 was acknowledged at 4", "at 4 was acknowledged at 3"])
    }

    @Test("a change of text, sender, parent or kind is found")
    func content() {
        var changed = history
        changed[0].text = "One"
        changed[1].sender = users[0]
        changed[1].replyTo = nil
        changed[2].kind = "reply"
        #expect(
            mismatches(changed) == [
                "at 2 has another text", "at 3 has another sender", "at 3 has another parent", "at 4 is of kind reply",
            ])
    }

    @Test("a message that is missing, there twice or of somebody else is found")
    func presence() {
        #expect(mismatches(Array(history.prefix(2)), lastSeq: 3) == ["is missing"])
        var doubled = history + [history[2]]
        doubled[3].seq = 5
        #expect(mismatches(doubled, lastSeq: 5) == ["at 5 is there twice", "at 5 was acknowledged at 4"])
        let stranger = MessageView(id: MessageID(UUIDBytes(high: 9, low: 9)), seq: 5, kind: "text")
        #expect(mismatches(history + [stranger], lastSeq: 5) == ["at 5 is not one that was sent"])
    }

    @Test("a hole in the positions, at the end too, and a reply before its parent are found")
    func positions() {
        var holed = history
        holed[2].seq = 5
        #expect(
            mismatches(holed, lastSeq: 5, seqs: [2, 3, 5]) == ["at 5 stands where position 4 is due"])
        #expect(mismatches(history, lastSeq: 6).count == 1)
        var reply = [history[1], history[0], history[2]]
        for index in reply.indices { reply[index].seq = Int64(index + 2) }
        #expect(mismatches(reply, seqs: [3, 2, 4]) == ["at 2 comes before its parent"])
    }
}

extension MessageView {
    fileprivate init(
        id: MessageID? = nil, seq: Int64, sender: UserID? = nil, kind: String, text: String? = nil,
        replyTo: MessageID? = nil
    ) {
        self.init()
        (self.id, self.seq, self.sender, self.kind, self.text, self.replyTo) = (id, seq, sender, kind, text, replyTo)
    }
}

@Suite struct StreamCursorTests {
    @Test("changes are delivered once and in order, and every breach is told")
    func order() {
        var cursor = StreamCursor(after: 4)
        #expect(cursor.offer(5) == .deliver)
        #expect(cursor.offer(5) == .repeated)
        #expect(cursor.offer(3) == .repeated)
        #expect(cursor.offer(8) == .gap(after: 5))
        #expect(cursor.offer(9) == .deliver)
        var fresh = StreamCursor()
        #expect(fresh.offer(70) == .deliver)
        #expect(fresh.offer(71) == .deliver)
    }

    @Test("between two stays of a member nothing is missing")
    func stays() {
        var cursor = StreamCursor(after: 4)
        cursor.advance(to: 9)
        #expect(cursor.offer(10) == .deliver)
        cursor.advance(to: 9)
        #expect(cursor.offer(11) == .deliver)
    }

    @Test("during a reload the socket's changes wait and the pages' are delivered")
    func reload() {
        var cursor = StreamCursor(after: 0)
        cursor.beginReload()
        #expect(cursor.offer(1201) == .hold)
        #expect(cursor.offerPaged(1) == .deliver)
        #expect(cursor.offerPaged(2) == .deliver)
        #expect(cursor.offerPaged(2) == .repeated)
        #expect(cursor.offer(1202) == .hold)
        cursor.finishReload()
        #expect(cursor.offer(3) == .deliver)
    }
}

@Suite struct LatenciesTests {
    @Test("a percentile is the smallest value that so many do not exceed")
    func percentiles() {
        var latencies = Latencies()
        for milliseconds in (1...100).reversed() { latencies.record(nanoseconds: UInt64(milliseconds) * 1_000_000) }
        #expect(latencies.percentiles([0.5, 0.99, 1, 0]) == [50, 99, 100, 1])
        #expect(Latencies().percentiles([0.5]) == [0])
    }

    @Test("numbers are written for people")
    func numbers() {
        #expect(grouped(0) == "0")
        #expect(grouped(999) == "999")
        #expect(grouped(37926) == "37,926")
        #expect(grouped(-1_234_567) == "-1,234,567")
        #expect(rounded(12.345, 2) == "12.35")
        #expect(rounded(0.05, 2) == "0.05")
        #expect(rounded(-0.5, 1) == "-0.5")
        #expect(rounded(7.6, 0) == "8")
    }
}
