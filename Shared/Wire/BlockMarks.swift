import Bytes
import Models

/// Whom a user has blocked, as hashes of the names: for lists that processes exchange often and that name nobody without
/// need. That two names have one hash hides a user from somebody they have not blocked, and never shows more.
///
/// Layout: user name · count 1 × hash 8.
public struct BlockMarks: WireCodable, Hashable {
    /// Who has blocked more is shown in no such list.
    public static let limit = 128

    public var user: UserID
    public var hashes: [UInt64]

    public init(_ user: UserID, hashes: [UInt64]) {
        precondition(hashes.count <= Self.limit, "the number of hashes has one byte")
        self.user = user
        self.hashes = hashes
    }

    public static func hash(_ user: UserID) -> UInt64 { UUIDBytes(hashOf: user.name).high }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        hashes = []
        for _ in 0..<(try reader.number(UInt8.self)) { hashes.append(try reader.number()) }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(UInt8(hashes.count))
        for hash in hashes { buffer.append(bigEndian: hash) }
    }
}
