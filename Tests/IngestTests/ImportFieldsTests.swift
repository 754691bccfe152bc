import Bytes
import JSON
import Models
import ServiceKit
import TestSupport
import Testing
import Wire

@testable import Ingest

private let group = "0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90"
private let first = "0198c2a4-5d10-4c3e-9a41-3f0c5b7e2d91"
private let pair = DirectConversation.id(UserID("anna")!, UserID("ben")!)
private let head = #""conversationId":"\#(group)""#
private let other = "0198c2a4-5d10-1c3e-9a41-3f0c5b7e2d92"

/// A message with these fields, too.
private func poll(_ fields: String) -> String {
    #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","text":"x",\#(fields)}"#
}

/// Reads a line as ingest does, and what it writes as the store does.
private func read(_ line: String, _ limits: ClientLimits = ClientLimits()) throws(Problem) -> String {
    let bytes = Array(line.utf8)
    let result: Result<String, Problem> = bytes.withUnsafeBytes { bytes in
        Result { () throws(Problem) in
            let fields = try ImportFields(bytes, limits: limits)
            var buffer = ByteBuffer()
            fields.write(to: &buffer)
            var reader = ByteReader(buffer.bytes)
            if fields.isReceipt {
                guard let receipt = try? ImportReceipt(from: &reader), reader.isAtEnd else {
                    fatalError("not readable")
                }
                return
                    "\(fields.conversation) \(receipt.kind) \(receipt.user) \(receipt.through) \(receipt.at.milliseconds)"
            }
            guard let record = try? ImportRecord(from: &reader), reader.isAtEnd else { fatalError("not readable") }
            return "\(fields.conversation) \(describe(record))"
        }
    }
    return try result.get()
}

private func describe(_ record: ImportRecord) -> String {
    switch record {
    case .conversation(let record):
        "conversation \(record.kind) \(record.createdAt.milliseconds) '\(record.title)' \(record.members)"
    case .message(let record):
        "message \(record.id) \(record.sender) \(record.replyTo?.description ?? "-") \(record.createdAt.milliseconds) "
            + "\(record.deletedAt?.milliseconds.description ?? "-") "
            + record.texts.map { "\($0.at.milliseconds)'\(String(decoding: $0.text, as: UTF8.self))'" }.joined(
                separator: ",")
            + (record.poll.map { " \($0.options) \($0.isMultiple)" } ?? "")
    case .vote(let record):
        "vote \(record.message) \(record.user) \(record.options.positions) \(record.at.milliseconds)"
    case .pollClosed(let record): "closed \(record.message) \(record.at.milliseconds) \(record.actor?.name ?? "-")"
    case .tapback(let record): "tapback \(record.message) \(record.user) \(record.kind) \(record.at.milliseconds)"
    case .member(let record):
        "\(record.kind) \(record.user) \(record.at.milliseconds) \(record.actor?.name ?? "-")"
    case .title(let record): "title '\(record.title)' \(record.at.milliseconds) \(record.actor?.name ?? "-")"
    case .end: "end"
    }
}

