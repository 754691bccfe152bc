import Bytes
import Models

/// What becomes of one setting. The numbers stand in frames.
public enum SettingChange: UInt8, Hashable, Sendable {
    /// As it is.
    case leave = 0
    /// From now on it follows what it is inherited from.
    case inherit = 1
    case no = 2
    case yes = 3

    public init(_ value: Bool) { self = value ? .yes : .no }

    /// What it is set to; nil where it is not, or inherited.
    public var value: Bool? {
        switch self {
        case .leave, .inherit: nil
        case .no: false
        case .yes: true
        }
    }
}

/// `putSettings`: a user decides about themselves. A command on the user's slot; may be repeated under its key for ever.
///
/// Layout: user name · key 16 (zero: taken as new) · read receipts 1 · presence 1 (`SettingChange`; what is inherited is
/// the default, yes). `settings`, the query, has the user name alone.
/// Answer: 200 with the settings in force, as JSON, or a `Problem`.
public struct PutSettings: WireCodable, Hashable {
    /// Kept with outcomes, among those of `Write.Action`: retired, never reused.
    public static let number: UInt8 = 11

    public var user: UserID
    public var key: UUIDBytes?
    public var readReceipts: SettingChange
    public var presence: SettingChange

    public init(_ user: UserID, key: UUIDBytes?, readReceipts: SettingChange, presence: SettingChange) {
        self.user = user
        self.key = key
        self.readReceipts = readReceipts
        self.presence = presence
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.user()
        let uuid = try reader.uuid()
        key = uuid == .zero ? nil : uuid
        readReceipts = try reader.settingChange()
        presence = try reader.settingChange()
    }

    public func write(to buffer: inout ByteBuffer) {
        buffer.append(user)
        buffer.append(bigEndian: key ?? .zero)
        buffer.append(readReceipts.rawValue)
        buffer.append(presence.rawValue)
    }
}

/// `settings`: how a user decided. Layout: user name. `conversationSettings` has the layout of `ConversationQuery`.
public struct SettingsQuery: WireCodable, Hashable {
    public var user: UserID

    public init(_ user: UserID) { self.user = user }
    public init(from reader: inout ByteReader) throws(WireError) { user = try reader.user() }
    public func write(to buffer: inout ByteBuffer) { buffer.append(user) }
}

extension ByteReader {
    mutating func settingChange() throws(WireError) -> SettingChange {
        let number: UInt8 = try number()
        guard let change = SettingChange(rawValue: number) else {
            throw .unknownValue(field: "setting", UInt64(number))
        }
        return change
    }
}
