import JSON

extension JSONReader {
    /// The largest integer that every JSON reader keeps exactly (RFC 8259, 6): 2^53 − 1.
    public static let maximumPosition: Int64 = 9_007_199_254_740_991

    /// Reads a position in a stream from a client.
    public mutating func position() throws(JSONError) -> Int64 {
        let position = try integer()
        guard (0...Self.maximumPosition).contains(position) else {
            throw failure(.invalidValue("a position from 0 to 9007199254740991"), at: offset - 1)
        }
        return position
    }
}
