import JSON
import Models
import Wire

/// The items of `{"messages": […]}`, each still encoded, so that an invalid item is refused alone.
///
/// An item's end is found by brackets and quotes only. Its own reader validates the content.
struct BatchItems {
    private(set) var items: [UnsafeRawBufferPointer] = []

    private static let keys: JSONKeys = ["messages"]

    init(_ body: UnsafeRawBufferPointer, limits: ClientLimits) throws(Problem) {
        var isGiven = false
        try reading { () throws(JSONError) in
            var reader = JSONReader(body)
            var given = JSONKeys.Given()
            try reader.beginObject()
            while let key = try reader.nextKey(of: Self.keys, &given) {
                guard key == "messages" else {
                    try reader.skip()
                    continue
                }
                isGiven = true
                try readItems(&reader, body, atMost: limits.batchMessages)
                guard items.count <= limits.batchMessages else { return }
            }
            try reader.end()
        }
        guard isGiven else { throw .missing("messages") }
        guard items.count <= limits.batchMessages else {
            throw Problem(.tooLarge, "messages: at most \(limits.batchMessages) in a batch")
        }
    }

    /// Reads one item more than `limit` and ignores the rest.
    private mutating func readItems(
        _ reader: inout JSONReader, _ body: UnsafeRawBufferPointer, atMost limit: Int
    ) throws(JSONError) {
        items = []
        try reader.beginArray()
        while items.count <= limit, try reader.nextElement() {
            guard let end = Self.endOfValue(body, from: reader.offset), end > reader.offset else {
                throw reader.failure(.expected("a value"))
            }
            items.append(UnsafeRawBufferPointer(rebasing: body[reader.offset..<end]))
            reader.offset = end
        }
    }

    /// The end of the value that begins at `start`; nil when it is incomplete.
    static func endOfValue(_ body: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var depth = 0
        var position = start
        while position < body.count {
            switch body[position] {
            case UInt8(ascii: "\""):
                guard let end = endOfString(body, from: position + 1) else { return nil }
                position = end
                if depth == 0 { return position }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return position }
                depth -= 1
                if depth == 0 { return position + 1 }
            case UInt8(ascii: ",") where depth == 0: return position
            default: break
            }
            position += 1
        }
        return nil
    }

    private static func endOfString(_ body: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var position = start
        while position < body.count {
            switch body[position] {
            case UInt8(ascii: "\\"): position += 2
            case UInt8(ascii: "\""): return position + 1
            default: position += 1
            }
        }
        return nil
    }
}
