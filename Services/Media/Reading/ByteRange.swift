import Bytes
import Edge

/// What of a file a request asks for (RFC 9110, 14).
enum ByteRange: Equatable {
    case whole
    case part(offset: Int64, count: Int64)
    /// Nothing of the file is in the range.
    case unsatisfiable

    /// - Parameter field: the value of `Range`. One range is served; several, and what is no range of bytes, are ignored,
    ///   as a server may.
    init(_ field: UnsafeRawBufferPointer?, of size: Int64) {
        guard let field, field.count > 6, field.part(0, 6).equalsIgnoringCase("bytes=") else {
            self = .whole
            return
        }
        self = Self.range(field.part(6, field.count), of: size) ?? .whole
    }

    private static func range(_ text: UnsafeRawBufferPointer, of size: Int64) -> ByteRange? {
        guard let dash = text.position(of: UInt8(ascii: "-")) else { return nil }
        let first = text.part(0, dash), last = text.part(dash + 1, text.count)
        if first.isEmpty {
            guard let suffix = Tus.number(last) else { return nil }
            guard suffix > 0, size > 0 else { return .unsatisfiable }
            let count = min(suffix, size)
            return .part(offset: size - count, count: count)
        }
        guard let start = Tus.number(first) else { return nil }
        guard !last.isEmpty else { return start < size ? .part(offset: start, count: size - start) : .unsatisfiable }
        guard let end = Tus.number(last), end >= start else { return nil }
        return start < size ? .part(offset: start, count: min(end, size - 1) - start + 1) : .unsatisfiable
    }
}

/// The tag by which a client says which content it has (RFC 9110, 8.8.3).
struct EntityTag: Equatable {
    let text: String

    init(_ sha256: String, _ part: ObjectPart) {
        text = part == .content ? "\"\(sha256)\"" : "\"\(sha256)-\(part.rawValue)\""
    }

    /// Whether the value of `If-None-Match` has it, weak or strong.
    func isNamed(in field: UnsafeRawBufferPointer?) -> Bool {
        guard let field else { return false }
        return String(decoding: field, as: UTF8.self).split(separator: ",").contains { item in
            let tag = item.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
            return tag == "*" || tag == text || tag == "W/\(text)"
        }
    }

    /// Whether a range may be sent: without `If-Range`, or if that is this tag. A date is never that.
    func allowsRange(_ field: UnsafeRawBufferPointer?) -> Bool {
        field.map { String(decoding: $0, as: UTF8.self) == text } ?? true
    }
}
