import JSON
import Models
import Wire

/// `{readReceipts?, presence?}`: true or false; null gives a decision up, so that it is inherited again; what is not
/// named stays (as in a merge patch, RFC 7396).
struct SettingsFields {
    private(set) var readReceipts = SettingChange.leave
    private(set) var presence = SettingChange.leave

    /// Of one conversation there is nothing but `readReceipts`.
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
