import Bytes

/// The target of a request: a path and a query, still percent-encoded, in the memory of the request.
public struct RequestTarget {
    /// From the first "/" up to the "?".
    public let path: UnsafeRawBufferPointer
    /// After the "?"; empty without one.
    public let query: UnsafeRawBufferPointer

    /// Takes origin form ("/a?b") and absolute form ("http://host/a?b"): RFC 9112, 3.2.
    public init(_ target: UnsafeRawBufferPointer) {
        let local = target.first == UInt8(ascii: "/") ? target : Self.withoutAuthority(target)
        let whole = local.part(0, local.position(of: UInt8(ascii: "#")) ?? local.count)
        let mark = whole.position(of: UInt8(ascii: "?"))
        path = whole.part(0, mark ?? whole.count)
        query = whole.part(mark.map { $0 + 1 } ?? whole.count, whole.count)
    }

    /// The parts of the path between its slashes: "/v1/limits" has two, "/" one empty one.
    public var segments: ByteFields {
        ByteFields(UnsafeRawBufferPointer(rebasing: path.dropFirst()), separator: UInt8(ascii: "/"))
    }

    /// The decoded value of the first query item of this name; nil when there is none or it is malformed.
    public func queryValue(_ name: StaticString) -> String? {
        queryValues(name).first.flatMap { percentDecoded($0, plusIsSpace: true) }
    }

    /// The values of all query items of this name, still encoded; empty for an item without "=".
    public func queryValues(_ name: StaticString) -> [UnsafeRawBufferPointer] {
        ByteFields(query, separator: UInt8(ascii: "&")).compactMap { item in
            let end = item.position(of: UInt8(ascii: "=")) ?? item.count
            return item.part(0, end).isEqual(to: name) ? item.part(min(end + 1, item.count), item.count) : nil
        }
    }

    private static func withoutAuthority(_ target: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard let colon = target.position(of: UInt8(ascii: ":")), target.count >= colon + 3,
            target.part(colon, colon + 3).isEqual(to: "://")
        else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let rest = target.part(colon + 3, target.count)
        // The authority ends at the first of these (RFC 3986, 3.2). A later slash may be part of the query.
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        return rest.part(end ?? rest.count, rest.count)
    }
}

/// The fields between separators, without copies.
public struct ByteFields: Sequence, IteratorProtocol {
    private var rest: UnsafeRawBufferPointer?
    private let separator: UInt8

    public init(_ bytes: UnsafeRawBufferPointer, separator: UInt8) {
        rest = bytes
        self.separator = separator
    }

    public mutating func next() -> UnsafeRawBufferPointer? {
        guard let bytes = rest else { return nil }
        guard let end = bytes.position(of: separator) else {
            rest = nil
            return bytes
        }
        rest = bytes.part(end + 1, bytes.count)
        return bytes.part(0, end)
    }
}

/// Decodes percent-encoding (RFC 3986, 2.1). Returns nil when an escape or the UTF-8 is malformed.
public func percentDecoded(_ bytes: UnsafeRawBufferPointer, plusIsSpace: Bool = false) -> String? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var position = 0
    while position < bytes.count {
        switch bytes[position] {
        case UInt8(ascii: "%"):
            guard position + 2 < bytes.count, let high = hexDigit(bytes[position + 1]),
                let low = hexDigit(bytes[position + 2])
            else { return nil }
            decoded.append(high << 4 | low)
            position += 3
        case UInt8(ascii: "+") where plusIsSpace:
            decoded.append(UInt8(ascii: " "))
            position += 1
        case let byte:
            decoded.append(byte)
            position += 1
        }
    }
    return String(validating: decoded, as: UTF8.self)
}

private func hexDigit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes of a literal, which live as long as the process.
    public init(_ literal: StaticString) {
        self.init(start: literal.utf8Start, count: literal.utf8CodeUnitCount)
    }

    /// The bytes without spaces and tabs at both ends (RFC 9110, 5.5).
    func trimmingWhitespace() -> UnsafeRawBufferPointer {
        var (start, end) = (0, count)
        while start < end, isBlank(self[start]) { start += 1 }
        while start < end, isBlank(self[end - 1]) { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }

    /// Whether the bytes equal a lower-case ASCII text, ignoring their case.
    public func equalsIgnoringCase(_ lowercased: StaticString) -> Bool {
        guard count == lowercased.utf8CodeUnitCount else { return false }
        return (0..<count).allSatisfy { index in
            let byte = self[index]
            let isUpper = UInt8(ascii: "A") <= byte && byte <= UInt8(ascii: "Z")
            return (isUpper ? byte | 0x20 : byte) == lowercased.utf8Start[index]
        }
    }
}

private func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
