import CExpat

/// An element of a short document, such as a list of objects, with what is in it. Names are as written, attributes are
/// left out.
struct XMLElement {
    let name: String
    /// Of an element without others in it.
    private(set) var text = ""
    private(set) var children: [XMLElement] = []

    /// Deeper than any document of an object store.
    private static let depth = 16

    private init(_ name: String) { self.name = name }

    /// Nil for what is no whole document.
    init?(_ document: [UInt8]) {
        guard let parser = XML_ParserCreate("UTF-8") else { return nil }
        defer { XML_ParserFree(parser) }
        let builder = Builder()
        XML_SetUserData(parser, Unmanaged.passUnretained(builder).toOpaque())
        XML_SetElementHandler(
            parser,
            { builder, name, _ in Builder.of(builder).begin(String(cString: name!)) },
            { builder, _ in Builder.of(builder).end() })
        XML_SetCharacterDataHandler(parser) { builder, text, count in
            Builder.of(builder).append(UnsafeBufferPointer(start: text, count: Int(count)))
        }
        let isRead = document.withUnsafeBytes {
            XML_Parse(parser, $0.baseAddress?.assumingMemoryBound(to: CChar.self), CInt($0.count), 1) == XML_STATUS_OK
        }
        guard isRead, !builder.isTooDeep, let root = builder.root else { return nil }
        self = root
    }

    /// The text of the first element of this name.
    subscript(_ name: String) -> String? { children.first { $0.name == name }?.text }

    func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

    private final class Builder {
        var root: XMLElement?
        var isTooDeep = false
        private var open: [XMLElement] = []

        static func of(_ pointer: UnsafeMutableRawPointer?) -> Builder {
            Unmanaged<Builder>.fromOpaque(pointer!).takeUnretainedValue()
        }

        func begin(_ name: String) {
            isTooDeep = isTooDeep || open.count >= XMLElement.depth
            if !isTooDeep { open.append(XMLElement(name)) }
        }

        func append(_ text: UnsafeBufferPointer<CChar>) {
            guard !isTooDeep, !open.isEmpty else { return }
            open[open.count - 1].text += String(decoding: UnsafeRawBufferPointer(text), as: UTF8.self)
        }

        func end() {
            guard !isTooDeep, let element = open.popLast() else { return }
            if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
        }
    }
}
