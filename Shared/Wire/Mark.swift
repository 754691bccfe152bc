import Bytes
import Models

/// What a user keeps to themselves about a conversation. Nil takes it away.
///
/// Layout: kind 1 (`PrivateKind`) · is set 1 · value 8: until (ms), the order, through, or nothing.
public enum Mark: WireCodable, Hashable, Sendable {
    case muted(until: Timestamp?)
    case pinned(order: Int64?)
    /// The maximum: up to the latest change.
    case archived(through: Int64?)
    case unread(Bool)

    public var kind: PrivateKind {
        switch self {
        case .muted: .muted
        case .pinned: .pinned
        case .archived: .archived
        case .unread: .markedUnread
        }
    }

    /// The value as a number; nil when it is taken away.
    public var number: Int64? {
        switch self {
        case .muted(let until): until?.milliseconds
        case .pinned(let number), .archived(let number): number
        case .unread(let isMarked): isMarked ? 0 : nil
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let kind: UInt8 = try reader.number()
        let isSet: UInt8 = try reader.number()
        let value: Int64 = try reader.number()
        let number = isSet == 0 ? nil : value
        self =
            switch PrivateKind(rawValue: kind) {
            case .muted: .muted(until: number.map(Timestamp.init(milliseconds:)))
            case .pinned: .pinned(order: number)
            case .archived: .archived(through: number)
            case .markedUnread: .unread(number != nil)
            default: throw .unknownValue(field: "mark", UInt64(kind))
            }
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(kind.rawValue)
        buffer.append(number == nil ? 0 : 1 as UInt8)
        buffer.append(bigEndian: number ?? 0)
    }
}
