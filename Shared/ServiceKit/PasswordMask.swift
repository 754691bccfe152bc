/// Hides passwords in a value that is shown at start: those of URLs of any kind, and whatever libpq takes for one in a URL or
/// a connection string (PostgreSQL Documentation 34.1.1). Rather too much is hidden than too little.
func maskingPassword(in value: String) -> String {
    var shown = Array(value.utf8)
    if !value.hasPrefix("postgres://"), !value.hasPrefix("postgresql://"), shown.contains("password") {
        shown = maskingConnectionString(shown[...])
    }
    if let scheme = shown.firstIndex(of: "://") {
        shown = shown[...(scheme + 2)] + maskingURL(shown[(scheme + 3)...])
    }
    return String(decoding: shown, as: UTF8.self)
}

private typealias Bytes = ArraySlice<UInt8>

private let mask = Array("***".utf8)

/// `user:password@host/path?key=value&…`, of which the password is hidden, and what the query says about passwords.
private func maskingURL(_ url: Bytes) -> [UInt8] {
    var shown: [UInt8] = [], rest = url
    // As libpq does: whatever stands before the first "@" that no slash precedes.
    if let at = url.prefix(while: { $0 != UInt8(ascii: "/") }).firstIndex(of: UInt8(ascii: "@")) {
        let colon = url[..<at].firstIndex(of: UInt8(ascii: ":"))
        shown = colon.map { url[...$0] + mask } ?? Array(url[..<at])
        rest = url[at...]
    }
    let query = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
    // A password in which an "@" was not encoded.
    let host = rest[..<query].lastIndex(of: UInt8(ascii: "@")) ?? rest.startIndex
    shown += rest[host..<query]
    let items = rest[query...].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    return shown + items.map(maskingQueryItem).joined(separator: [UInt8(ascii: "&")])
}

private func maskingQueryItem(_ item: Bytes) -> [UInt8] {
    let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
    let key = item[..<equals]
    // A key that is percent-encoded may be any.
    guard key.contains("password") || key.contains(UInt8(ascii: "%")) else { return Array(item) }
    return key + [UInt8(ascii: "=")] + mask
}

/// `keyword = value …`, whose values may be quoted and have escapes. What is not understood is hidden.
private func maskingConnectionString(_ text: Bytes) -> [UInt8] {
    var scanner = ConnectionStringScanner(rest: text)
    var shown: [[UInt8]] = []
    while let (keyword, value) = scanner.next() {
        shown.append(keyword + [UInt8(ascii: "=")] + (keyword.contains("password") ? mask[...] : value))
    }
    if !scanner.rest.isEmpty { shown.append(mask) }
    return Array(shown.joined(separator: [UInt8(ascii: " ")]))
}

/// Takes a connection string apart as libpq does, leaving values as they are written.
private struct ConnectionStringScanner {
    private(set) var rest: Bytes

    init(rest: Bytes) { self.rest = rest }

    /// Nil at the end, and where something else begins than a keyword and its value.
    mutating func next() -> (keyword: Bytes, value: Bytes)? {
        _ = take(while: isSpace)
        let start = rest
        let keyword = take { $0 != UInt8(ascii: "=") && !isSpace($0) }
        _ = take(while: isSpace)
        guard !keyword.isEmpty, rest.popFirst() == UInt8(ascii: "=") else {
            rest = start
            return nil
        }
        _ = take(while: isSpace)
        return (keyword, rest.first == UInt8(ascii: "'") ? quoted() : value { isSpace($0) })
    }

    private mutating func quoted() -> Bytes {
        let start = rest
        rest.removeFirst()
        _ = value { $0 == UInt8(ascii: "'") }
        _ = rest.popFirst()
        return start[..<rest.startIndex]
    }

    /// Up to the byte that ends it; what follows a backslash does not.
    private mutating func value(until isEnd: (UInt8) -> Bool) -> Bytes {
        let start = rest
        while let byte = rest.first, !isEnd(byte) {
            rest.removeFirst()
            if byte == UInt8(ascii: "\\") { _ = rest.popFirst() }
        }
        return start[..<rest.startIndex]
    }

    private mutating func take(while condition: (UInt8) -> Bool) -> Bytes {
        let taken = rest.prefix(while: condition)
        rest = rest[taken.endIndex...]
        return taken
    }
}

/// As `isspace` of C has it.
private func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || (9...13).contains(byte) }

extension Collection<UInt8> {
    fileprivate func contains(_ text: StaticString) -> Bool { firstIndex(of: text) != nil }

    fileprivate func firstIndex(of text: StaticString) -> Index? {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return indices.first { self[$0...].starts(with: wanted) }
    }
}
