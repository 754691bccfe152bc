import Bytes
import Models
import ServiceKit
import TestSupport
import Testing
import Wire

@testable import Ingest

private let id = "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90"
private let other = "0198c2a4-5d10-4c3e-9a41-3f0c5b7e2d91"
private let now = Timestamp(milliseconds: 1_772_902_251_250)

private struct Read: Equatable {
    var id: String, text: String, replyTo: String?, mentions: String, sentAt: Int64
}

/// Reads a message as ingest does, and its encoding as the store does.
private func message(_ json: String, _ limits: ClientLimits = ClientLimits()) throws(Problem) -> Read {
    let bytes = Array(json.utf8)
    let result: Result<Read, Problem> = bytes.withUnsafeBytes { bytes in
        Result { () throws(Problem) in
            let fields = try MessageFields(bytes, limits: limits, now: now)
            var buffer = ByteBuffer()
            fields.write(to: &buffer)
            var reader = ByteReader(buffer.bytes)
            guard let message = try? NewMessage(from: &reader), reader.isAtEnd else { fatalError("not readable") }
            return Read(
                id: message.id.description, text: String(decoding: message.text, as: UTF8.self),
                replyTo: message.replyTo?.description, mentions: String(decoding: message.mentions, as: UTF8.self),
                sentAt: message.sentAt.milliseconds)
        }
    }
    return try result.get()
}

