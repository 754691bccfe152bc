import Bytes
import Models

/// The change of one setting. The numbers are part of the bus protocol.
public enum SettingChange: UInt8, Hashable, Sendable {
    /// The setting stays as it is.
    case leave = 0
    /// The setting is inherited from now on.
    case inherit = 1
    case no = 2
    case yes = 3

    public init(_ value: Bool) { self = value ? .yes : .no }

    /// The new value; nil for `leave` and `inherit`.
    public var value: Bool? {
        switch self {
        case .leave, .inherit: nil
        case .no: false
        case .yes: true
        }
    }
}

/// `putSettings`: changes a user's settings. A command on the user's slot, which may be repeated under its key at any
/// time.
///
/// Layout: user name · key 16 (zero: none) · read receipts 1 · presence 1 (`SettingChange`; the inherited value is the
/// default, yes).
/// Response: 200 with the settings in force, as JSON, or a `Problem`.
public struct PutSettings: WireCodable, Hashable {
    /// Stored with outcomes, of no conversation: `Write.Action.unlist` has the same number, and always a conversation.
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

/// `settings`: a user's settings. `unreadTotal`: what is unread in all of their conversations. `blocks`: whom they have
/// blocked. Layout: user name.
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
