import JSON

/// What a message is found by: its text, and below it the names of what it carries, a line each. It borrows its bytes.
struct SearchedText {
    let text: UnsafeRawBufferPointer
    private let attachments: UnsafeRawBufferPointer?

    /// - Parameter attachments: a JSON array, as it is stored.
    init(_ text: UnsafeRawBufferPointer, _ attachments: UnsafeRawBufferPointer?) {
        self.text = text
        self.attachments = attachments
    }

    /// The work that it takes to read and fold it.
    var byteCount: Int { text.count + (attachments?.count ?? 0) }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        guard let attachments else { return body(text) }
        var lines = Array(text)
        for name in Self.names(attachments) {
            if !lines.isEmpty { lines.append(UInt8(ascii: "\n")) }
            name.withBytes { lines.append(contentsOf: $0) }
        }
        return lines.withUnsafeBytes(body)
    }

    /// Up to the first that cannot be read, which nothing writes.
    private static func names(_ attachments: UnsafeRawBufferPointer) -> [JSONString] {
        var names: [JSONString] = []
        var reader = JSONReader(attachments)
        do throws(JSONError) {
            try reader.beginArray()
            while try reader.nextElement() {
                try reader.beginObject()
                while let key = try reader.nextKey() {
                    if key == "name" { names.append(try reader.slice()) } else { try reader.skip() }
                }
            }
        } catch {
            return names
        }
        return names
    }
}

extension MessageFields {
    /// Nil if there is nothing to find it by.
    var searched: SearchedText? {
        guard let text else { return nil }
        if case .stored(let json) = attachments { return SearchedText(text, json) }
        return SearchedText(text, nil)
    }
}
