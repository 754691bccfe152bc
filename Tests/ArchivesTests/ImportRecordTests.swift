import Models
import Testing

@testable import Archives

@Suite struct ImportRecordTests {
    /// One of each type, with all fields, as a line has them.
    static let lines = [
        #"{"createdAt":"2023-03-08T20:26:40.000Z","id":"01900000-0000-7000-8000-00000000cafe","kind":"group","members":["alice","+15550100"],"title":"Climbing","type":"conversation"}"#,
        #"{"conversationId":"01900000-0000-7000-8000-00000000cafe","createdAt":"2023-03-08T20:26:40.000Z","deletedAt":"2023-03-08T20:26:41.000Z","id":"01900000-0000-4000-8000-00000000cafe","replyTo":"01900000-0000-4000-8000-00000000caff","revisions":[{"at":"2023-03-08T20:26:40.000Z","text":"a/b 🧗"}],"senderId":"alice","text":"a/b 🧗","type":"message"}"#,
        #"{"at":"2023-03-08T20:26:40.123Z","conversationId":"01900000-0000-7000-8000-00000000cafe","kind":"love","messageId":"01900000-0000-4000-8000-00000000cafe","type":"tapback","userId":"alice"}"#,
        #"{"conversationId":"01900000-0000-7000-8000-00000000cafe","createdAt":"2023-03-08T20:26:40.000Z","id":"01900000-0000-4000-8000-00000000cafe","poll":{"multiple":true,"options":["a","🧗"]},"senderId":"alice","text":"a","type":"message"}"#,
        #"{"at":"2023-03-08T20:26:40.123Z","conversationId":"01900000-0000-7000-8000-00000000cafe","messageId":"01900000-0000-4000-8000-00000000cafe","options":[0,11],"type":"vote","userId":"alice"}"#,
        #"{"actorId":"bob","at":"2023-03-08T20:26:40.123Z","conversationId":"01900000-0000-7000-8000-00000000cafe","messageId":"01900000-0000-4000-8000-00000000cafe","type":"pollClosed"}"#,
        #"{"actorId":"bob","at":"2023-03-08T20:26:40.123Z","change":"added","conversationId":"01900000-0000-7000-8000-00000000cafe","type":"member","userId":"alice"}"#,
        #"{"actorId":"bob","at":"2023-03-08T20:26:40.123Z","conversationId":"01900000-0000-7000-8000-00000000cafe","title":"Bouldering","type":"renamed"}"#,
        #"{"at":"2023-03-08T20:26:40.123Z","conversationId":"01900000-0000-7000-8000-00000000cafe","kind":"read","throughMessageId":"01900000-0000-4000-8000-00000000cafe","type":"receipt","userId":"alice"}"#,
        #"{"conversationId":"01900000-0000-7000-8000-00000000cafe","type":"end"}"#,
    ]

    @Test("a record is the same line again", arguments: lines)
    func roundTrip(line: String) throws {
        let coding = RecordLine()
        let again = try coding.bytes(coding.record(line.utf8))
        #expect(String(decoding: again, as: UTF8.self) == line)
    }

    @Test("the id of a direct conversation is the server's, whoever begins")
    func directID() {
        let (ana, ben) = (UserID("anna")!, UserID("ben")!)
        #expect(ArchiveID.direct(ana, ben) == ArchiveID.direct(ben, ana))
        #expect(ArchiveID.direct(ana, ben).description == "c2ef3de2-3608-8795-8729-92a74d51ad8c")
    }

    @Test("a long text is divided where a message ends, and stays the same", arguments: ["x", "é", "🧗", "a\u{301}"])
    func divided(character: String) {
        let text = String(repeating: character, count: 20_000)
        let pieces = MessageText.divided(text)
        #expect(pieces.count > 1)
        #expect(pieces.allSatisfy(MessageText.isValid))
        #expect(Array(pieces.joined().utf8) == Array(text.utf8))
    }
}
