import Bytes
import JSON
import Models
import Testing

@Suite struct JSONWritingTests {
    private func written(_ body: (inout ByteBuffer) -> Void) -> String {
        var buffer = ByteBuffer()
        body(&buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    @Test("members and elements get their commas")
    func commas() {
        let document = written { buffer in
            buffer.beginObject()
            buffer.append(key: "a")
            buffer.beginObject()
            buffer.endObject()
            buffer.append(key: "b")
            buffer.beginArray()
            buffer.append(element: "[")
            buffer.append(element: true)
            buffer.beginElement()
            buffer.beginArray()
            buffer.endArray()
            buffer.append(element: -7)
            buffer.endArray()
            buffer.append(key: "c", json: "{")
            buffer.append(key: "d", json: Int64?.none)
            buffer.append(dynamicKey: "e\"")
            buffer.appendNull()
            buffer.endObject()
        }
        #expect(document == #"{"a":{},"b":["[",true,[],-7],"c":"{","e\"":null}"#)
    }

    @Test("identifiers and times are written in the contract's forms")
    func models() throws {
        let uuid = try #require(UUIDBytes("0193a6b4-1f2c-7d3e-8a9b-0123456789ab"))
        let document = written { buffer in
            buffer.beginObject()
            buffer.append(key: "id", json: MessageID(uuid))
            buffer.append(key: "conversationId", json: ConversationID(uuid))
            buffer.append(key: "senderId", json: UserID("ann"))
            buffer.append(key: "at", json: Timestamp(milliseconds: 1_795_258_020_005))
            buffer.append(key: "seq", json: 12)
            buffer.endObject()
        }
        #expect(
            document
                == #"{"id":"\#(uuid)","conversationId":"\#(uuid)","senderId":"ann","at":"2026-11-21T10:47:00.005Z","seq":12}"#
        )
    }

    @Test("only the characters that JSON requires are escaped")
    func escapes() {
        #expect(written { $0.appendJSON("\"\\\n\r\t\u{8}\u{C}\u{1}\u{1F}") } == #""\"\\\n\r\t\b\f\u0001\u001f""#)
        #expect(written { $0.appendJSON("/é€𝄞\u{7F}\u{2028}") } == "\"/é€𝄞\u{7F}\u{2028}\"")
    }

    @Test("a string of another document can be written unchanged")
    func passedOn() throws {
        let document = try Array(#"["a\u0041\n"]"#.utf8).withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            try reader.beginArray()
            _ = try reader.nextElement()
            let text = try reader.slice()
            return written { $0.appendJSON(text) }
        }
        #expect(document == #""a\u0041\n""#)
    }
}
