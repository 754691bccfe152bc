import JSON
import Models
import TestSupport
import Testing

@testable import Fanout

@Suite struct ClientFrameTests {
    static let conversation = ConversationID(UUIDBytes("01890000-0000-7000-8000-000000000011")!)

    static func parse<Result>(_ text: String, _ body: (ClientFrame) throws -> Result) throws -> Result {
        try Array(text.utf8).withUnsafeBytes { try body(try ClientFrame($0)) }
    }

    /// Reads a frame as the gateway does: the rest of a hello after its token.
    static func read(_ text: String) throws {
        try Array(text.utf8).withUnsafeBytes { bytes in
            if case .hello = try ClientFrame(bytes) { _ = try Hello(bytes) }
        }
    }

    @Test("a hello has a token and positions, whatever the order of its members")
    func hello() throws {
        let text = """
            {"useq":3,"cursors":{"\(Self.conversation)":7},"token":"t","later":[1,{}],"statusVersions":null,
             "logId":null,"capabilities":["x"],"type":"hello"}
            """
        try Self.parse(text) { frame in
            guard case .hello(let token) = frame else { return #expect(Bool(false), "a hello") }
            let hello = try Array(text.utf8).withUnsafeBytes { try Hello($0) }
            #expect(token == "t" && hello.token == token && hello.useq == 3 && hello.logID == nil)
            #expect(hello.cursors == [Self.conversation: 7] && hello.statusVersions == nil)
        }
    }

    @Test("a large hello read in small steps has the same content")
    func steps() throws {
        let cursors = (0..<5_000).map { #""01890000-0000-7000-8000-\#(String(100_000_000_000 + $0))":\#($0)"# }
        let text = #"{"cursors":{\#(cursors.joined(separator: ","))},"token":"t","type":"hello"}"#
        try Array(text.utf8).withUnsafeBytes { bytes in
            var reader = HelloReader(bytes)
            var steps = 0
            while try reader.readNext() { steps += 1 }
            #expect(steps >= 5_000, "one position per step")
            #expect(try reader.hello.cursors == Hello(bytes).cursors && reader.hello.cursors.count == 5_000)
        }
    }

    static func read(seq: String) -> String {
        #"{"type":"read","conversationId":"\#(conversation)","seq":\#(seq)}"#
    }

    @Test("a receipt is about one conversation or several")
    func receipts() throws {
        let item = #"{"conversationId":"\#(Self.conversation)","seq":4}"#
        try Self.parse(#"{"type":"read","conversationId":"\#(Self.conversation)","seq":9}"#) { frame in
            guard case .read(let items) = frame else { return #expect(Bool(false), "a read") }
            #expect(items == [.init(conversation: Self.conversation, seq: 9)])
        }
        try Self.parse(#"{"type":"delivered","items":[\#(item),\#(item)]}"#) { frame in
            guard case .delivered(let items) = frame else { return #expect(Bool(false), "a delivered") }
            #expect(items.count == 2)
        }
    }

    @Test("a frame of unknown type is ignored")
    func unknown() throws {
        try Self.parse(#"{"type":"wave","token":7}"#) { frame in
            guard case .unknown = frame else { return #expect(Bool(false), "unknown") }
        }
    }

    @Test(
        "a missing or invalid member is refused and named",
        arguments: [
            ("{}", "type"), ("[]", "object"), (#"{"type":7}"#, "type"), (#"{"type":"auth"}"#, "token"),
            (#"{"type":"typing","active":true}"#, "conversationId"),
            (#"{"type":"read","conversationId":"x","seq":1}"#, "conversationId"),
            (#"{"type":"read","items":[{"seq":1}]}"#, "items"), (#"{"type":"delivered"}"#, "items"),
            (#"{"type":"read","conversationId":"01890000-0000-7000-8000-000000000011","seq":-1}"#, "seq"),
            (read(seq: "9007199254740992"), "seq"), (read(seq: "9223372036854775808"), "seq"),
            (read(seq: "1.0"), "seq"), (read(seq: "1e2"), "seq"), (read(seq: "1E+400"), "seq"),
            (read(seq: "-1e-9"), "seq"),
            (read(seq: "01"), "seq"), (read(seq: "true"), "seq"), (read(seq: "null"), "seq"),
            (
                #"{"type":"delivered","items":[{"conversationId":"\#(Self.conversation)","seq":9007199254740992}]}"#,
                "seq"
            ),
            (#"{"type":"read","conversationId":"\#(Self.conversation)","seq":1,"items":[]}"#, "or items"),
            (#"{"type":"hello","token":"a","useq":9007199254740992}"#, "useq"),
            (#"{"type":"ping","id":7}"#, "id"),
            (#"{"type":"ping","type":"ping"}"#, "type: must be given once"),
            (#"{"type":"ping","id":null,"id":"x"}"#, "id: must be given once"),
            (#"{"type":"auth","token":"a","token":"a"}"#, "token: must be given once"),
            (#"{"type":"hello","token":"a","useq":1,"useq":2}"#, "useq: must be given once"),
            (#"{"type":"read","items":[{"seq":1,"seq":1}]}"#, "seq: must be given once"),
            (#"{"type":"typing","active":true,"active":true}"#, "active: must be given once"),
            (
                #"{"type":"hello","token":"a","cursors":{"\#(Self.conversation)":1,"\#(Self.conversation)":1}}"#,
                "given once"
            ), (#"{"type":"ping"} x"#, "continues after its value"),
        ])
    func refused(text: String, named: String) {
        let error = #expect(throws: JSONError.self) { try Self.read(text) }
        #expect(error?.description.contains(named) == true, "\(String(describing: error))")
    }

    @Test("damaged frames never trap", arguments: UInt64(0)..<20)
    func fuzz(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let frames = [
            #"{"type":"hello","token":"abc","cursors":{"\#(Self.conversation)":7},"useq":1,"logId":"x"}"#,
            #"{"type":"read","items":[{"conversationId":"\#(Self.conversation)","seq":4}],"seq":3}"#,
            #"{"type":"ping","id":"\u00e4"}"#,
        ]
        for _ in 0..<500 {
            var bytes = Array(frames.randomElement(using: &random)!.utf8)
            for _ in 0...Int.random(in: 0...3, using: &random) {
                bytes[.random(in: 0..<bytes.count, using: &random)] = Array(#"{}[]",:\019-eE"#.utf8).randomElement(
                    using: &random)!
            }
            bytes.removeLast(.random(in: 0...3, using: &random))
            bytes.withUnsafeBytes { bytes in
                _ = try? ClientFrame(bytes)
                _ = try? Hello(bytes)
            }
        }
    }
}
