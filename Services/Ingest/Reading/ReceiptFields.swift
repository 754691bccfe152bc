import JSON
import Models
import Wire

/// The positions up to which a user has received and read a conversation: `{deliveredSeq?, readSeq?}`, at least one of
/// them.
struct ReceiptFields {
    private(set) var delivered: Int64?
    private(set) var read: Int64?

    init(_ body: UnsafeRawBufferPointer) throws(Problem) {
        try reading { () throws(JSONError) in try read(body) }
        if delivered == nil, read == nil {
            throw Problem(.invalid, "deliveredSeq or readSeq: at least one must be given")
        }
    }

    private static let keys: JSONKeys = ["deliveredSeq", "readSeq"]

    private mutating func read(_ body: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(body)
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "deliveredSeq": delivered = try reader.consumeNull() ? nil : try reader.position()
            case "readSeq": read = try reader.consumeNull() ? nil : try reader.position()
            default: try reader.skip()
            }
        }
        try reader.end()
    }
}
