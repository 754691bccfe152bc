/// Something that reads bytes of strangers, with examples of what it takes.
///
/// The list is used twice: `make test` damages the examples at random, and `make fuzz` lets libFuzzer look for inputs that
/// reach code which no input reached before.
struct Reader: Sendable {
    typealias Take = @Sendable (UnsafeRawBufferPointer) -> Bool?

    /// Names it on the command line of `make fuzz`, and its folder of `Findings`.
    let name: String
    /// Each is taken.
    let examples: [[UInt8]]
    /// Nil when the bytes are refused, and else whether what was made of them is what it should be.
    let take: Take

    init(_ name: String, examples: [[UInt8]], take: @escaping Take) {
        self.name = name
        self.examples = examples
        self.take = take
    }

    init(_ name: String, _ examples: String..., take: @escaping Take) {
        self.init(name, examples: examples.map { Array($0.utf8) }, take: take)
    }

    static let all: [Reader] =
        [http, proxy, webSocket, json, frame, entry, databaseURL, configuration, token, keySet]
        + archives
        + clientBodies
        + clientTexts
        + clientFrames
        + files
}

extension Reader: CustomStringConvertible { var description: String { name } }

extension UnsafeRawBufferPointer {
    /// Whether `part` lies in these bytes; an empty one lies anywhere.
    func contains(_ part: UnsafeRawBufferPointer) -> Bool {
        guard let start = part.baseAddress, part.count > 0 else { return true }
        guard let own = baseAddress else { return false }
        return start >= own && start + part.count <= own + count
    }
}