@Suite struct MessageFieldsTests {
    @Test("the fields of a message reach the store unchanged")
    func whole() throws {
        let read = try message(
            #"""
             { "text" : "say \"hi\" \ud83e\uddd7 ä\n", "id":"\#(id)", "unknown":[{"a":null}], "replyTo":"\#(other)",
             "mentions":["ben","a+b","ben"], "sentAt":"2026-03-07T18:04:11.250+01:00", "attachments":null }
            """#)
        #expect(
            read
                == Read(
                    id: id, text: "say \"hi\" 🧗 ä\n", replyTo: other, mentions: "ben,a+b", sentAt: 1_772_903_051_250))
    }

    @Test(
        "everybody is mentioned before those who are named",
        arguments: [
            (#""mentionsAll":true"#, "*"), (#""mentionsAll":true,"mentions":["ben","a+b"]"#, "*,ben,a+b"),
            (#""mentions":["ben"],"mentionsAll":false"#, "ben"), (#""mentionsAll":null"#, ""),
        ])
    func mentionsAll(fields: String, mentions: String) throws {
        #expect(try message(#"{"id":"\#(id)","text":"x",\#(fields)}"#).mentions == mentions)
    }

    @Test("what is forwarded is named, without a name to show unless that is said, and stands alone")
    func forward() throws {
        func read(_ fields: String) throws -> ForwardFields? {
            let body = Array(
                #"{"id":"\#(id)","forward":{"conversationId":"\#(other)","messageId":"\#(id)"\#(fields)}"#.utf8)
            return try body.withUnsafeBytes { try MessageFields($0, limits: ClientLimits(), now: now).forward }
        }
        for (said, shows) in [
            (",\"origin\":true", true), (",\"origin\":false", false), (",\"origin\":null", false), ("", false),
        ] {
            let forward = try #require(try read(said + "}"))
            #expect(forward.conversation.description == other && forward.message.description == id)
            #expect(forward.showsOrigin == shows)
        }
        for field in [
            #""text":"x""#, #""sealed":"c2VhbA==""#, #""extra":{}"#, #""mentionsAll":true"#, #""replyTo":"\#(id)""#,
        ] {
            #expect(throws: Problem.self) { try read("},\(field)") }
        }
    }

    @Test("a missing field, or null, has its default")
    func defaults() throws {
        let expected = Read(id: id, text: "x", replyTo: nil, mentions: "", sentAt: now.milliseconds)
        #expect(try message(#"{"id":"\#(id)","text":"x"}"#) == expected)
        #expect(
            try message(#"{"id":"\#(id)","text":"x","replyTo":null,"mentions":null,"sentAt":null}"#) == expected)
    }

    @Test(
        "a wrong field is refused by its name",
        arguments: [
            ("id", #"{"text":"x"}"#), ("id", #"{"id":null,"text":"x"}"#), ("id", #"{"id":7,"text":"x"}"#),
            ("id", #"{"id":"\#(id.uppercased())","text":"x"}"#),
            ("id", #"{"id":"0198c2a4-5d10-8c3e-9a41-3f0c5b7e2d90","text":"x"}"#),
            ("id", #"{"id":"0198c2a4-5d10-7c3e-ca41-3f0c5b7e2d90","text":"x"}"#),
            ("text", #"{"id":"\#(id)"}"#), ("text", #"{"id":"\#(id)","text":null}"#),
            ("text", #"{"id":"\#(id)","text":""}"#), ("text", #"{"id":"\#(id)","text":" \n\t\u00a0\u2003\u3000"}"#),
            ("text", #"{"id":"\#(id)","text":"a\u0000b"}"#), ("text", #"{"id":"\#(id)","text":"a\ud83ab"}"#),
            ("text", #"{"id":"\#(id)","text":["x"]}"#), ("text", #"{"id":"\#(id)","text":"x","text":"x"}"#),
            ("replyTo", #"{"id":"\#(id)","text":"x","replyTo":"x"}"#),
            ("replyTo", #"{"id":"\#(id)","text":"x","replyTo":"00000000-0000-0000-0000-000000000000"}"#),
            ("mentions", #"{"id":"\#(id)","text":"x","mentions":"ben"}"#),
            ("mentions[1]", #"{"id":"\#(id)","text":"x","mentions":["ben","b n"]}"#),
            ("mentions[0]", #"{"id":"\#(id)","text":"x","mentions":["*"]}"#),
            ("mentionsAll", #"{"id":"\#(id)","text":"x","mentionsAll":"true"}"#),
            ("sentAt", #"{"id":"\#(id)","text":"x","sentAt":1}"#),
            ("sentAt", #"{"id":"\#(id)","text":"x","sentAt":"2026-02-29T00:00:00Z"}"#),
            ("sentAt", #"{"id":"\#(id)","text":"x","sentAt":"1969-12-31T23:59:59Z"}"#),
            ("attachments", #"{"id":"\#(id)","text":"x","attachments":{}}"#),
            ("attachments[0].id", #"{"id":"\#(id)","attachments":[{"id":"x"}]}"#),
            ("attachments", #"{"id":"\#(id)","attachments":[{"id":"\#(id)"},{"id":"\#(id)"}]}"#),
            ("text", #"{"id":"\#(id)","attachments":[]}"#),
            ("text", #"{"id":"\#(id)","text":" ","attachments":[{"id":"\#(id)"}]}"#),
            ("conversationId", #"{"id":"\#(id)","text":"x","conversationId":"x"}"#),
        ])
    func wrong(field: String, json: String) {
        do {
            _ = try message(json)
            Issue.record("accepted: \(json)")
        } catch {
            #expect(error.code == .invalid && error.detail.hasPrefix("\(field): "), "\(error)")
        }
    }

    @Test("a value over a limit is too large, and one at the limit is not")
    func limits() throws {
        let long = String(repeating: "🧗", count: 4096)
        #expect(try message(#"{"id":"\#(id)","text":"\#(long)"}"#).text == long)
        #expect(throws: tooLarge("text")) { try message(#"{"id":"\#(id)","text":"\#(long)x"}"#) }
        let names = (0..<101).map { "\"u\($0)\"" }
        #expect(throws: tooLarge("mentions")) {
            try message(#"{"id":"\#(id)","text":"x","mentions":[\#(names.joined(separator: ","))]}"#)
        }
        _ = try message(#"{"id":"\#(id)","text":"x","mentions":[\#(names.dropLast().joined(separator: ","))]}"#)
    }

    @Test("a message with attachments needs no text; they are read in their order, and at most ten")
    func attachments() throws {
        func media(_ count: Int, _ more: String) throws -> [String] {
            let files = (0..<count).map { #"{"id":"0198c2a4-5d10-4c3e-9a41-0000000000\#(10 + $0)","size":[1]}"# }
            let json = Array(#"{"id":"\#(id)"\#(more),"attachments":[\#(files.joined(separator: ","))]}"#.utf8)
            return try json.withUnsafeBytes { (bytes) -> Result<[String], Problem> in
                Result { () throws(Problem) in
                    try MessageFields(bytes, limits: ClientLimits(), now: now).media.media.map(\.description)
                }
            }.get()
        }
        let ids = (0..<10).map { "0198c2a4-5d10-4c3e-9a41-0000000000\(10 + $0)" }
        #expect(try media(10, "") == ids)
        #expect(try media(2, #","text":null"#) == Array(ids.prefix(2)))
        #expect(try media(0, #","text":"x""#).isEmpty)
        #expect(throws: Problem(.tooLarge, "attachments: at most 10 files")) { try media(11, "") }
        #expect(throws: Problem(.tooLarge, "attachments: at most 10 files")) { try media(80, "") }
    }

    @Test("the application's own JSON is an object, kept as it is but for white space between its parts, within bounds")
    func extra() throws {
        func extra(_ json: String) throws -> String {
            try Array(#"{"id":"\#(id)","text":"x","extra":\#(json)}"#.utf8).withUnsafeBytes { bytes in
                Result { () throws(Problem) in
                    let fields = try MessageFields(bytes, limits: ClientLimits(), now: now)
                    #expect(fields.isPlain == fields.extra.isEmpty)
                    return String(decoding: fields.extra, as: UTF8.self)
                }
            }.get()
        }
        #expect(try extra("null").isEmpty)
        #expect(try extra("{}") == "{}")
        #expect(
            try extra("{ \"a b\" :\n[1.50, \"\\\" \\\\\" ,\t-0E+9],\r\"é\":null}")
                == #"{"a b":[1.50,"\" \\",-0E+9],"é":null}"#)
        for other in ["[]", "1", "\"x\"", "true"] { #expect(throws: Problem.self) { try extra(other) } }
        let text = String(repeating: "é", count: ContractLimits.messageExtraBytes / 2 - 4)
        #expect(try extra(#"{"a":"\#(text)"}"#).utf8.count == ContractLimits.messageExtraBytes)
        #expect(throws: Problem(.tooLarge, "extra: at most 4096 bytes")) { try extra(#"{"a":"\#(text)x"}"#) }
        func nested(_ levels: Int) -> String {
            String(repeating: #"{"a":"#, count: levels - 1) + "{}" + String(repeating: "}", count: levels - 1)
        }
        #expect(try extra(nested(16)) == nested(16))
        #expect(throws: Problem(.tooLarge, "extra: at most 16 levels")) { try extra(nested(17)) }
    }

    @Test("a poll has two to twelve different options of one line each, beside a question and nothing else")
    func poll() throws {
        func poll(_ json: String, _ more: String = #","text":"x""#) throws(Problem) -> NewPoll? {
            let bytes = Array(#"{"id":"\#(id)","poll":\#(json)\#(more)}"#.utf8)
            return try bytes.withUnsafeBytes { bytes in
                Result { () throws(Problem) in try MessageFields(bytes, limits: ClientLimits(), now: now).poll }
            }.get()
        }
        func options(_ texts: [String]) -> String {
            #"{"options":["# + texts.map { #""\#($0)""# }.joined(separator: ",") + "]}"
        }
        let long = String(repeating: "é", count: 100), most = (1...12).map { "\($0)" }
        #expect(try poll(options([long, "b"])) == NewPoll(options: [long, "b"], isMultiple: false))
        #expect(
            try poll(#"{"multiple":true,"options":["a","b"],"x":1}"#) == NewPoll(options: ["a", "b"], isMultiple: true))
        #expect(try poll(options(most))?.options == most)
        #expect(try poll("null") == nil)
        for (field, bad) in [
            ("poll.options", "{}"), ("poll.options", options([])), ("poll.options", options(["a"])),
            ("poll.options", options(most + ["13"])), ("poll.options", options(["a", "b", "a"])),
            ("poll.options[1]", options(["a", " "])), ("poll.options[1]", options(["a", long + "x"])),
            ("poll.options[0]", options([#"a\n"#, "b"])), ("poll.options[0]", options(["a\u{202E}", "b"])),
        ] {
            #expect("\(bad)") { try poll(bad) } throws: { ($0 as? Problem)?.detail.hasPrefix(field + ":") ?? false }
        }
        for (field, more) in [
            ("text", ""), ("sealed", #","sealed":"AAAA""#),
            ("attachments", #","text":"x","attachments":[{"id":"\#(id)"}]"#),
            ("replyTo", #","text":"x","replyTo":"\#(id)""#),
        ] {
            #expect("\(field)") { try poll(options(["a", "b"]), more) } throws: {
                ($0 as? Problem)?.detail.contains(field) ?? false
            }
        }
        func vote(_ json: String) throws(Problem) -> [Int] {
            let bytes = Array(json.utf8)
            return try bytes.withUnsafeBytes { bytes in
                Result { () throws(Problem) in try VoteFields.options(bytes).positions }
            }.get()
        }
        #expect(try vote(#"{"options":[2,0,2]}"#) == [0, 2])
        #expect(try vote(#"{"options":[]}"#) == [])
        for bad in [
            "{}", #"{"options":null}"#, #"{"options":[12]}"#, #"{"options":[-1]}"#, #"{"options":[0.5]}"#,
            #"{"options":0}"#,
        ] {
            #expect(throws: Problem.self) { try vote(bad) }
        }
    }

    @Test("what is sealed is base64 in its one form, within bounds, without a text or a parent")
    func sealed() throws {
        func sealed(_ json: String, _ more: String = "") throws(Problem) -> Bool {
            let bytes = Array(#"{"id":"\#(id)","sealed":\#(json)\#(more)}"#.utf8)
            return try bytes.withUnsafeBytes { bytes in
                Result { () throws(Problem) in try MessageFields(bytes, limits: ClientLimits(), now: now).isSealed }
            }.get()
        }
        for good in ["c2VhbA==", "c2VhbGU=", "c2VhbGVk", "+/9A", #"+\/9A"#] { #expect(try sealed(#""\#(good)""#)) }
        #expect(try !sealed("null", #","text":"x""#))
        let bad = [
            "", " ", "c2VhbA", "c2VhbA=", "c2VhbA===", "====", "c2Vh=A==", "=2VhbGVk", "c2VhbGV-", "c2Vh bGVk",
            "c2VhbB==",
            "c2VhbGV=", "c2Vhb\\u0000=", "é2VhbGV",
        ]
        for bad in bad { #expect(throws: Problem.self, "\(bad)") { try sealed(#""\#(bad)""#) } }
        let most = String(repeating: "A", count: ContractLimits.sealedBytes)
        #expect(try sealed(#""\#(most)""#))
        #expect(throws: Problem(.tooLarge, "sealed: at most 32768 characters of base64")) {
            try sealed(#""\#(most)AAAA""#)
        }
        #expect(throws: Problem(.invalid, "text: a sealed message has none")) {
            try sealed(#""AAAA""#, #","text":"x""#)
        }
        #expect(throws: Problem(.invalid, "replyTo: what a sealed message replies to is said inside")) {
            try sealed(#""AAAA""#, #","replyTo":"\#(id)""#)
        }
    }

    private func tooLarge(_ field: String) -> Problem {
        let limits = ClientLimits()
        return field == "text"
            ? Problem(.tooLarge, "text: at most \(limits.textBytes) bytes of UTF-8")
            : Problem(.tooLarge, "mentions: at most \(ContractLimits.mentionsPerMessage) users")
    }

    @Test("damaged documents are refused or read, and never trap", arguments: UInt64(0)..<300)
    func damage(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var bytes = Array(
            #"{"id":"\#(id)","text":"a\u00e4\n","replyTo":"\#(other)","mentions":["ben"],"mentionsAll":true,"sentAt":"2026-03-07T18:04:11Z"}"#
                .utf8)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0...bytes.count, using: &random)) }
        bytes.withUnsafeBytes { bytes in
            var buffer = ByteBuffer()
            (try? MessageFields(bytes, limits: ClientLimits(), now: now))?.write(to: &buffer)
            _ = try? BatchItems(bytes, limits: ClientLimits())
            _ = try? ConversationFields.command(bytes, creator: UserID("anna")!, limits: ClientLimits())
        }
    }
}

@Suite struct ConversationFieldsTests {
    private func command(_ json: String, _ limits: ClientLimits = ClientLimits()) throws(Problem) -> CreateConversation
    {
        let bytes = Array(json.utf8)
        let result: Result<CreateConversation, Problem> = bytes.withUnsafeBytes { bytes in
            Result { () throws(Problem) in
                try ConversationFields.command(bytes, creator: UserID("anna")!, limits: limits)
            }
        }
        return try result.get()
    }

    @Test("a group has its id, its title and its other members once each")
    func group() throws {
        let command = try command(
            #"{"members":["ben","anna","carla","ben"],"title":"Climbing \ud83e\uddd7","kind":"group","id":"\#(id)"}"#)
        #expect(command.conversation.description == id && command.kind == .group && command.creator.name == "anna")
        #expect(command.members.map(\.name) == ["ben", "carla"] && command.title == "Climbing 🧗")
        #expect(try self.command(#"{"kind":"group","id":"\#(id)","members":[],"title":null}"#).title.isEmpty)
    }

    @Test("a group begins with as many members as it may have, its creator counted")
    func members() throws {
        var limits = ClientLimits()
        limits.membersPerConversation = 3
        let full = #"{"kind":"group","id":"\#(id)","members":["ben","anna","carla","ben"]}"#
        #expect(try command(full, limits).members.count == 2)
        #expect(throws: Problem.fullConversation) {
            try command(full.replacing("\"anna\"", with: "\"dora\""), limits)
        }
    }

    @Test("a direct conversation derives its id from the pair and ignores the fields of a group")
    func direct() throws {
        let command = try command(#"{"kind":"direct","members":["ben"],"id":7,"title":[1]}"#)
        #expect(command.kind == .direct && command.title.isEmpty && command.members.map(\.name) == ["ben"])
        #expect(command.conversation == DirectConversation.id(UserID("ben")!, UserID("anna")!))
    }

    @Test("the id of a pair is a UUID of version 8, the same from both sides, and never changes")
    func directID() {
        let anna = UserID("anna")!, ben = UserID("ben")!
        let id = DirectConversation.id(anna, ben)
        #expect(id == DirectConversation.id(ben, anna))
        #expect(id.uuid.version == 8 && id.uuid.isStandardVariant)
        #expect(id.description == "c2ef3de2-3608-8795-8729-92a74d51ad8c")
        // Names that concatenate to the same text are different pairs.
        #expect(
            DirectConversation.id(UserID("a")!, UserID("bc")!) != DirectConversation.id(UserID("ab")!, UserID("c")!))
    }

    @Test(
        "a wrong field is refused by its name",
        arguments: [
            ("kind", #"{"id":"\#(id)","members":[]}"#), ("kind", #"{"id":"\#(id)","members":[],"kind":"channel"}"#),
            ("kind", #"{"id":"\#(id)","members":[],"kind":1}"#), ("members", #"{"id":"\#(id)","kind":"group"}"#),
            ("members", #"{"id":"\#(id)","kind":"group","members":"ben"}"#),
            ("members[0]", #"{"id":"\#(id)","kind":"group","members":[""]}"#),
            ("members", #"{"kind":"direct","members":[]}"#), ("members", #"{"kind":"direct","members":["b","c"]}"#),
            ("members", #"{"kind":"direct","members":["anna"]}"#), ("id", #"{"kind":"group","members":[]}"#),
            ("id", #"{"kind":"group","members":[],"id":7}"#), ("id", #"{"kind":"group","members":[],"id":"x"}"#),
            ("title", #"{"id":"\#(id)","kind":"group","members":[],"title":1}"#),
            ("members", #"{"id":"\#(id)","kind":"group","members":[],"members":["ben"]}"#),
            ("title", #"{"id":"\#(id)","kind":"group","members":[],"title":"\u2003"}"#),
        ])
    func wrong(field: String, json: String) {
        do {
            _ = try command(json)
            Issue.record("accepted: \(json)")
        } catch {
            #expect(error.code == .invalid && error.detail.hasPrefix("\(field): "), "\(error)")
        }
    }

    @Test("members and title have limits, counted in names and in code points")
    func limits() throws {
        let names = (0..<1001).map { "\"u\($0)\"" }
        func json(_ members: some Sequence<String>, _ title: String) -> String {
            #"{"id":"\#(id)","kind":"group","title":"\#(title)","members":[\#(members.joined(separator: ","))]}"#
        }
        #expect(try command(json(names.dropLast(), String(repeating: "🧗", count: 200))).members.count == 1000)
        #expect(throws: Problem(.tooLarge, "members: at most 1000 users")) { try command(json(names, "x")) }
        #expect(throws: Problem(.tooLarge, "title: at most 200 characters")) {
            try command(json([], String(repeating: "ä", count: 201)))
        }
    }
}

@Suite struct ReceiptFieldsTests {
    @Test(
        "a receipt has at least one position",
        arguments: [
            (#"{"readSeq":4}"#, nil, 4), (#"{"deliveredSeq":0,"readSeq":null}"#, 0, nil),
            (#"{"deliveredSeq":9007199254740991,"readSeq":2}"#, 9_007_199_254_740_991, 2),
        ] as [(String, Int64?, Int64?)])
    func positions(json: String, delivered: Int64?, read: Int64?) throws {
        let fields = try Array(json.utf8).withUnsafeBytes { try ReceiptFields($0) }
        #expect(fields.delivered == delivered && fields.read == read)
    }

    @Test(
        "any other value is refused by its name",
        arguments: [
            "{}", #"{"readSeq":null}"#, #"{"readSeq":-1}"#, #"{"readSeq":1.5}"#, #"{"readSeq":"1"}"#,
            #"{"readSeq":true}"#,
            #"{"deliveredSeq":9007199254740992}"#, #"{"deliveredSeq":1e3}"#, #"{"readSeq":1,"deliveredSeq":[]}"#,
        ])
    func wrong(json: String) {
        do {
            _ = try Array(json.utf8).withUnsafeBytes { try ReceiptFields($0) }
            Issue.record("accepted")
        } catch {
            #expect((error as? Problem)?.detail.contains("Seq: ") == true || "\(error)".contains("readSeq"))
        }
    }
}
