import JSON
import Models
import Wire

/// The body `{id, conversationId, messageId?, userId?, reason, text?}` of a report. The fields borrow the body's memory.
struct ReportFields {
    private var id: ReportID?
    private var conversationID: ConversationID?
    private var message: MessageID?
    private var user: UserID?
    private var reason: JSONString?
    private var text: JSONString?

    init(_ body: UnsafeRawBufferPointer) throws(Problem) {
        try reading { () throws(JSONError) in try read(body) }
    }

    private static let keys: JSONKeys = ["id", "conversationId", "messageId", "userId", "reason", "text"]

    private mutating func read(_ body: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(body)
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "id": id = try reader.consumeNull() ? nil : ReportID(try reader.uuid())
            case "conversationId":
                conversationID = try reader.consumeNull() ? nil : ConversationID(try reader.wellFormedUUID())
            case "messageId": message = try reader.consumeNull() ? nil : MessageID(try reader.wellFormedUUID())
            case "userId": user = try reader.consumeNull() ? nil : try reader.userID()
            case "reason": reason = try reader.consumeNull() ? nil : try reader.slice()
            case "text": text = try reader.consumeNull() ? nil : try reader.slice()
            default: try reader.skip()
            }
        }
        try reader.end()
    }

    func conversation() throws(Problem) -> ConversationID {
        guard let conversationID else { throw .missing("conversationId") }
        return conversationID
    }

    func report() throws(Problem) -> NewReport {
        guard let id else { throw .missing("id") }
        guard id.uuid.isChosenByClient else {
            throw Problem(.invalid, "id: must be a UUID of version 4 or 7 in lower case")
        }
        guard message != nil || user != nil else {
            throw Problem(.invalid, "messageId, userId: one of them must be given")
        }
        guard let name = reason else { throw .missing("reason") }
        guard let reason = ReportReason.allCases.first(where: { name == $0.name }) else {
            throw Problem(.invalid, "reason: must be one of \(Self.names(of: ReportReason.self))")
        }
        return NewReport(
            id: id, message: message, user: user, reason: reason, text: try Self.checked(text, "text"))
    }

    fileprivate static func names<Name: ContractName>(of _: Name.Type) -> String {
        Name.contractCases.map(\.name.description).joined(separator: ", ")
    }

    /// A text for administrators, empty for none.
    fileprivate static func checked(_ text: JSONString?, _ field: StaticString) throws(Problem) -> String {
        guard let text = text?.string else { return "" }
        let most = ContractLimits.reportCharacters
        guard text.unicodeScalars.count <= most else {
            throw Problem(.tooLarge, "\(field): at most \(most) characters")
        }
        return text
    }
}

/// The body `{action, note?}` of a resolution. The fields borrow the body's memory.
struct ResolutionFields {
    private var action: JSONString?
    private var note: JSONString?

    init(_ body: UnsafeRawBufferPointer) throws(Problem) {
        try reading { () throws(JSONError) in try read(body) }
    }

    private static let keys: JSONKeys = ["action", "note"]

    private mutating func read(_ body: UnsafeRawBufferPointer) throws(JSONError) {
        var reader = JSONReader(body)
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "action": action = try reader.consumeNull() ? nil : try reader.slice()
            case "note": note = try reader.consumeNull() ? nil : try reader.slice()
            default: try reader.skip()
            }
        }
        try reader.end()
    }

    func resolution(of report: ReportID) throws(Problem) -> ReportResolution {
        guard let name = action else { throw .missing("action") }
        guard let action = ReportAction.allCases.first(where: { name == $0.name }) else {
            throw Problem(.invalid, "action: must be one of \(ReportFields.names(of: ReportAction.self))")
        }
        return ReportResolution(of: report, action, note: try ReportFields.checked(note, "note"))
    }
}
