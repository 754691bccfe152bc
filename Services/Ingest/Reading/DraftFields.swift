import JSON
import Models
import Wire

/// The body `{text, replyTo?}` of a draft. The text borrows the body's memory.
struct DraftFields {
    private var text: JSONString?
    private var replyTo: MessageID?

    init(_ body: UnsafeRawBufferPointer) throws(Problem) {
        try reading { () throws(JSONError) in try read(body) }
    }

    private static let keys: JSONKeys = ["text", "replyTo"]

    private mutating func read(_ body: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(body)
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "text": text = try reader.consumeNull() ? nil : try reader.slice()
            case "replyTo": replyTo = try reader.consumeNull() ? nil : MessageID(try reader.wellFormedUUID())
            default: try reader.skip()
            }
        }
        try reader.end()
    }

    /// Any text is a draft, also a blank one: somebody is about to go on. An empty one is none.
    func checked(_ limits: ClientLimits) throws(Problem) -> Write.Action {
        guard let text else { throw .missing("text") }
        try MessageFields.check(text, limits, mayBeBlank: true)
        return .draft(text.string, replyTo: replyTo)
    }
}
