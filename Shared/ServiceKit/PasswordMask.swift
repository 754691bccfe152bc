/// Masks passwords in a value that is logged at start: in URLs of any kind, and in connection strings and URLs as libpq
/// parses them (PostgreSQL Documentation 34.1.1). In doubt it masks too much.
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

/// Masks the password in `user:password@host/path?key=value&…`, and passwords in its query.
private func maskingURL(_ url: Bytes) -> [UInt8] {
    var shown: [UInt8] = [], rest = url
    // Like libpq: everything before the first "@" that no slash precedes.
    if let at = url.prefix(while: { $0 != UInt8(ascii: "/") }).firstIndex(of: UInt8(ascii: "@")) {
        let colon = url[..<at].firstIndex(of: UInt8(ascii: ":"))
        shown = colon.map { url[...$0] + mask } ?? Array(url[..<at])
        rest = url[at...]
    }
    let query = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
    // A later "@" means that the password contains an unencoded one.
    let host = rest[..<query].lastIndex(of: UInt8(ascii: "@")) ?? rest.startIndex
    shown += rest[host..<query]
    let items = rest[query...].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    return shown + items.map(maskingQueryItem).joined(separator: [UInt8(ascii: "&")])
}

private func maskingQueryItem(_ item: Bytes) -> [UInt8] {
    let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
    let key = item[..<equals]
    // A percent-encoded key may mean any keyword.
    guard key.contains("password") || key.contains(UInt8(ascii: "%")) else { return Array(item) }
    return key + [UInt8(ascii: "=")] + mask
}

/// Masks passwords in `keyword = value …`, whose values may be quoted and have escapes. The rest after a syntax error
/// is masked.
private func maskingConnectionString(_ text: Bytes) -> [UInt8] {
    var scanner = ConnectionStringScanner(rest: text)
    var shown: [[UInt8]] = []
    while let (keyword, value) = scanner.next() {
        shown.append(keyword + [UInt8(ascii: "=")] + (keyword.contains("password") ? mask[...] : value))
    }
    if !scanner.rest.isEmpty { shown.append(mask) }
    return Array(shown.joined(separator: [UInt8(ascii: " ")]))
}

/// Splits a connection string as libpq does, without decoding the values.
private struct ConnectionStringScanner {
    private(set) var rest: Bytes

    init(rest: Bytes) { self.rest = rest }

    /// Nil at the end, and at anything but a keyword and its value.
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

    /// The value up to its end. A byte after a backslash does not end it.
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

/// Like `isspace` of C.
private func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || (9...13).contains(byte) }

extension Collection<UInt8> {
    fileprivate func contains(_ text: StaticString) -> Bool { firstIndex(of: text) != nil }

    fileprivate func firstIndex(of text: StaticString) -> Index? {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return indices.first { self[$0...].starts(with: wanted) }
    }
}
