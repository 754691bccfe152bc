import JSON
import Models
import Wire

/// The body `{readReceipts?, presence?}`: true, false, or null for the inherited value. A missing setting stays as it
/// is (as in a merge patch, RFC 7396).
struct SettingsFields {
    private(set) var readReceipts = SettingChange.leave
    private(set) var presence = SettingChange.leave

    /// A conversation has no setting but `readReceipts`.
    init(_ body: UnsafeRawBufferPointer, areOfConversation: Bool) throws(Problem) {
        try reading { () throws(JSONError) in try read(body, areOfConversation) }
    }

    private static let keys: JSONKeys = ["readReceipts", "presence"]

    private mutating func read(_ body: UnsafeRawBufferPointer, _ areOfConversation: Bool) throws(JSONError) {
        var reader = JSONReader(body)
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "readReceipts": try reader.read(into: &readReceipts)
            case "presence" where !areOfConversation: try reader.read(into: &presence)
            default: try reader.skip()
            }
        }
        try reader.end()
    }
}

extension JSONReader {
    fileprivate mutating func read(into setting: inout SettingChange) throws(JSONError) {
        setting = try consumeNull() ? .inherit : SettingChange(try bool())
    }
}
