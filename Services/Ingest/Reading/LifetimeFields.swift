import JSON
import Models

/// The body `{seconds}`: how long messages stay; null: until somebody deletes them. It may not be missing, so that no mistake keeps
/// what was to disappear.
struct LifetimeFields {
    /// 0: they stay.
    private(set) var seconds: UInt32 = 0

    init(_ body: UnsafeRawBufferPointer) throws(Problem) {
        var isGiven = false
        var number: Int64?
        try reading { () throws(JSONError) in
            var reader = JSONReader(body)
            var given = JSONKeys.Given()
            try reader.beginObject()
            while let key = try reader.nextKey(of: Self.keys, &given) {
                guard key == "seconds" else {
                    try reader.skip()
                    continue
                }
                isGiven = true
                number = try reader.consumeNull() ? nil : try reader.integer()
            }
            try reader.end()
        }
        guard isGiven else { throw .missing("seconds") }
        guard let number else { return }
        let lifetime = ContractLimits.messageLifetime
        let range = lifetime.lowerBound.components.seconds...lifetime.upperBound.components.seconds
        guard range.contains(number) else {
            throw Problem(.invalid, "seconds: must be null, or from \(range.lowerBound) to \(range.upperBound)")
        }
        seconds = UInt32(number)
    }

    private static let keys: JSONKeys = ["seconds"]
}
