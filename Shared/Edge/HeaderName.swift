import Bytes
import Glibc

/// The header fields that Parley looks at. All others are skipped without a copy.
public enum HeaderName: Int, CaseIterable, Sendable {
    case host, authorization, contentType, idempotencyKey, parleyUser, traceParent, expect, upgrade
    case webSocketKey, webSocketVersion, webSocketProtocol
    /// Looked at for its repetition only: the library obeys it, and takes `chunked` twice for once.
    case transferEncoding

    private var lowercased: StaticString {
        switch self {
        case .host: "host"
        case .authorization: "authorization"
        case .contentType: "content-type"
        case .idempotencyKey: "idempotency-key"
        case .parleyUser: "x-parley-user"
        case .traceParent: "traceparent"
        case .expect: "expect"
        case .upgrade: "upgrade"
        case .webSocketKey: "sec-websocket-key"
        case .webSocketVersion: "sec-websocket-version"
        case .webSocketProtocol: "sec-websocket-protocol"
        case .transferEncoding: "transfer-encoding"
        }
    }

    static let longestName = 22

    /// Whether the field is a list that may come in several lines (RFC 9110, 5.3). Any other of these fields given
    /// twice is malformed: two readers of the request could each believe another one.
    var isList: Bool { self == .webSocketProtocol }

    /// The field of this name, whatever its case.
    init?(_ name: UnsafeRawBufferPointer) {
        for field in Self.allCases where field.matches(name) {
            self = field
            return
        }
        return nil
    }

    private func matches(_ name: UnsafeRawBufferPointer) -> Bool {
        let expected = lowercased
        guard name.count == expected.utf8CodeUnitCount else { return false }
        // Letters differ in bit 5 only; the names' other character, "-", has it set.
        return (0..<name.count).allSatisfy { name[$0] | 0x20 == expected.utf8Start[$0] }
    }
}
