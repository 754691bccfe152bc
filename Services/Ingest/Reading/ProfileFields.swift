import JSON
import Models
import Wire

/// The body `{displayName?, avatarUrl?, extra?}` of a profile. It replaces what was there, so a field that is missing or
/// null is there no more. The fields borrow the body's memory.
struct ProfileFields {
    private var displayName: JSONString?
    private var avatarURL: JSONString?
    private var extra: UnsafeRawBufferPointer?

    init(_ body: UnsafeRawBufferPointer) throws(Problem) {
        try reading { () throws(JSONError) in try read(body) }
    }

    private static let keys: JSONKeys = ["displayName", "avatarUrl", "extra"]

    private mutating func read(_ body: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(body)
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "displayName": displayName = try reader.consumeNull() ? nil : try reader.slice()
            case "avatarUrl": avatarURL = try reader.consumeNull() ? nil : try reader.slice()
            case "extra": extra = try reader.consumeNull() ? nil : try reader.encodedObject()
            default: try reader.skip()
            }
        }
        try reader.end()
    }

    /// The name, empty for none. It stands in one line between other texts, so nothing in it may turn the order of those
    /// around, or be taken for the end of the line.
    func checkedName() throws(Problem) -> String {
        guard let displayName else { return "" }
        guard !displayName.withBytes(isBlank) else { throw Problem(.invalid, "displayName: must not be blank") }
        let name = displayName.string
        guard name.unicodeScalars.count <= ContractLimits.displayNameCharacters else {
            throw Problem(.tooLarge, "displayName: at most \(ContractLimits.displayNameCharacters) characters")
        }
        guard name.unicodeScalars.allSatisfy(\.mayStandInOneLine) else {
            throw Problem(
                .invalid, "displayName: must have no control characters and none that set the direction of text")
        }
        return name
    }

    /// The URL, empty for none.
    func checkedURL() throws(Problem) -> String {
        guard let avatarURL else { return "" }
        let url = avatarURL.string
        guard url.utf8.count <= ContractLimits.avatarURLBytes else {
            throw Problem(.tooLarge, "avatarUrl: at most \(ContractLimits.avatarURLBytes) bytes")
        }
        guard isSecureURL(url) else {
            throw Problem(
                .invalid, "avatarUrl: must be an absolute URL of the scheme https, in ASCII and without a user")
        }
        return url
    }

    /// The application's own JSON as it was written, empty for none.
    func checkedExtra() throws(Problem) -> String {
        guard let extra else { return "" }
        try checkExtra(extra, atMost: ContractLimits.profileExtraBytes)
        return String(decoding: extra, as: UTF8.self)
    }
}

/// Whether it is `https://`, a host, and what a URL may have behind it (RFC 3986). What is to the left of an `@` looks like
/// a host and is none.
private func isSecureURL(_ url: String) -> Bool {
    let scheme = "https://"
    guard url.hasPrefix(scheme), url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !forbiddenInURL.contains($0) }) else {
        return false
    }
    let authority = url.utf8.dropFirst(scheme.utf8.count).prefix { !Array("/?#".utf8).contains($0) }
    guard let first = authority.first, !authority.contains(UInt8(ascii: "@")) else { return false }
    return first == UInt8(ascii: "[") || first.isLetterOrDigit
}

private let forbiddenInURL = Set("\"<>\\^`{|}".utf8)

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
    }
}
