import Bytes
import Glibc

/// The header fields that Parley reads. All others are skipped without being copied.
public enum HeaderName: Int, CaseIterable, Sendable {
    case host, authorization, contentType, idempotencyKey, parleyUser, traceParent, expect, upgrade
    case webSocketKey, webSocketVersion, webSocketProtocol
    case acceptEncoding, ifNoneMatch, ifRange, range
    /// Of tus 1.0.0, resumable uploads.
    case tusResumable, uploadLength, uploadDeferLength, uploadOffset, uploadMetadata, uploadChecksum, uploadConcat
    case methodOverride
    /// Read only to refuse a repetition: libhttp-parser handles the field, but takes `chunked` twice for once.
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
        case .acceptEncoding: "accept-encoding"
        case .ifNoneMatch: "if-none-match"
        case .ifRange: "if-range"
        case .range: "range"
        case .tusResumable: "tus-resumable"
        case .uploadLength: "upload-length"
        case .uploadDeferLength: "upload-defer-length"
        case .uploadOffset: "upload-offset"
        case .uploadMetadata: "upload-metadata"
        case .uploadChecksum: "upload-checksum"
        case .uploadConcat: "upload-concat"
        case .methodOverride: "x-http-method-override"
        case .transferEncoding: "transfer-encoding"
        }
    }

    static let longestName = 22

    /// Whether the field is a list that may be given in several lines (RFC 9110, 5.3). Any other of these fields given
    /// twice makes the request malformed: two readers of it could use different ones.
    var isList: Bool { self == .webSocketProtocol || self == .acceptEncoding || self == .ifNoneMatch }

    /// By the length of their names: most fields of a request are none of these, and that is found at once.
    private static let byLength: [[HeaderName]] = (0...longestName).map { length in
        allCases.filter { $0.lowercased.utf8CodeUnitCount == length }
    }

    /// Finds a field by its name, ignoring case.
    init?(_ name: UnsafeRawBufferPointer) {
        guard name.count <= Self.longestName else { return nil }
        for field in Self.byLength[name.count] where field.matches(name) {
            self = field
            return
        }
        return nil
    }

    private func matches(_ name: UnsafeRawBufferPointer) -> Bool {
        let expected = lowercased
        // Letters differ in bit 5 only; the names' other character, "-", has it set.
        return (0..<name.count).allSatisfy { name[$0] | 0x20 == expected.utf8Start[$0] }
    }
}
