import JSON
import Models
import Wire

/// The bodies of marks, each an object with one optional field, or empty.
enum MarkFields {
    /// `{until?}`: without it, for ever.
    static func mute(_ body: UnsafeRawBufferPointer) throws(Problem) -> Timestamp {
        try field("until", body) { (reader) throws(JSONError) in try reader.timeForDisplay() } ?? .forever
    }

    /// `{order?}`: an integer that JSON numbers hold exactly; 0 by default.
    static func order(_ body: UnsafeRawBufferPointer) throws(Problem) -> Int64 {
        let order = try field("order", body) { (reader) throws(JSONError) in try reader.integer() } ?? 0
        guard order.magnitude <= QueryParameters.maximumSeq.magnitude else {
            throw Problem(
                .invalid, "order: must be from -\(QueryParameters.maximumSeq) to \(QueryParameters.maximumSeq)")
        }
        return order
    }

    /// `{throughSeq?}`: up to the latest change by default.
    static func through(_ body: UnsafeRawBufferPointer) throws(Problem) -> Int64 {
        let through = try field("throughSeq", body) { (reader) throws(JSONError) in try reader.position() } ?? .max
        guard through > 0 else { throw Problem(.invalid, "throughSeq: must be at least 1") }
        return through
    }

    private static func field<Value>(
        _ name: StaticString, _ body: UnsafeRawBufferPointer, _ read: (inout JSONReader) throws(JSONError) -> Value
    ) throws(Problem) -> Value? {
        guard !body.isEmpty else { return nil }
        return try reading { () throws(JSONError) in
            var value: Value?
            var reader = JSONReader(body)
            let keys: JSONKeys = [name]
            var given = JSONKeys.Given()
            try reader.beginObject()
            while let key = try reader.nextKey(of: keys, &given) {
                guard key == name else {
                    try reader.skip()
                    continue
                }
                value = try reader.consumeNull() ? nil : try read(&reader)
            }
            try reader.end()
            return value
        }
    }
}
