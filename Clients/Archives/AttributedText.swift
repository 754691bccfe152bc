/// An `NSAttributedString` in a typedstream: a text, and the attributes of each run of it.
package struct AttributedText: Hashable, Sendable {
    package struct Run: Hashable, Sendable {
        package var text: String
        /// The part of the message that it belongs to: parts are edited and unsent by themselves.
        package var part: Int?
        /// The attachment that stands in its place.
        package var attachment: String?
    }

    package var runs: [Run]
    /// Whether all of the stream could be read. Without it the text is whole and attributes are missing.
    package var isComplete: Bool

    package var text: String { runs.map(\.text).joined() }

    package init(plain text: String) {
        runs = [Run(text: text)]
        isComplete = true
    }

    /// Nil if there is no text in these bytes. The root is the attributed string, or a string without attributes.
    package init?(_ bytes: [UInt8]) {
        let stream = TypedStream(bytes)
        guard let root = stream.root,
            let content = root.groups.first?.first, let text = stream.text(content)
        else { return nil }
        let (runs, isWhole) = stream.runs(root.groups.dropFirst(), of: text)
        self.runs = runs
        isComplete = stream.isComplete && isWhole
    }
}

extension TypedStream {
    /// The object that was archived, which is the first one, even where it was not read to its end.
    fileprivate var root: Object? { items.isEmpty ? nil : object(.item(0)) }

    fileprivate func text(_ value: Value) -> String? { utf8(value).map { String(decoding: $0, as: UTF8.self) } }

    /// The name of an attribute or of an attachment. Any number of places may name one string, so a long one would cost
    /// time and memory without end.
    private func name(_ value: Value) -> String? {
        utf8(value).flatMap { $0.count <= 1024 ? String(decoding: $0, as: UTF8.self) : nil }
    }

    private func utf8(_ value: Value) -> [UInt8]? {
        if case .bytes(let utf8) = value { return utf8 }
        guard let string = object(value), isKind(string, of: "NSString"),
            case .bytes(let utf8) = string.groups.first?.first
        else { return nil }
        return utf8
    }

    /// The groups after the text: for each run the number of its attributes and its length in UTF-16, then, where the
    /// number is new, the attributes.
    fileprivate func runs(_ groups: ArraySlice<[Value]>, of text: String) -> (runs: [AttributedText.Run], isWhole: Bool)
    {
        var rest = Substring(text)
        var runs: [AttributedText.Run] = []
        var known: [[String: Value]] = []
        var groups = groups
        while let group = groups.popFirst() {
            guard group.count == 2, case .integer(let number) = group[0], case .integer(let length) = group[1] else {
                break
            }
            if number == known.count + 1 { known.append(groups.popFirst().map { dictionary($0.first) } ?? [:]) }
            guard number >= 1, number <= known.count, let end = rest.utf16.endOfRun(length) else { break }
            let attributes = known[Int(number) - 1]
            runs.append(
                AttributedText.Run(
                    text: String(rest[..<end]), part: integer(attributes["__kIMMessagePartAttributeName"]),
                    attachment: attributes["__kIMFileTransferGUIDAttributeName"].flatMap { name($0) }))
            rest = rest[end...]
        }
        let isWhole = rest.isEmpty
        if !rest.isEmpty { runs.append(AttributedText.Run(text: String(rest))) }
        return (runs, isWhole)
    }

    private func dictionary(_ value: Value?) -> [String: Value] {
        guard let object = object(value), isKind(object, of: "NSDictionary") else { return [:] }
        var entries: [String: Value] = [:]
        var groups = object.groups.dropFirst()
        while let key = groups.popFirst()?.first, let value = groups.popFirst()?.first {
            if let name = name(key) { entries[name] = value }
        }
        return entries
    }

    /// The value of an `NSNumber`: its type as a C string, then the value.
    private func integer(_ value: Value?) -> Int? {
        guard let object = object(value), isKind(object, of: "NSValue"), object.groups.count == 2,
            case .integer(let number) = object.groups[1].first
        else { return nil }
        return Int(number)
    }
}

extension Substring.UTF16View {
    /// Nil if there are fewer code units, or if the run would end within a character's pair of them.
    fileprivate func endOfRun(_ length: Int64) -> String.Index? {
        guard length >= 0, let end = index(startIndex, offsetBy: Int(length), limitedBy: endIndex) else { return nil }
        return end == endIndex || !UTF16.isTrailSurrogate(self[end]) ? end : nil
    }
}
