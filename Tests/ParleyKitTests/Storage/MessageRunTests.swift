import Models
import ParleySync
import Testing

@testable import ParleyStorage

@Suite struct MessageRunTests {
    /// New messages with repetitions, edits and holes between them, of two senders, one of whom has unsent rows.
    private func writes(seed: UInt64) -> [SyncWrite] {
        var random = SeededGenerator(seed: seed)
        var writes: [SyncWrite] = []
        var seq: Int64 = 10
        for _ in 0..<40 {
            seq += Int64.random(in: 0..<10, using: &random) == 0 ? 0 : 1
            let sent = message(seq, by: Bool.random(using: &random) ? anna : ben)
            if Int.random(in: 0..<8, using: &random) == 0 {
                let edited = message(11, text: "edited", changeSeq: seq)
                writes.append(
                    .change(
                        Change(
                            conversationId: talk, seq: seq, kind: .messageEdited, at: time(seq), actorId: ben,
                            message: edited),
                        movesCursor: true))
            } else {
                writes.append(.change(created(sent), movesCursor: Int.random(in: 0..<10, using: &random) > 0))
            }
        }
        return writes
    }

    @Test("messages applied together leave what they leave one by one", arguments: UInt64(0)..<50)
    func sameAsAlone(seed: UInt64) throws {
        let (together, alone) = (try copy(), try copy())
        for store in [together, alone] {
            for number in UInt64(12)..<20 { try store.enqueue(send("\(number)"), messageId(number), key: number) }
        }
        var writes = writes(seed: seed)
        if seed % 2 == 0 {
            writes = [.outdated(nil, 1...Int64.max), .conversation(head(lastSeq: 20), follows: false)] + writes
        }
        try together.apply(writes)
        for write in writes { try alone.apply([write]) }
        #expect(try together.dump() == alone.dump())
        #expect(try together.settledConversation(talk) == alone.conversation(talk))
    }
}

extension LocalStore {
    /// Every column of what changes write.
    fileprivate func dump() throws -> [String] {
        let conversations = try connection.all(
            """
            SELECT head_seq, last_seq, last_activity_at, cursor, first_cursor, needs_head, member_count,
                unsure_through
            FROM conversations
            """
        ) { row in (0..<8).map { "\(row.integer(Int32($0)))" }.joined(separator: " ") }
        let messages = try connection.all("SELECT seq, change_seq, text FROM messages ORDER BY seq") {
            "\($0.integer(0)) \($0.integer(1)) \($0.text(2))"
        }
        let ranges = try storedRanges(of: talk).map { "\($0)" }
        return conversations + messages + ranges + (try outbox().map { "\($0.key)" })
    }
}
