import Bytes
import JSON
import Models

/// What an imported message says of one attachment: a descriptor as `media` writes them, from an export or from elsewhere.
///
/// It is written again with its fields in their order and without white space, each value byte for byte, so that an export
/// of an import of an export has the same bytes.
struct AttachmentFields {
    let id: MediaID
    /// The JSON object.
    let json: [UInt8]

    private static let keys: JSONKeys = [
        "id", "name", "type", "size", "width", "height", "duration", "thumbhash", "waveform",
    ]

    init(_ reader: inout JSONReader) throws(JSONError) {
        var fields = Fields()
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            if try !reader.consumeNull() { try fields.read(key, &reader) }
        }
        guard let id = fields.id, let json = fields.json(id), json.count <= ContractLimits.attachmentBytes else {
            throw reader.failure(
                .expected("an attachment with id, name, type and size, of 2 KiB"), at: reader.offset - 1)
        }
        self.id = id
        self.json = json
    }

    /// The values, each valid and still encoded.
    private struct Fields {
        private static let longestType = 127
        private static let longestThumbhash = 64
        private static let waveformValues = 64
        /// Up to which JSON's numbers are exact everywhere.
        private static let largestSize: Int64 = 1 << 53

        var id: MediaID?
        private var name: JSONString?
        private var type: JSONString?
        private var size: UnsafeRawBufferPointer?
        private var width: UnsafeRawBufferPointer?
        private var height: UnsafeRawBufferPointer?
        private var duration: UnsafeRawBufferPointer?
        private var thumbhash: JSONString?
        private var waveform: UnsafeRawBufferPointer?

        init() {}

        mutating func read(_ key: JSONString, _ reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "id": id = MediaID(try reader.wellFormedUUID())
            case "name":
                name = try reader.text("a name of up to 255 bytes") { 1...ContractLimits.mediaNameBytes ~= $0.count }
            case "type": type = try reader.text("a media type", Self.isType)
            case "size": size = try reader.encodedInteger(in: 0...Self.largestSize)
            case "width": width = try reader.encodedInteger(in: 1...Int64(Int32.max))
            case "height": height = try reader.encodedInteger(in: 1...Int64(Int32.max))
            case "duration": duration = try reader.encodedDuration()
            case "thumbhash": thumbhash = try reader.text("a thumbhash in base64", Self.isBase64)
            case "waveform": waveform = try reader.encodedWaveform(atMost: Self.waveformValues)
            default: try reader.skip()
            }
        }

        private static func isType(_ text: UnsafeRawBufferPointer) -> Bool {
            text.count <= longestType && text.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") }
                && text.dropFirst().dropLast().filter { $0 == UInt8(ascii: "/") }.count == 1
        }

        private static func isBase64(_ text: UnsafeRawBufferPointer) -> Bool {
            text.count <= longestThumbhash && text.allSatisfy { "+/=".utf8.contains($0) || isAlphanumeric($0) }
        }

        private static func isAlphanumeric(_ byte: UInt8) -> Bool {
            UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
        }

        /// Nil if a field is missing.
        func json(_ id: MediaID) -> [UInt8]? {
            guard let name, let type, let size else { return nil }
            var buffer = ByteBuffer()
            buffer.beginObject()
            buffer.append(key: "id", json: id.description)
            buffer.append(key: "name", string: name)
            buffer.append(key: "type", string: type)
            buffer.append(key: "size", encoded: size)
            if let width { buffer.append(key: "width", encoded: width) }
            if let height { buffer.append(key: "height", encoded: height) }
            if let duration { buffer.append(key: "duration", encoded: duration) }
            if let thumbhash { buffer.append(key: "thumbhash", string: thumbhash) }
            if let waveform { buffer.append(key: "waveform", encoded: waveform) }
            buffer.endObject()
            return buffer.array
        }
    }
}

extension ByteBuffer {
    /// Appends a string as it was encoded.
    fileprivate mutating func append(key: StaticString, string: JSONString) {
        append(key: key)
        append(UInt8(ascii: "\""))
        append(string.encoded)
        append(UInt8(ascii: "\""))
    }
}

extension JSONReader {
    /// `[{…}…]` as a JSON array; empty for none.
    mutating func importedAttachments() throws(JSONError) -> [UInt8] {
        var ids: Set<MediaID> = []
        var json: [UInt8] = []
        try beginArray()
        while try nextElement() {
            let attachment = try AttachmentFields(&self)
            guard ids.count < ContractLimits.attachmentsPerMessage, ids.insert(attachment.id).inserted else {
                throw failure(.invalidValue("at most 10 attachments, each once"), at: offset - 1)
            }
            json.append(UInt8(ascii: json.isEmpty ? "[" : ","))
            json.append(contentsOf: attachment.json)
        }
        if !json.isEmpty { json.append(UInt8(ascii: "]")) }
        return json
    }

    fileprivate mutating func text(
        _ requirement: JSONError.StaticText, _ isValid: (UnsafeRawBufferPointer) -> Bool
    ) throws(JSONError) -> JSONString {
        let text = try slice()
        guard text.withBytes(isValid) else { throw failure(.invalidValue(requirement), at: offset - 1) }
        return text
    }

    fileprivate mutating func encodedInteger(in range: ClosedRange<Int64>) throws(JSONError) -> UnsafeRawBufferPointer {
        var ahead = self
        guard range.contains(try ahead.integer()) else { throw ahead.failure(.invalidValue("within its range")) }
        return try encodedValue()
    }

    /// A number of seconds, as it is written.
    fileprivate mutating func encodedDuration() throws(JSONError) -> UnsafeRawBufferPointer {
        let longest = 24
        guard try kind() == .number else { throw failure(.expected("a number of seconds")) }
        let value = try encodedValue()
        guard value.count <= longest, value.first != UInt8(ascii: "-") else {
            throw failure(.invalidValue("a number of seconds"), at: offset - 1)
        }
        return value
    }

    fileprivate mutating func encodedWaveform(atMost count: Int) throws(JSONError) -> UnsafeRawBufferPointer {
        var ahead = self, values = 0
        try ahead.beginArray()
        while try ahead.nextElement() {
            values += 1
            guard values <= count, 0...255 ~= (try ahead.integer()) else {
                throw ahead.failure(.invalidValue("at most 64 numbers from 0 to 255"))
            }
        }
        return try encodedValue()
    }
}
