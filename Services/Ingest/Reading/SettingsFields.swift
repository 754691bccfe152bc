import JSON
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

    private mutating func read(_ body: UnsafeRawBufferPointer, _ areOfConversation: Bool) throws(JSONError) {
        var reader = JSONReader(body)
        try reader.beginObject()
        while let key = try reader.nextKey() {
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
    /// Of two values, another reader of the request could believe the other one.
    fileprivate mutating func read(into setting: inout SettingChange) throws(JSONError) {
        guard setting == .leave else { throw failure(.invalidValue("given once")) }
        setting = try consumeNull() ? .inherit : SettingChange(try bool())
    }
}
