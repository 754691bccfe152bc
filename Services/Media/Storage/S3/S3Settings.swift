import ServiceKit

/// An object store that speaks the protocol of Amazon S3, and the bucket in it.
struct S3Settings: Sendable {
    /// `https://s3.example.com`, before the name of the bucket in the path.
    let endpoint: String
    let bucket: String
    /// Before the names of objects: empty, or with a `/` at its end.
    let prefix: String
    let region: String
    let key: S3Key
    /// Certificates of authorities that are trusted instead of the machine's.
    let authorities: String?
    /// An object that is larger goes in parts of this size, or larger ones if they would be too many.
    let partBytes: Int64

    static let partsLimit: Int64 = 10_000

    func address(of key: String) -> String { "\(endpoint)/\(bucket)" + (key.isEmpty ? "" : "/\(prefix)\(key)") }

    func partBytes(of size: Int64) -> Int64 {
        let needed = (size + Self.partsLimit - 1) / Self.partsLimit
        return max(partBytes, (needed + 0xF_FFFF) & ~0xF_FFFF)
    }
}

/// By what requests are signed. Its description shows nothing of it.
struct S3Key: Sendable, Equatable, CustomStringConvertible {
    let name: String
    let secret: String

    /// - Parameter text: two lines.
    init?(_ text: String) {
        let lines = text.split(whereSeparator: \.isNewline).map(String.init)
        guard lines.count == 2, lines.allSatisfy({ $0.utf8.allSatisfy { (0x21..<0x7F).contains($0) } }) else {
            return nil
        }
        (name, secret) = (lines[0], lines[1])
    }

    var description: String { "a key" }
}

/// `s3://bucket/prefix`
struct S3Address: Sendable, Equatable {
    let bucket: String
    /// As in `S3Settings`.
    let prefix: String

    init?(url: String) {
        guard url.hasPrefix("s3://") else { return nil }
        var segments = url.dropFirst(5).split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        if segments.count > 1, segments.last == "" { segments.removeLast() }
        guard (3...63).contains(segments[0].utf8.count), segments[0].utf8.allSatisfy(Self.isOfBucket),
            // Nothing that a path or a signature would have to encode.
            segments.dropFirst().allSatisfy({
                !$0.isEmpty && $0 != "." && $0 != ".." && $0.utf8.allSatisfy(Self.isPlain)
            }),
            url.utf8.count <= 500
        else { return nil }
        bucket = segments[0]
        prefix = segments.dropFirst().map { $0 + "/" }.joined()
    }

    private static func isOfBucket(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        isOfBucket(byte | 0x20) || isOfBucket(byte) || byte == UInt8(ascii: "_")
    }
}