@Suite struct ImportFieldsTests {
    @Test(
        "the fields of a line reach the store unchanged",
        arguments: [
            (
                #"{"type":"conversation","id":"\#(group)","kind":"group","members":["anna","ben"],"title":"S\u00fcd","createdAt":"1970-01-01T00:00:01Z"}"#,
                "\(group) conversation group 1000 'Süd' [anna, ben]"
            ),
            (
                #"{"kind":"direct","members":["anna","ben"],"createdAt":"1970-01-01T00:00:01Z","id":"\#(pair)","type":"conversation"}"#,
                "\(pair) conversation direct 1000 '' [anna, ben]"
            ),
            (
                #"{"type":"message",\#(head),"id":"\#(other)","senderId":"anna","text":"say \"hi\" \ud83e\uddd7","replyTo":"\#(first)","createdAt":"1970-01-01T00:00:02.5Z","x":1}"#,
                "\(group) message \(other) anna \(first) 2500 - 2500'say \"hi\" 🧗'"
            ),
            (
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"anna","text":"b","createdAt":"1970-01-01T00:00:01Z","revisions":[{"text":"a\n","at":"1970-01-01T00:00:01Z"},{"at":"1970-01-01T00:00:03Z","text":"b"}]}"#,
                "\(group) message \(first) anna - 1000 - 1000'a\n',3000'b'"
            ),
            (
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"anna","createdAt":"1970-01-01T00:00:01Z","deletedAt":"1970-01-01T00:00:01Z","attachments":null}"#,
                "\(group) message \(first) anna - 1000 1000 "
            ),
            (
                #"{"type":"tapback",\#(head),"messageId":"\#(first)","userId":"ben","kind":"🧗","at":"1970-01-01T00:00:01Z"}"#,
                "\(group) tapback \(first) ben 🧗 1000"
            ),
            (
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"anna","text":"b","poll":{"options":["c","\u00e9"]},"createdAt":"1970-01-01T00:00:01Z","revisions":null}"#,
                "\(group) message \(first) anna - 1000 - 1000'b' [\"c\", \"é\"] false"
            ),
            (
                #"{"poll":{"multiple":true,"options":["c","d"]},"type":"message",\#(head),"id":"\#(first)","senderId":"anna","text":"b","extra":{},"createdAt":"1970-01-01T00:00:01Z"}"#,
                "\(group) message \(first) anna - 1000 - 1000'b' [\"c\", \"d\"] true"
            ),
            (
                #"{"type":"vote",\#(head),"messageId":"\#(first)","userId":"ben","options":[11,0,11],"at":"1970-01-01T00:00:01Z"}"#,
                "\(group) vote \(first) ben [0, 11] 1000"
            ),
            (
                #"{"type":"pollClosed",\#(head),"messageId":"\#(first)","at":"1970-01-01T00:00:01Z"}"#,
                "\(group) closed \(first) 1000 -"
            ),
            (
                #"{"type":"pollClosed",\#(head),"messageId":"\#(first)","at":"1970-01-01T00:00:01Z","actorId":"ben"}"#,
                "\(group) closed \(first) 1000 ben"
            ),
            (
                #"{"type":"member",\#(head),"userId":"ben","change":"role","at":"1970-01-01T00:00:01Z","actorId":"anna"}"#,
                "\(group) memberChanged ben 1000 anna"
            ),
            (
                #"{"type":"renamed",\#(head),"title":"West","at":"1970-01-01T00:00:01Z"}"#,
                "\(group) title 'West' 1000 -"
            ),
            (
                #"{"type":"receipt",\#(head),"userId":"ben","kind":"read","throughMessageId":"\#(first)","at":"1970-01-01T00:00:01Z"}"#,
                "\(group) read ben \(first) 1000"
            ),
            (
                #"{"at":"1970-01-01T00:00:01Z","throughMessageId":"\#(first)","kind":"delivered","userId":"ben",\#(head),"type":"receipt"}"#,
                "\(group) delivered ben \(first) 1000"
            ),
            (#"{"type":"end",\#(head)}"#, "\(group) end"),
        ])
    func whole(line: String, expected: String) throws {
        #expect(try read(line) == expected)
    }

    @Test("a conversation begins with its creator and as many as one request names")
    func members() throws {
        let most = ContractLimits.membersPerRequest + 1
        func line(_ count: Int) -> String {
            let members = (0..<count).map { "\"user-\($0)\"" }.joined(separator: ",")
            return
                #"{"type":"conversation","id":"\#(group)","kind":"group","members":[\#(members)],"createdAt":"1970-01-01T00:00:01Z"}"#
        }
        #expect(try read(line(most)).contains("user-\(most - 1)"))
        #expect(throws: Problem.self) { try read(line(most + 1)) }
    }

    @Test(
        "a line that is not a record is refused, with the field at fault first",
        arguments: [
            ("type", #"{\#(head)}"#), ("type", #"{"type":"reaction",\#(head)}"#),
            ("conversationId", #"{"type":"end"}"#),
            ("id", #"{"type":"conversation",\#(head)}"#),
            ("id", #"{"type":"conversation","id":"x","kind":"group"}"#),
            ("kind", #"{"type":"conversation","id":"\#(group)","kind":"room","members":["a"]}"#),
            ("members", #"{"type":"conversation","id":"\#(group)","kind":"group","members":[]}"#),
            ("members", #"{"type":"conversation","id":"\#(group)","kind":"group","members":["a","a"]}"#),
            ("createdAt", #"{"type":"conversation","id":"\#(group)","kind":"group","members":["a"]}"#),
            ("members", #"{"type":"conversation","id":"\#(group)","kind":"direct","members":["a"]}"#),
            ("id", #"{"type":"conversation","id":"\#(group)","kind":"direct","members":["a","b"]}"#),
            ("senderId", #"{"type":"message",\#(head),"id":"\#(first)","createdAt":"2020-01-01T00:00:00Z"}"#),
            (
                "text",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","text":" "}"#
            ),
            (
                "text",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","text":"a","deletedAt":"2020-01-01T00:00:00Z"}"#
            ),
            (
                "deletedAt",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:01Z","deletedAt":"2020-01-01T00:00:00Z"}"#
            ),
            (
                "revisions",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","text":"a","revisions":[]}"#
            ),
            (
                "revisions",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","text":"a","revisions":[{"text":"b","at":"2020-01-01T00:00:00Z"}]}"#
            ),
            ("kind", #"{"type":"tapback",\#(head),"kind":"smile"}"#),
            ("poll", poll(#""poll":{"options":["a","b"]},"forwarded":{"userId":"a","sentAt":"2020-01-01T00:00:00Z"}"#)),
            ("poll", poll(#""poll":{"options":["a","b"]},"revisions":[{"text":"x","at":"2020-01-01T00:00:00Z"}]"#)),
            ("poll", poll(#""poll":{"options":["a","b"]},"deletedAt":"2020-01-01T00:00:00Z""#)),
            ("poll.options", poll(#""poll":{"options":["a","a"]}"#)), ("poll.options", poll(#""poll":{}"#)),
            ("poll.options", poll(#""poll":{"options":["a","b\nc"]}"#)),
            ("replyTo", poll(#""poll":{"options":["a","b"]},"replyTo":"\#(first)""#)),
            (
                "sealed",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","sealed":"AAAA","poll":{"options":["a","b"]}}"#
            ),
            (
                "attachments",
                poll(
                    #""poll":{"options":["a","b"]},"attachments":[{"id":"\#(first)","name":"a","type":"a/b","size":1}]"#
                )
            ),
            (
                "text",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","poll":{"options":["a","b"]}}"#
            ),
            ("options", #"{"type":"vote",\#(head),"messageId":"\#(first)","userId":"a","at":"2020-01-01T00:00:00Z"}"#),
            ("options", #"{"type":"vote",\#(head),"options":[]}"#),
            ("options", #"{"type":"vote",\#(head),"options":[12]}"#),
            ("options", #"{"type":"vote",\#(head),"options":[-1]}"#),
            ("options", #"{"type":"vote",\#(head),"options":["0"]}"#),
            ("messageId", #"{"type":"vote",\#(head),"options":[0]}"#),
            ("userId", #"{"type":"vote",\#(head),"options":[0],"messageId":"\#(first)"}"#),
            ("at", #"{"type":"vote",\#(head),"options":[0],"messageId":"\#(first)","userId":"a"}"#),
            ("messageId", #"{"type":"pollClosed",\#(head),"at":"2020-01-01T00:00:00Z"}"#),
            ("at", #"{"type":"pollClosed",\#(head),"messageId":"\#(first)"}"#),
            ("change", #"{"type":"member",\#(head),"userId":"a","change":"left","at":"2020-01-01T00:00:00Z"}"#),
            ("title", #"{"type":"renamed",\#(head),"at":"2020-01-01T00:00:00Z"}"#),
            ("kind", #"{"type":"receipt",\#(head),"kind":"seen","userId":"a","at":"2020-01-01T00:00:00Z"}"#),
            ("userId", #"{"type":"receipt",\#(head),"kind":"read","at":"2020-01-01T00:00:00Z"}"#),
            ("throughMessageId", #"{"type":"receipt",\#(head),"kind":"read","userId":"a"}"#),
            ("at", #"{"type":"receipt",\#(head),"kind":"read","userId":"a","throughMessageId":"\#(first)"}"#),
            ("attachments", #"{"type":"message",\#(head),"attachments":[{"id":"x"}]}"#),
            ("attachments", #"{"type":"message",\#(head),"attachments":[{"id":"\#(first)","name":"a","size":1}]}"#),
            (
                "attachments",
                #"{"type":"message",\#(head),"attachments":[{"id":"\#(first)","name":"a","type":"pdf","size":1}]}"#
            ),
            (
                "attachments",
                #"{"type":"message",\#(head),"attachments":[{"id":"\#(first)","name":"a","type":"a/b","size":-1}]}"#
            ),
            (
                "attachments",
                #"{"type":"message",\#(head),"attachments":[{"id":"\#(first)","name":"","type":"a/b","size":1}]}"#
            ),
            ("extra", #"{"type":"message",\#(head),"extra":[]}"#),
            (
                "replyTo",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","sealed":"AAAA","replyTo":"\#(first)"}"#
            ),
            (
                "text",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","sealed":"AAAA","text":"x"}"#
            ),
            (
                "sealed",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","sealed":"AAA"}"#
            ),
            (
                "revisions",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","sealed":"AAAA","revisions":[{"text":"AAAA","at":"2020-01-01T00:00:00Z"}]}"#
            ),
            (
                "text",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","deletedAt":"2020-01-01T00:00:00Z","extra":{}}"#
            ),
            (
                "text",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","attachments":[]}"#
            ),
            (
                "text",
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"2020-01-01T00:00:00Z","deletedAt":"2020-01-01T00:00:00Z","attachments":[{"id":"\#(first)","name":"a","type":"a/b","size":1}]}"#
            ),
        ])
    func wrong(field: String, line: String) {
        do throws(Problem) {
            _ = try read(line)
            Issue.record("it is taken")
        } catch {
            #expect(error.code == .invalid)
            #expect(error.detail.hasPrefix("\(field):") || error.detail.hasPrefix("\(field)["), "\(error.detail)")
        }
    }

    @Test(
        "descriptors of attachments are kept value by value, in the order of their fields; a text may then be missing")
    func attachments() throws {
        let file =
            #"{"id":"\#(first)","name":"caf\u00e9 \"1\"","type":"audio/ogg","size":70,"duration":12.50,"waveform":[0, 255]}"#
        let mixed =
            #" { "x":{}, "waveform":[0, 255] ,"size": 70,"duration" :12.50, "type":"audio/ogg","width":null, "name":"caf\u00e9 \"1\"","id":"\#(first)"} "#
        for (given, more, texts) in [
            (file, "", [""]), (mixed, "", [""]), (mixed, #","text":"b""#, ["b"]),
            (
                file,
                #","text":"b","revisions":[{"text":"","at":"1970-01-01T00:00:01Z"},{"text":"b","at":"1970-01-01T00:00:02Z"}]"#,
                ["", "b"]
            ),
        ] {
            let line =
                #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","createdAt":"1970-01-01T00:00:01Z","attachments":[\#(given)]\#(more)}"#
            let (read, attachments) = try message(line)
            #expect(read == texts && attachments == "[\(file)]")
        }
    }

    /// The texts and the attachments of a message.
    private func message(_ line: String) throws -> (texts: [String], attachments: String) {
        try Array(line.utf8).withUnsafeBytes { bytes in
            var buffer = ByteBuffer()
            try ImportFields(bytes, limits: ClientLimits()).write(to: &buffer)
            var reader = ByteReader(buffer.bytes)
            guard case .message(let message) = try ImportRecord(from: &reader) else { return ([], "") }
            return (
                message.texts.map { String(decoding: $0.text, as: UTF8.self) },
                String(decoding: message.attachments, as: UTF8.self)
            )
        }
    }

    @Test("damaged lines are refused or read, and never trap", arguments: UInt64(0)..<300)
    func damage(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var bytes = Array(
            #"{"type":"message",\#(head),"id":"\#(first)","senderId":"a","text":"b","createdAt":"1970-01-01T00:00:01Z","revisions":[{"text":"a\n","at":"1970-01-01T00:00:01Z"},{"at":"1970-01-01T00:00:03Z","text":"b"}]}"#
                .utf8)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0...bytes.count, using: &random)) }
        bytes.withUnsafeBytes { bytes in
            var buffer = ByteBuffer()
            (try? ImportFields(bytes, limits: ClientLimits()))?.write(to: &buffer)
        }
    }
}
