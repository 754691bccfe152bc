import Bytes

/// One-dimensional arrays without NULLs in their binary form, whatever their elements are. Layout as in `Parameters`.
public enum PostgresArray {
    private static let headBytes = 20

    public static func elements(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        guard bytes.count > headBytes else { return [] }
        var elements: [ArraySlice<UInt8>] = []
        var offset = headBytes
        while offset + 4 <= bytes.count {
            let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
            precondition(offset + 4 + length <= bytes.count, "the array has a NULL")
            elements.append(bytes[(offset + 4)..<(offset + 4 + length)])
            offset += 4 + length
        }
        return elements
    }

    /// - Parameter type: of the array.
    public static func bytes(of type: PostgresType, _ elements: [ArraySlice<UInt8>]) -> [UInt8] {
        guard let element = type.element else { preconditionFailure("\(type) is no array") }
        var buffer = ByteBuffer(capacity: headBytes + elements.reduce(0) { $0 + 4 + $1.count })
        buffer.append(bigEndian: Int32(1))
        buffer.append(bigEndian: Int32(0))
        buffer.append(bigEndian: element.oid)
        buffer.append(bigEndian: Int32(elements.count))
        buffer.append(bigEndian: Int32(1))
        for element in elements {
            buffer.append(bigEndian: Int32(element.count))
            buffer.append(element)
        }
        return buffer.array
    }
}
