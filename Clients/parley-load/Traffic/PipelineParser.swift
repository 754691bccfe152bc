import Bytes
import Glibc

/// A response as it arrived. The body is valid until the call that passed it returns.
struct Response {
    let status: Int
    let retryAfter: Duration?
    let body: UnsafeRawBufferPointer
}

/// Parses the responses of one pipelined connection (RFC 9112). Whole ones are parsed in place in the read buffer.
///
/// Unlike libhttp-parser, it has no callbacks and copies only the start of an incomplete response, which takes a third
/// of the time per response. It understands what Parley sends: a length, or a status without a body.
struct PipelineParser: ~Copyable {
    struct Malformed: Error, Equatable {
        let reason: String
    }

    /// The start of an incomplete response.
    private var rest = ByteBuffer(capacity: 16)
    /// The number of bytes that `rest` needs before it is parsed again.
    private var needed = 0
    /// Whether the server keeps the connection open after the last parsed response.
    private(set) var keepsAlive = true

    private static let longestHead = 16 * 1024

    mutating func parse(
        _ bytes: UnsafeRawBufferPointer, _ handle: (Response) -> Void
    ) throws(Malformed) {
        if rest.isEmpty {
            let used = try parseAnswers(bytes, handle)
            rest.append(UnsafeRawBufferPointer(rebasing: bytes[used...]))
        } else {
            rest.append(bytes)
            guard rest.count >= needed else { return }
            // Passed from `rest`, which nothing changes in the meantime.
            let used = try parseAnswers(rest.bytes, handle)
            rest.removeFirst(used)
        }
    }

    /// - Returns: the number of bytes of complete responses.
    private mutating func parseAnswers(
        _ bytes: UnsafeRawBufferPointer, _ handle: (Response) -> Void
    ) throws(Malformed) -> Int {
        var used = 0
        needed = 0
        while used < bytes.count {
            let remaining = UnsafeRawBufferPointer(rebasing: bytes[used...])
            guard let head = try AnswerHead(remaining) else {
                if remaining.count > Self.longestHead { throw Malformed(reason: "an endless head") }
                break
            }
            let length = head.size + head.bodySize
            guard remaining.count >= length else {
                needed = length
                break
            }
            keepsAlive = head.keepsAlive
            handle(Response(status: head.status, retryAfter: head.retryAfter, body: remaining.part(head.size, length)))
            used += length
        }
        return used
    }
}

/// The status line and the relevant fields of a response.
private struct AnswerHead {
    var status = 0
    /// The size of the head, in bytes.
    var size = 0
    var bodySize = 0
    var retryAfter: Duration?
    var keepsAlive = true

    /// Returns nil when the head is incomplete.
    init?(_ bytes: UnsafeRawBufferPointer) throws(PipelineParser.Malformed) {
        var hasLength = false
        while let end = bytes.part(size, bytes.count).position(of: UInt8(ascii: "\n")) {
            let line = Self.trimmed(bytes.part(size, size + end))
            let isStatusLine = size == 0
            size += end + 1
            if isStatusLine {
                status = try Self.status(line)
            } else if line.isEmpty {
                guard hasLength || status == 204 || status == 304 || status < 200 else {
                    throw .init(reason: "an answer without a length")
                }
                return
            } else {
                try read(line, &hasLength)
            }
        }
        return nil
    }

    private mutating func read(
        _ line: UnsafeRawBufferPointer, _ hasLength: inout Bool
    ) throws(PipelineParser.Malformed) {
        // The first letter rules out nearly all fields.
        switch line[0] | 0x20 {
        case UInt8(ascii: "c"):
            if let value = Self.value(of: "content-length", line) {
                guard let length = Self.number(value) else { throw .init(reason: "a length that is no number") }
                bodySize = length
                hasLength = true
            } else if let value = Self.value(of: "connection", line) {
                keepsAlive = !Self.isEqual(value, "close")
            }
        case UInt8(ascii: "r"):
            if let value = Self.value(of: "retry-after", line) {
                retryAfter = Self.number(value).map { .seconds(min($0, 3600)) }
            }
        case UInt8(ascii: "t"):
            if Self.value(of: "transfer-encoding", line) != nil { throw .init(reason: "a transfer encoding") }
        default: break
        }
    }

    private static func status(_ line: UnsafeRawBufferPointer) throws(PipelineParser.Malformed) -> Int {
        guard line.count >= 12, line.part(0, 7).isEqual(to: "HTTP/1."), line[8] == UInt8(ascii: " "),
            let status = number(line.part(9, 12)), status >= 100
        else { throw .init(reason: "a line that is no status line") }
        return status
    }

    private static func trimmed(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        line.last == UInt8(ascii: "\r") ? line.part(0, line.count - 1) : line
    }

    /// - Parameter name: in lower case.
    private static func value(of name: StaticString, _ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let length = name.utf8CodeUnitCount
        guard line.count > length, line[length] == UInt8(ascii: ":"), isEqual(line.part(0, length), name) else {
            return nil
        }
        var start = length + 1
        while start < line.count, line[start] == UInt8(ascii: " ") { start += 1 }
        return line.part(start, line.count)
    }

    /// - Parameter text: in lower case.
    private static func isEqual(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
        bytes.count == text.utf8CodeUnitCount
            && (0..<bytes.count).allSatisfy {
                bytes[$0] == text.utf8Start[$0] || bytes[$0] | 0x20 == text.utf8Start[$0]
            }
    }

    private static func number(_ digits: UnsafeRawBufferPointer) -> Int? {
        guard (1...15).contains(digits.count) else { return nil }
        var value = 0
        for digit in digits {
            guard digit &- UInt8(ascii: "0") < 10 else { return nil }
            value = value * 10 + Int(digit &- UInt8(ascii: "0"))
        }
        return value
    }
}
