import JSON
import Models
import Wire

/// The body `{seconds, from?}`: how long messages stay; null: until somebody deletes them. It may not be missing, so that no mistake
/// keeps what was to disappear.
struct LifetimeFields {
    /// 0: they stay.
    private(set) var seconds: UInt32 = 0
    private(set) var start = LifetimeStart.sending

    init(_ body: UnsafeRawBufferPointer) throws(Problem) {
        var isGiven = false
        var number: Int64?
        var from: JSONString?
        try reading { () throws(JSONError) in
            var reader = JSONReader(body)
            var given = JSONKeys.Given()
            try reader.beginObject()
            while let key = try reader.nextKey(of: Self.keys, &given) {
                switch key {
                case "seconds":
                    isGiven = true
                    number = try reader.consumeNull() ? nil : try reader.integer()
                case "from": from = try reader.consumeNull() ? nil : try reader.slice()
                default: try reader.skip()
                }
            }
            try reader.end()
        }
        guard isGiven else { throw .missing("seconds") }
        let named = try from.map { (name) throws(Problem) in
            guard let start = LifetimeStart.allCases.first(where: { name == $0.name }) else {
                throw Problem(.invalid, "from: must be sending or reading")
            }
            return start
        }
        guard let number else { return }
        let lifetime = ContractLimits.messageLifetime
        let range = lifetime.lowerBound.components.seconds...lifetime.upperBound.components.seconds
        guard range.contains(number) else {
            throw Problem(.invalid, "seconds: must be null, or from \(range.lowerBound) to \(range.upperBound)")
        }
        seconds = UInt32(number)
        start = named ?? .sending
    }

    private static let keys: JSONKeys = ["seconds", "from"]

    var action: Write.Action { .setLifetime(seconds: seconds, from: start) }
}
