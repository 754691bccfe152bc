import JSON
import Models
import Wire

/// The body `{days}`: how many days messages stay in a conversation; null: as in all conversations. It may not be missing, so that no
/// mistake keeps what was to go.
struct RetentionFields {
    let days: Int32?

    init(_ body: UnsafeRawBufferPointer) throws(Problem) {
        var isGiven = false
        var number: Int64?
        try reading { () throws(JSONError) in
            var reader = JSONReader(body)
            var given = JSONKeys.Given()
            try reader.beginObject()
            while let key = try reader.nextKey(of: Self.keys, &given) {
                if key == "days" {
                    isGiven = true
                    number = try reader.consumeNull() ? nil : try reader.integer()
                } else {
                    try reader.skip()
                }
            }
            try reader.end()
        }
        guard isGiven else { throw .missing("days") }
        let range = ContractLimits.retentionDays
        guard number.map({ Int64(range.lowerBound)...Int64(range.upperBound) ~= $0 }) ?? true else {
            throw Problem(.invalid, "days: must be null, or from \(range.lowerBound) to \(range.upperBound)")
        }
        days = number.map { Int32($0) }
    }

    private static let keys: JSONKeys = ["days"]
}
