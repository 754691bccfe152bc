import JSON
import Models
import Wire

/// The bodies of writes, each an object with one field.
enum WriteFields {
    /// `{text}`: the new text of a message, or `{sealed}` of a sealed one.
    static func edit(
        of message: MessageID, _ body: UnsafeRawBufferPointer, _ limits: ClientLimits
    ) throws(Problem) -> Write.Action {
        if let sealed = try string("sealed", body) {
            guard try string("text", body) == nil else { throw Problem(.invalid, "text: a sealed message has none") }
            try checkSealed(sealed)
            return .editSealed(message, sealed.string)
        }
        let text = try required("text", body)
        try MessageFields.check(text, limits)
        return .edit(message, text: text.string)
    }

    /// `{title}`
    static func title(_ body: UnsafeRawBufferPointer, _ limits: ClientLimits) throws(Problem) -> String {
        try ConversationFields.checked(title: try required("title", body), limits)
    }

    /// `{kind}`
    static func tapback(_ body: UnsafeRawBufferPointer) throws(Problem) -> String {
        let kind = try required("kind", body).string
        guard TapbackKind(kind) != nil else {
            let classic = TapbackKind.classic.map(\.name).joined(separator: ", ")
            throw Problem(.invalid, "kind: must be \(classic) or exactly one emoji")
        }
        return kind
    }

    /// `{role?}`, or an empty body.
    static func role(_ body: UnsafeRawBufferPointer) throws(Problem) -> MemberRole? {
        guard !body.isEmpty, let name = try string("role", body) else { return nil }
        guard let role = MemberRole.allCases.first(where: { name == $0.name }) else {
            throw Problem(.invalid, "role: must be owner, admin or member")
        }
        return role
    }

    private static func required(_ field: StaticString, _ body: UnsafeRawBufferPointer) throws(Problem) -> JSONString {
        guard let value = try string(field, body) else { throw .missing(field) }
        return value
    }

    /// Nil when the field is missing or null.
    private static func string(_ field: StaticString, _ body: UnsafeRawBufferPointer) throws(Problem) -> JSONString? {
        try reading { () throws(JSONError) in
            var value: JSONString?
            var reader = JSONReader(body)
            let keys: JSONKeys = [field]
            var given = JSONKeys.Given()
            try reader.beginObject()
            while let key = try reader.nextKey(of: keys, &given) {
                guard key == field else {
                    try reader.skip()
                    continue
                }
                value = try reader.consumeNull() ? nil : try reader.slice()
            }
            try reader.end()
            return value
        }
    }
}
