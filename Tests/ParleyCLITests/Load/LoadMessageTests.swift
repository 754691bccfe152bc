import Bytes
import Models
import Reactor
import Testing

@testable import ParleyClient
@testable import ParleyLoad

@Suite struct LoadMessageTests {
    private static let conversation = "0199aaaa-bbbb-8ccc-8ddd-eeeeffff0001"
    private static let id = MessageNumber(run: 77, conversation: 5, number: 9).id(milliseconds: 1_795_000_000_000)

    /// A frame as fanout sends it.
    private static let usual =
        #"{"type":"change","change":{"conversationId":"\#(conversation)","seq":12,"kind":"message.created","at":"2026-11-21T14:00:00.000Z","actorId":"load-a-1","message":{"id":"\#(id)","conversationId":"\#(conversation)","seq":12,"changeSeq":12,"senderId":"load-a-1","kind":"text","text":"00000000000000ff and words","sentAt":"2026-11-21T14:00:00.000Z","createdAt":"2026-11-21T14:00:00.000Z","tapbacks":[],"tapbackCounts":{},"mentions":[]}}}"#

    private func fast(_ frame: String) -> ArrivedChange? {
        Array(frame.utf8).withUnsafeBytes { ArrivedChange(usualFrame: $0) }
    }

    private func slow(_ frame: String) throws -> ArrivedChange? {
        try Array(frame.utf8).withUnsafeBytes { try ServerFrame($0).change.map { try ArrivedChange(change: $0) } }
    }

    @Test("the id of a message tells its run, conversation and number, and is one a client may choose")
    func numbers() {
        for number in [0, 1, 1 << 28 - 1, 1 << 28, 1 << 40 - 1] {
            let expected = MessageNumber(
                run: MessageNumber.largestRun, conversation: MessageNumber.largestConversation, number: number)
            let id = expected.id(milliseconds: 1_795_000_000_000)
            #expect(MessageNumber(id) == expected)
            #expect(id.uuid.version == 7 && id.uuid.isStandardVariant)
        }
    }

    @Test("the usual frame reads the same by its layout and as JSON")
    func usualFrame() throws {
        let change = try #require(fast(Self.usual))
        #expect(try slow(Self.usual) == change)
        #expect(change.seq == 12)
        #expect(change.message.map(MessageNumber.init) == MessageNumber(run: 77, conversation: 5, number: 9))
        #expect(change.due?.nanoseconds == 255)
    }

    @Test("a frame cut anywhere is none by its layout until its text has begun")
    func cutFrame() throws {
        let begin = try #require(Self.usual.firstRange(of: "00000000000000ff")).lowerBound
        for end in Self.usual.indices where end < begin { #expect(fast(String(Self.usual[..<end])) == nil) }
    }

    @Test("other changes, and the same in another order, are read as JSON")
    func unusualFrames() throws {
        let reordered =
            #"{"change":{"seq":3,"kind":"message.created","message":{"text":"00000000000000ff","id":"\#(Self.id)"},"conversationId":"\#(Self.conversation)"},"type":"change"}"#
        #expect(fast(reordered) == nil)
        #expect(try slow(reordered)?.due?.nanoseconds == 255)
        let edited = Self.usual.replacing("message.created", with: "message.edited")
        #expect(fast(edited) == nil)
        #expect(try slow(edited)?.message == nil)
        let deleted = Self.usual.replacing(#""00000000000000ff and words""#, with: "null")
        #expect(try slow(deleted)?.message == Self.id)
        #expect(try slow(deleted)?.due == nil)
    }

    @Test("a text is as long as was asked for, tells its time, and is known again")
    func texts() {
        let text = LoadText(bytes: 120)
        var buffer = ByteBuffer()
        buffer.append(count: LoadText.digits) {
            LoadText.write(MonotonicTime(nanoseconds: 0x1234_5678_9ABC_DEF0), to: $0)
        }
        buffer.append(text.words)
        #expect(buffer.count == 120)
        #expect(LoadText.time(of: buffer.bytes)?.nanoseconds == 0x1234_5678_9ABC_DEF0)
        #expect(text.matches(buffer.bytes))
        #expect(!LoadText(bytes: 119).matches(buffer.bytes))
        buffer.append("!" as StaticString)
        #expect(!text.matches(buffer.bytes))
    }

    @Test("a pre-encoded request is the one that a client would write")
    func template() {
        let conversation = ConversationID(UUIDBytes(Self.conversation)!)
        let text = LoadText(bytes: 20)
        var buffer = ByteBuffer()
        SendTemplate(conversation, token: "t.o.k", host: "h:1", text: text)
            .write(Self.id, due: MonotonicTime(nanoseconds: 255), to: &buffer)
        var expected = ByteBuffer()
        let words = String(decoding: text.words, as: UTF8.self)
        OutgoingMessage(conversation: conversation, id: Self.id, text: "00000000000000ff\(words)")
            .request(token: "t.o.k").write(host: "h:1", to: &expected)
        #expect(String(decoding: buffer.bytes, as: UTF8.self) == String(decoding: expected.bytes, as: UTF8.self))
    }
}
