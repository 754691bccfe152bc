import Bytes
import JSON
import ServiceKit

/// What an inspector says of a file. It has read what a stranger sent, so nothing it says is believed without a check.
struct InspectedFacts: Equatable, Sendable {
    private(set) var isReady = false
    private(set) var reason: String?
    private(set) var type: String?
    private(set) var content = ContentFacts()
    private(set) var thumbnails: [Thumbnail] = []

    struct Thumbnail: Equatable, Sendable {
        var part = ObjectPart.small
        var width: Int32 = 0
        var height: Int32 = 0
    }

    /// Nil if it is malformed, or says neither.
    init?(_ json: [UInt8]) {
        let isRead = json.withUnsafeBytes { bytes in
            do throws(JSONError) {
                try read(JSONReader(bytes))
                return true
            } catch { return false }
        }
        guard isRead, isReady || reason != nil else { return nil }
    }

    private mutating func read(_ bytes: JSONReader) throws(JSONError) {
        var reader = bytes, verdict = "", original: String?, kept: String?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "verdict": verdict = try reader.string()
            case "reason": reason = Self.word(try reader.string())
            case "type": original = Self.mediaType(try reader.string())
            case "contentType": kept = Self.mediaType(try reader.string())
            case "width": content.width = Self.dimension(try reader.integer())
            case "height": content.height = Self.dimension(try reader.integer())
            case "duration": content.durationMilliseconds = Self.milliseconds(try reader.encodedValue())
            case "thumbhash": content.thumbhash = Self.thumbhash(try reader.string())
            case "waveform": content.waveform = try Self.waveform(&reader)
            case "thumbnails": thumbnails = try Self.thumbnails(&reader)
            default: try reader.skip()
            }
        }
        try reader.end()
        isReady = verdict == "ready"
        if verdict == "refused" { reason = reason ?? "unreadable" } else { reason = nil }
        type = kept ?? original
    }

    private static func word(_ text: String) -> String? {
        (1...32).contains(text.utf8.count) && text.utf8.allSatisfy { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A }
            ? text : nil
    }

    /// `image/jpeg`, without parameters.
    private static func mediaType(_ text: String) -> String? {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isToken = parts.allSatisfy { part in
            !part.isEmpty
                && part.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                        UInt8(ascii: "."), UInt8(ascii: "+"), UInt8(ascii: "-"):
                        true
                    default: false
                    }
                }
        }
        return parts.count == 2 && isToken && text.utf8.count <= 100 ? text : nil
    }

    private static func dimension(_ number: Int64) -> Int32? { (1...1_000_000).contains(number) ? Int32(number) : nil }

    private static func milliseconds(_ number: UnsafeRawBufferPointer) -> Int64? {
        guard let seconds = Double(String(decoding: number, as: UTF8.self)), (0...1e7).contains(seconds) else {
            return nil
        }
        return Int64(seconds * 1000)
    }

    private static func thumbhash(_ text: String) -> String? {
        guard (4...64).contains(text.utf8.count), Base64.decode(Array(text.utf8)) != nil else { return nil }
        return text
    }

    private static func waveform(_ reader: inout JSONReader) throws(JSONError) -> String? {
        var values: [Int64] = []
        try reader.beginArray()
        while try reader.nextElement() { values.append(try reader.integer()) }
        guard values.count == 64, values.allSatisfy({ (0...255).contains($0) }) else { return nil }
        return "[\(values.map(String.init).joined(separator: ","))]"
    }

    private static func thumbnails(_ reader: inout JSONReader) throws(JSONError) -> [Thumbnail] {
        var thumbnails: [Thumbnail] = []
        try reader.beginArray()
        while try reader.nextElement() {
            if let one = try thumbnail(&reader), !thumbnails.contains(where: { $0.part == one.part }) {
                thumbnails.append(one)
            }
        }
        return thumbnails
    }

    private static func thumbnail(_ reader: inout JSONReader) throws(JSONError) -> Thumbnail? {
        var part: ObjectPart?, width: Int32?, height: Int32?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "size": part = ObjectPart(rawValue: try reader.string())
            case "width": width = dimension(try reader.integer())
            case "height": height = dimension(try reader.integer())
            default: try reader.skip()
            }
        }
        guard let part, part != .content, let width, let height else { return nil }
        return Thumbnail(part: part, width: width, height: height)
    }

    /// The thumbnails that there are, as clients see them; nil for none.
    static func json(_ thumbnails: [Thumbnail]) -> String? {
        guard !thumbnails.isEmpty else { return nil }
        var buffer = ByteBuffer()
        buffer.beginArray()
        for thumbnail in thumbnails {
            buffer.beginElement()
            buffer.beginObject()
            buffer.append(key: "size", json: thumbnail.part.rawValue)
            buffer.append(key: "width", json: Int(thumbnail.width))
            buffer.append(key: "height", json: Int(thumbnail.height))
            buffer.append(key: "type", json: "image/webp" as StaticString)
            buffer.endObject()
        }
        buffer.endArray()
        return String(decoding: buffer.bytes, as: UTF8.self)
    }
}
