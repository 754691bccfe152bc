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

    @Test("a file shows which polls, votes and ends of polls an import would refuse")
    func polls() throws {
        let check = RecordCheck(now: Timestamp(milliseconds: 100_000))
        let room = "01900000-0000-7000-8000-00000000cafe", at = "1970-01-01T00:00:10Z"
        func take(_ type: String, _ fields: String) throws -> RecordCheck.Refusal? {
            let line = #"{"type":"\#(type)","conversationId":"\#(room)",\#(fields)}"#
            return check.take(try RecordLine().record(line.utf8))
        }
        func message(_ id: String, _ fields: String) throws -> RecordCheck.Refusal? {
            let sent = #""id":"01900000-0000-4000-8000-00000000000\#(id)","senderId":"alice","createdAt":"\#(at)""#
            return try take("message", #"\#(sent),"text":"x",\#(fields)"#)
        }
        func poll(_ id: String) -> String { #""messageId":"01900000-0000-4000-8000-00000000000\#(id)","at":"\#(at)""# }
        func vote(_ id: String, _ user: String, _ options: [Int]) throws -> RecordCheck.Refusal? {
            try take("vote", #"\#(poll(id)),"userId":"\#(user)","options":\#(options)"#)
        }
        #expect(
            try take("conversation", #""id":"\#(room)","kind":"group","members":["alice","bob"],"createdAt":"\#(at)""#)
                == nil)
        #expect(try message("1", #""poll":{"options":["a","b"]}"#) == nil)
        #expect(try message("2", #""poll":{"options":["a","b"],"multiple":true}"#) == nil)
        #expect(try message("3", #""extra":{}"#) == nil)
        for options in [#"["a"]"#, #"["a","a"]"#, #"["a"," "]"#, #"["a","\#(String(repeating: "x", count: 101))"]"#] {
            #expect(try message("4", #""poll":{"options":\#(options)}"#) == .poll)
        }
        #expect(
            try message("4", #""poll":{"options":["a","b"]},"replyTo":"01900000-0000-4000-8000-000000000003""#) == .poll
        )
        #expect(try vote("1", "bob", [1]) == nil)
        #expect(try vote("2", "bob", [0, 1]) == nil)
        #expect(try vote("1", "bob", []) == .options)
        #expect(try vote("1", "bob", [0, 1]) == .options)
        #expect(try vote("2", "bob", [2]) == .options)
        #expect(try vote("2", "carol", [1]) == .notAMember)
        #expect(try vote("3", "bob", [0]) == .noPoll)
        #expect(try vote("5", "bob", [0]) == .unknownMessage)
        #expect(try take("pollClosed", poll("3")) == .noPoll)
        #expect(try take("pollClosed", poll("1")) == nil)
        #expect(try take("pollClosed", poll("1")) == nil)
        #expect(try vote("1", "alice", [0]) == .noPoll)
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
