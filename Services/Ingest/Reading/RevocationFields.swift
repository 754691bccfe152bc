import JSON
import Models
import Wire

/// The optional body of a revocation: `{before?}`.
enum RevocationFields {
    private static let keys: JSONKeys = ["before"]

    static func before(_ body: UnsafeRawBufferPointer) throws(Problem) -> Timestamp? {
        guard !body.isEmpty else { return nil }
        return try reading { () throws(JSONError) in
            var before: Timestamp?
            var reader = JSONReader(body)
            var given = JSONKeys.Given()
            try reader.beginObject()
            while let key = try reader.nextKey(of: keys, &given) {
                guard key == "before" else {
                    try reader.skip()
                    continue
                }
                before = try reader.consumeNull() ? nil : try reader.timeForDisplay()
            }
            try reader.end()
            return before
        }
    }
}
