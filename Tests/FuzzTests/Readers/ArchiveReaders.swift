import Archives
import JSON
import Models
import ParleyClient

extension Reader {
    static let archives = [typedStream, record, log, importResults]

    /// A line of records, which is passed on as it is.
    private static let record = Reader(
        "record", #"{"type":"conversation","id":"01900000-0000-7000-8000-00000000cafe","members":["a"]}"#,
        #"{"type":"end","conversationId":"01900000-0000-7000-8000-00000000cafe","more":[{}]}"#
    ) { bytes in
        guard let record = try? SourceRecord(line: Array(bytes), at: .line(1), share: 0) else { return nil }
        return (try? record.line(RecordLine())) == Array(bytes)
    }

    /// A line of a log: a parent comes before its reply, and a clock shows a time of a day.
    private static let log = Reader(
        "log",
        #"{"conversation":"c","messages":[{"n":7,"time":"12:18","sender":"a","text":"b"},{"n":9,"sender":"a","text":"b","replyTo":7}]}"#
    ) { bytes in
        guard let conversation = try? IRCConversation(line: bytes) else { return nil }
        return conversation.messages.enumerated().allSatisfy { index, message in
            message.parent.map { $0 < index } ?? true && message.minute.map { (0..<1_440).contains($0) } ?? true
        }
    }

    /// The response to an import: the same wherever it is cut.
    private static let importResults = Reader(
        "importResults",
        """
        {"line":1,"status":200}
        {"line":2,"status":409,"problem":{"title":"x","status":409,"code":"conflict","detail":"é"}}

        """
    ) { bytes in
        guard let whole = results([bytes[...]]) else { return nil }
        let cut = bytes.count / 2
        return results([bytes[..<cut], bytes[cut...]]) == whole
    }

    private static func results(_ pieces: [Slice<UnsafeRawBufferPointer>]) -> [ImportResult]? {
        var reader = ImportResultReader()
        var results: [ImportResult] = []
        do throws(ImportResultReader.Violation) {
            for piece in pieces { try reader.take(UnsafeRawBufferPointer(rebasing: piece)) { results.append($0) } }
            return results
        } catch {
            return nil
        }
    }

    /// The texts of Apple's Messages. A text may be read from a stream that is damaged behind it; whatever the bytes, there
    /// is not more in them than they can hold.
    private static let typedStream = Reader("typedStream", examples: [plainText, attributedText]) { bytes in
        let bytes = Array(bytes)
        guard let body = AttributedText(bytes) else { return nil }
        // A byte that is no UTF-8 becomes a replacement character, of three.
        return TypedStream(bytes).items.count <= bytes.count && body.text.utf8.count <= 3 * bytes.count
    }

    private static let header: [UInt8] = [4, 11] + Array("streamtyped".utf8) + [0x81, 0xE8, 0x03, 0x84, 1, 0x40]
    private static let object: [UInt8] = [0x84, 0x84, 8] + Array("NSObject".utf8) + [0, 0x85]
    private static let text = Array("Sunday, nine? 🧗".utf8)

    private static let plainText: [UInt8] =
        header + [0x84, 0x84, 0x84, 8] + Array("NSString".utf8) + [1] + object + [0x84, 1, 0x2B, UInt8(text.count)]
        + text
        + [0x86]

    /// With one run of 16 units and no attributes.
    private static let attributedText: [UInt8] =
        header + [0x84, 0x84, 0x84, 18] + Array("NSAttributedString".utf8) + [0] + object
        + [0x92, 0x84, 0x84, 0x84, 8] + Array("NSString".utf8) + [1, 0x94, 0x84, 1, 0x2B, UInt8(text.count)] + text
        + [0x86, 0x84, 2, 0x69, 0x49, 1, 16]
        + [0x92, 0x84, 0x84, 0x84, 12] + Array("NSDictionary".utf8) + [0, 0x94, 0x84, 1, 0x69, 0, 0x86, 0x86]
}
