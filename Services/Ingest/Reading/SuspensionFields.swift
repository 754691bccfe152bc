import JSON
import Models
import Wire

/// The body `{mode, until?, reason?}` of a suspension. The fields borrow the body's memory.
struct SuspensionFields {
    private var mode: JSONString?
    private var until: Timestamp?
    private var reason: JSONString?

    init(_ body: UnsafeRawBufferPointer) throws(Problem) {
        try reading { () throws(JSONError) in try read(body) }
    }

    private static let keys: JSONKeys = ["mode", "until", "reason"]

    private mutating func read(_ body: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(body)
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "mode": mode = try reader.consumeNull() ? nil : try reader.slice()
            case "until": until = try reader.consumeNull() ? nil : try reader.timeForDisplay()
            case "reason": reason = try reader.consumeNull() ? nil : try reader.slice()
            default: try reader.skip()
            }
        }
        try reader.end()
    }

    func suspension(of user: UserID, at now: Timestamp) throws(Problem) -> SuspendUser {
        guard let name = mode else { throw .missing("mode") }
        guard let mode = SuspensionMode.allCases.first(where: { name == $0.name }) else {
            throw Problem(.invalid, "mode: must be readOnly, out or unheard")
        }
        // One that is over already would be confirmed, and suspend nobody.
        if let until, until <= now { throw Problem(.invalid, "until: must be in the future") }
        return SuspendUser(user, mode, until: until, reason: try checkedReason())
    }

    /// The reason, empty for none.
    private func checkedReason() throws(Problem) -> String {
        guard let reason = reason?.string else { return "" }
        let most = ContractLimits.suspensionReasonCharacters
        guard reason.unicodeScalars.count <= most else {
            throw Problem(.tooLarge, "reason: at most \(most) characters")
        }
        return reason
    }
}
